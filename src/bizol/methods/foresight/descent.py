"""Minimizing a known function over a feasible set: work that costs no query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np

from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection

TINY = 1e-200  # a curvature that is none
STEEPNESS = 10  # of the penalty around a region, in slopes at its center

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
    steps elsewhere. Never returns a point that is worse than x. With a projection the result is at
    most `within` away from x; without one, a penalty keeps it from going much farther.

    Args:
        function: returns the value and the gradient.
        x: where to begin, in the set.
        feasible_set: the set.
        rounds: how many steps to take at most.
        within: how far to go at most.

    Example:
        >>> import bizol
        >>> square = lambda u: (float((u - 2) @ (u - 2)), 2 * (u - 2))
        >>> descend(square, np.zeros(2), bizol.Box([-1, -1], [1, 3]))[0].round(3)
        array([1., 2.])

    """
    return slide([function], x, feasible_set, rounds=rounds, within=within)


def slide(
    functions: Sequence[ValueAndGradient],
    x: Point,
    feasible_set: FeasibleSet,
    *,
    rounds: int,
    within: float = inf,
) -> tuple[Point, float]:
    """Return the end of descents one after the other, and the value of the last function there.

    For functions that come ever nearer to the one that is meant, which is sharp: each begins
    where the one before has ended, with the curvature that it has found.
    """
    onto, u = projection(feasible_set), x
    if onto is None:
        for function in functions:
            penalized = function
            if within < feasible_set.diameter:
                penalized = _penalize_distance(function, x, within)
            u = _step_pairwise(penalized, u, feasible_set, rounds)
        return u, functions[-1](u)[0]
    if within < feasible_set.diameter:
        onto = _onto_region(onto, x, within)
    diameter, curvature = min(feasible_set.diameter, 2 * within), 0.0
    for function in functions:
        u, value, curvature = _step_projected(
            function, u, onto, diameter=diameter, rounds=rounds, curvature=curvature
        )
    return u, value


def _onto_region(
    onto: Callable[[Point], Point], center: Point, within: float
) -> Callable[[Point], Point]:
    """Return a projection onto the part of a set that is at most `within` away from a center in it.

    The nearest point of that part is the projection of some point between the center and the point
    to be projected. The farther along that way a point is, the farther is its projection from the
    center, so the search is one-dimensional.
    """

    def nearest(u: Point) -> Point:
        end = onto(u)
        far = float(np.linalg.norm(end - center))
        if far <= within:
            return end
        way = u - center
        inside = center
        near, reached = 0.0, 0.0  # a share of the way that stays inside, and how far it gets
        beyond = 1.0  # a share that leaves the region, and gets as far as `far`
        share = within / float(np.linalg.norm(way))
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


def _penalize_distance(
    function: ValueAndGradient, center: Point, within: float
) -> ValueAndGradient:
    """Return the function plus a quadratic penalty beyond nine tenths of the region."""
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


def _step_projected(
    function: ValueAndGradient,
    x: Point,
    onto: Callable[[Point], Point],
    *,
    diameter: float,
    rounds: int,
    curvature: float,
) -> tuple[Point, float, float]:
    """Take accelerated projected-gradient steps, and restart when momentum leads uphill.

    FISTA (A. Beck and M. Teboulle, 2009) with restarts (B. O'Donoghue and E. Candès, 2015). The
    curvature is found by doubling, and returned too; zero where none is known yet.
    """
    value, gradient = function(x)
    u = x
    first = value
    if curvature == 0:
        slope = float(np.linalg.norm(gradient))
        curvature = max(slope / (0.1 * diameter), TINY) if diameter > 0 else 1.0
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
        gained = value - w_value
        length = float(np.linalg.norm(w - u))
        u, value, gradient, momentum = w, w_value, w_gradient, following
        if length <= 1e-13 * diameter or (round_ > 5 and gained <= 1e-6 * (first - value)):
            break
        if share == 0:
            ahead_value, ahead_gradient = value, gradient
        else:
            ahead_value, ahead_gradient = function(ahead)
        curvature *= 0.85
    return u, value, curvature


def _step_pairwise(
    function: ValueAndGradient, x: Point, feasible_set: FeasibleSet, rounds: int
) -> Point:
    """Take pairwise Frank–Wolfe steps: move weight from the worst point in use to the best vertex.

    S. Lacoste-Julien and M. Jaggi, 2015. The curvature that limits the steps is found by doubling.
    """
    atoms, weights = [x], [1.0]
    u = x
    value, gradient = function(x)
    curvature = max(float(np.linalg.norm(gradient)) / (0.1 * feasible_set.diameter or 1.0), TINY)
    for _ in range(rounds):
        vertex = feasible_set.minimize_linear(gradient)
        worst = int(np.argmax([gradient @ atom for atom in atoms]))
        direction = vertex - atoms[worst]
        lowest = np.min([vertex, *atoms], axis=0)
        highest = np.max([vertex, *atoms], axis=0)
        slope = -float(gradient @ direction)
        square = float(direction @ direction)
        if slope <= 1e-14 * abs(value) or square == 0:
            break
        for _ in range(60):
            step = min(weights[worst], slope / (curvature * square))
            w = np.clip(u + step * direction, lowest, highest)  # clipping only undoes rounding
            w_value, w_gradient = function(w)
            bound = value - step * slope + curvature / 2 * step**2 * square
            if w_value <= bound + 1e-13 * abs(value):
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
        atoms = [atoms[index] for index in kept]
        weights = [weights[index] for index in kept]
        curvature *= 0.85
    return u
