"""The anchored chain-rule model of Section III-B, and the smooth surrogates of the analysis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, as_vector
from bizol.problem import Anchor, Problem
from bizol.records import assign
from bizol.sensitivity import Hypergradient
from bizol.structure.averages import ball_points
from bizol.structure.clarke import anchor_at, limiting_jacobians, pull_back_limits
from bizol.structure.hulls import Hull
from bizol.structure.protocols import jacobians_of, structure_of


@final
@dataclass(frozen=True, slots=True, eq=False)
class AnchoredModel:
    """φ linearized at an observed pair, the response left as it is: eq. (6).

        Q_x(u) = φ(x, y(x)) + ⟨d_x, u − x⟩ + ⟨d_y, y(u) − y(x)⟩

    The model has the kinks of the response and, at u = x, the Clarke subdifferential of the
    hyperobjective. Its smoothed form Q_{x,δ} has y_δ in place of y; the gradient of that at x is
    g_δ(x) (Proposition 2). The follower must tell its Jacobians, and for `smoothed_value`,
    `smoothed_gradient` and `goldstein` its full structure.
    """

    problem: Problem
    anchor: Anchor = field(init=False)

    def __init__(self, problem: Problem, x: ArrayLike) -> None:
        jacobians_of(problem)
        point = as_vector(x, "AnchoredModel", "x", size=problem.feasible_set.dimension)
        assign(self, problem=problem, anchor=anchor_at(problem, point))

    def value(self, u: Point) -> float:
        """Return Q_x(u)."""
        return self._lift(u, anchor_at(self.problem, u).response)

    def subdifferential(self, u: Point, tolerance: float | None = None) -> Hull:
        """Return ∂^c Q_x(u) = d_x + {Vᵀd_y : V ∈ J^c y(u)}."""
        matrices = limiting_jacobians(jacobians_of(self.problem), u, tolerance)
        return pull_back_limits(self.anchor, u, matrices)

    def smoothed_value(self, u: Point, delta: float) -> float:
        """Return Q_{x,δ}(u)."""
        return self._lift(u, structure_of(self.problem).smoothed(u, delta).value)

    def smoothed_gradient(self, u: Point, delta: float) -> Hypergradient:
        """Return ∇Q_{x,δ}(u) = d_x + J y_δ(u)ᵀ d_y; at u = x this is g_δ(x), eq. (8)."""
        jacobian = structure_of(self.problem).smoothed(u, delta).jacobian
        return Hypergradient(u, self.anchor.grad_x + jacobian.T @ self.anchor.grad_y)

    def goldstein(self, delta: float, samples: int = 4096) -> Hull:
        """Return ∂_δ Q_x(x), eq. (10).

        The set is exact where the pieces in the ball are affine and can be listed. Otherwise it is
        the hull of the subgradients at many points of the ball, which lies inside ∂_δ Q_x(x).
        """
        follower = structure_of(self.problem)
        x = self.anchor.at
        pieces = follower.pieces(x, delta)
        if follower.curvature == 0 and pieces.complete:
            matrices = [follower.jacobian(piece, x) for piece in pieces.labels]
        else:
            points = [x, *(x + delta * ball_points(x.size, samples, seed=1))]
            matrices = [
                matrix for point in points for matrix in follower.limiting_jacobians(point, 0.0)
            ]
        return pull_back_limits(self.anchor, x, matrices)

    def _lift(self, u: Point, response: Point) -> float:
        anchor = self.anchor
        moved = anchor.grad_y @ (response - anchor.response)
        return anchor.value + float(anchor.grad_x @ (u - anchor.at)) + float(moved)


@final
@dataclass(frozen=True, slots=True, eq=False)
class AncillaryFunction:
    """φ̄_δ(x) = φ(x, y_δ(x)), eq. (33): smooth, and used by the analysis only."""

    problem: Problem
    delta: float

    def value(self, x: Point) -> float:
        """Return φ̄_δ(x)."""
        return self._anchor(x)[0].value

    def gradient(self, x: Point) -> Point:
        """Return ∇φ̄_δ(x) = ∇₁φ(x, y_δ) + J y_δᵀ ∇₂φ(x, y_δ)."""
        anchor, jacobian = self._anchor(x)
        return np.asarray(anchor.grad_x + jacobian.T @ anchor.grad_y)

    def _anchor(self, x: Point) -> tuple[Anchor, Point]:
        smoothed = structure_of(self.problem).smoothed(x, self.delta)
        return self.problem.objective.anchor(x, smoothed.value), smoothed.jacobian
