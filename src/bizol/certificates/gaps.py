"""Frank–Wolfe gaps computed from the structure of the follower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, as_positive
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import as_member
from bizol.problem import Problem
from bizol.sensitivity import Hypergradient, frank_wolfe_gap
from bizol.structure.clarke import anchor_at, clarke_subdifferential
from bizol.structure.hulls import Hull
from bizol.structure.protocols import structure_of


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactGap:
    """A Frank–Wolfe gap computed from the follower's structure."""

    at: Point
    kind: Literal["smooth", "Clarke", "Bi-ZOL"]
    gap: float
    hypergradient: Hypergradient  # the (sub)gradient that attains it
    vertex: Point
    # How far off the gap may be, because of the average over the ball or a min–max cut short.
    error: float = 0.0


def smooth_gap(problem: Problem, x: ArrayLike, tolerance: float | None = None) -> ExactGap:
    """Return the smooth Frank–Wolfe gap of Definition 3; x must not be on a kink.

    Raises:
        ValueError: if the response has a kink at x; use `clarke_gap` there.

    """
    point = as_member(x, problem.feasible_set, "x")
    hull = clarke_subdifferential(problem, point, tolerance)
    if len(hull.generators) > 1:
        raise ValueError(
            f"The response has a kink at this x ({len(hull.generators)} pieces meet), so there is "
            f"no gradient; bizol.clarke_gap is defined there."
        )
    return _measure_gap("smooth", problem.feasible_set, Hypergradient(point, hull.generators[0]))


def bizol_gap(problem: Problem, x: ArrayLike, *, delta: float) -> ExactGap:
    """Return the Bi-ZOL Frank–Wolfe gap of Definition 5.

    g_δ is computed from the follower's structure.
    """
    point = as_member(x, problem.feasible_set, "x")
    smoothed = structure_of(problem).smoothed(point, as_positive(delta, "delta"))
    anchor = anchor_at(problem, point)
    gradient = Hypergradient(point, anchor.grad_x + smoothed.jacobian.T @ anchor.grad_y)
    slope = float(np.linalg.norm(anchor.grad_y))
    size = slope * problem.feasible_set.diameter * np.sqrt(smoothed.jacobian.size)
    error = float(size) * smoothed.error
    return _measure_gap("Bi-ZOL", problem.feasible_set, gradient, error=error)


def clarke_gap(
    problem: Problem, x: ArrayLike, *, tolerance: float | None = None, accuracy: float = 1e-9
) -> ExactGap:
    """Return the Clarke Frank–Wolfe gap of Definition 4.

    This is an exact min–max over the hull of the limiting gradients, computed by cutting planes:
    a linear program over the weights of the hull with the vertices found so far alternates with one
    more vertex from the feasible set, until both agree to `accuracy`. On a polytope it ends after
    finitely many vertices; it works for any set.

    Args:
        problem: a problem whose follower tells its Jacobians (`limiting_jacobians`).
        x: the point, in X.
        tolerance: how near a kink counts as on it; by default the follower's own.
        accuracy: the difference, relative to the gap's scale, at which the bounds count as equal.

    """
    point = as_member(x, problem.feasible_set, "x")
    hull = clarke_subdifferential(problem, point, tolerance)
    gradient, error = _find_best_subgradient(problem.feasible_set, hull, accuracy)
    return _measure_gap("Clarke", problem.feasible_set, gradient, error=error)


def _measure_gap(
    kind: Literal["smooth", "Clarke", "Bi-ZOL"],
    feasible_set: FeasibleSet,
    gradient: Hypergradient,
    error: float = 0.0,
) -> ExactGap:
    """Return the gap of a (sub)gradient, with the vertex that attains it."""
    vertex, gap = frank_wolfe_gap(feasible_set, gradient.at, gradient.value)
    return ExactGap(
        at=gradient.at.copy(),
        kind=kind,
        gap=float(gap),
        hypergradient=gradient,
        vertex=vertex,
        error=error,
    )


def _find_best_subgradient(
    feasible_set: FeasibleSet, hull: Hull, accuracy: float, most: int = 500
) -> tuple[Hypergradient, float]:
    """Return the subgradient with the smallest gap, and how much smaller it could still be."""
    from scipy.optimize import linprog

    count = len(hull.generators)
    if count == 1:
        return Hypergradient(hull.at, hull.generators[0]), 0.0
    weights = np.full(count, 1 / count)
    scale = max(float(np.abs(hull.generators).max()) * feasible_set.diameter, 1e-300)
    best = hull.generators.mean(axis=0)
    lower, upper = -np.inf, np.inf
    cuts: list[Point] = []
    for _ in range(most):
        gradient = weights @ hull.generators
        toward = hull.at - feasible_set.minimize_linear(gradient)
        if toward @ gradient < upper:
            best = gradient
            upper = float(toward @ gradient)
        cuts.append(hull.generators @ toward / scale)  # the gap is at least ⟨cut, weights⟩
        master = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.column_stack([np.array(cuts), -np.ones(len(cuts))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * count + [(None, None)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        before = weights
        weights = master.x[:-1] / master.x[:-1].sum()
        lower = scale * master.fun
        if upper - lower <= accuracy * scale or np.abs(weights - before).max() <= 1e-12:
            break
    return Hypergradient(hull.at, best), max(0.0, upper - lower)
