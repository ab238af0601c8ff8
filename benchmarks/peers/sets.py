"""What peers need of a feasible set beyond its protocol.

A projection, random points, bounds and linear constraints.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import bizol
from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet

FEASIBLE = 1e-8  # times the diameter: what solvers' arithmetic makes of the boundary


def project(feasible_set: FeasibleSet, point: Point) -> Point:
    """Return the nearest point of the set.

    Example:
        >>> triangle = bizol.Polytope(A_ub=[[1, 1]], b_ub=[1], lower=[0, 0])
        >>> project(triangle, np.array([1.0, 1.0])).round(6)
        array([0.5, 0.5])

    """
    onto = getattr(feasible_set, "project", None)
    if onto is None:
        raise ValueError(f"{type(feasible_set).__name__} has no projection.")
    return np.asarray(onto(point), dtype=np.float64)


def sample(feasible_set: FeasibleSet, rng: np.random.Generator) -> Point:
    """Return a random feasible point.

    Uniform in a box, a simplex and a ball; in a polytope the last of 10 n steps of hit-and-run from
    the center.
    """
    n = feasible_set.dimension
    if isinstance(feasible_set, bizol.Box):
        return np.asarray(rng.uniform(feasible_set.lower, feasible_set.upper))
    if isinstance(feasible_set, bizol.Simplex):
        return np.asarray(feasible_set.total * rng.dirichlet(np.ones(n)))
    if isinstance(feasible_set, bizol.Ball):
        direction = rng.standard_normal(n)
        length = feasible_set.diameter / 2 * rng.uniform() ** (1 / n)
        return np.asarray(feasible_set.center + length * direction / np.linalg.norm(direction))
    if isinstance(feasible_set, bizol.Polytope):
        return _hit_and_run(feasible_set, rng)
    raise ValueError(f"sample(...) does not know {type(feasible_set).__name__}.")


def bounds(feasible_set: FeasibleSet) -> tuple[Point, Point]:
    """Return the smallest box around the set."""
    return _bounds(feasible_set)  # type: ignore[arg-type]  # all sets of the suite can be hashed


@lru_cache(maxsize=64)
def _bounds(feasible_set: FeasibleSet) -> tuple[Point, Point]:
    axes = np.eye(feasible_set.dimension)
    lower = np.array([feasible_set.minimize_linear(axis)[i] for i, axis in enumerate(axes)])
    upper = np.array([feasible_set.minimize_linear(-axis)[i] for i, axis in enumerate(axes)])
    return lower, upper


def rows(feasible_set: FeasibleSet) -> tuple[Points, Point, Points, Point]:
    """Return A_ub, b_ub, A_eq and b_eq besides the bounds; none for a box and a ball."""
    n = feasible_set.dimension
    none = np.zeros((0, n)), np.zeros(0)
    if isinstance(feasible_set, bizol.Simplex):
        return (*none, np.ones((1, n)), np.array([feasible_set.total]))
    if isinstance(feasible_set, bizol.Polytope):
        return feasible_set.A_ub, feasible_set.b_ub, feasible_set.A_eq, feasible_set.b_eq
    return (*none, *none)


def _hit_and_run(polytope: bizol.Polytope, rng: np.random.Generator) -> Point:
    lower, upper = bounds(polytope)
    normals = np.concatenate([polytope.A_ub, np.eye(lower.size), -np.eye(lower.size)])
    limits = np.concatenate([polytope.b_ub, upper, -lower])
    plane = None
    if len(polytope.A_eq):
        plane = np.linalg.svd(polytope.A_eq)[2][np.linalg.matrix_rank(polytope.A_eq) :]
    point = np.array(polytope.center)
    for _ in range(10 * lower.size):
        direction = rng.standard_normal(lower.size)
        if plane is not None:
            direction = plane.T @ (plane @ direction)
        slopes, room = normals @ direction, np.maximum(limits - normals @ point, 0.0)
        forth = np.min(room[slopes > 1e-14] / slopes[slopes > 1e-14], initial=np.inf)
        back = np.min(room[slopes < -1e-14] / -slopes[slopes < -1e-14], initial=np.inf)
        point = point + rng.uniform(-back, forth) * direction
    return point
