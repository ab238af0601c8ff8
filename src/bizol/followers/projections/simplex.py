"""Followers that share out a total."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Point, Points, as_matrix, as_positive, as_vector
from bizol.feasible_sets.simplices import fill_to_level
from bizol.followers.projections.discomfort import evaluate_discomfort
from bizol.records import assign
from bizol.structure.averages import average_over_ball, mean_by_pieces
from bizol.structure.pieces import (
    is_attainable,
    jacobians_of_pieces,
    search_pieces,
    search_variation,
    subsets,
)
from bizol.structure.protocols import Pieces, SetVariation, Smoothed


@final
@dataclass(frozen=True, slots=True, eq=False)
class SimplexProjection:
    """A total to be shared out: y(x) = Π(d + A x) onto {y ≥ 0, Σ yᵢ = total}.

    The response is piecewise affine. A piece is labeled by the agents that get a share.

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
        owner = "SimplexProjection"
        incentive = as_matrix(matrix, owner, "matrix")
        baseline = as_vector(offset, owner, "offset", size=incentive.shape[0])
        amount = as_positive(total, owner, "total")
        assign(self, matrix=incentive, offset=baseline, total=amount)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        wishes = np.atleast_2d(x @ self.matrix.T + self.offset)
        caps = np.full(self.offset.size, self.total)
        shares = np.array([fill_to_level(wish, caps, self.total) for wish in wishes])
        return shares[0] if np.ndim(x) == 1 else shares

    def discomfort(self, x: Point, y: Point) -> NDArray[np.float64]:
        """Return g(x, y), which the response minimizes over the simplex."""
        return evaluate_discomfort(self.matrix, self.offset, x, y)

    @property
    def searched(self) -> bool:
        """True: the pieces that meet a ball are found by a search, which may miss some."""
        return True

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the attainable sets of sharers around x.

        With a radius, return those that a search of the ball finds.
        """
        if radius > 0:
            return search_pieces(self, x, radius, tolerance)
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
            # How fast each undecided agent rises above the level.
            above = self.matrix[undecided] - self.matrix[sharers].mean(axis=0)
            signs = np.where(np.isin(undecided, chosen), 1.0, -1.0)
            if is_attainable(signs[:, None] * above):
                labels.add(tuple(sharers.tolist()))
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether a search of the ball finds only pieces that are active at x."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the largest distance over the pieces a search of the ball finds."""
        return search_variation(self, x, delta, tolerance)

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return (D_S − 1_S 1_Sᵀ/|S|) A for the set S of sharers."""
        sharers = np.array(piece, dtype=np.int64)
        jacobian = np.zeros_like(self.matrix)
        jacobian[sharers] = self.matrix[sharers] - self.matrix[sharers].mean(axis=0)
        return jacobian

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return jacobians_of_pieces(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""
        return average_over_ball(x, delta, self, lambda points: mean_by_pieces(self, points))
