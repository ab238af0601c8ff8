"""The nearest point of a polyhedron by a dual active set method."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, scaled_to_one

DEPENDENT = 1e-8  # a unit vector that is this close to the span of others counts as part of it
PUSHING = 1e-9  # relative to the largest weight: below, it is an error of what the pull is known by
GIVING_WAY = 1e-12  # weights below are rounding errors of zero
STEPS_PER_ROW = 10  # limits the number of steps; about one per tight row is enough


def find_nearest_in_polyhedron(
    normals: Points,
    sides: Point,
    target: Point,
    *,
    equalities: int,
    tolerance: float,
    near: Point,
    active: NDArray[np.bool_],
) -> Point:
    """Return the point of {x : normals x ≤ sides} that is nearest to the target.

    The dual method of D. Goldfarb and A. Idnani (A numerically stable dual method for solving
    strictly convex quadratic programs, Mathematical Programming 27, 1983). At every step the point
    is the nearest one under the rows that are tight. The row that it violates most becomes tight,
    and rows that no longer push are dropped. Tight rows are always independent, so ties and
    redundant rows do no harm. A row that contradicts the others, which rounding errors can make it
    do, is left out.

    Args:
        normals: (k, n), of length one.
        sides: (k,).
        target: (n,).
        equalities: how many rows hold with equality. They come first and are orthonormal.
        tolerance: how far beyond a row the point may be.
        near: (n,), about the nearest point.
        active: (k,), the rows that seem to be tight there.
    """
    tight = _select_pushing(normals, target - near, active, equalities)
    while True:
        point, forces = _find_nearest_in_plane(normals[tight], sides[tight], target)
        pushing = forces[equalities:]
        if pushing.min(initial=0.0) >= 0:
            break
        del tight[equalities + int(pushing.argmin())]
    usable = np.ones(len(sides), dtype=bool)
    usable[:equalities] = False
    for _ in range(STEPS_PER_ROW * len(sides)):
        excess = np.where(usable, normals @ point - sides, -inf)
        worst = int(excess.argmax())
        if excess[worst] <= tolerance:
            break
        kept = _make_room(
            normals[tight], forces, normals[worst], excess=excess[worst], equalities=equalities
        )
        if kept is None:
            usable[worst] = False
            continue
        tight = [tight[place] for place in kept] + [worst]
        point, forces = _find_nearest_in_plane(normals[tight], sides[tight], target)
        np.maximum(forces[equalities:], 0.0, out=forces[equalities:])
    return point


def _select_pushing(
    normals: Points, pull: Point, active: NDArray[np.bool_], equalities: int
) -> list[int]:
    """Return the equalities, and independent active rows that together withstand the pull.

    Non-negative least squares finds the latter, along the equalities.
    """
    from scipy.optimize import nnls

    fixed = normals[:equalities]
    places = equalities + np.flatnonzero(active[equalities:])
    if places.size == 0:
        return list(range(equalities))  # without columns, the solver crashes
    along = normals[places] - (normals[places] @ fixed.T) @ fixed
    try:
        weights, _ = nnls(along.T, scaled_to_one(pull - (fixed @ pull) @ fixed))
    except RuntimeError:  # too many steps
        weights = np.zeros(places.size)
    pushing = places[weights > PUSHING * weights.max(initial=0.0)].tolist()
    tight = [*range(equalities), *pushing]
    return tight if _are_independent(normals[tight]) else tight[:equalities]


def _are_independent(normals: Points) -> bool:
    if len(normals) > normals.shape[1]:
        return False
    triangle = np.linalg.qr(normals.T, mode="r")
    return bool(np.abs(np.diagonal(triangle)).min(initial=1.0) > DEPENDENT)


def _find_nearest_in_plane(normals: Points, sides: Point, target: Point) -> tuple[Point, Point]:
    """Return the nearest point with normals · point = sides, and the forces.

    The forces are the weights of the normals in target − point.
    """
    if len(normals) == 0:
        return target, np.zeros(0)
    q, r = np.linalg.qr(normals.T)
    beyond = q.T @ target - np.linalg.solve(r.T, sides)
    return target - q @ beyond, np.linalg.solve(r, beyond)


def _make_room(
    normals: Points, forces: Point, normal: Point, *, excess: float, equalities: int
) -> list[int] | None:
    """Return which rows stay tight when a new one becomes tight, or None where it cannot.

    While the new row pushes, the forces of the others fall in proportion to their weights in its
    normal. Where one gets to zero, its row is dropped, until the new row is satisfied.
    """
    kept = list(range(len(forces)))
    while True:
        weights, rest = _decompose(normal, normals[kept])
        square = float(rest @ rest)
        independent = square > DEPENDENT**2
        needed = excess / square if independent else inf
        falling = weights > GIVING_WAY
        falling[:equalities] = False
        lasting = np.divide(forces, weights, out=np.full_like(forces, inf), where=falling)
        shortest = float(lasting.min(initial=inf))
        if needed <= shortest:
            return kept if independent else None
        if independent:
            excess -= shortest * square
        first = int(lasting.argmin())
        forces = np.delete(forces - shortest * weights, first)
        del kept[first]


def _decompose(vector: Point, normals: Points) -> tuple[Point, Point]:
    """Return weights and a rest that is orthogonal to the normals: vector = weights N + rest."""
    if len(normals) == 0:
        return np.zeros(0), vector
    q, r = np.linalg.qr(normals.T)
    shares = q.T @ vector
    rest = vector - q @ shares
    rest -= q @ (q.T @ rest)  # once more, as the first difference may be mostly rounding
    return np.linalg.solve(r, shares), rest
