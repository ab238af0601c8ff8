"""One file per method, and what they share."""

from bizol.methods.bizol import BiZOL
from bizol.methods.foresight import Foresight
from bizol.methods.memory import MemoryBiZOL
from bizol.methods.protocol import Method, Move
from bizol.methods.schedules import AdaptiveStep, PowerLaw, horizon_tuned, inverse_sqrt, open_loop
from bizol.methods.two_point import State
from bizol.methods.vzo import VZO

__all__ = [
    "VZO",
    "AdaptiveStep",
    "BiZOL",
    "Foresight",
    "MemoryBiZOL",
    "Method",
    "Move",
    "PowerLaw",
    "State",
    "horizon_tuned",
    "inverse_sqrt",
    "open_loop",
]
