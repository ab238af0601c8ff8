"""The pieces of a response, and how to find those near a decision.

A response that is continuous and piecewise smooth is given by its pieces: y(u) = y_i(u) on the
region R_i. The pieces that are active at x are those with x in the closure of a full-dimensional
R_i, and the generalized Jacobian is J^c y(x) = conv{J y_i(x) : i ∈ I(x)}: the hull of the
*attainable* limits. Where several kinks meet, a combination of their sides that no neighboring
decision shows is not among them.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.structure.averages import ball_points
from bizol.structure.hulls import Hull
from bizol.structure.protocols import KnownStructure, Pieces, SetVariation

LIMIT = 1024  # pieces that are enumerated before giving up


def jacobians_of_pieces(follower: KnownStructure, x: Point, tolerance: float) -> list[Points]:
    """Return J y_i(x) for the active pieces, in a fixed order."""
    active = sorted(follower.pieces(x, 0.0, tolerance).labels, key=repr)
    return [follower.jacobian(piece, x) for piece in active]


def search_variation(
    follower: KnownStructure, x: Point, delta: float, tolerance: float
) -> SetVariation:
    """Return the largest distance to J^c y(x) over the pieces that a search of the ball finds.

    Every piece is taken at x. On affine pieces the result is the supremum over what was found, as
    the distance to a convex set is convex.
    """
    matrices = follower.limiting_jacobians(x, tolerance)
    hull = Hull(x, np.array([matrix.ravel() for matrix in matrices]))
    found = [follower.jacobian(piece, x) for piece in follower.pieces(x, delta, tolerance).labels]
    misses = (matrix - hull.nearest(matrix.ravel()).reshape(matrix.shape) for matrix in found)
    return SetVariation(value=max(float(np.linalg.norm(miss, 2)) for miss in misses), kind="search")


def meets_ball(normals: Points, distances: Point, radius: float) -> bool:
    """Whether some v with ‖v‖ < radius has ⟨normalᵢ, v⟩ > distanceᵢ for all i.

    The rows of `normals` have unit length. The shortest such v is found by Lawson and Hanson's
    least distance programming, with a margin against touching.
    """
    from scipy.optimize import nnls

    if len(normals) == 0:
        return True
    wanted = distances / radius + 1e-7
    system = np.vstack([normals.T, wanted])
    solution, _ = nnls(system, np.append(np.zeros(normals.shape[1]), 1.0))
    residual = system @ solution - np.append(np.zeros(normals.shape[1]), 1.0)
    if residual[-1] > -1e-12:  # it is −‖residual‖²: no such v at any distance
        return False
    shortest = -residual[:-1] / residual[-1]
    return bool(np.linalg.norm(shortest) < 1.0)


def is_attainable(rows: Points) -> bool:
    """Whether some direction v has rows @ v > 0.

    Rows of zeros are left out, as they tell no piece from another.
    """
    length = np.linalg.norm(rows, axis=1)
    telling = length > 1e-12
    return meets_ball(rows[telling] / length[telling, None], np.zeros(int(telling.sum())), 1.0)


def cells(normals: Points, distances: Point, radius: float) -> list[tuple[int, ...]]:
    """Return the combinations of sides of the hyperplanes that some v in the ball is on.

    A combination holds ±1 for each hyperplane ⟨normal, v⟩ = distance.
    """
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
                f"More than {LIMIT} pieces of the response meet here ({len(normals)} kinks): "
                f"too many to list; look at a smaller radius."
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


def search_pieces(
    follower: KnownStructure, x: Point, radius: float, tolerance: float, *, samples: int = 1000
) -> Pieces:
    """Return the active pieces at x and those at many points of the ball.

    This is a search, which may miss small pieces.
    """
    labels = set(follower.pieces(x, 0.0, tolerance).labels)
    for offset in ball_points(x.size, samples, seed=0):
        labels |= follower.pieces(x + radius * offset, 0.0, 0.0).labels
    return Pieces(frozenset(labels), complete=False)
