"""One file per method, and what they share."""

from bizol.methods.foresight.foresight import Foresight
from bizol.methods.protocol import Method, Move
from bizol.methods.two_point.bizol import BiZOL
from bizol.methods.two_point.memory import MemoryBiZOL
from bizol.methods.two_point.schedules import (
    AdaptiveStep,
    PowerLaw,
    horizon_tuned,
    inverse_sqrt,
    open_loop,
)
from bizol.methods.two_point.two_point import State
from bizol.methods.two_point.vzo import VZO

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
