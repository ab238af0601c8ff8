"""The Clarke side: generalized Jacobians, the chain-rule subdifferential, and how far Bi-ZOL's
direction is from it.

All of it needs a follower whose structure is known (`bizol.followers.KnownStructure`), and serves
diagnosis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point
from bizol.evaluation import Evaluator
from bizol.followers import KnownStructure
from bizol.problem import Anchor, Problem
from bizol.sensitivity import Hypergradient
from bizol.structure.pieces import Hull, SetVariation


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StructuralBias:
    """How far g_δ(x) is from the Clarke subdifferential, with the bounds of Propositions 3 and 4."""

    at: Point
    delta: float
    hypergradient: Hypergradient  # g_δ(x)
    distance: float  # dist(g_δ(x), ∂^c φ̃(x))
    bound: float  # ‖d_y‖ ω(x, δ), eq. (12)
    regular: bool  # whether x is δ-regular


def structure(problem: Problem) -> KnownStructure:
    """Return the follower if it can be looked into, or say what is possible instead."""
    follower = problem.response
    if not is_known(problem):
        raise ValueError(
            f"The Clarke side needs a follower of known structure (limiting_jacobians and the like, see "
            f"bizol.followers.KnownStructure), and {type(follower).__name__} is a black box. What is possible without: "
            f"bizol.certify, the Bi-ZOL gap from queries alone."
        )
    return follower  # type: ignore[return-value]  # its members were just counted


def is_known(problem: Problem) -> bool:
    """Whether the follower offers all that `KnownStructure` names."""
    names = (
        "limiting_jacobians",
        "pieces",
        "is_regular",
        "jacobian",
        "smoothed",
        "variation",
        "searched",
    )
    return all(hasattr(problem.response, name) for name in names)


def anchor_at(problem: Problem, x: Point) -> Anchor:
    """Observe the response at x (one query, on a ledger of its own) and what φ says there."""
    return problem.objective.anchor(x, Evaluator(problem).evaluate(x[None])[0, ...])


def generalized_jacobian(follower: KnownStructure, x: Point, tolerance: float = 1e-9) -> Hull:
    """Return J^c y(x), its generators the limiting Jacobians, flattened row by row."""
    matrices = follower.limiting_jacobians(x, tolerance)
    return Hull(x, np.array([matrix.ravel() for matrix in matrices]))


def clarke_subdifferential(problem: Problem, x: Point, tolerance: float = 1e-9) -> Hull:
    """Return ∂^c φ̃(x) = {d_x + Vᵀd_y : V ∈ J^c y(x)}, Proposition 1, eq. (4)."""
    follower, anchor = structure(problem), anchor_at(problem, x)
    matrices = follower.limiting_jacobians(x, tolerance)
    return Hull(x, np.array([anchor.grad_x + matrix.T @ anchor.grad_y for matrix in matrices]))


def approximate_hypergradient(problem: Problem, x: Point, delta: float) -> Hypergradient:
    """Return g_δ(x) = d_x + J y_δ(x)ᵀ d_y, eq. (5), from the known structure: in closed form or by quadrature."""
    follower, anchor = structure(problem), anchor_at(problem, x)
    return Hypergradient(x, anchor.grad_x + follower.smoothed(x, delta).jacobian.T @ anchor.grad_y)


def set_variation(
    follower: KnownStructure, x: Point, delta: float, tolerance: float = 1e-9
) -> SetVariation:
    """Return ω(x, δ) = sup over s within δ of x and V ∈ J^c y(s) of dist(V, J^c y(x)), Definition 1."""
    return follower.variation(x, delta, tolerance)


def is_delta_regular(
    follower: KnownStructure, x: Point, delta: float, tolerance: float = 1e-9
) -> bool:
    """Whether the ball of radius δ around x meets only pieces that are active at x, Definition 2."""
    return follower.is_regular(x, delta, tolerance)


def structural_bias(
    problem: Problem, x: Point, delta: float, tolerance: float = 1e-9
) -> StructuralBias:
    """Return dist(g_δ(x), ∂^c φ̃(x)) and its bound ‖d_y‖ ω(x, δ), Proposition 3."""
    follower, anchor = structure(problem), anchor_at(problem, x)
    hypergradient = approximate_hypergradient(problem, x, delta)
    variation = set_variation(follower, x, delta, tolerance)
    return StructuralBias(
        at=x,
        delta=delta,
        hypergradient=hypergradient,
        distance=clarke_subdifferential(problem, x, tolerance).distance(hypergradient.value),
        bound=float(np.linalg.norm(anchor.grad_y)) * variation.value,
        regular=follower.is_regular(x, delta, tolerance),
    )
