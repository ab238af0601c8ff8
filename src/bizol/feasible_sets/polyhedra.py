"""Sets with flat sides: the box, the hull of given points, and any bounded system of linear inequalities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector
from bizol.feasible_sets.linear_program import LinearProgram
from bizol.feasible_sets.protocol import slack


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
        object.__setattr__(self, "lower", as_vector(lower, "Box", "lower"))
        object.__setattr__(self, "upper", as_vector(upper, "Box", "upper", size=self.lower.size))
        _refuse_crossed_bounds("Box", self.lower, self.upper)
        unbounded = ~(np.isfinite(self.lower) & np.isfinite(self.upper))
        if unbounded.any():
            raise ArgumentError(
                "Box",
                ("lower", "upper"),
                f"must be bounded, but coordinate {int(np.argmax(unbounded))} is not; "
                f"give it finite bounds.",
            )

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.lower.size

    @property
    def diameter(self) -> float:
        """Length of the diagonal."""
        return float(np.linalg.norm(self.widths))

    @property
    def widths(self) -> Point:
        """The lengths of the sides."""
        return self.upper - self.lower

    @property
    def center(self) -> Point:
        """The middle."""
        return self.lower / 2 + self.upper / 2

    def minimize_linear(self, cost: Point) -> Point:
        """Take the bound each coordinate prefers."""
        return np.where(cost < 0, self.upper, self.lower)  # ties go to the lower bound

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether every coordinate keeps its bounds."""
        return bool(
            np.maximum(self.lower - point, point - self.upper).max() <= slack(self, tolerance)
        )

    def project(self, point: Point) -> Point:
        """Clip every coordinate to its bounds."""
        return np.clip(point, self.lower, self.upper)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConvexHull:
    """The convex hull of given points, one per row.

    Example:
        >>> ConvexHull([[0, 0], [2, 0], [0, 1]]).minimize_linear(np.array([-1.0, -1.0]))
        array([2., 0.])

    """

    points: Points
    diameter: float = field(init=False)

    def __init__(self, points: ArrayLike) -> None:
        matrix = as_matrix(points, "ConvexHull", "points")
        if not np.isfinite(matrix).all():
            row = int(np.argmin(np.isfinite(matrix).all(axis=1)))
            raise ArgumentError("ConvexHull", "points", f"must be finite, but row {row} is not.")
        object.__setattr__(self, "points", matrix)
        distances = (
            np.linalg.norm(matrix[i + 1 :] - row, axis=1) for i, row in enumerate(matrix[:-1])
        )
        object.__setattr__(self, "diameter", max((float(d.max()) for d in distances), default=0.0))

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
        """Find the convex weights that come nearest to the point in the largest coordinate, by a linear program."""
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


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polytope:
    """The bounded polyhedron {x : A_ub x ≤ b_ub, A_eq x = b_eq, lower ≤ x ≤ upper}.

    The linear program stays in the solver between calls and starts from where the last one ended.
    The vertex depends on
    the cost alone all the same: see `LinearProgram`.

    Args:
        A_ub, b_ub: inequalities; a side that is not given is not there.
        A_eq, b_eq: equalities.
        lower, upper: bounds on the coordinates, as vectors or as one number for all; −∞ and +∞ by
            default.

    Example:
        >>> triangle = Polytope(A_ub=[[1, 1]], b_ub=[1], lower=[0, 0])
        >>> triangle.minimize_linear(np.array([-1.0, -2.0]))
        array([0., 1.])

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

    def __init__(
        self,
        A_ub: ArrayLike | None = None,
        b_ub: ArrayLike | None = None,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        dimension = _dimension(A_ub, A_eq, lower, upper)
        inequalities = _as_system(A_ub, b_ub, "ub", dimension)
        equalities = _as_system(A_eq, b_eq, "eq", dimension)
        below = as_vector(_spread(lower, -np.inf, dimension), "Polytope", "lower", size=dimension)
        above = as_vector(_spread(upper, np.inf, dimension), "Polytope", "upper", size=dimension)
        _refuse_crossed_bounds("Polytope", below, above)
        program = LinearProgram.over(*inequalities, *equalities, below, above)
        box = _bounding_box(program, *inequalities, *equalities, below, above)
        for name, value in {
            "A_ub": inequalities[0],
            "b_ub": inequalities[1],
            "A_eq": equalities[0],
            "b_eq": equalities[1],
            "lower": below,
            "upper": above,
            "widths": np.maximum(box[1] - box[0], 0.0),  # of a box around it
            "center": as_vector(
                _chebyshev_center(*inequalities, *equalities, below, above), "center"
            ),
            "_program": program,
        }.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Polytope({len(self.b_ub)} inequalities, {len(self.b_eq)} equalities, dimension {self.dimension})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Polytope, (
            self.A_ub,
            self.b_ub,
            self.A_eq,
            self.b_eq,
            self.lower,
            self.upper,
        )  # not the solver

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.lower.size

    @property
    def diameter(self) -> float:
        """The diagonal of a box around it: an upper bound."""
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


def _dimension(A_ub: ArrayLike | None, A_eq: ArrayLike | None, *bounds: ArrayLike | None) -> int:
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
    if (matrix is None) != (bound is None):
        raise ValueError(f"Polytope(A_{suffix}=..., b_{suffix}=...) must be given together.")
    if matrix is None or bound is None or np.size(bound) == 0:
        return np.zeros((0, dimension)), np.zeros(0)
    rows = as_matrix(matrix, "Polytope", f"A_{suffix}", columns=dimension)
    rhs = as_vector(bound, "Polytope", f"b_{suffix}", size=len(rows))
    if not (np.isfinite(rows).all() and np.isfinite(rhs).all()):
        raise ValueError(
            f"Polytope(A_{suffix}=..., b_{suffix}=...) must be finite; leave out rows that never bind."
        )
    return rows, rhs


def _spread(bound: ArrayLike | None, default: float, dimension: int) -> ArrayLike:
    if bound is None or np.ndim(bound) == 0:
        return np.full(dimension, default if bound is None else bound)
    return bound


def _refuse_crossed_bounds(name: str, lower: Point, upper: Point) -> None:
    if (lower > upper).any():
        index = int(np.argmax(lower > upper))
        raise ValueError(
            f"{name}(lower=..., upper=...) is empty: in coordinate {index} the lower bound {lower[index]:g} "
            f"exceeds the upper bound {upper[index]:g}."
        )


def _bounding_box(
    program: LinearProgram,
    A_ub: Points,
    b_ub: Point,
    A_eq: Points,
    b_eq: Point,
    lower: Point,
    upper: Point,
) -> tuple[Point, Point]:
    """Tighten the bounds by what each row implies, and find those that are still missing by linear
    programs.

    A direction without end is found here too.
    """
    rows, rhs = np.concatenate([A_ub, A_eq, -A_eq]), np.concatenate([b_ub, b_eq, -b_eq])
    box = lower.copy(), upper.copy()
    for _ in range(3):
        _propagate(rows, rhs, *box)
    for bound, sign in zip(box, (1.0, -1.0), strict=True):
        for index in np.flatnonzero(~np.isfinite(bound)):
            cost = np.zeros(lower.size)
            cost[index] = sign
            bound[index] = program.minimize(cost)[index]
    return box


def _propagate(rows: Points, rhs: Point, lower: Point, upper: Point) -> None:
    """Tighten the bounds in place: aⱼ xⱼ ≤ b − (the least the other terms of the row can be)."""
    for row, bound in zip(rows, rhs, strict=True):
        with np.errstate(invalid="ignore"):
            least = np.where(row > 0, row * lower, np.where(row < 0, row * upper, 0.0))
        total = float(least.sum())
        if np.isfinite(
            total
        ):  # one infinite term may be the one to be bounded; leave those rows to the programs
            room = bound - (total - least)
            np.minimum(
                upper, np.divide(room, row, out=np.full_like(row, np.inf), where=row > 0), out=upper
            )
            np.maximum(
                lower,
                np.divide(room, row, out=np.full_like(row, -np.inf), where=row < 0),
                out=lower,
            )


def _chebyshev_center(
    A_ub: Points, b_ub: Point, A_eq: Points, b_eq: Point, lower: Point, upper: Point
) -> Point:
    """Return the center of the largest ball that keeps all inequalities and bounds, on the plane of the equalities."""
    identity = np.eye(lower.size)
    below, above = np.isfinite(lower), np.isfinite(upper)
    rows = np.concatenate([A_ub, identity[above], -identity[below]])
    rhs = np.concatenate([b_ub, upper[above], -lower[below]])
    program = LinearProgram.over(
        np.column_stack([rows, np.linalg.norm(rows, axis=1)]),
        rhs,
        np.column_stack([A_eq, np.zeros(len(A_eq))]),
        b_eq,
        np.append(np.full(lower.size, -np.inf), 0.0),
        np.append(np.full(lower.size, np.inf), np.inf if len(rows) else 0.0),
    )
    return program.minimize(np.append(np.zeros(lower.size), -1.0))[:-1]
