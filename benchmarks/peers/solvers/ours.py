"""bizol's default method, and the methods of the paper."""

from __future__ import annotations

from math import sqrt

import bizol
from benchmarks.peers.solvers.oracle import Oracle, Solver


def default(oracle: Oracle, seed: int) -> None:
    """`bizol.minimize` as it comes."""
    bizol.minimize(oracle.problem, oracle.start, budget=oracle.budget, seed=seed)


def paper(batch: int) -> Solver:
    """Return Algorithm 1 of the paper with its γ and δ, δ in units of half the diameter over √n."""

    def solve(oracle: Oracle, seed: int) -> None:
        method = bizol.BiZOL(delta=0.08 * _scale(oracle), step=0.1, batch=batch)
        for _ in bizol.iterate(oracle.problem, method, oracle.start, seed=seed):
            pass  # until the budget is spent

    return solve


def vzo(oracle: Oracle, seed: int) -> None:
    """Vanilla zeroth-order smoothing, B = 10.

    Its decisions are asked as well, or none of them would be observed.
    """
    method = bizol.VZO(delta=0.08 * _scale(oracle), step=0.1, batch=10)
    for state in bizol.iterate(oracle.problem, method, oracle.start, seed=seed):
        oracle.value(state.x)


def _scale(oracle: Oracle) -> float:
    return oracle.feasible_set.diameter / 2 / sqrt(oracle.dimension)
