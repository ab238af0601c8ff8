"""Everything within a given distance of a center: Euclidean, ℓ1, ℓp and ellipsoidal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isnan
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import (
    ArgumentError,
    Point,
    Points,
    as_matrix,
    as_positive,
    as_vector,
    is_real,
    scaled_to_one,
)
from bizol.feasible_sets.polyhedra import Box
from bizol.feasible_sets.protocol import slack
from bizol.feasible_sets.simplices import fill_to_level
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """The Euclidean ball {x : ‖x − center‖₂ ≤ radius}.

    Example:
        >>> Ball(center=[0, 0], radius=5).minimize_linear(np.array([3.0, -4.0]))
        array([-3.,  4.])

    """

    center: Point
    radius: float = 1.0

    def __init__(self, center: ArrayLike, radius: float = 1.0) -> None:
        middle = as_vector(center, "Ball", "center", finite=True)
        assign(self, center=middle, radius=as_positive(radius, "Ball", "radius"))

    @property
    def dimension(self) -> int:
        """The size of the center."""
        return self.center.size

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    def minimize_linear(self, cost: Point) -> Point:
        """Go straight down to the boundary; a zero cost is indifferent and gets the center."""
        return self.center - self.radius * _normalize(cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the distance to the center is at most the radius."""
        return bool(np.linalg.norm(point - self.center) <= self.radius + slack(self, tolerance))

    def project(self, point: Point) -> Point:
        """Pull the point toward the center until it is in."""
        offset = point - self.center
        distance = float(np.linalg.norm(offset))
        return self.center + offset * min(1.0, self.radius / max(distance, self.radius))


