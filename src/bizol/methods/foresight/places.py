"""Decisions to ask at: around one, between two, anywhere in X.

All in units in which X is about as wide along every coordinate.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight.settings import (
    EXPLORED,
    EXPLORED_WITHIN,
    KNOWN_WITHIN,
    SPACING,
    WIDTH,
)
from bizol.methods.foresight.state import ForesightState
from bizol.randomness import generator
from bizol.sensitivity import RememberedSensitivity

TRIES = 12  # lengths at which an exploration looks for a place that was not asked
SHORTER = 0.6  # times each
HARDLY = 1e-3  # of its length: an exploration that gets no farther has no room in X


def explore(
    state: ForesightState, sensitivity: RememberedSensitivity, *, count: int
) -> tuple[Points, bool]:
    """Return decisions near x, in random directions that are unknown or known only from afar.

    And whether the set has a direction that is not known at all: it may lie in a subspace.
    """
    rng, n, z = generator(state.seed, state.iteration), state.x.size, state.z
    asked = state.asked
    known = sensitivity.directions[sensitivity.distances <= KNOWN_WITHIN * state.radius]
    length = min(EXPLORED * state.radius, WIDTH * state.space.diameter / sqrt(n))
    if state.cautious:
        length = EXPLORED_WITHIN * state.radius
    lacking = sensitivity.rank < n
    points: list[Point] = []
    for _ in range(count):
        direction = rng.standard_normal(n)
        if len(known) < n:
            direction -= known.T @ (known @ direction)
        direction /= np.linalg.norm(direction)
        point = unasked(state.space, z, length * direction, asked)
        if np.linalg.norm(point - z) <= HARDLY * length:  # the set has no such direction
            lacking = lacking and bool(points)
            direction = rng.standard_normal(n)
            direction /= np.linalg.norm(direction)
            point = unasked(state.space, z, length * direction, asked)
        points.append(point)
        asked = np.vstack([asked, point])
        known = np.vstack([known, direction])[-(n - 1) :] if n > 1 else known
    return np.array(points), lacking


def unasked(feasible_set: FeasibleSet, x: Point, offset: Point, asked: Points) -> Point:
    """Return a decision of X along the offset that is not next to one that was asked.

    If need be, it is closer to x than the offset.
    """
    for _ in range(TRIES):
        point = near(feasible_set, x, offset)
        spacing = SPACING * np.linalg.norm(offset)
        if not len(asked) or np.linalg.norm(asked - point, axis=1).min() > spacing:
            break
        offset = SHORTER * offset
    return point


def near(feasible_set: FeasibleSet, x: Point, offset: Point) -> Point:
    """Return a decision of X about as far from x as the offset.

    In the direction of the offset or in the opposite one, if possible.
    """
    onto, length = projection(feasible_set), float(np.linalg.norm(offset))
    if onto is not None:
        there, back = onto(x + offset), onto(x - offset)
        return there if np.linalg.norm(there - x) >= 0.5 * length else _farther(x, there, back)
    ends = [feasible_set.minimize_linear(-offset), feasible_set.minimize_linear(offset)]
    end = ends[0] if np.linalg.norm(ends[0] - x) >= length else _farther(x, *ends)
    size = float(np.linalg.norm(end - x))
    return between(x, end, min(1.0, length / size)) if size > 0 else x


def between(one: Point, other: Point, share: float) -> Point:
    """Return the decision at this share of the way, between both whatever is rounded."""
    return np.clip(one + share * (other - one), np.minimum(one, other), np.maximum(one, other))


def _farther(x: Point, one: Point, other: Point) -> Point:
    return one if np.linalg.norm(one - x) >= np.linalg.norm(other - x) else other


def anywhere(feasible_set: FeasibleSet, rng: np.random.Generator) -> Point:
    """Return a random decision: anywhere in a cube, between random vertices elsewhere."""
    onto, n = projection(feasible_set), feasible_set.dimension
    if onto is not None:
        half = feasible_set.diameter / (2 * sqrt(n))
        return onto(feasible_set.center + half * rng.uniform(-1, 1, n))
    one, other, third = (feasible_set.minimize_linear(rng.standard_normal(n)) for _ in range(3))
    first, second, _ = rng.dirichlet(np.ones(3))
    return between(third, between(one, other, second / (first + second)), first + second)
