"""What can be said of a follower whose inside is known. For diagnosis and tests only: no method may
look.

A response that is continuous and piecewise smooth is given by its pieces: y(u) = y_i(u) on the
region R_i. The pieces that are active at x are those with x in the closure of a full-dimensional
R_i, and the generalized Jacobian is J^c y(x) = conv{J y_i(x) : i ∈ I(x)}: the hull of the
*attainable* limits. Where several kinks meet, a combination of their sides that no neighboring
decision shows is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import product
from typing import Literal, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points

LIMIT = 1024  # pieces that are enumerated before giving up


@final
@dataclass(frozen=True, slots=True)
class Pieces:
    """The labels of the pieces found, and whether there can be no others."""

    labels: frozenset[Hashable]
    complete: bool = True


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """The convex hull of a few points, rows of `generators`."""

    at: Point  # where the set was taken
    generators: Points

    def nearest(self, target: Point) -> Point:
        """Return the point of the hull nearest to the target.

        Non-negative least squares with the weights' sum as one more equation: its solution, scaled
        to sum one, is the nearest point, whatever the scale.
        """
        from scipy.optimize import nnls

        offsets = self.generators - target
        scale = float(np.abs(offsets).max()) or 1.0
        system = np.vstack([offsets.T / scale, np.ones(len(offsets))])
        weights, _ = nnls(
            system, np.append(np.zeros(target.size), 1.0), maxiter=100 * len(offsets) + 100
        )
        return np.asarray(weights @ self.generators / weights.sum())

    def distance(self, target: Point) -> float:
        """Return the Euclidean distance of the target to the hull."""
        return float(np.linalg.norm(target - self.nearest(target)))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariation:
    """ω(x, δ) of Definition 1, in the spectral norm, or what could be said about it.

    kind: "exact"; "upper bound", which is as good in every bound of the paper; or "search": the
        largest value over the pieces that were found, at the Frobenius-nearest matrix where J^c
        y(x) is a hull.
    """

    value: float
    kind: Literal["exact", "upper bound", "search"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smoothed:
    """The response averaged over the ball of radius δ around x, y_δ(x) = E[y(x + δξ)], and its Jacobian J y_δ(x)."""

    at: Point
    delta: float
    value: Point  # (m,)
    jacobian: Points  # (m, n)
    error: float  # of the entries of the Jacobian; 0 for closed forms


@runtime_checkable
class KnownStructure(Protocol):
    """A follower that can be looked into."""

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        ...

    @property
    def curvature(self) -> float:
        """max_i L_i: how fast the Jacobian changes within a piece; 0 for a piecewise affine response."""
        ...

    @property
    def searched(self) -> bool:
        """Whether the pieces within a ball can only be searched for, with many solves."""
        ...

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return I(x), or with a radius I_δ(x): the pieces that meet the ball around x."""
        ...

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether x is δ-regular: no piece meets the ball that is not active at x (Definition 2)."""
        ...

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return J y_i(x), (m, n)."""
        ...

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the matrices whose convex hull is J^c y(x); `tolerance` is how near a kink counts as on it."""
        ...

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Return y_δ(x) and J y_δ(x)."""
        ...

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return ω(x, δ), a bound on it, or the largest value a search finds (Definition 1)."""
        ...


def limits(follower: KnownStructure, x: Point, tolerance: float) -> list[Points]:
    """Return J y_i(x) for the active pieces, in a fixed order."""
    return [
        follower.jacobian(piece, x)
        for piece in sorted(follower.pieces(x, 0.0, tolerance).labels, key=repr)
    ]


def searched_variation(
    follower: KnownStructure, x: Point, delta: float, tolerance: float
) -> SetVariation:
    """Return the largest distance to J^c y(x) over the pieces a search of the ball finds, each
    taken at x.

    On affine pieces that is the supremum over what was found, as the distance to a convex set is
    convex.
    """
    hull = Hull(
        x, np.array([matrix.ravel() for matrix in follower.limiting_jacobians(x, tolerance)])
    )
    found = [follower.jacobian(piece, x) for piece in follower.pieces(x, delta, tolerance).labels]
    misses = (matrix - hull.nearest(matrix.ravel()).reshape(matrix.shape) for matrix in found)
    return SetVariation(value=max(float(np.linalg.norm(miss, 2)) for miss in misses), kind="search")


def meets_ball(normals: Points, distances: Point, radius: float) -> bool:
    """Whether some v with ‖v‖ < radius has ⟨normalᵢ, v⟩ > distanceᵢ for all i (rows of unit
    length).

    The shortest such v is found by Lawson and Hanson's least distance programming, with a margin
    against touching.
    """
    from scipy.optimize import nnls

    if len(normals) == 0:
        return True
    wanted = distances / radius + 1e-7
    system = np.vstack([normals.T, wanted])
    solution, _ = nnls(system, np.append(np.zeros(normals.shape[1]), 1.0))
    residual = system @ solution - np.append(np.zeros(normals.shape[1]), 1.0)
    if residual[-1] > -1e-12:  # it is −‖residual‖²
        return False  # no such v at any distance
    shortest = -residual[:-1] / residual[-1]
    return bool(np.linalg.norm(shortest) < 1.0)


def attainable(rows: Points) -> bool:
    """Whether some direction v has rows @ v > 0, but for rows of zeros: they tell no piece from another."""
    length = np.linalg.norm(rows, axis=1)
    telling = length > 1e-12
    return meets_ball(rows[telling] / length[telling, None], np.zeros(int(telling.sum())), 1.0)


def cells(normals: Points, distances: Point, radius: float) -> list[tuple[int, ...]]:
    """Return the sides (±1 for each hyperplane ⟨normal, v⟩ = distance) that some v in the ball is on."""
    found: list[tuple[int, ...]] = [()]
    for count in range(1, len(normals) + 1):
        longer = [(*cell, side) for cell in found for side in (1, -1)]
        found = [
            cell
            for cell in longer
            if meets_ball(
                np.array(cell)[:, None] * normals[:count],
                np.array(cell) * distances[:count],
                radius,
            )
        ]
        if len(found) > LIMIT:
            raise ValueError(
                f"More than {LIMIT} pieces of the response meet here ({len(normals)} kinks): too many to list; "
                f"look at a smaller radius."
            )
    return found


def subsets(members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return all subsets of a few indices."""
    if 2 ** len(members) > LIMIT:
        raise ValueError(
            f"{len(members)} kinks meet here: too many combinations to list (over {LIMIT})."
        )
    return [
        members[np.array(choice, dtype=bool)]
        for choice in product((False, True), repeat=len(members))
    ]


