"""Solvers that use φ = h(F) with a known h and local models of F, restarted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from benchmarks.peers.sets import bounds, project, sample
from benchmarks.peers.solvers.oracle import Oracle, UnsuitableError
from bizol.arrays import Point, Points

RADIUS = 0.1  # of the first trust region, in units of the box: what MSP has built in


def dfo_ls(oracle: Oracle, seed: int) -> None:
    """DFO-LS on the residuals of a sum of squares, restarted; other objectives it does not take.

    Its option for projections alternates them with bounds at a second for every few queries, so the
    box around the set is used instead.
    """
    import dfols

    if oracle.case.residuals is None:
        raise UnsuitableError("The objective is not a sum of squares.")
    rng = np.random.default_rng(seed)
    lower, upper = bounds(oracle.feasible_set)
    width = float(np.min((upper - lower)[upper > lower], initial=np.inf))
    begin = oracle.start
    while True:
        before = oracle.queries
        dfols.solve(
            lambda z: oracle.residuals(project(oracle.feasible_set, np.asarray(z))),
            np.clip(begin, lower, upper),
            maxfun=max(oracle.left, oracle.dimension + 2),
            bounds=(lower, upper),
            rhobeg=0.1 * width,
            rhoend=1e-8 * width,
            do_logging=False,
        )
        if oracle.queries == before:
            oracle.value(begin)
        begin = sample(oracle.feasible_set, rng)


@final
@dataclass(frozen=True, slots=True)
class Composite:
    """F(z) = (x, y(x)), with x the projection of a point z of the unit box, and h(F) = φ."""

    oracle: Oracle

    def unit(self, x: Point) -> Point:
        """Return the z of an x."""
        lower, width = self._frame()
        return np.clip((x - lower) / width, 0.0, 1.0)

    def follow(self, z: Point) -> Point:
        """Return F(z): one query."""
        lower, width = self._frame()
        inside = np.minimum(lower + width * np.ravel(z), bounds(self.oracle.feasible_set)[1])
        x = project(self.oracle.feasible_set, np.maximum(inside, lower))
        return np.concatenate([x, self.oracle.response(x)])

    def outer(self, pair: Point) -> float:
        """Return h."""
        n = self.oracle.dimension
        objective = self.oracle.case.problem.objective
        return float(objective.values(pair[None, :n], pair[None, n:])[0])

    def slope(self, pair: Point) -> Point:
        """Return ∇h."""
        n = self.oracle.dimension
        anchor = self.oracle.case.problem.objective.anchor(pair[:n], pair[n:])
        return np.concatenate([anchor.grad_x, anchor.grad_y])

    def _frame(self) -> tuple[Point, Point]:
        lower, upper = bounds(self.oracle.feasible_set)
        return lower, np.where(upper > lower, upper - lower, 1.0)


def pounders(oracle: Oracle, seed: int) -> None:
    """POUNDERS of IBCDFO on F(x) = (x, y(x)) with the known outer function h(F) = φ, restarted.

    The model of h ∘ F needs ∇h, which is known, and ∇²h, which is taken from differences of ∇h and
    costs no query. The package's own subproblem solver (`spsolver=1`) is used: the default one,
    MINQ, is not on PyPI.
    """
    import ibcdfo

    rng = np.random.default_rng(seed)
    composite, n = Composite(oracle), oracle.dimension

    def combine(center: Any, linear: Points, quadratic: Any) -> tuple[Point, Points]:
        at = np.ravel(center)
        gradient = composite.slope(at)
        hessian = np.tensordot(quadratic, gradient, axes=(2, 0))
        size = np.linalg.norm(linear, axis=1)  # of the move of F along each coordinate
        step = 1e-6 * max(1.0, float(np.abs(at).max())) / np.maximum(size, 1e-12)
        # ∇²h applied to the rows.
        moved = [
            (composite.slope(at + h * row) - composite.slope(at - h * row)) / (2 * h)
            for h, row in zip(step, linear, strict=True)
        ]
        curvature = np.array(moved) @ linear.T
        return linear @ gradient, hessian + (curvature + curvature.T) / 2

    begin, size = oracle.start, n + np.asarray(oracle.case.problem.response(oracle.start)).size
    options = {"hfun": composite.outer, "combinemodels": combine, "spsolver": 1, "printf": 0}
    while True:
        before = oracle.queries
        room = max(oracle.left, 2 * n + 3) + 1
        limits = np.zeros(n), np.ones(n)
        ibcdfo.run_pounders(
            composite.follow,
            composite.unit(begin),
            n,
            room,
            1e-8,
            RADIUS,
            size,
            *limits,
            Options=options,
        )
        if oracle.queries == before:
            oracle.value(begin)
        begin = sample(oracle.feasible_set, rng)


def msp(oracle: Oracle, seed: int) -> None:
    """Manifold sampling of IBCDFO (`run_MSP`) on F(x) = (x, y(x)) with h(F) = φ, restarted.

    J. Larson, M. Menickelly and S. Wild, 2016 to 2024, for an h that is a selection of smooth
    pieces. Every φ of the suite is smooth (the kinks are those of F), so there is one piece. Its
    only subproblem solver is SciPy's linear programming. It does not take n = 1; there a second
    coordinate does nothing, and what was asked before is not asked again. Where it gives up with an
    error it is restarted as well.
    """
    import ibcdfo

    rng = np.random.default_rng(seed)
    composite, n = Composite(oracle), oracle.dimension
    padded = max(n, 2)
    known: dict[bytes, Point] = {}

    def follow(z: Point) -> Point:
        decided = np.array(z[:n])
        if padded == n:
            return composite.follow(decided)
        if decided.tobytes() not in known:
            known[decided.tobytes()] = composite.follow(decided)
        return known[decided.tobytes()]

    def outer(pair: Point, pieces: Any = None) -> tuple[Any, ...]:
        value, slope = composite.outer(pair), composite.slope(pair)[:, None]
        return (value, slope, ["φ"]) if pieces is None else (np.array([value]), slope)

    begin = oracle.start
    while True:
        before = oracle.queries
        at = np.append(composite.unit(begin), np.full(padded - n, 0.5))
        room = max(oracle.left, padded + 1) + 1
        with suppress(Exception):  # "what to do here", says its own code of one of them
            ibcdfo.run_MSP(outer, follow, at, np.zeros(padded), np.ones(padded), room, "linprog")
        if oracle.queries == before:
            oracle.value(begin)
        begin = sample(oracle.feasible_set, rng)
