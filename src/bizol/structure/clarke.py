"""Generalized Jacobians, the chain-rule subdifferential, and the structural bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points
from bizol.evaluation import Direct
from bizol.problem import Anchor, Problem
from bizol.sensitivity import Hypergradient
from bizol.structure.hulls import Hull
from bizol.structure.protocols import (
    KnownJacobians,
    KnownStructure,
    SetVariation,
    jacobians_of,
    structure_of,
)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StructuralBias:
    """The distance of g_δ(x) to the Clarke subdifferential, with the bound of Propositions 3 and 4.

    Attributes:
        at: the point x.
        delta: the smoothing radius δ.
        hypergradient: g_δ(x).
        distance: dist(g_δ(x), ∂^c φ̃(x)).
        bound: ‖d_y‖ ω(x, δ), eq. (12).
        regular: whether x is δ-regular.

    """

    at: Point
    delta: float
    hypergradient: Hypergradient
    distance: float
    bound: float
    regular: bool


def anchor_at(problem: Problem, x: Point) -> Anchor:
    """Observe the response at x, a query that no budget counts, and evaluate φ there."""
    return problem.objective.anchor(x, Direct(problem).ask(x[None])[0, ...])


def limiting_jacobians(
    follower: KnownJacobians, x: Point, tolerance: float | None = None
) -> list[Points]:
    """Return the limiting Jacobians at x, by default with the follower's own tolerance."""
    if tolerance is None:
        return follower.limiting_jacobians(x)
    return follower.limiting_jacobians(x, tolerance)


def generalized_jacobian(
    follower: KnownJacobians, x: Point, tolerance: float | None = None
) -> Hull:
    """Return J^c y(x), whose generators are the limiting Jacobians, flattened row by row."""
    matrices = limiting_jacobians(follower, x, tolerance)
    return Hull(x, np.array([matrix.ravel() for matrix in matrices]))


def clarke_subdifferential(problem: Problem, x: Point, tolerance: float | None = None) -> Hull:
    """Return ∂^c φ̃(x) = {d_x + Vᵀd_y : V ∈ J^c y(x)}, Proposition 1, eq. (4)."""
    follower = jacobians_of(problem)
    return pull_back_limits(anchor_at(problem, x), x, limiting_jacobians(follower, x, tolerance))


def pull_back_limits(anchor: Anchor, at: Point, matrices: list[Points]) -> Hull:
    """Return the hull of d_x + Vᵀd_y over Jacobians V at a point, d_x and d_y at the anchor."""
    generators = [anchor.grad_x + matrix.T @ anchor.grad_y for matrix in matrices]
    return Hull(at, np.array(generators))


def approximate_hypergradient(problem: Problem, x: Point, delta: float) -> Hypergradient:
    """Return g_δ(x) = d_x + J y_δ(x)ᵀ d_y, eq. (5), in closed form or by quadrature."""
    follower = structure_of(problem)
    anchor = anchor_at(problem, x)
    return Hypergradient(x, anchor.grad_x + follower.smoothed(x, delta).jacobian.T @ anchor.grad_y)


def set_variation(
    follower: KnownStructure, x: Point, delta: float, tolerance: float = 1e-9
) -> SetVariation:
    """Return ω(x, δ) = sup dist(V, J^c y(x)) over V ∈ J^c y(s), ‖s − x‖ ≤ δ, Definition 1."""
    return follower.variation(x, delta, tolerance)


def is_delta_regular(
    follower: KnownStructure, x: Point, delta: float, tolerance: float = 1e-9
) -> bool:
    """Whether the ball of radius δ around x meets only pieces active at x, Definition 2."""
    return follower.is_regular(x, delta, tolerance)


def structural_bias(
    problem: Problem, x: Point, delta: float, tolerance: float = 1e-9
) -> StructuralBias:
    """Return dist(g_δ(x), ∂^c φ̃(x)) and its bound ‖d_y‖ ω(x, δ), Proposition 3."""
    follower = structure_of(problem)
    anchor = anchor_at(problem, x)
    hypergradient = approximate_hypergradient(problem, x, delta)
    variation = set_variation(follower, x, delta, tolerance)
    subdifferential = clarke_subdifferential(problem, x, tolerance)
    return StructuralBias(
        at=x,
        delta=delta,
        hypergradient=hypergradient,
        distance=subdifferential.distance(hypergradient.value),
        bound=float(np.linalg.norm(anchor.grad_y)) * variation.value,
        regular=follower.is_regular(x, delta, tolerance),
    )
