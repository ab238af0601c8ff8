"""The missing piece, and the only thing that is estimated: how the response moves with x.

The formulas of the paper's estimate, eqs. (28) and (29), and the Frank–Wolfe gap stand here and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import (
    Batches,
    Point,
    Points,
    Response,
    Responses,
    like,
    namespace,
    stack,
    to_numpy,
    weighted,
)
from bizol.feasible_sets import FeasibleSet
from bizol.problem import Anchor
from bizol.records import quick

TOGETHER = 32  # secants that are freed at a time from the directions known before


def estimate_scale(dimension: int, count: int, spacing: float) -> float:
    """Return n / hB: what B differences over the distance h are multiplied by, in eq. (28)."""
    return dimension / (spacing * count)


def average_slopes(
    differences: NDArray[np.float64], directions: Points | Batches, *, spacing: float = 1.0
) -> NDArray[np.float64]:
    """Return (n / hB) Σ_b s_b w_b, the estimate of eq. (28) pulled back along a covector.

    Since E[n w wᵀ] = I, it is unbiased for Jᵀd where s_b = h ⟨d, J w_b⟩.

    Args:
        differences: s_b, the change of ⟨d, y⟩ over the distance h along w_b: (B,), or (..., B) for
            several estimates at once.
        directions: w_b, (B, n) for all estimates, or (..., B, n).
        spacing: h, 2δ for the two sides x ± δw.

    """
    count, dimension = directions.shape[-2:]
    scale = estimate_scale(dimension, count, spacing)
    if directions.ndim == 2:
        averaged: NDArray[np.float64] = scale * (differences @ directions)
        return averaged
    return np.asarray(scale * np.einsum("...b,...bn->...n", differences, directions))


def frank_wolfe_gap(
    feasible_set: FeasibleSet, at: Points, gradient: Points
) -> tuple[Points, NDArray[np.float64]]:
    """Return the z of X that minimizes ⟨g, z⟩, and the gap ⟨g, x − z⟩.

    For one point (n,), or for several (k, n) where the set's `minimize_linear` takes them.
    """
    vertex = feasible_set.minimize_linear(gradient)
    return vertex, np.vecdot(gradient, at - vertex)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sensitivity:
    """The two-point estimate of the smoothed response Jacobian, eq. (28), kept as its factors.

        Ĵ = (n / 2δB) Σᵦ (y(x + δwᵦ) − y(x − δwᵦ)) wᵦᵀ

    The m × n matrix is never formed: Ĵᵀd costs O(B(m + n)), and only B numbers leave the follower's
    array library.
    """

    at: Point
    radius: float
    directions: Points  # W (B, n)
    differences: Responses  # Δ (B, m), rows y(x + δwᵦ) − y(x − δwᵦ)

    def pull_back(self, covector: Response) -> Point:
        """Return Ĵᵀd = (n / 2δB) Wᵀ(Δ d)."""
        slopes = to_numpy(self.differences @ covector)  # (B,)
        return average_slopes(slopes, self.directions, spacing=2 * self.radius)

    def dense(self) -> Responses:
        """Return Ĵ itself, (m, n), for small problems and for tests."""
        count, dimension = self.directions.shape
        scale = estimate_scale(dimension, count, 2 * self.radius)
        return scale * (self.differences.T @ self.directions)


make_sensitivity = quick(Sensitivity)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hypergradient:
    """An estimate of the gradient of φ(x, y(x)), and the point it speaks of."""

    at: Point
    value: Point


make_hypergradient = quick(Hypergradient)


def anchor_hypergradient(anchor: Anchor, sensitivity: Sensitivity) -> Hypergradient:
    """Combine exact partial gradients and estimated sensitivity: ĝ = d_x + Ĵᵀd_y, eq. (29)."""
    return make_hypergradient(anchor.at, anchor.grad_x + sensitivity.pull_back(anchor.grad_y))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Secant:
    """How the response changed between two decisions."""

    start: Point
    end: Point
    difference: Response  # y(end) − y(start)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RememberedSensitivity:
    """A response Jacobian M put together from secants of the past, kept as its factors.

        M = Σ_j Δy_j p_jᵀ   with ⟨p_j, s_i⟩ = δ_ij,   so that   M s = Δy   for every secant (s, Δy)
        that was taken.

    It knows as many directions as independent secants were taken, and is zero across the others.
    The differences stay
    as they came: to put them in another basis would cost more than all that is done with them.
    """

    at: Point
    directions: Points  # Q (k, n), orthonormal rows that span the steps s_j
    duals: Points  # P (k, n), rows p_j, in the same span
    differences: Responses | None  # (k, m), rows Δy_j; None while nothing is known
    distances: Point  # (k,) how far from `at` the secant of each direction reached

    @property
    def rank(self) -> int:
        """In how many directions the response's change is known."""
        return len(self.directions)

    def push(self, step: Point) -> Response:
        """Return M step, the change the response is expected to make."""
        return weighted(self.duals @ step, self.differences)

    def pull_back(self, covector: Response) -> Point:
        """Return Mᵀd."""
        if self.differences is None:
            return np.zeros(self.at.size)
        return np.asarray(to_numpy(self.differences @ covector) @ self.duals)

    def dense(self) -> Responses:
        """Return M itself, (m, n); one row of zeros where nothing is known."""
        if self.differences is None:
            return np.zeros((1, self.at.size))
        return self.differences.T @ self.duals

    @property
    def slope(self) -> float:
        """How much the response changes along a direction, in the mean over known ones, or 0."""
        if self.differences is None:
            return 0.0
        squares = to_numpy(_squared(self.differences)) * np.einsum(
            "kn,kn->k", self.duals, self.duals
        )
        return sqrt(float(squares.mean()))


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningSensitivity:
    """A response Jacobian M, kept as a matrix and corrected along every direction looked at.

        M ← M + (s − M w) wᵀ   for a slope s along the unit vector w:

    a projection onto the matrices that explain the slope, so that on an affine response the error
    never grows.
    """

    matrix: Responses  # (m, n)

    def pull_back(self, covector: Response) -> Point:
        """Return Mᵀd."""
        return to_numpy(covector @ self.matrix)

    def corrected(self, directions: Points, slopes: Responses) -> RunningSensitivity:
        """Return M after slopes (B, m) were seen along directions (B, n), one after the other."""
        matrix = self.matrix
        for row, direction in enumerate(directions):
            along = like(direction, matrix)
            matrix = matrix + (slopes[row, ...] - matrix @ along)[:, None] * along[None, :]
        return RunningSensitivity(matrix)


