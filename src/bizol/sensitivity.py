"""The missing piece, and the only thing that is estimated: how the response moves when the decision moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses
from bizol.problem import Anchor


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sensitivity:
    """The two-point estimate of the smoothed response Jacobian, eq. (28), kept as its factors.

        Ĵ = (n / 2δB) Σᵦ (y(x + δwᵦ) − y(x − δwᵦ)) wᵦᵀ

    The m × n matrix is never formed: Ĵᵀd costs O(B(m + n)), and only B numbers leave the follower's array library.
    """

    at: Point
    radius: float
    directions: Points  # W (B, n)
    differences: Responses  # Δ (B, m), rows y(x + δwᵦ) − y(x − δwᵦ)

    def pull_back(self, covector: Response) -> Point:
        """Return Ĵᵀd = (n / 2δB) Wᵀ(Δ d)."""
        count, dimension = self.directions.shape
        slopes = np.asarray(self.differences @ covector)  # (B,)
        pulled: Point = (dimension / (2 * self.radius * count)) * (slopes @ self.directions)
        return pulled

    def dense(self) -> Responses:
        """Return Ĵ itself, (m, n), for small problems and for tests."""
        count, dimension = self.directions.shape
        return (dimension / (2 * self.radius * count)) * (self.differences.T @ self.directions)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hypergradient:
    """An estimate of the gradient of φ(x, y(x)), and the point it speaks of."""

    at: Point
    value: Point


def anchored(anchor: Anchor, sensitivity: Sensitivity) -> Hypergradient:
    """Combine exact partial gradients and estimated sensitivity: ĝ = d_x + Ĵᵀd_y, eq. (29)."""
    return Hypergradient(anchor.at, anchor.grad_x + sensitivity.pull_back(anchor.grad_y))
