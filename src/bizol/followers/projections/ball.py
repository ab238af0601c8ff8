"""Followers that share one capacity."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Point, Points, as_matrix, as_positive, as_vector
from bizol.followers.projections.discomfort import evaluate_discomfort
from bizol.records import assign
from bizol.structure.averages import average_over_ball
from bizol.structure.pieces import jacobians_of_pieces
from bizol.structure.protocols import Pieces, SetVariation, Smoothed


@final
@dataclass(frozen=True, slots=True, eq=False)
class BallProjection:
    """A shared capacity: y(x) = Π(d + A x) onto {‖y‖₂ ≤ radius}, with a curved boundary.

    The pieces are "inside" and "outside".

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
        owner = "BallProjection"
        incentive = as_matrix(matrix, owner, "matrix")
        baseline = as_vector(offset, owner, "offset", size=incentive.shape[0])
        capacity = as_positive(radius, owner, "radius")
        assign(self, matrix=incentive, offset=baseline, radius=capacity)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        wish: Point = x @ self.matrix.T + self.offset
        size: Point = np.sqrt(np.vecdot(wish, wish))[..., None]
        return wish * (self.radius / np.maximum(size, self.radius))

    def active(self, y: Point) -> NDArray[np.int8]:
        """Return whether the shared capacity binds: 1 or 0, as the only entry of the last axis."""
        size = np.sqrt(np.vecdot(y, y))[..., None]
        return np.asarray(size >= self.radius * (1 - 1e-12), dtype=np.int8)

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the ball."""
        return evaluate_discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """False: there are two pieces, and which of them meet a ball is known exactly."""
        return False

    @property
    def curvature(self) -> float:
        """(2/√3) ‖A‖² / r, a Lipschitz constant of the Jacobian outside.

        2/√3 / r is the norm of the second derivative of z ↦ r z/‖z‖ at ‖z‖ = r, and z = d + A x.
        """
        return 2 / sqrt(3) * float(np.linalg.norm(self.matrix, 2)) ** 2 / self.radius

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Compare the smallest and the largest ‖d + A u‖ over the ball with the capacity."""
        size = float(np.linalg.norm(x @ self.matrix.T + self.offset))
        on_boundary = abs(size - self.radius) <= tolerance * float(np.linalg.norm(self.matrix))
        smallest, largest = self._size_range(x, radius) if radius > 0 else (size, size)
        labels = set()
        if smallest < self.radius or on_boundary:
            labels.add("inside")
        if largest > self.radius or on_boundary:
            labels.add("outside")
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether the ball around x stays on the side of x, or x is on the boundary itself."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the bound (max L_i) δ of Proposition 4 at a δ-regular point.

        Elsewhere the other side is in the ball. The projection's Jacobian is symmetric with
        eigenvalues in [0, 1], so two of them are at most 1 apart, and ‖A‖ bounds everything.
        """
        value = float(np.linalg.norm(self.matrix, 2))
        if self.is_regular(x, delta, tolerance):
            value = min(self.curvature * delta, value)
        return SetVariation(value=value, kind="upper bound")

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return A inside; outside, r/‖z‖ (I − z zᵀ/‖z‖²) A with z = d + A x."""
        if piece == "inside":
            return self.matrix
        wish = x @ self.matrix.T + self.offset
        size = float(np.linalg.norm(wish))
        normal: Point = wish / size
        return self.radius / size * (self.matrix - np.outer(normal, normal @ self.matrix))

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobian of the side x is on, or of both on the boundary."""
        return jacobians_of_pieces(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""

        def mean(points: Points) -> tuple[Point, Points]:
            wishes = points @ self.matrix.T + self.offset
            sizes = np.linalg.norm(wishes, axis=1)
            shrink = self.radius / np.maximum(sizes, self.radius)
            bend = np.where(sizes > self.radius, shrink / sizes**2, 0.0)[:, None]
            outward: Points = (bend * wishes).T @ (wishes @ self.matrix) / len(points)
            return self(points).mean(axis=0), shrink.mean() * self.matrix - outward

        return average_over_ball(x, delta, self, mean, samples=2**16)

    def _size_range(self, x: Point, radius: float) -> tuple[float, float]:
        """Return the smallest and the largest ‖z + A v‖ over ‖v‖ ≤ radius, with z = d + A x.

        These are two trust-region problems.
        """
        wish = x @ self.matrix.T + self.offset
        values, axes = np.linalg.eigh(self.matrix.T @ self.matrix)
        pull = (wish @ self.matrix) @ axes  # Aᵀz in the axes of AᵀA

        def size(local: Point) -> float:
            return float(np.linalg.norm(wish + self.matrix @ (axes @ local)))

        smallest = size(_solve_trust_region(values, pull, radius))
        largest = size(_solve_trust_region(-values, -pull, radius))
        return smallest, largest


def _solve_trust_region(values: Point, pull: Point, radius: float) -> Point:
    """Minimize ½ Σ valuesᵢ vᵢ² + ⟨pull, v⟩ over ‖v‖ ≤ radius, in the axes of the quadratic form."""
    from scipy.optimize import brentq

    floor = max(0.0, -float(values.min()))  # the multiplier makes values + ν positive

    def step(multiplier: float) -> Point:
        shifted = values + multiplier
        return np.divide(-pull, shifted, out=np.zeros_like(pull), where=shifted > 0)

    def excess(multiplier: float) -> float:
        return float(np.linalg.norm(step(multiplier))) - radius

    tiny = 1e-12 * (1.0 + float(np.abs(values).max()))
    if excess(floor + tiny) <= 0:
        inner = step(floor + tiny)
        if values.min() <= 0:  # the hard case: continue along the lowest axis to the boundary
            inner[np.argmin(values)] += sqrt(max(0.0, radius**2 - float(inner @ inner)))
        return inner
    ceiling = floor + float(np.linalg.norm(pull)) / radius + tiny
    return step(float(brentq(excess, floor + tiny, ceiling, rtol=1e-14)))