def remember(
    secants: Sequence[Secant], at: Point, *, scale: float, most: int, independence: float = 0.15
) -> RememberedSensitivity:
    """Put a Jacobian together from the secants that speak best of a neighborhood.

    Secants are taken in the order in which they fit the ball of radius `scale` around `at`: the
    best is one whose farther end is at this distance; one that reaches farther is worse than one
    that stays nearer, and between equals the newer comes first. One that adds too little to those
    taken before, less than `independence` of its length, is left out, as its error would be divided
    by that little.

    Args:
        secants: the oldest first.
        at: where the Jacobian is wanted.
        scale: the size of the neighborhood.
        most: how many directions are kept.
        independence: the smallest sine of the angle between a secant and the span of those before
            it.

    """
    from scipy.linalg import solve_triangular

    starts = np.array([each.start for each in secants]).reshape(-1, at.size)
    ends = np.array([each.end for each in secants]).reshape(-1, at.size)
    reach = np.maximum(np.linalg.norm(starts - at, axis=1), np.linalg.norm(ends - at, axis=1))
    misfit = np.log(np.maximum(reach, 1e-300) / scale)
    misfit = np.where(misfit > 0, misfit, -0.6 * misfit)
    order = np.lexsort((-np.arange(len(secants)), misfit))
    steps = (ends - starts)[order]
    chosen, directions, lower = _independent(steps, most=most, independence=independence)
    taken = order[chosen]
    return RememberedSensitivity(
        at=at,
        directions=directions,
        duals=solve_triangular(lower, directions, lower=True, trans="T", check_finite=False),
        differences=stack([secants[index].difference for index in taken]) if len(taken) else None,
        distances=reach[taken],
    )


def _independent(
    steps: Points, *, most: int, independence: float
) -> tuple[NDArray[np.intp], Points, NDArray[np.float64]]:
    """Return which steps are taken, orthonormal rows that span them, and L with steps = L rows.

    Gram–Schmidt, twice where much is taken away. Steps are freed from the rows found so far many
    at a time: one by one, it would be the memory that limits the speed.
    """
    rows = np.zeros((most, steps.shape[1]))
    lower = np.zeros((most, most))
    chosen: list[int] = []
    squares = np.einsum("sn,sn->s", steps, steps)
    for begin in range(0, len(steps), TOGETHER):
        first, block = len(chosen), slice(begin, begin + TOGETHER)
        known = rows[:first]
        along, across = _split(steps[block], squares[block], known)
        for index, step in enumerate(across, start=begin):
            count = len(chosen)
            beside, left = _split(step[None], squares[index : index + 1], rows[first:count])
            size = sqrt(float(left[0] @ left[0]))
            if size <= independence * sqrt(squares[index]):
                continue
            rows[count] = left[0] / size
            lower[count, :first] = along[index - begin]
            lower[count, first:count] = beside[0]
            lower[count, count] = size
            chosen.append(index)
            if len(chosen) == most:
                break
        if len(chosen) == most:
            break
    count = len(chosen)
    return np.array(chosen, dtype=np.intp), rows[:count], lower[:count, :count]


def _split(steps: Points, squares: Point, known: Points) -> tuple[NDArray[np.float64], Points]:
    """Return the coordinates of steps along orthonormal rows, and what is across them."""
    along = steps @ known.T
    across = steps - along @ known
    again = 2 * np.einsum("sn,sn->s", across, across) < squares
    if again.any():  # much was taken away: once more, for rounding
        across[again] -= (across[again] @ known.T) @ known
    return along, across


def _squared(rows: Responses) -> Response:
    return namespace(rows).sum(rows * rows, axis=1)
