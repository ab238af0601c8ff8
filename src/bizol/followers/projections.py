"""Followers with limited capacity: what they would like to do, projected onto what they can do.

Section V of the paper: a follower with baseline d, moved by the incentive A x, minimizes its discomfort

    g(x, y) = ½ ‖y − d‖² − (A x)ᵀ y     over y ∈ Y,     so that     y(x) = Π_Y(d + A x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Point, Points, as_matrix, as_positive, as_vector


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoxProjection:
    """Individual capacities: y(x) = Π(d + A x) onto {lower ≤ y ≤ upper}, a piecewise affine response.

    Args:
        matrix: A, (m, n).
        offset: d, (m,).
        lower, upper: the capacities, (m,).

    Example:
        >>> follower = BoxProjection(np.eye(2), offset=[0, 0], lower=[-1, -1], upper=[1, 1])
        >>> follower(np.array([0.5, 3.0]))
        array([0.5, 1. ])

    """

    matrix: Points
    offset: Point
    lower: Point
    upper: Point

    def __init__(self, matrix: ArrayLike, offset: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        object.__setattr__(self, "matrix", as_matrix(matrix, "BoxProjection(matrix=...)"))
        size = self.matrix.shape[0]
        object.__setattr__(self, "offset", as_vector(offset, "BoxProjection(offset=...)", size=size))
        object.__setattr__(self, "lower", as_vector(lower, "BoxProjection(lower=...)", size=size))
        object.__setattr__(self, "upper", as_vector(upper, "BoxProjection(upper=...)", size=size))
        if (self.lower > self.upper).any():
            index = int(np.argmax(self.lower > self.upper))
            raise ValueError(f"BoxProjection(lower=..., upper=...) leaves agent {index} no choice at all.")

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        return np.clip(x @ self.matrix.T + self.offset, self.lower, self.upper)

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the capacities."""
        return _discomfort(self.matrix, self.offset, x, y)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BallProjection:
    """A shared capacity: y(x) = Π(d + A x) onto {‖y‖₂ ≤ radius}, with a curved boundary.

    Args:
        matrix: A, (m, n).
        offset: d, (m,).
        radius: the capacity all agents share.

    Example:
        >>> follower = BallProjection(np.eye(2), offset=[0, 0], radius=1)
        >>> follower(np.array([3.0, 4.0]))
        array([0.6, 0.8])

    """

    matrix: Points
    offset: Point
    radius: float

    def __init__(self, matrix: ArrayLike, offset: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "matrix", as_matrix(matrix, "BallProjection(matrix=...)"))
        size = self.matrix.shape[0]
        object.__setattr__(self, "offset", as_vector(offset, "BallProjection(offset=...)", size=size))
        object.__setattr__(self, "radius", as_positive(radius, "BallProjection(radius=...)"))

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        wish: Point = x @ self.matrix.T + self.offset
        size: Point = np.sqrt(np.vecdot(wish, wish))[..., None]
        return wish * (self.radius / np.maximum(size, self.radius))

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the ball."""
        return _discomfort(self.matrix, self.offset, x, y)


def _discomfort(matrix: Points, offset: Point, x: Point, y: Point) -> NDArray[np.float64]:
    away = y - offset
    discomfort: Point = np.vecdot(away, away) / 2 - np.vecdot(x @ matrix.T, y)
    return discomfort
