"""The method `minimize` takes when nobody names one."""

from __future__ import annotations

from math import sqrt

from bizol.directions import OrthonormalBlocks
from bizol.methods.bizol import BiZOL
from bizol.methods.schedules import open_loop
from bizol.problem import Problem


def default_method(problem: Problem, budget: int) -> BiZOL:
    """Fit Bi-ZOL to the problem's size and the budget.

    Orthonormal directions, at most n and as many as leave room for eight iterations (one, where none do); the step
    2/(k + 2); and a radius of 2 % of the set's typical width D/√n.
    """
    dimension = problem.feasible_set.dimension
    affordable = (budget // 8 - 1) // 2
    width = problem.feasible_set.diameter / sqrt(dimension)
    return BiZOL(
        delta=0.02 * width if width > 0 else 0.02,
        step=open_loop(),
        batch=max(1, min(affordable, dimension)),
        directions=OrthonormalBlocks(),
    )
