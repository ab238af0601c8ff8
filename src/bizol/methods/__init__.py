"""One file per method, and what they share."""

from bizol.methods.bizol import BiZOL
from bizol.methods.foresight import Foresight
from bizol.methods.protocol import Method, Move
from bizol.methods.schedules import PowerLaw, horizon_tuned, inverse_sqrt, open_loop
from bizol.methods.two_point import State
from bizol.methods.vzo import VZO

__all__ = [
    "VZO",
    "BiZOL",
    "Foresight",
    "Method",
    "Move",
    "PowerLaw",
    "State",
    "horizon_tuned",
    "inverse_sqrt",
    "open_loop",
]
