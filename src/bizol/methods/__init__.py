"""The methods, their protocol, and the schedules of their parameters."""

from bizol.methods.foresight import Foresight
from bizol.methods.protocol import Method, Move
from bizol.methods.two_point import (
    VZO,
    AdaptiveStep,
    BiZOL,
    MemoryBiZOL,
    PowerLaw,
    State,
    horizon_tuned,
    inverse_sqrt,
    open_loop,
)

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
