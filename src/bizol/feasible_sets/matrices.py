"""Sets of matrices, flattened row by row into vectors, whose vertices have rank one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from bizol.arrays import ArgumentError, Point, Points, as_positive, as_size, scaled_to_one
from bizol.feasible_sets.protocol import slack
from bizol.feasible_sets.simplices import fill_to_level
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True)
class NuclearNormBall:
    """Matrices whose singular values add up to at most `radius`, as vectors of p·q entries.

    Example:
        >>> ball = NuclearNormBall(shape=(2, 2), radius=3.0)
        >>> bool(np.allclose(ball.minimize_linear(np.array([1.0, 0.0, 0.0, 0.5])), [-3, 0, 0, 0]))
        True

    """

    shape: tuple[int, int]
    radius: float = 1.0

    def __post_init__(self) -> None:
        if np.ndim(self.shape) != 1 or len(self.shape) != 2:
            what = f"must be a pair (rows, columns), got {self.shape!r}."
            raise ArgumentError("NuclearNormBall", "shape", what)
        sizes = tuple(as_size(size, "NuclearNormBall", "shape") for size in self.shape)
        radius = as_positive(self.radius, "NuclearNormBall", "radius")
        assign(self, shape=sizes, radius=radius)

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def diameter(self) -> float:
        """Distance between a rank-one vertex and its negative."""
        return 2 * self.radius

    @property
    def center(self) -> Point:
        """The zero matrix."""
        return np.zeros(self.dimension)

    def minimize_linear(self, cost: Point) -> Point:
        """Return −radius · u vᵀ for the leading singular pair of the cost."""
        matrix = scaled_to_one(cost).reshape(self.shape)
        is_tall = self.shape[0] > self.shape[1]
        wide = matrix.T if is_tall else matrix
        left = _extreme_eigenvector(wide @ wide.T, largest=True)
        right = left @ wide
        size = np.linalg.norm(right)
        right = right / size if size > 0 else np.eye(right.size)[0]  # a zero cost is indifferent
        vertex = -self.radius * np.outer(left, right)
        return (vertex.T if is_tall else vertex).ravel()

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the singular values add up to at most the radius."""
        values = np.linalg.svd(point.reshape(self.shape), compute_uv=False)
        return bool(values.sum() <= self.radius + sqrt(values.size) * slack(self, tolerance))

    def project(self, point: Point) -> Point:
        """Shrink all singular values by the same amount, down to zero at most."""
        u, values, vt = np.linalg.svd(point.reshape(self.shape), full_matrices=False)
        if values.sum() <= self.radius:
            return point.copy()
        shrunk = fill_to_level(values, np.full_like(values, self.radius), self.radius)
        nearest: Points = (u * shrunk) @ vt
        return nearest.ravel()


@final
@dataclass(frozen=True, slots=True)
class Spectraplex:
    """Symmetric positive semidefinite matrices with a given trace, as vectors of side² entries.

    Example:
        >>> Spectraplex(side=2).minimize_linear(np.array([1.0, 0.0, 0.0, -1.0]))
        array([0., 0., 0., 1.])

    """

    side: int
    total: float = 1.0

    def __post_init__(self) -> None:
        side = as_size(self.side, "Spectraplex", "side")
        total = as_positive(self.total, "Spectraplex", "total")
        assign(self, side=side, total=total)

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return self.side**2

    @property
    def diameter(self) -> float:
        """Distance between two orthogonal rank-one vertices."""
        return self.total * sqrt(2) if self.side > 1 else 0.0

    @property
    def center(self) -> Point:
        """The scaled identity."""
        return (self.total / self.side) * np.eye(self.side).ravel()

    def minimize_linear(self, cost: Point) -> Point:
        """Return total · v vᵀ for the lowest eigenvector v of the cost's symmetric part."""
        vector = _extreme_eigenvector(self._symmetric(scaled_to_one(cost)), largest=False)
        return self.total * np.outer(vector, vector).ravel()

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the matrix is symmetric, has no negative eigenvalue and the right trace."""
        allowed = slack(self, tolerance)
        matrix = point.reshape(self.side, self.side)
        values = np.linalg.eigvalsh(self._symmetric(point))
        symmetric = np.abs(matrix - matrix.T).max() <= 2 * allowed
        whole = abs(values.sum() - self.total) <= sqrt(self.side) * allowed
        return bool(symmetric and values[0] >= -allowed and whole)

    def project(self, point: Point) -> Point:
        """Project the eigenvalues onto the simplex."""
        values, vectors = np.linalg.eigh(self._symmetric(point))
        shares = fill_to_level(values, np.full_like(values, self.total), self.total)
        nearest: Points = (vectors * shares) @ vectors.T
        return nearest.ravel()

    def _symmetric(self, flat: Point) -> Points:
        matrix = flat.reshape(self.side, self.side)
        return matrix / 2 + matrix.T / 2


def _extreme_eigenvector(matrix: Points, *, largest: bool) -> Point:
    from scipy.linalg import eigh

    index = len(matrix) - 1 if largest else 0
    _, vectors = eigh(matrix, subset_by_index=[index, index])
    return np.asarray(vectors[:, 0])  # its sign cancels in the rank-one vertex
