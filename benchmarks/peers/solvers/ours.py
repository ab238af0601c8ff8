"""bizol's default method, and the methods of the paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, final

import bizol
from benchmarks.peers.solvers.oracle import Oracle, Peer, Solver
from bizol.arrays import Point
from bizol.feasible_sets import Ball, Box, FeasibleSet, Simplex

# What is set otherwise to leave out a part of the default method (`bizol.methods.foresight`).
PARTS: dict[str, Mapping[str, Any]] = {
    "pieces": {"PIECES_DIMENSION": 0},
    "everywhere": {"EVERYWHERE_DIMENSION": 0},  # and so without leaps
    "leaps": {"TRUSTED": -1.0, "LEAPS": 0},
    "own-kernels": {"OWN_DIMENSION": 0},
    "quadratic-trend": {"BENDS": (0.0,)},
    "newton": {"NEWTON_DIMENSION": 0},
}


def default(oracle: Oracle, seed: int) -> None:
    """`bizol.minimize` as it comes."""
    bizol.minimize(oracle.problem, oracle.start, budget=oracle.budget, seed=seed)


def without(part: str) -> Solver:
    """Return the default method without one of its parts."""

    def solve(oracle: Oracle, seed: int) -> None:
        with _settings(PARTS[part]):
            default(oracle, seed)

    return solve


@contextmanager
def _settings(chosen: Mapping[str, Any]) -> Iterator[None]:
    """Change settings of the default method wherever they are read."""
    rooms = [
        vars(module)
        for name, module in tuple(sys.modules.items())
        if name.startswith("bizol.methods.foresight")
    ]
    places = [(room, name) for room in rooms for name in chosen if name in room]
    assert {name for _, name in places} == set(chosen), "a setting has another name now"
    before = [room[name] for room, name in places]
    try:
        for room, name in places:
            room[name] = chosen[name]
        yield
    finally:
        for (room, name), value in zip(places, before, strict=True):
            room[name] = value


def without_projections(oracle: Oracle, seed: int) -> None:
    """Run the default method on sets that say no more than boxes, balls and simplices once did."""
    problem = oracle.problem
    known = (Box, Ball, Simplex)
    if not isinstance(problem.feasible_set, known):
        problem = replace(problem, feasible_set=Unprojected(problem.feasible_set))
    bizol.minimize(problem, oracle.start, budget=oracle.budget, seed=seed)


@final
@dataclass(frozen=True, slots=True)
class Unprojected:
    """A set known through linear minimization alone."""

    whole: FeasibleSet

    @property
    def dimension(self) -> int:
        """The n of its points."""
        return self.whole.dimension

    @property
    def diameter(self) -> float:
        """That of the set."""
        return self.whole.diameter

    @property
    def center(self) -> Point:
        """That of the set."""
        return self.whole.center

    def minimize_linear(self, cost: Point) -> Point:
        """Return the vertex."""
        return self.whole.minimize_linear(cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether a point is in the set."""
        return self.whole.contains(point, tolerance)


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


ABLATIONS: dict[str, Peer] = {f"no-{part}": Peer(solve=without(part)) for part in PARTS} | {
    "no-projections": Peer(solve=without_projections)
}
