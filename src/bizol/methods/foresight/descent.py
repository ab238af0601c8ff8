"""Minimizing a known function over a feasible set: work that costs no query."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection

TINY = 1e-200  # a curvature that is none
STEEPNESS = 10  # of the wall around a region, in slopes at its center

ValueAndGradient = Callable[[Point], tuple[float, Point]]


def descend(
    function: ValueAndGradient,
    x: Point,
    feasible_set: FeasibleSet,
    *,
    rounds: int = 60,
    within: float = inf,
) -> tuple[Point, float]:
    """Return a point of the set with a value as low as a few rounds from x get it, and that value.

    By accelerated projected gradient where the set offers a projection, by pairwise Frank–Wolfe
    steps elsewhere. Never returns a point that is worse than x, nor one too far from it in the
    first case, nor one much too far in the second, where a wall is in the way.

    Args:
        function: returns the value and the gradient.
        x: where to begin, in the set.
        feasible_set: the set.
        rounds: how many steps to take at most.
        within: how far from x to go at most.

    Example:
        >>> import bizol
        >>> square = lambda u: (float((u - 2) @ (u - 2)), 2 * (u - 2))
        >>> descend(square, np.zeros(2), bizol.Box([-1, -1], [1, 3]))[0].round(3)
        array([1., 2.])

    """
    onto = projection(feasible_set)
    if onto is None:
        walled = function if within >= feasible_set.diameter else _walled(function, x, within)
        u = _pairwise(walled, x, feasible_set, rounds)
        return u, function(u)[0]
    if within < feasible_set.diameter:
        onto = _onto_region(onto, x, within)
    return _projected(function, x, onto, min(feasible_set.diameter, 2 * within), rounds)


def _onto_region(
    onto: Callable[[Point], Point], center: Point, within: float
) -> Callable[[Point], Point]:
    """Return a projection onto the part of a set that is near one of its points.

    The nearest point of that part is the projection of a point on the way from the center to where
    one comes from, which is farther away the farther along the way it is.
    """

    def nearest(u: Point) -> Point:
        end = onto(u)
        far = float(np.linalg.norm(end - center))
        if far <= within:
            return end
        way, inside, near, reached = u - center, center, 0.0, 0.0
        share, beyond = within / float(np.linalg.norm(way)), 1.0
        for _ in range(8):
            end = onto(center + share * way)
            distance = float(np.linalg.norm(end - center))
            if distance > within:
                beyond, far = share, distance
            else:
                inside, near, reached = end, share, distance
                if distance >= 0.95 * within:
                    break
            share = near + (0.98 * within - reached) / (far - reached) * (beyond - near)
        return inside

    return nearest


def _walled(function: ValueAndGradient, center: Point, within: float) -> ValueAndGradient:
    """Return the function plus what grows with the square of the distance beyond nine tenths of the region."""
    weight = STEEPNESS * float(np.linalg.norm(function(center)[1])) / within

    def value_and_gradient(u: Point) -> tuple[float, Point]:
        value, gradient = function(u)
        step = u - center
        distance = float(np.linalg.norm(step))
        beyond = distance - 0.9 * within
        if beyond <= 0:
            return value, gradient
        return value + weight / 2 * beyond**2, gradient + weight * beyond / distance * step

    return value_and_gradient


def _projected(
    function: ValueAndGradient,
    x: Point,
    onto: Callable[[Point], Point],
    diameter: float,
    rounds: int,
) -> tuple[Point, float]:
    """Take accelerated steps with a curvature found by doubling, and start over when momentum leads uphill."""
    value, gradient = function(x)
    u, first = x, value
    curvature = (
        max(float(np.linalg.norm(gradient)) / (0.1 * diameter), TINY) if diameter > 0 else 1.0
    )
    ahead, ahead_value, ahead_gradient, momentum = u, value, gradient, 1.0
    for round_ in range(rounds):
        for _ in range(60):
            w = onto(ahead - ahead_gradient / curvature)
            step = w - ahead
            w_value, w_gradient = function(w)
            bound = ahead_value + float(ahead_gradient @ step) + curvature / 2 * float(step @ step)
            if w_value <= bound + 1e-13 * abs(ahead_value):
                break
            curvature *= 2
        if w_value > value or float((ahead - w) @ (w - u)) > 0:
            if momentum == 1.0:
                break
            ahead, ahead_value, ahead_gradient, momentum = u, value, gradient, 1.0
            continue
        following = (1 + sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / following  # none after a start: then ahead is w
        ahead = w + share * (w - u)
        gained, length = value - w_value, float(np.linalg.norm(w - u))
        u, value, gradient, momentum = w, w_value, w_gradient, following
        if length <= 1e-13 * diameter or (round_ > 5 and gained <= 1e-6 * (first - value)):
            break
        ahead_value, ahead_gradient = (value, gradient) if share == 0 else function(ahead)
        curvature *= 0.85
    return u, value


def _pairwise(
    function: ValueAndGradient, x: Point, feasible_set: FeasibleSet, rounds: int
) -> Point:
    """Move weight from the worst of the points in use to the best vertex, as far as a doubling curvature allows."""
    atoms, weights = [x], [1.0]
    u, (value, gradient) = x, function(x)
    curvature = max(float(np.linalg.norm(gradient)) / (0.1 * feasible_set.diameter or 1.0), TINY)
    for _ in range(rounds):
        vertex = feasible_set.minimize_linear(gradient)
        worst = int(np.argmax([gradient @ atom for atom in atoms]))
        direction = vertex - atoms[worst]
        lowest, highest = np.min([vertex, *atoms], axis=0), np.max([vertex, *atoms], axis=0)
        slope = -float(gradient @ direction)
        square = float(direction @ direction)
        if slope <= 1e-14 * abs(value) or square == 0:
            break
        for _ in range(60):
            step = min(weights[worst], slope / (curvature * square))
            w = np.clip(u + step * direction, lowest, highest)  # where it is but for rounding
            w_value, w_gradient = function(w)
            if w_value <= value - step * slope + curvature / 2 * step**2 * square + 1e-13 * abs(
                value
            ):
                break
            curvature *= 2
        if w_value > value:
            break
        u, value, gradient = w, w_value, w_gradient
        weights[worst] -= step
        same = [index for index, atom in enumerate(atoms) if np.array_equal(atom, vertex)]
        if same:
            weights[same[0]] += step
        else:
            atoms.append(vertex)
            weights.append(step)
        kept = [index for index, weight in enumerate(weights) if weight > 0]
        atoms, weights = [atoms[index] for index in kept], [weights[index] for index in kept]
        curvature *= 0.85
    return u