def searched(
    follower: KnownStructure, x: Point, radius: float, tolerance: float, samples: int = 1000
) -> Pieces:
    """Return the active pieces at x and those at many points of the ball: a search, which may miss slivers."""
    labels = set(follower.pieces(x, 0.0, tolerance).labels)
    for offset in ball_points(x.size, samples, seed=0):
        labels |= follower.pieces(x + radius * offset, 0.0, 0.0).labels
    return Pieces(frozenset(labels), complete=False)


def ball_points(dimension: int, count: int, seed: int) -> Points:
    """Return points spread evenly over the unit ball, each with its opposite: scrambled Sobol, mapped to Unif(Bₙ)."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    exponent = max(1, int(np.ceil(np.log2(max(count // 2, 2)))))
    uniform = qmc.Sobol(dimension + 1, rng=np.random.default_rng(seed)).random_base2(exponent)
    gauss = ndtri(np.clip(uniform[:, :-1], 1e-16, 1 - 1e-16))
    points = (
        gauss / np.linalg.norm(gauss, axis=1, keepdims=True) * uniform[:, -1:] ** (1 / dimension)
    )
    return np.concatenate([points, -points])


def averaged(
    x: Point,
    delta: float,
    follower: KnownStructure,
    mean: Callable[[Points], tuple[Point, Points]],
    samples: int = 2**13,
) -> Smoothed:
    """Average the response and its Jacobian over the ball.

    By quasi-Monte Carlo: `mean` returns both averages over given points, and eight independent
    scramblings tell how accurate the result is. In one and two dimensions the Jacobian follows more
    accurately from the boundary.
    """
    found = [mean(x + delta * ball_points(x.size, samples // 8, seed)) for seed in range(8)]
    values, jacobians = (
        np.array([value for value, _ in found]),
        np.array([jacobian for _, jacobian in found]),
    )
    if x.size <= 2:
        jacobian, error = jacobian_from_boundary(x, delta, follower)
    else:
        jacobian, error = (
            jacobians.mean(axis=0),
            float(jacobians.std(axis=0, ddof=1).max() / np.sqrt(8)),
        )
    return Smoothed(at=x, delta=delta, value=values.mean(axis=0), jacobian=jacobian, error=error)


def jacobian_from_boundary(
    x: Point, delta: float, follower: KnownStructure
) -> tuple[Points, float]:
    """Return J y_δ(x) = (n/δ) E[y(x + δw) wᵀ], w ~ Unif(Sⁿ⁻¹), for n = 1 or 2, and its error."""
    if x.size == 1:
        return ((follower(x + delta) - follower(x - delta)) / (2 * delta))[:, None], 0.0
    angles = 2 * np.pi * np.arange(2**14) / 2**14
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    responses = follower(x + delta * circle)
    fine, coarse = (2 / delta * responses[::k].T @ circle[::k] / (2**14 // k) for k in (1, 2))
    return fine, float(np.abs(fine - coarse).max())


def mean_by_pieces(follower: KnownStructure, points: Points) -> tuple[Point, Points]:
    """Return the mean response and the mean Jacobian over points that are on no kink."""
    labels = [next(iter(follower.pieces(point, 0.0, 0.0).labels)) for point in points]
    jacobians = [
        follower.jacobian(label, point) for label, point in zip(labels, points, strict=True)
    ]
    return np.mean([follower(point) for point in points], axis=0), np.mean(jacobians, axis=0)


def marginal_cdf(s: Point, dimension: int) -> Point:
    """Return P(ξ₁ ≤ s) for ξ ~ Unif(Bₙ), whose first coordinate has density ∝ (1 − s²)^((n−1)/2)."""
    from scipy.special import betainc

    half = (dimension + 1) / 2
    return np.asarray(betainc(half, half, (1 + np.clip(s, -1.0, 1.0)) / 2))


def marginal_mean_below(s: Point, dimension: int) -> Point:
    """Return E[ξ₁; ξ₁ ≤ s] for ξ ~ Unif(Bₙ)."""
    from scipy.special import betaln

    half = (dimension + 1) / 2
    scale = np.exp(dimension * np.log(2.0) + betaln(half, half))  # ∫ (1 − s²)^((n−1)/2) ds
    return np.asarray(-((1 - np.clip(s, -1.0, 1.0) ** 2) ** half) / (2 * half * scale))


def marginal_rule(dimension: int, order: int) -> tuple[Point, Point]:
    """Return nodes and weights that integrate smooth functions of ξ₁ for ξ ~ Unif(Bₙ): Gauss–Jacobi."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(order, (dimension - 1) / 2, (dimension - 1) / 2)
    return nodes, weights / weights.sum()
