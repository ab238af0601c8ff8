"""Sets with flat sides: boxes, hulls of given points, and bounded systems of inequalities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector
from bizol.feasible_sets.hull_projection import HullProjection
from bizol.feasible_sets.linear_program import LinearConstraints, LinearProgram
from bizol.feasible_sets.polytope_projection import PolytopeProjection
from bizol.feasible_sets.protocol import as_units, slack
from bizol.records import assign

INSIDE = 1e-12  # relative to the size of a set: points this close to it are left alone
PROPAGATIONS = 3  # times that all rows tighten the bounds, before linear programs find the rest


@final
@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The box {x : lower ≤ x ≤ upper}.

    Example:
        >>> Box(lower=[-1, -1, 0], upper=[1, 1, 5]).minimize_linear(np.array([0.5, -1.0, 2.0]))
        array([-1.,  1.,  0.])

    """

    lower: Point
    upper: Point

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        below = as_vector(lower, "Box", "lower")
        above = as_vector(upper, "Box", "upper", size=below.size)
        _refuse_crossed_bounds("Box", below, above)
        unbounded = ~(np.isfinite(below) & np.isfinite(above))
        if unbounded.any():
            index = int(np.argmax(unbounded))
            what = f"must be bounded, but coordinate {index} is not; give it finite bounds."
            raise ArgumentError("Box", ("lower", "upper"), what)
        assign(self, lower=below, upper=above)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.lower.size

    @property
    def diameter(self) -> float:
        """The length of the diagonal."""
        return float(np.linalg.norm(self.widths))

    @property
    def widths(self) -> Point:
        """The lengths of the sides."""
        return self.upper - self.lower

    @property
    def center(self) -> Point:
        """The middle of the box."""
        return self.lower / 2 + self.upper / 2

    def minimize_linear(self, cost: Point) -> Point:
        """Take the bound each coordinate prefers."""
        return np.where(cost < 0.0, self.upper, self.lower)  # ties go to the lower bound

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether every coordinate keeps its bounds."""
        excess = np.maximum(self.lower - point, point - self.upper).max()
        return bool(excess <= slack(self, tolerance))

    @property
    def constraints(self) -> LinearConstraints:
        """The bounds."""
        return LinearConstraints.bounds(self.lower, self.upper)

    def project(self, point: Point) -> Point:
        """Clip every coordinate to its bounds."""
        return np.clip(point, self.lower, self.upper)

    def in_units(self, units: ArrayLike) -> Box:
        """Return {x / units : x ∈ X}."""
        lengths = as_units(units, self, "Box")
        return Box(self.lower / lengths, self.upper / lengths)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConvexHull:
    """The convex hull of given points, one per row.

    Example:
        >>> triangle = ConvexHull([[0, 0], [2, 0], [0, 1]])
        >>> triangle.minimize_linear(np.array([-1.0, -1.0]))
        array([2., 0.])
        >>> triangle.project(np.array([2.0, 2.0])).round(6)
        array([1.2, 0.4])

    """

    points: Points
    diameter: float = field(init=False)
    _projection: HullProjection = field(init=False, repr=False)

    def __init__(self, points: ArrayLike) -> None:
        matrix = as_matrix(points, "ConvexHull", "points")
        if not np.isfinite(matrix).all():
            row = int(np.argmin(np.isfinite(matrix).all(axis=1)))
            raise ArgumentError("ConvexHull", "points", f"must be finite, but row {row} is not.")
        diameter = 0.0
        for index, row in enumerate(matrix[:-1]):
            distances = np.linalg.norm(matrix[index + 1 :] - row, axis=1)
            diameter = max(diameter, float(distances.max()))
        assign(self, points=matrix, diameter=diameter)
        tolerance = slack(self, INSIDE)
        onto = HullProjection(matrix, self.center, diameter=diameter, tolerance=tolerance)
        assign(self, _projection=onto)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return int(self.points.shape[1])

    @property
    def center(self) -> Point:
        """The mean of the points."""
        return np.asarray(self.points.mean(axis=0))

    @property
    def widths(self) -> Point:
        """How far the points are apart along each coordinate."""
        return np.asarray(np.ptp(self.points, axis=0))

    def minimize_linear(self, cost: Point) -> Point:
        """Return the cheapest of the points."""
        return np.array(self.points[np.argmin(self.points @ cost)])  # ties go to the first

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether some convex combination of the points is close enough in every coordinate.

        A linear program finds the weights that come closest in the worst coordinate.
        """
        from scipy.optimize import linprog

        count, dimension = self.points.shape
        scale = self.diameter or 1.0
        offsets = (self.points - point) / scale
        miss = np.ones((dimension, 1))
        nearest = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.block([[offsets.T, -miss], [-offsets.T, -miss]]),
            b_ub=np.zeros(2 * dimension),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
        )
        return bool(nearest.fun * scale <= slack(self, max(tolerance, 1e-9)))

    def project(self, point: Point) -> Point:
        """Return the nearest point, found by Wolfe's algorithm and accurate to rounding."""
        return self._projection(point)

    def in_units(self, units: ArrayLike) -> ConvexHull:
        """Return {x / units : x ∈ X}."""
        return ConvexHull(self.points / as_units(units, self, "ConvexHull"))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polytope:
    """The bounded polyhedron {x : A_ub x ≤ b_ub, A_eq x = b_eq, lower ≤ x ≤ upper}.

    The linear program stays in the solver between calls and starts from where the last one ended.
    The vertex depends on the cost alone all the same: see `LinearProgram`.

    Args:
        A_ub, b_ub: inequalities; none by default.
        A_eq, b_eq: equalities; none by default.
        lower, upper: bounds on the coordinates, as vectors or as one number for all; −∞ and +∞ by
            default.

    Example:
        >>> triangle = Polytope(A_ub=[[1, 1]], b_ub=[1], lower=[0, 0])
        >>> triangle.minimize_linear(np.array([-1.0, -2.0]))
        array([0., 1.])
        >>> triangle.project(np.array([1.0, 1.5])).round(6)
        array([0.25, 0.75])

    """

    A_ub: Points
    b_ub: Point
    A_eq: Points
    b_eq: Point
    lower: Point
    upper: Point
    widths: Point = field(init=False)
    center: Point = field(init=False)
    _program: LinearProgram = field(init=False)
    _projection: PolytopeProjection = field(init=False)

    def __init__(
        self,
        A_ub: ArrayLike | None = None,
        b_ub: ArrayLike | None = None,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        dimension = _infer_dimension(A_ub, A_eq, lower, upper)
        rows_ub, side_ub = _as_system(A_ub, b_ub, "ub", dimension)
        rows_eq, side_eq = _as_system(A_eq, b_eq, "eq", dimension)
        below = as_vector(_spread(lower, -np.inf, dimension), "Polytope", "lower", size=dimension)
        above = as_vector(_spread(upper, np.inf, dimension), "Polytope", "upper", size=dimension)
        _refuse_crossed_bounds("Polytope", below, above)
        constraints = LinearConstraints(
            A_ub=rows_ub, b_ub=side_ub, A_eq=rows_eq, b_eq=side_eq, lower=below, upper=above
        )
        program = LinearProgram(constraints)
        lowest, highest = _bounding_box(program, constraints)
        assign(self, A_ub=rows_ub, b_ub=side_ub, A_eq=rows_eq, b_eq=side_eq)
        assign(self, lower=below, upper=above)
        assign(self, widths=np.maximum(highest - lowest, 0.0))  # of a box around it
        assign(self, center=as_vector(_chebyshev_center(constraints), "center"))
        tolerance = slack(self, INSIDE)
        onto = PolytopeProjection(
            constraints, self.center, diameter=self.diameter, tolerance=tolerance
        )
        assign(self, _program=program, _projection=onto)

    def __repr__(self) -> str:
        count = f"{len(self.b_ub)} inequalities, {len(self.b_eq)} equalities"
        return f"Polytope({count}, dimension {self.dimension})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # The solvers cannot be pickled; they are set up again.
        rebuild = partial(Polytope, lower=self.lower, upper=self.upper)
        return rebuild, (self.A_ub, self.b_ub, self.A_eq, self.b_eq)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.lower.size

    @property
    def diameter(self) -> float:
        """The diagonal of a box around the set: an upper bound."""
        return float(np.linalg.norm(self.widths))

    def minimize_linear(self, cost: Point) -> Point:
        """Solve the linear program; the answer is a vertex, accurate to rounding."""
        return self._program.minimize(cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point keeps every inequality, equality and bound."""
        allowed = slack(self, tolerance)
        bounded = np.maximum(self.lower - point, point - self.upper).max() <= allowed
        below = self.A_ub @ point - self.b_ub <= allowed * np.linalg.norm(self.A_ub, axis=1)
        equal = np.abs(self.A_eq @ point - self.b_eq) <= allowed * np.linalg.norm(self.A_eq, axis=1)
        return bool(bounded and below.all() and equal.all())

    @property
    def constraints(self) -> LinearConstraints:
        """The inequalities, equalities and bounds."""
        return LinearConstraints(
            A_ub=self.A_ub,
            b_ub=self.b_ub,
            A_eq=self.A_eq,
            b_eq=self.b_eq,
            lower=self.lower,
            upper=self.upper,
        )

    def project(self, point: Point) -> Point:
        """Return the nearest point, accurate to rounding: see `PolytopeProjection`."""
        return self._projection(point)

    def in_units(self, units: ArrayLike) -> Polytope:
        """Return {x / units : x ∈ X}."""
        lengths = as_units(units, self, "Polytope")
        systems = self.A_ub * lengths, self.b_ub, self.A_eq * lengths, self.b_eq
        return Polytope(*systems, lower=self.lower / lengths, upper=self.upper / lengths)


def _infer_dimension(
    A_ub: ArrayLike | None, A_eq: ArrayLike | None, *bounds: ArrayLike | None
) -> int:
    for matrix in (A_ub, A_eq):
        if matrix is not None and np.ndim(matrix) == 2:
            return int(np.shape(matrix)[1])
    for bound in bounds:
        if bound is not None and np.ndim(bound) == 1:
            return int(np.shape(bound)[0])
    raise ValueError(
        "Polytope(...) needs a matrix A_ub or A_eq, or a vector of bounds, to know its dimension."
    )


def _as_system(
    matrix: ArrayLike | None, bound: ArrayLike | None, suffix: str, dimension: int
) -> tuple[Points, Point]:
    names = (f"A_{suffix}", f"b_{suffix}")
    if (matrix is None) != (bound is None):
        raise ArgumentError("Polytope", names, "must be given together.")
    if matrix is None or bound is None or np.size(bound) == 0:
        return np.zeros((0, dimension)), np.zeros(0)
    rows = as_matrix(matrix, "Polytope", names[0], columns=dimension)
    rhs = as_vector(bound, "Polytope", names[1], size=len(rows))
    if not (np.isfinite(rows).all() and np.isfinite(rhs).all()):
        raise ArgumentError("Polytope", names, "must be finite; leave out rows that never bind.")
    return rows, rhs


def _spread(bound: ArrayLike | None, default: float, dimension: int) -> ArrayLike:
    if bound is None:
        return np.full(dimension, default)
    if np.ndim(bound) == 0:
        return np.full(dimension, bound)
    return bound


def _refuse_crossed_bounds(owner: str, lower: Point, upper: Point) -> None:
    if (lower > upper).any():
        index = int(np.argmax(lower > upper))
        raise ArgumentError(
            owner,
            ("lower", "upper"),
            f"is empty: in coordinate {index} the lower bound {lower[index]:g} "
            f"exceeds the upper bound {upper[index]:g}.",
        )


def _bounding_box(program: LinearProgram, constraints: LinearConstraints) -> tuple[Point, Point]:
    """Return bounds on every coordinate, all of them finite.

    The given bounds are tightened by what each row implies. Those that are still missing are found
    by linear programs, which also notice where the polyhedron is unbounded.
    """
    rows = np.concatenate([constraints.A_ub, constraints.A_eq, -constraints.A_eq])
    rhs = np.concatenate([constraints.b_ub, constraints.b_eq, -constraints.b_eq])
    lower = constraints.lower.copy()
    upper = constraints.upper.copy()
    for _ in range(PROPAGATIONS):
        _propagate(rows, rhs, lower, upper)
    for bound, sign in ((lower, 1.0), (upper, -1.0)):
        for index in np.flatnonzero(~np.isfinite(bound)):
            cost = np.zeros(lower.size)
            cost[index] = sign
            bound[index] = program.minimize(cost)[index]
    return lower, upper


def _propagate(rows: Points, rhs: Point, lower: Point, upper: Point) -> None:
    """Tighten the bounds in place: aⱼ xⱼ ≤ b − (the least the other terms of the row can be)."""
    for row, bound in zip(rows, rhs, strict=True):
        with np.errstate(invalid="ignore"):
            least = np.where(row > 0, row * lower, np.where(row < 0, row * upper, 0.0))
        total = float(least.sum())
        if not np.isfinite(total):
            continue  # the infinite term may be the one to bound: the linear programs find it
        room = bound - (total - least)
        highest = np.divide(room, row, out=np.full_like(row, np.inf), where=row > 0)
        lowest = np.divide(room, row, out=np.full_like(row, -np.inf), where=row < 0)
        np.minimum(upper, highest, out=upper)
        np.maximum(lower, lowest, out=lower)


def _chebyshev_center(constraints: LinearConstraints) -> Point:
    """Return the center of the largest ball within the inequalities and bounds.

    The center satisfies the equalities. The variables of the linear program are the center and the
    radius: ⟨aᵢ, center⟩ + ‖aᵢ‖ radius ≤ bᵢ.
    """
    lower, upper = constraints.lower, constraints.upper
    identity = np.eye(lower.size)
    below = np.isfinite(lower)
    above = np.isfinite(upper)
    rows = np.concatenate([constraints.A_ub, identity[above], -identity[below]])
    rhs = np.concatenate([constraints.b_ub, upper[above], -lower[below]])
    largest = np.inf if len(rows) else 0.0
    enlarged = LinearConstraints(
        A_ub=np.column_stack([rows, np.linalg.norm(rows, axis=1)]),
        b_ub=rhs,
        A_eq=np.column_stack([constraints.A_eq, np.zeros(len(constraints.A_eq))]),
        b_eq=constraints.b_eq,
        lower=np.append(np.full(lower.size, -np.inf), 0.0),
        upper=np.append(np.full(lower.size, np.inf), largest),
    )
    return LinearProgram(enlarged).minimize(np.append(np.zeros(lower.size), -1.0))[:-1]
