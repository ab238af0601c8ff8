"""The nearest point of the convex hull of given points."""

from __future__ import annotations

from math import sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points

OPTIMAL = 1e-14  # relative: a point that gains no more is not worth adding
INSIDE = 1e-13  # relative: a target that is no farther from the hull is in it
CYCLES_PER_POINT = 10  # limits how many points are added; about one per dimension is enough
FARTHEST = 1e8  # in sizes of a set: targets beyond are pulled in


def pull_in(target: Point, size: float) -> Point:
    """Return a target in the same direction that is at most `FARTHEST` sizes away from the origin.

    The point of a polyhedron nearest to t · direction is the same from some t on. Beyond `FARTHEST`
    sizes it differs where angles are below 10⁻⁸ only, as much as if the target were rounded.
    """
    distance = float(np.abs(target).max())
    if distance <= FARTHEST * size:
        return target
    return target * (FARTHEST * size / distance)


@final
class HullProjection:
    """The nearest point of the convex hull of given points, for one target after another.

    Args:
        points: (k, n).
        center: a point of the hull.
        diameter: its size.
        tolerance: how far from the hull a point may be that counts as part of it.
    """

    def __init__(self, points: Points, center: Point, *, diameter: float, tolerance: float) -> None:
        self._center = center
        self._offsets = points - center
        self._lowest: Point = points.min(axis=0)
        self._highest: Point = points.max(axis=0)
        self._diameter = diameter
        self._tolerance = tolerance

    def __call__(self, target: Point) -> Point:
        """Return the point of the hull nearest to the target."""
        found = self._center
        if self._diameter > self._tolerance:  # else it is a single point
            offset = target - self._center
            nearest = find_nearest_in_hull(self._offsets, offset, self._diameter)
            is_inside = float(np.abs(offset - nearest).max()) <= self._tolerance
            found = target if is_inside else self._center + nearest
        # No coordinate leaves the range of the points, not even by rounding.
        return np.minimum(np.maximum(found, self._lowest), self._highest)


def find_nearest_in_hull(points: Points, target: Point, size: float) -> Point:
    """Return the point of the convex hull that is nearest to the target.

    The algorithm of P. Wolfe (Finding the nearest point in a polytope, Mathematical Programming 11,
    1976). It keeps a corral, affinely independent points whose hull contains the nearest point of
    their affine hull. It adds the point that lies farthest in the direction of the target, moves to
    the nearest point of the new affine hull, and drops the points that are in the way.

    Args:
        points: (k, n), with the origin in their hull.
        target: (n,).
        size: the diameter of the hull.
    """
    target = pull_in(target, size)
    corral = points.dot(target).argmax(keepdims=True)
    weights = np.ones(1)
    nearest: Point = points[corral[0]]
    away = nearest - target
    for _ in range(CYCLES_PER_POINT * len(points)):
        values = points.dot(away)
        best = values.argmin(keepdims=True)
        gain = nearest.dot(away) - values[best[0]]
        distance = sqrt(away.dot(away))
        if gain <= OPTIMAL * size * distance or distance <= INSIDE * size:
            break
        corral = np.concatenate([corral, best])
        weights = np.concatenate([weights, np.zeros(1)])
        corral, weights = _settle(points, target, corral, weights)
        candidate = weights.dot(points.take(corral, 0))
        remaining = candidate - target
        progress = (nearest - candidate).dot(away + remaining)  # in squared distance
        if not progress > 0:
            break  # the rest is rounding
        nearest = candidate
        away = remaining
    return nearest


def _settle(
    points: Points, target: Point, corral: NDArray[np.intp], weights: Point
) -> tuple[NDArray[np.intp], Point]:
    """Return a corral and the weights of the nearest point of its affine hull, all positive.

    Go from the given weights toward those of the nearest point. Where a weight gets to zero on the
    way, its point is dropped, and the others go on.
    """
    while corral.size > 1:
        wanted = _find_affine_weights(points.take(corral, 0), target)
        if wanted.min() > 0:
            return corral, wanted
        fall = weights - wanted
        shares = np.divide(weights, fall, out=np.zeros_like(fall), where=fall > 0)
        shares[wanted > 0] = np.inf
        first = shares.argmin()
        weights = weights - shares[first] * fall
        weights[first] = 0.0
        kept = weights > 0
        corral = corral[kept]
        weights = weights[kept]
    return corral, np.ones(corral.size)


def _find_affine_weights(points: Points, target: Point) -> Point:
    """Return the weights, with sum one, of the nearest point of the affine hull."""
    from scipy.linalg.lapack import dgels

    base = points[0]
    edges = (points[1:] - base).T
    count = edges.shape[1]
    singular = count > len(edges)
    if not singular:
        _, solution, singular = dgels(edges, target - base)
        shares = solution[:count]
    if singular:
        shares = np.linalg.lstsq(edges, target - base)[0]
    return np.concatenate([[1.0 - shares.sum()], shares])
