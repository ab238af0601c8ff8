"""Followers with individual capacities."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector
from bizol.followers.projections.discomfort import evaluate_discomfort
from bizol.records import assign
from bizol.structure.averages import marginal_cdf, marginal_mean_below
from bizol.structure.pieces import cells, jacobians_of_pieces, meets_ball
from bizol.structure.protocols import Pieces, SetVariation, Smoothed

TOUCHING = 1 - 1e-7  # of the radius: a kink further away only touches the ball
PINCH = 1e-3  # of the radius: how far from x two kinks that coincide there are moved


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoxProjection:
    """Individual capacities: y(x) = Π(d + A x) onto {lower ≤ y ≤ upper}.

    The response is piecewise affine. A piece is labeled by what each agent does: −1 at its lower
    capacity, 1 at its upper capacity, 0 in between.

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
        owner = "BoxProjection"
        incentive = as_matrix(matrix, owner, "matrix")
        size = incentive.shape[0]
        baseline = as_vector(offset, owner, "offset", size=size)
        below = as_vector(lower, owner, "lower", size=size)
        above = as_vector(upper, owner, "upper", size=size)
        if (below > above).any():
            index = int(np.argmax(below > above))
            what = f"leaves agent {index} no choice at all."
            raise ArgumentError(owner, ("lower", "upper"), what)
        assign(self, matrix=incentive, offset=baseline, lower=below, upper=above)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        return np.clip(x @ self.matrix.T + self.offset, self.lower, self.upper)

    def active(self, y: Point) -> NDArray[np.int8]:
        """Return which capacity of each agent binds: −1 the lower, 1 the upper, 0 neither."""
        return (y >= self.upper).astype(np.int8) - (y <= self.lower)

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the capacities."""
        return evaluate_discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """False: the kinks are hyperplanes, so all pieces near x are known exactly."""
        return False

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def kinks(
        self, x: Point, radius: float, tolerance: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Point]:
        """Return the kinks within `radius` of x: agents, sides (−1 lower, 1 upper) and distances.

        A distance is positive where the agent must be moved up to reach the kink, and 0 within the
        tolerance.
        """
        wish = x @ self.matrix.T + self.offset
        length = np.linalg.norm(self.matrix, axis=1)
        agents = []
        sides = []
        distances = []
        for side, bound in ((-1, self.lower), (1, self.upper)):
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = np.where(length > 0, (bound - wish) / length, np.inf)
            distance = np.where(np.abs(distance) <= tolerance, 0.0, distance)
            close = (np.abs(distance) < radius * TOUCHING) | (distance == 0)
            near = np.flatnonzero(close & (self.upper > self.lower))
            agents.append(near)
            sides.append(np.full(near.size, side))
            distances.append(distance[near])
        return np.concatenate(agents), np.concatenate(sides), np.concatenate(distances)

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the labels of the pieces that meet the ball.

        They are the cells of an arrangement of hyperplanes.
        """
        agents, sides, distances = self.kinks(x, radius, tolerance)
        # Capacities closer together than the tolerance: both kinks are at x, and the free piece is
        # between them.
        pinched = (distances == 0) & np.isin(agents, _find_repeated(agents[distances == 0]))
        distances = np.where(pinched, PINCH * sides * (radius or 1.0), distances)
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
        """Whether every kink within δ is at x itself.

        Then the ball meets no other pieces than the cells around x.
        """
        _, _, distances = self.kinks(x, delta, tolerance)
        return not distances.any()

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return ‖A_K‖ for the agents K with a kink within δ that is not at x.

        No other rows of the Jacobian can change. The value is exact when no kink is at x, no agent
        has two of them, and one decision in the ball is beyond all of them; it is an upper bound
        otherwise.
        """
        agents, _, distances = self.kinks(x, delta, tolerance)
        away = distances != 0
        if not away.any():
            return SetVariation(value=0.0, kind="exact")  # δ-regular: Corollary 1
        value = float(np.linalg.norm(self.matrix[np.unique(agents[away])], 2))
        lengths = np.linalg.norm(self.matrix[agents], axis=1)[:, None]
        normals = np.sign(distances)[:, None] * self.matrix[agents] / lengths
        alone = bool(away.all()) and len(np.unique(agents)) == len(agents)
        together = alone and meets_ball(normals, np.abs(distances), delta)
        return SetVariation(value=value, kind="exact" if together else "upper bound")

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return A with the rows of the agents at a capacity set to zero."""
        return np.where(np.array(piece)[:, None] == 0, self.matrix, 0.0)

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return jacobians_of_pieces(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average in closed form.

        Each agent depends on one coordinate of the ball, whose distribution is known.
        """
        wish = x @ self.matrix.T + self.offset
        width = delta * np.linalg.norm(self.matrix, axis=1)
        safe = np.where(width > 0, width, 1.0)
        n = x.size
        low = (self.lower - wish) / safe
        high = (self.upper - wish) / safe
        below = marginal_cdf(low, n)
        until = marginal_cdf(high, n)
        free = until - below
        mean = marginal_mean_below(high, n) - marginal_mean_below(low, n)
        with np.errstate(invalid="ignore"):
            at_lower = np.where(below > 0, self.lower * below, 0.0)
            at_upper = np.where(until < 1, self.upper * (1 - until), 0.0)
        value = np.where(width > 0, at_lower + wish * free + width * mean + at_upper, self(x))
        jacobian = free[:, None] * self.matrix
        return Smoothed(at=x, delta=delta, value=value, jacobian=jacobian, error=0.0)


def _find_repeated(values: NDArray[np.int64]) -> NDArray[np.int64]:
    unique, counts = np.unique(values, return_counts=True)
    return unique[counts > 1]
