"""Followers with limited capacity: what they would like to do, projected onto what they can do.

Section V of the paper: a follower with baseline d, moved by the incentive A x, minimizes its
discomfort

    g(x, y) = ½ ‖y − d‖² − (A x)ᵀ y     over y ∈ Y,     so that     y(x) = Π_Y(d + A x).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_positive, as_vector
from bizol.feasible_sets.simplices import fill_to_level
from bizol.structure.pieces import (
    Pieces,
    SetVariation,
    Smoothed,
    attainable,
    averaged,
    cells,
    limits,
    marginal_cdf,
    marginal_mean_below,
    mean_by_pieces,
    meets_ball,
    searched,
    searched_variation,
    subsets,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoxProjection:
    """Individual capacities: y(x) = Π(d + A x) onto {lower ≤ y ≤ upper}, a piecewise affine
    response.

    A piece is labeled by what each agent does: −1 at its lower, 1 at its upper capacity, 0 in
    between.

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

    def __init__(
        self, matrix: ArrayLike, offset: ArrayLike, lower: ArrayLike, upper: ArrayLike
    ) -> None:
        object.__setattr__(self, "matrix", as_matrix(matrix, "BoxProjection", "matrix"))
        size = self.matrix.shape[0]
        object.__setattr__(self, "offset", as_vector(offset, "BoxProjection", "offset", size=size))
        object.__setattr__(self, "lower", as_vector(lower, "BoxProjection", "lower", size=size))
        object.__setattr__(self, "upper", as_vector(upper, "BoxProjection", "upper", size=size))
        if (self.lower > self.upper).any():
            index = int(np.argmax(self.lower > self.upper))
            raise ArgumentError(
                "BoxProjection", ("lower", "upper"), f"leaves agent {index} no choice at all."
            )

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        return np.clip(x @ self.matrix.T + self.offset, self.lower, self.upper)

    def active(self, y: Point) -> NDArray[np.int8]:
        """Return which capacities bind in a response: −1 the lower, 1 the upper, 0 neither, for every agent."""
        return (y >= self.upper).astype(np.int8) - (y <= self.lower)

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the capacities."""
        return _discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """No: kinks are hyperplanes."""
        return False

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def kinks(
        self, x: Point, radius: float, tolerance: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Point]:
        """Return the kinks within `radius` of x: the agent, the side (−1 lower, 1 upper), and the
        distance to it.

        The distance is positive when the agent must be moved up to reach the kink, and 0 within the
        tolerance.
        """
        wish = x @ self.matrix.T + self.offset
        length = np.linalg.norm(self.matrix, axis=1)
        agents, sides, distances = [], [], []
        for side, bound in ((-1, self.lower), (1, self.upper)):
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = np.where(length > 0, (bound - wish) / length, np.inf)
            distance = np.where(np.abs(distance) <= tolerance, 0.0, distance)
            close = (np.abs(distance) < radius * (1 - 1e-7)) | (
                distance == 0
            )  # touching is not meeting
            near = np.flatnonzero(close & (self.upper > self.lower))
            agents.append(near)
            sides.append(np.full(near.size, side))
            distances.append(distance[near])
        return np.concatenate(agents), np.concatenate(sides), np.concatenate(distances)

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the labels of the pieces that meet the ball: the cells of an arrangement of hyperplanes."""
        agents, sides, distances = self.kinks(x, radius, tolerance)
        # Capacities closer together than the tolerance: both kinks are at x, and the free piece is
        # between them.
        pinched = (distances == 0) & np.isin(agents, _repeated(agents[distances == 0]))
        distances = np.where(pinched, 1e-3 * sides * (radius or 1.0), distances)
        wish = x @ self.matrix.T + self.offset
        base = np.where(wish <= self.lower, -1, np.where(wish >= self.upper, 1, 0))
        normals = self.matrix[agents] / np.linalg.norm(self.matrix[agents], axis=1, keepdims=True)
        labels = set()
        for cell in cells(normals, distances, radius or 1.0):
            label = base.copy()
            label[agents] = 0
            for agent, side, at in zip(agents, sides, cell, strict=True):
                if at == side:  # beyond the upper, or below the lower capacity
                    label[agent] = side
            labels.add(tuple(label.tolist()))
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether every kink within δ is at x itself; then the cells around x are all there is in the ball."""
        _, _, distances = self.kinks(x, delta, tolerance)
        return not distances.any()

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return ‖A_K‖ for the agents K with a kink within δ that is not at x: no more rows can
        change.

        Exact when no kink is at x, no agent has two of them, and one decision in the ball changes
        them all; an upper bound otherwise.
        """
        agents, _, distances = self.kinks(x, delta, tolerance)
        away = distances != 0
        if not away.any():
            return SetVariation(value=0.0, kind="exact")  # δ-regular: Corollary 1
        value = float(np.linalg.norm(self.matrix[np.unique(agents[away])], 2))
        normals = (
            np.sign(distances)[:, None]
            * self.matrix[agents]
            / np.linalg.norm(self.matrix[agents], axis=1)[:, None]
        )
        alone = bool(away.all()) and len(np.unique(agents)) == len(agents)
        together = alone and meets_ball(normals, np.abs(distances), delta)
        return SetVariation(value=value, kind="exact" if together else "upper bound")

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return A with the rows of the agents at a capacity set to zero."""
        return np.where(np.array(piece)[:, None] == 0, self.matrix, 0.0)

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return limits(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average in closed form: each agent sees one coordinate of the ball, whose distribution is known."""
        wish = x @ self.matrix.T + self.offset
        width = delta * np.linalg.norm(self.matrix, axis=1)
        safe = np.where(width > 0, width, 1.0)
        n = x.size
        low, high = (self.lower - wish) / safe, (self.upper - wish) / safe
        below, until = marginal_cdf(low, n), marginal_cdf(high, n)
        free = until - below
        mean = marginal_mean_below(high, n) - marginal_mean_below(low, n)
        with np.errstate(invalid="ignore"):
            at_lower = np.where(below > 0, self.lower * below, 0.0)
            at_upper = np.where(until < 1, self.upper * (1 - until), 0.0)
        value = np.where(width > 0, at_lower + wish * free + width * mean + at_upper, self(x))
        return Smoothed(
            at=x, delta=delta, value=value, jacobian=free[:, None] * self.matrix, error=0.0
        )


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
        object.__setattr__(self, "matrix", as_matrix(matrix, "BallProjection", "matrix"))
        size = self.matrix.shape[0]
        object.__setattr__(self, "offset", as_vector(offset, "BallProjection", "offset", size=size))
        object.__setattr__(self, "radius", as_positive(radius, "BallProjection", "radius"))

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        wish: Point = x @ self.matrix.T + self.offset
        size: Point = np.sqrt(np.vecdot(wish, wish))[..., None]
        return wish * (self.radius / np.maximum(size, self.radius))

    def active(self, y: Point) -> NDArray[np.int8]:
        """Return whether the shared capacity binds in a response: 1 or 0, as the one entry of the last axis."""
        size = np.sqrt(np.vecdot(y, y))[..., None]
        return np.asarray(size >= self.radius * (1 - 1e-12), dtype=np.int8)

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the ball."""
        return _discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """No: there are two."""
        return False

    @property
    def curvature(self) -> float:
        """(2/√3) ‖A‖² / r: the norm of the second derivative of z ↦ r z/‖z‖ at ‖z‖ = r, pulled back by A."""
        return 2 / sqrt(3) * float(np.linalg.norm(self.matrix, 2)) ** 2 / self.radius

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Compare the smallest and the largest ‖d + A u‖ over the ball with the capacity."""
        size = float(np.linalg.norm(x @ self.matrix.T + self.offset))
        on_boundary = abs(size - self.radius) <= tolerance * float(np.linalg.norm(self.matrix))
        smallest, largest = self._sizes(x, radius) if radius > 0 else (size, size)
        inside = smallest < self.radius or on_boundary
        outside = largest > self.radius or on_boundary
        return Pieces(
            frozenset(name for name, there in (("inside", inside), ("outside", outside)) if there)
        )

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether the ball around x stays on the side of the boundary that x is on, or x is on the boundary itself."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the bound (max L_i) δ of Proposition 4 at a δ-regular point.

        Elsewhere the other side is in the ball. The projection's Jacobian is symmetric with
        eigenvalues in [0, 1], so two of them are at most 1 apart, and ‖A‖ bounds everything.
        """
        bend, largest = self.curvature * delta, float(np.linalg.norm(self.matrix, 2))
        value = min(bend, largest) if self.is_regular(x, delta, tolerance) else largest
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
        return limits(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""

        def mean(points: Points) -> tuple[Point, Points]:
            wishes = points @ self.matrix.T + self.offset
            sizes = np.linalg.norm(wishes, axis=1)
            shrink = self.radius / np.maximum(sizes, self.radius)
            bend = np.where(sizes > self.radius, shrink / sizes**2, 0.0)[:, None]
            average: Points = shrink.mean() * self.matrix - (bend * wishes).T @ (
                wishes @ self.matrix
            ) / len(points)
            return self(points).mean(axis=0), average

        return averaged(x, delta, self, mean, samples=2**16)

    def _sizes(self, x: Point, radius: float) -> tuple[float, float]:
        """Return the smallest and the largest ‖z + A v‖ over ‖v‖ ≤ radius: two trust-region problems."""
        wish = x @ self.matrix.T + self.offset
        values, axes = np.linalg.eigh(self.matrix.T @ self.matrix)
        pull = (wish @ self.matrix) @ axes  # Aᵀz in the axes of AᵀA

        def size(local: Point) -> float:
            return float(np.linalg.norm(wish + self.matrix @ (axes @ local)))

        return size(_trust_region(values, pull, radius)), size(
            _trust_region(-values, -pull, radius)
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class SimplexProjection:
    """A total to be shared out: y(x) = Π(d + A x) onto {y ≥ 0, Σ yᵢ = total}, a piecewise affine
    response.

    A piece is labeled by the agents that get a share.

    Args:
        matrix: A, (m, n).
        offset: d, (m,).
        total: what is shared out.

    Example:
        >>> follower = SimplexProjection(np.eye(2), offset=[0, 0], total=1)
        >>> follower(np.array([0.5, 0.1]))
        array([0.7, 0.3])

    """

    matrix: Points
    offset: Point
    total: float = 1.0

    def __init__(self, matrix: ArrayLike, offset: ArrayLike, total: float = 1.0) -> None:
        object.__setattr__(self, "matrix", as_matrix(matrix, "SimplexProjection", "matrix"))
        size = self.matrix.shape[0]
        object.__setattr__(
            self, "offset", as_vector(offset, "SimplexProjection", "offset", size=size)
        )
        object.__setattr__(self, "total", as_positive(total, "SimplexProjection", "total"))

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        wishes = np.atleast_2d(x @ self.matrix.T + self.offset)
        caps = np.full(self.offset.size, self.total)
        shares = np.array([fill_to_level(wish, caps, self.total) for wish in wishes])
        return shares[0] if np.ndim(x) == 1 else shares

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the simplex."""
        return _discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """Yes."""
        return True

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the sets of sharers that are attainable around x; with a radius, those a search of the ball finds."""
        if radius > 0:
            return searched(self, x, radius, tolerance)
        wish = x @ self.matrix.T + self.offset
        share = self(x)
        level = float((wish - share)[share > 0].mean())
        undecided = np.flatnonzero(np.abs(wish - level) <= tolerance)
        sure = np.setdiff1d(np.flatnonzero(share > 0), undecided)
        labels = set()
        for chosen in subsets(undecided):
            sharers = np.union1d(sure, chosen)
            if sharers.size == 0:
                continue
            above = self.matrix[undecided] - self.matrix[sharers].mean(
                axis=0
            )  # how far each rises above the level
            signs = np.where(np.isin(undecided, chosen), 1.0, -1.0)
            if attainable(signs[:, None] * above):
                labels.add(tuple(sharers.tolist()))
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether a search of the ball finds only pieces that are active at x."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the largest distance over the pieces a search of the ball finds."""
        return searched_variation(self, x, delta, tolerance)

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return (D_S − 1_S 1_Sᵀ/|S|) A for the set S of sharers."""
        sharers = np.array(piece, dtype=np.int64)
        jacobian = np.zeros_like(self.matrix)
        jacobian[sharers] = self.matrix[sharers] - self.matrix[sharers].mean(axis=0)
        return jacobian

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return limits(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""
        return averaged(x, delta, self, lambda points: mean_by_pieces(self, points))


def _repeated(values: NDArray[np.int64]) -> NDArray[np.int64]:
    unique, counts = np.unique(values, return_counts=True)
    return unique[counts > 1]


def _discomfort(matrix: Points, offset: Point, x: Point, y: Point) -> NDArray[np.float64]:
    away = y - offset
    discomfort: Point = np.vecdot(away, away) / 2 - np.vecdot(x @ matrix.T, y)
    return discomfort


def _trust_region(values: Point, pull: Point, radius: float) -> Point:
    """Minimize ½ Σ valuesᵢ vᵢ² + ⟨pull, v⟩ over ‖v‖ ≤ radius, in the axes of the quadratic form."""
    from scipy.optimize import brentq

    floor = max(0.0, -float(values.min()))  # the multiplier makes values + ν positive

    def step(multiplier: float) -> Point:
        return np.divide(
            -pull, values + multiplier, out=np.zeros_like(pull), where=values + multiplier > 0
        )

    def excess(multiplier: float) -> float:
        return float(np.linalg.norm(step(multiplier))) - radius

    tiny = 1e-12 * (1.0 + float(np.abs(values).max()))
    if (
        excess(floor + tiny) <= 0
    ):  # the inner minimum, or the hard case: go on along the lowest axis to the boundary
        inner = step(floor + tiny)
        if values.min() > 0:
            return inner
        inner[np.argmin(values)] += sqrt(max(0.0, radius**2 - float(inner @ inner)))
        return inner
    ceiling = floor + float(np.linalg.norm(pull)) / radius + tiny
    return step(float(brentq(excess, floor + tiny, ceiling, rtol=1e-14)))
