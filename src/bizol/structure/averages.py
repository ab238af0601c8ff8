"""Averages of a response over a ball, and the distribution of one coordinate of its points.

The smoothed response is y_δ(x) = E[y(x + δξ)] with ξ ~ Unif(Bₙ). Followers with a closed form need
only the first coordinate of ξ (`marginal_cdf`, `marginal_mean_below`, `marginal_rule`); for the
others, `average_over_ball` integrates numerically.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bizol.arrays import Point, Points
from bizol.structure.protocols import KnownStructure, Smoothed

SCRAMBLINGS = 8  # independent point sets, whose spread is the error of an average


def ball_points(dimension: int, count: int, seed: int) -> Points:
    """Return points spread evenly over the unit ball, each with its opposite.

    They are scrambled Sobol points, mapped to Unif(Bₙ).
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    exponent = max(1, int(np.ceil(np.log2(max(count // 2, 2)))))
    uniform = qmc.Sobol(dimension + 1, rng=np.random.default_rng(seed)).random_base2(exponent)
    gauss = ndtri(np.clip(uniform[:, :-1], 1e-16, 1 - 1e-16))
    sphere = gauss / np.linalg.norm(gauss, axis=1, keepdims=True)
    points = sphere * uniform[:, -1:] ** (1 / dimension)
    return np.concatenate([points, -points])


def average_over_ball(
    x: Point,
    delta: float,
    follower: KnownStructure,
    mean: Callable[[Points], tuple[Point, Points]],
    *,
    samples: int = 2**13,
) -> Smoothed:
    """Average the response and its Jacobian over the ball of radius δ around x.

    By quasi-Monte Carlo: eight independent scramblings of the points tell how accurate the result
    is. In one and two dimensions the Jacobian follows more accurately from the boundary.

    Args:
        x: the center.
        delta: the radius δ.
        follower: whose response it is.
        mean: returns the mean response and the mean Jacobian over given points.
        samples: how many points in all, about.

    """
    found = [
        mean(x + delta * ball_points(x.size, samples // SCRAMBLINGS, seed))
        for seed in range(SCRAMBLINGS)
    ]
    value = np.array([value for value, _ in found]).mean(axis=0)
    if x.size <= 2:
        jacobian, error = jacobian_from_boundary(x, delta, follower)
    else:
        jacobians = np.array([jacobian for _, jacobian in found])
        jacobian = jacobians.mean(axis=0)
        error = float(jacobians.std(axis=0, ddof=1).max() / np.sqrt(SCRAMBLINGS))
    return Smoothed(at=x, delta=delta, value=value, jacobian=jacobian, error=error)


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
    """Return P(ξ₁ ≤ s) for ξ ~ Unif(Bₙ).

    The density of the first coordinate is proportional to (1 − s²)^((n−1)/2).
    """
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
    """Return Gauss–Jacobi nodes and weights for smooth functions of ξ₁, ξ ~ Unif(Bₙ)."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(order, (dimension - 1) / 2, (dimension - 1) / 2)
    return nodes, weights / weights.sum()
