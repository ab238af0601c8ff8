"""Does my set answer as a feasible set should?"""

from __future__ import annotations

import numpy as np

from bizol.arrays import Point, as_size
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.linear_program import LinearProgram
from bizol.feasible_sets.protocol import polyhedron, projection, rescale, slack, widths
from bizol.randomness import generator
from bizol.testing.laws import require, require_member, unit

LARGEST_EXPONENT = 10  # units are tried between 2⁻¹⁰ and 2¹⁰


def check_feasible_set(feasible_set: FeasibleSet, *, trials: int = 50, seed: int = 0) -> None:
    """Check that an object answers as a feasible set should.

    Args:
        feasible_set: the set to look at.
        trials: how many random costs (and points, for `project` and `in_units`) are tried.
        seed: makes the trials repeatable.

    Example:
        >>> import bizol
        >>> check_feasible_set(bizol.Simplex(5))

    """
    as_size(trials, "check_feasible_set", "trials")
    require(
        isinstance(feasible_set, FeasibleSet),
        "it has dimension, diameter, center, minimize_linear and contains",
    )
    n, diameter, center = feasible_set.dimension, feasible_set.diameter, feasible_set.center
    require(isinstance(n, int) and n >= 1, f"dimension is a positive integer, got {n!r}")
    require(bool(0 <= diameter < np.inf), f"diameter is finite and not negative, got {diameter!r}")
    require_member(feasible_set, center, "center")
    rng = generator(seed)
    costs = rng.standard_normal((trials, n)) * 10.0 ** rng.integers(-6, 7, size=(trials, 1))
    costs[: min(n, trials // 2)] = np.eye(n)[: min(n, trials // 2)]
    costs[-1] = 0.0
    vertices = np.array([_vertex(feasible_set, cost) for cost in costs])
    _check_optimality(costs, vertices, center)
    spread = float(np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max())
    require(
        spread <= diameter * (1 + 1e-9) + 1e-300,
        f"no two points are {spread:g} apart, as the diameter is {diameter:g}",
    )
    require_member(feasible_set, vertices.mean(axis=0), "the mean of its vertices (is it convex?)")
    outside = vertices[0] + (diameter + 1.0) * unit(rng.standard_normal(n))
    require(
        not feasible_set.contains(outside),
        f"a point farther away than its diameter is not contained: {outside}",
    )
    _check_widths(feasible_set, vertices)
    _check_constraints(feasible_set, costs, vertices, outside)
    _check_projection(feasible_set, feasible_set, np.ones(n), vertices, rng=rng)
    units = np.exp2(rng.integers(-LARGEST_EXPONENT, LARGEST_EXPONENT + 1, n))
    rescaled = rescale(feasible_set, units)
    if rescaled is not None:
        require(projection(rescaled) is not None, f"in_units({units}) has a projection")
        _check_projection(feasible_set, rescaled, units, vertices, rng=rng)


def _check_widths(feasible_set: FeasibleSet, vertices: Point) -> None:
    """Require that widths are about how far the set extends: within √n, as a part may not know."""
    wide = widths(feasible_set)
    n = feasible_set.dimension
    require(np.shape(wide) == (n,), f"widths has shape ({n},), got {np.shape(wide)}")
    extent = np.ptp(vertices, axis=0)
    worst = int(np.argmax(extent - np.sqrt(n) * wide))
    require(
        bool(extent[worst] <= np.sqrt(n) * wide[worst] * (1 + 1e-9) + 1e-12),
        f"it is about as wide as its widths say; along coordinate {worst} two points are "
        f"{extent[worst]:g} apart, and widths says {wide[worst]:g}",
    )


def _check_constraints(
    feasible_set: FeasibleSet, costs: Point, vertices: Point, outside: Point
) -> None:
    """Require that the linear constraints, if there are any, describe this set and no other."""
    rows = polyhedron(feasible_set)
    if rows is None:
        return
    for point in vertices:
        off = rows.excess(point)
        require(
            off <= slack(feasible_set, 1e-7), f"{point} is in the set, but {off:g} off constraints"
        )
    require(rows.excess(outside) > 0, f"{outside} is not in the set, but satisfies its constraints")
    vertex = LinearProgram(rows).minimize(costs[0])
    require_member(feasible_set, vertex, f"a point of the constraints, {vertex},")


def _vertex(feasible_set: FeasibleSet, cost: Point) -> Point:
    given = cost.copy()
    vertex = feasible_set.minimize_linear(given)
    require(np.array_equal(given, cost), "minimize_linear leaves the cost it was given alone")
    require_member(feasible_set, vertex, f"minimize_linear({cost})")
    kept = vertex.copy()
    if vertex.flags.writeable:
        vertex[...] = np.nan  # what was returned is the caller's own
    again = feasible_set.minimize_linear(given)
    require(
        np.array_equal(again, kept),
        f"the same cost gives the same vertex, got {kept} and then {again}",
    )
    return kept


def _check_optimality(costs: Point, vertices: Point, center: Point) -> None:
    values = costs @ np.vstack([vertices, center]).T  # (trials, trials + 1)
    best = np.diagonal(values)
    size = np.abs(costs).max(axis=1) * (np.abs(vertices).max() + 1e-300)
    worse = (best[:, None] - values).max(axis=1) > 1e-7 * size * costs.shape[1]
    row = int(np.argmax(worse))
    require(
        not worse.any(),
        f"no known point beats minimize_linear({costs[row]}), which returned {vertices[row]}",
    )


def _check_projection(
    feasible_set: FeasibleSet,
    rescaled: FeasibleSet,
    units: Point,
    vertices: Point,
    *,
    rng: np.random.Generator,
) -> None:
    """Require that `project` of {x / units : x ∈ X} returns nearest points, if it is offered."""
    onto = projection(rescaled)
    if onto is None:
        return
    owner = "" if rescaled is feasible_set else f"in_units({units})."
    diameter = rescaled.diameter
    points = vertices.mean(axis=0) / units
    points = points + max(diameter, 1.0) * rng.standard_normal(vertices.shape)
    for point in np.concatenate([points, vertices / units]):
        nearest = onto(point.copy())
        what = f"{owner}project({point})"
        require(np.shape(nearest) == point.shape, f"{what} has the shape of the point")
        require_member(feasible_set, nearest * units, what)
        # The projection p of q is the point with ⟨q − p, z − p⟩ ≤ 0 for every z of the set.
        away = point - nearest
        farthest = feasible_set.minimize_linear(-away / units)
        others = np.vstack([vertices, farthest]) / units
        excess = float((away @ (others - nearest).T).max())
        require(
            excess <= 1e-7 * diameter * float(np.linalg.norm(away)) + 1e-12 * diameter**2,
            f"no point is nearer to {point} than {owner}project says, {nearest}",
        )
