"""Algorithm 1 of the paper and its variants: two-point estimates and Frank–Wolfe steps."""

from bizol.methods.two_point.bizol import BiZOL
from bizol.methods.two_point.memory import MemoryBiZOL
from bizol.methods.two_point.probing import State
from bizol.methods.two_point.schedules import (
    AdaptiveStep,
    PowerLaw,
    horizon_tuned,
    inverse_sqrt,
    open_loop,
)
from bizol.methods.two_point.vzo import VZO

__all__ = [
    "VZO",
    "AdaptiveStep",
    "BiZOL",
    "MemoryBiZOL",
    "PowerLaw",
    "State",
    "horizon_tuned",
    "inverse_sqrt",
    "open_loop",
]
