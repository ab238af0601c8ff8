"""Followers whose capacities saturate smoothly, without kinks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector
from bizol.records import assign
from bizol.structure.averages import marginal_rule
from bizol.structure.pieces import jacobians_of_pieces
from bizol.structure.protocols import Pieces, SetVariation, Smoothed

ORDERS = (30, 60, 240, 960)  # of the quadrature, one after the other until it is accurate
QUADRATURE_ERROR = 1e-13  # of the smoothed Jacobian, between two orders


@final
@dataclass(frozen=True, slots=True, eq=False)
class SmoothSaturation:
    """Soft individual capacities: yᵢ(x) = uᵢ tanh((d + A x)ᵢ / uᵢ), differentiable everywhere.

    Args:
        matrix: A, (m, n).
        offset: d, (m,).
        upper: u, (m,), the capacities that are never quite reached.

    Example:
        >>> follower = SmoothSaturation(np.eye(2), offset=[0, 0], upper=[1, 1])
        >>> follower(np.array([0.1, 3.0])).round(3)
        array([0.1  , 0.995])

    """

    matrix: Points
    offset: Point
    upper: Point

    def __init__(self, matrix: ArrayLike, offset: ArrayLike, upper: ArrayLike) -> None:
        owner = "SmoothSaturation"
        incentive = as_matrix(matrix, owner, "matrix")
        size = incentive.shape[0]
        baseline = as_vector(offset, owner, "offset", size=size)
        capacity = as_vector(upper, owner, "upper", size=size)
        if not (capacity > 0).all():
            index = int(np.argmin(capacity))
            what = f"must be positive, got {capacity[index]:g} for agent {index}."
            raise ArgumentError(owner, "upper", what)
        assign(self, matrix=incentive, offset=baseline, upper=capacity)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        return self.upper * np.tanh((x @ self.matrix.T + self.offset) / self.upper)

    @property
    def searched(self) -> bool:
        """False: there is only one piece, so no search is needed."""
        return False

    @property
    def curvature(self) -> float:
        """A Lipschitz constant of the Jacobian.

        Row i changes by at most 4/(3√3) ‖aᵢ‖²/uᵢ per unit of distance, as max |tanh''| = 4/(3√3).
        """
        slopes = 4 / (3 * np.sqrt(3)) * np.linalg.norm(self.matrix, axis=1) / self.upper
        return float(np.linalg.norm(self.matrix, 2) * slopes.max())

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the only piece there is."""
        return Pieces(frozenset({"smooth"}))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Return True: with one piece every point is regular."""
        return True

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return L δ, with L the Lipschitz constant of the Jacobian."""
        return SetVariation(value=self.curvature * delta, kind="upper bound")

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return diag(1 − tanh²) A."""
        slopes = 1 - np.tanh((x @ self.matrix.T + self.offset) / self.upper) ** 2
        return np.asarray(slopes[:, None] * self.matrix)

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobian, the only limit."""
        return jacobians_of_pieces(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by Gauss–Jacobi quadrature of rising order.

        Each agent depends on one coordinate of the ball.
        """
        wish = x @ self.matrix.T + self.offset
        width = delta * np.linalg.norm(self.matrix, axis=1)
        slopes = np.zeros_like(wish)
        error = np.inf
        for order in ORDERS:
            nodes, weights = marginal_rule(x.size, order)
            bent = np.tanh((wish[:, None] + width[:, None] * nodes) / self.upper[:, None])
            before = slopes
            slopes = (1 - bent**2) @ weights
            error = float(np.abs((slopes - before)[:, None] * self.matrix).max())
            if error <= QUADRATURE_ERROR:
                break
        value = self.upper * (bent @ weights)
        jacobian = slopes[:, None] * self.matrix
        return Smoothed(at=x, delta=delta, value=value, jacobian=jacobian, error=error)
