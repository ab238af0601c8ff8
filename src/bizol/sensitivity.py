"""The missing piece, and the only thing that is estimated: how the response moves when the decision moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses, to_numpy
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

    @property
    def scale(self) -> float:
        """The factor n / 2δB."""
        count, dimension = self.directions.shape
        return float(dimension / (2 * self.radius * count))

    def pull_back(self, covector: Response) -> Point:
        """Return Ĵᵀd = (n / 2δB) Wᵀ(Δ d)."""
        slopes = to_numpy(self.differences @ covector)  # (B,)
        return self.scale * np.asarray(slopes @ self.directions)

    def dense(self) -> Responses:
        """Return Ĵ itself, (m, n), for small problems and for tests."""
        return self.scale * (self.differences.T @ self.directions)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hypergradient:
    """An estimate of the gradient of φ(x, y(x)), and the point it speaks of."""

    at: Point
    value: Point


def anchored(anchor: Anchor, sensitivity: Sensitivity) -> Hypergradient:
    """Combine exact partial gradients and estimated sensitivity: ĝ = d_x + Ĵᵀd_y, eq. (29)."""
    return Hypergradient(anchor.at, anchor.grad_x + sensitivity.pull_back(anchor.grad_y))