@final
@dataclass(frozen=True, slots=True, eq=False)
class L1Ball:
    """The cross-polytope {x : ‖x − center‖₁ ≤ radius}; its vertices change one coordinate.

    Example:
        >>> L1Ball(center=[0, 0, 0], radius=2).minimize_linear(np.array([1.0, -3.0, 2.0]))
        array([0., 2., 0.])

    """

    center: Point
    radius: float = 1.0

    def __init__(self, center: ArrayLike, radius: float = 1.0) -> None:
        middle = as_vector(center, "L1Ball", "center", finite=True)
        assign(self, center=middle, radius=as_positive(radius, "L1Ball", "radius"))

    @property
    def dimension(self) -> int:
        """The size of the center."""
        return self.center.size

    @property
    def diameter(self) -> float:
        """Distance between opposite vertices."""
        return 2 * self.radius

    def minimize_linear(self, cost: Point) -> Point:
        """Move the coordinate with the largest cost, against its sign."""
        vertex = self.center.copy()
        steepest = np.argmax(np.abs(cost))  # ties go to the lowest index
        vertex[steepest] += self.radius if cost[steepest] < 0 else -self.radius
        return vertex

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the absolute deviations add up to at most the radius."""
        allowed = np.sqrt(point.size) * slack(self, tolerance)  # ‖·‖₁ ≤ √n ‖·‖₂
        return bool(np.abs(point - self.center).sum() <= self.radius + allowed)

    def project(self, point: Point) -> Point:
        """Shrink all deviations by the same amount, down to zero at most."""
        offset = point - self.center
        size = np.abs(offset)
        if size.sum() <= self.radius:
            return point.copy()
        shrunk = fill_to_level(size, np.full_like(size, self.radius), self.radius)
        return self.center + np.copysign(shrunk, offset)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LpBall:
    """The ball {x : ‖x − center‖ₚ ≤ radius} of any p in [1, ∞].

    Example:
        >>> LpBall(center=[0, 0], radius=1, p=np.inf).minimize_linear(np.array([1.0, -3.0]))
        array([-1.,  1.])

    """

    center: Point
    radius: float
    p: float

    def __init__(self, center: ArrayLike, radius: float = 1.0, *, p: float) -> None:
        middle = as_vector(center, "LpBall", "center", finite=True)
        size = as_positive(radius, "LpBall", "radius")
        if not is_real(p) or isnan(p) or p < 1:
            what = f"must be in [1, inf], where the ball is convex, got {p!r}."
            raise ArgumentError("LpBall", "p", what)
        assign(self, center=middle, radius=size, p=float(p))

    @property
    def dimension(self) -> int:
        """The size of the center."""
        return self.center.size

    @property
    def diameter(self) -> float:
        """Euclidean distance between opposite points on an axis (p ≤ 2) or opposite corners."""
        return 2 * self.radius * float(self.dimension ** max(0.0, 0.5 - 1 / self.p))

    def minimize_linear(self, cost: Point) -> Point:
        """Go to the point where Hölder's inequality is an equality: |zᵢ| ∝ |costᵢ|^(1/(p−1))."""
        steepness = np.abs(cost)
        if self.p == 1 or not steepness.any():
            weights = np.zeros_like(steepness)
            weights[np.argmax(steepness)] = 1.0  # ties go to the lowest index
        else:
            weights = scaled_to_one(steepness) ** (0.0 if self.p == inf else 1 / (self.p - 1))
            weights /= np.linalg.norm(weights, self.p)
        return self.center - self.radius * np.where(cost < 0, -weights, weights)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the p-norm of the deviation is at most the radius."""
        # ‖·‖ₚ ≤ n^max(0, 1/p − 1/2) ‖·‖₂
        allowed = slack(self, tolerance) * self.dimension ** max(0.0, 1 / self.p - 0.5)
        return bool(np.linalg.norm(point - self.center, self.p) <= self.radius + allowed)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project onto the octahedron, ball or cube that it is for p = 1, 2 and ∞.

        For other p there is no formula, and the set offers no projection.
        """
        if self.p == 1:
            return L1Ball(self.center, self.radius).project
        if self.p == 2:
            return Ball(self.center, self.radius).project
        if self.p == inf:
            return Box(self.center - self.radius, self.center + self.radius).project
        # An AttributeError, so that hasattr(..., "project") is False.
        raise AttributeError(f"LpBall of p = {self.p:g} offers no projection.")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """The ellipsoid {x : (x − center)ᵀ shape⁻¹ (x − center) ≤ 1}.

    `shape` is symmetric and positive definite. The half-axes are its eigenvectors, their lengths
    the square roots of its eigenvalues.

    Example:
        >>> Ellipsoid(center=[0, 0], shape=[[4, 0], [0, 1]]).minimize_linear(np.array([1.0, 0.0]))
        array([-2.,  0.])

    """

    center: Point
    shape: Points
    _lengths: Point = field(init=False, repr=False)  # half-axes, ascending
    _axes: Points = field(init=False, repr=False)  # unit vectors as columns

    def __init__(self, center: ArrayLike, shape: ArrayLike) -> None:
        middle = as_vector(center, "Ellipsoid", "center", finite=True)
        matrix = as_matrix(shape, "Ellipsoid", "shape", columns=middle.size)
        rounding = 1e-10 * np.abs(matrix).max()
        square = matrix.shape[0] == matrix.shape[1]
        if not square or not np.allclose(matrix, matrix.T, rtol=0.0, atol=rounding):
            raise ArgumentError("Ellipsoid", "shape", f"must be a symmetric matrix, got {matrix}.")
        eigenvalues, axes = np.linalg.eigh(matrix)
        if not eigenvalues[0] > matrix.shape[0] * np.finfo(np.float64).eps * abs(eigenvalues[-1]):
            what = f"must be positive definite, its smallest eigenvalue is {eigenvalues[0]:g}."
            raise ArgumentError("Ellipsoid", "shape", what)
        assign(self, center=middle, shape=matrix, _lengths=np.sqrt(eigenvalues), _axes=axes)

    @property
    def dimension(self) -> int:
        """The size of the center."""
        return self.center.size

    @property
    def diameter(self) -> float:
        """Twice the longest half-axis."""
        return 2 * float(self._lengths[-1])

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize over the unit ball in the coordinates of the axes.

        A zero cost is indifferent and gets the center.
        """
        direction = _normalize(self._lengths * (cost @ self._axes))
        return self.center - self._axes @ (self._lengths * direction)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the nearest point of the ellipsoid is the point itself."""
        return bool(np.linalg.norm(point - self.project(point)) <= slack(self, tolerance))

    def project(self, point: Point) -> Point:
        """Solve the secular equation Σ (ℓᵢ pᵢ / (ℓᵢ² + ν))² = 1 for the multiplier ν."""
        from scipy.optimize import brentq

        local = (point - self.center) @ self._axes
        squares = self._lengths**2

        def excess(multiplier: float) -> float:
            return float((((self._lengths * local) / (squares + multiplier)) ** 2).sum()) - 1.0

        if excess(0.0) <= 0:
            return point.copy()
        bracket = float(self._lengths[-1] * np.linalg.norm(local))  # there the sum is at most 1
        multiplier = float(brentq(excess, 0.0, bracket, xtol=1e-16 * float(squares[0]), rtol=1e-14))
        return self.center + self._axes @ (local * squares / (squares + multiplier))


def _normalize(cost: Point) -> Point:
    scaled = scaled_to_one(cost)
    return scaled / (float(np.linalg.norm(scaled)) or 1.0)
