"""A follower that tires smoothly: capacity limits without kinks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector
from bizol.structure.pieces import Pieces, SetVariation, Smoothed, limits, marginal_rule


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
        object.__setattr__(self, "matrix", as_matrix(matrix, "SmoothSaturation", "matrix"))
        size = self.matrix.shape[0]
        object.__setattr__(
            self, "offset", as_vector(offset, "SmoothSaturation", "offset", size=size)
        )
        object.__setattr__(self, "upper", as_vector(upper, "SmoothSaturation", "upper", size=size))
        if not (self.upper > 0).all():
            index = int(np.argmin(self.upper))
            raise ArgumentError(
                "SmoothSaturation",
                "upper",
                f"must be positive, got {self.upper[index]:g} for agent {index}.",
            )

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        return self.upper * np.tanh((x @ self.matrix.T + self.offset) / self.upper)

    @property
    def searched(self) -> bool:
        """No: there is one."""
        return False

    @property
    def curvature(self) -> float:
        """A Lipschitz constant of the Jacobian: rows change by at most (4/3√3) ‖aᵢ‖²/uᵢ per unit of distance."""
        slopes = (
            4 / (3 * np.sqrt(3)) * np.linalg.norm(self.matrix, axis=1) / self.upper
        )  # max |tanh''| = 4/(3√3)
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
        return limits(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by Gauss–Jacobi quadrature of rising order: each agent sees one coordinate of the ball."""
        wish = x @ self.matrix.T + self.offset
        width = delta * np.linalg.norm(self.matrix, axis=1)
        slopes, error = np.zeros_like(wish), np.inf
        for order in (30, 60, 240, 960):
            nodes, weights = marginal_rule(x.size, order)
            bent = np.tanh((wish[:, None] + width[:, None] * nodes) / self.upper[:, None])
            before, slopes = slopes, (1 - bent**2) @ weights
            error = float(np.abs((slopes - before)[:, None] * self.matrix).max())
            if error <= 1e-13:
                break
        value = self.upper * (bent @ weights)
        return Smoothed(
            at=x, delta=delta, value=value, jacobian=slopes[:, None] * self.matrix, error=error
        )
