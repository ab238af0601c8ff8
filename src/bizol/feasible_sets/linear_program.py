"""Linear programs over one set of constraints and many costs, kept in HiGHS between calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, scaled_to_one

Mask: TypeAlias = NDArray[np.bool_]
UNBOUNDED = (
    "Polytope(...) must be bounded: it has no end in some direction; add lower or upper bounds."
)
OPTIONS = {
    "output_flag": False,
    "presolve": "off",  # it would discard the basis
    "threads": 1,
    "small_matrix_value": 1e-12,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearConstraints:
    """The polyhedron {x : A_ub x ≤ b_ub, A_eq x = b_eq, lower ≤ x ≤ upper}."""

    A_ub: Points
    b_ub: Point
    A_eq: Points
    b_eq: Point
    lower: Point
    upper: Point

    @classmethod
    def bounds(cls, lower: Point, upper: Point) -> LinearConstraints:
        """Return bounds alone."""
        none = np.zeros((0, lower.size))
        return cls(
            A_ub=none, b_ub=np.zeros(0), A_eq=none, b_eq=np.zeros(0), lower=lower, upper=upper
        )

    def excess(self, point: Point) -> float:
        """Return by how much a point is off the constraint that it keeps least; 0 if it keeps all.

        Rows count as if they had length one.
        """
        below, equal = self.A_ub @ point - self.b_ub, np.abs(self.A_eq @ point - self.b_eq)
        parts = [
            self.lower - point,
            point - self.upper,
            below / np.linalg.norm(self.A_ub, axis=1),
            equal / np.linalg.norm(self.A_eq, axis=1),
        ]
        return max(0.0, float(np.concatenate(parts).max()))

    def moved(self, shift: Point) -> LinearConstraints:
        """Return {x + shift : x ∈ P}."""
        return LinearConstraints(
            A_ub=self.A_ub,
            b_ub=self.b_ub + self.A_ub @ shift,
            A_eq=self.A_eq,
            b_eq=self.b_eq + self.A_eq @ shift,
            lower=self.lower + shift,
            upper=self.upper + shift,
        )

    def scaled(self, factors: Point) -> LinearConstraints:
        """Return {factors · x : x ∈ P}, coordinate by coordinate; none of them is zero."""
        ends = factors * self.lower, factors * self.upper
        return LinearConstraints(
            A_ub=self.A_ub / factors,
            b_ub=self.b_ub,
            A_eq=self.A_eq / factors,
            b_eq=self.b_eq,
            lower=np.minimum(*ends),
            upper=np.maximum(*ends),
        )


@final
class LinearProgram:
    """Minimize ⟨cost, x⟩ over a polyhedron, for one cost after another.

    Starting from the last basis saves most of the work. Where the minimizer or its basis is not
    unique, the answer would then depend on earlier costs, in the last digits or altogether. So the
    vertex is recomputed from the active constraints, and when the solver's basis is not the only
    optimal one, the program is solved again from its first basis. Either way the answer is a
    function of the cost.

    The solver sees x / unit and rows of size one, as its tolerances are absolute:
    {x : row_lower ≤ matrix (x / unit) ≤ row_upper, lower ≤ x ≤ upper}.
    """

    def __init__(self, constraints: LinearConstraints) -> None:
        matrix = np.concatenate([constraints.A_ub, constraints.A_eq])
        unlimited = np.full(constraints.b_ub.size, -np.inf)
        row_lower = np.concatenate([unlimited, constraints.b_eq])
        row_upper = np.concatenate([constraints.b_ub, constraints.b_eq])
        self._lower = constraints.lower
        self._upper = constraints.upper
        width = self._upper - self._lower
        self._unit = np.where(np.isfinite(width) & (width > 0), width, 1.0)
        scaled = matrix * self._unit
        size = np.abs(scaled).max(axis=1, initial=0.0)
        kept = size > 0
        if (~kept & ((row_lower > 0) | (row_upper < 0))).any():
            raise ValueError("Polytope(...) is empty: a row of zeros contradicts its right side.")
        self._matrix = scaled[kept] / size[kept, None]
        self._row_lower = row_lower[kept] / size[kept]
        self._row_upper = row_upper[kept] / size[kept]
        self._solver: Any = None
        if len(self._matrix):
            self._start()

    def minimize(self, cost: Point) -> Point:
        """Return a vertex that minimizes the cost."""
        price = scaled_to_one(cost * self._unit)
        if self._solver is None:  # there are bounds only
            vertex = np.where(cost < 0, self._upper, self._lower)
            if not np.isfinite(vertex).all():
                raise ValueError(UNBOUNDED)
            return vertex
        self._solver.changeColsCost(price.size, np.arange(price.size, dtype=np.int32), price)
        self._run()
        if not self._is_unique():
            self._solver.clearSolver()
            self._solver.setBasis(self._first_basis)
            self._run()
        return self._vertex()

    def _start(self) -> None:
        import highspy

        self._statuses = highspy.HighsModelStatus
        self._solver = highspy.Highs()
        for option, value in OPTIONS.items():
            self._solver.setOptionValue(option, value)
        if self._solver.passModel(self._model(highspy)) == highspy.HighsStatus.kError:
            raise ValueError(
                "Polytope(...) has numbers too large or too small for a linear program; rescale it."
            )
        self._run()
        self._first_basis = self._solver.getBasis()

    def _run(self) -> None:
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == self._statuses.kInfeasible:
            raise ValueError("Polytope(...) is empty: no point satisfies all of its constraints.")
        if status in (self._statuses.kUnbounded, self._statuses.kUnboundedOrInfeasible):
            raise ValueError(UNBOUNDED)
        if status != self._statuses.kOptimal:
            raise ValueError(
                f"Polytope(...) is beyond the linear solver, which ended with "
                f"{self._solver.modelStatusToString(status)!r}; rescale its rows."
            )

    def _basis(self) -> tuple[Mask, Mask, Point, Point]:
        """Return which columns and rows are basic, and the solver's values of both."""
        _, basic = self._solver.getBasicVariables()
        members = np.asarray(basic)
        columns = np.zeros(self._lower.size, dtype=bool)
        columns[members[members >= 0]] = True
        rows = np.zeros(self._row_lower.size, dtype=bool)
        rows[-1 - members[members < 0]] = True
        solution = self._solver.getSolution()
        return columns, rows, np.array(solution.col_value), np.array(solution.row_value)

    def _is_unique(self, tolerance: float = 1e-9) -> bool:
        """Whether no other basis is optimal.

        So it is where no basic variable is at a bound and every other one has a nonzero price.
        """
        columns, rows, x, activity = self._basis()
        solution = self._solver.getSolution()
        column_prices = np.array(solution.col_dual)[~columns & (self._upper > self._lower)]
        row_prices = np.array(solution.row_dual)[~rows & (self._row_upper > self._row_lower)]
        prices = np.concatenate([column_prices, row_prices])
        values = np.concatenate([x[columns], activity[rows]])
        lower = np.concatenate([(self._lower / self._unit)[columns], self._row_lower[rows]])
        upper = np.concatenate([(self._upper / self._unit)[columns], self._row_upper[rows]])
        room = np.minimum(values - lower, upper - values)
        scale = 1.0 + np.abs(values)
        return bool((np.abs(prices) > tolerance).all() and (room > tolerance * scale).all())

    def _vertex(self) -> Point:
        """Solve the active constraints for the basic columns, with the others at their bounds."""
        columns, rows, x, activity = self._basis()
        lower = self._lower / self._unit
        upper = self._upper / self._unit
        at_upper = upper - x < x - lower
        bound = np.where(at_upper, upper, lower)
        scaled = np.where(np.isfinite(bound), bound, x)
        active = self._matrix[~rows]
        tight = self._row_upper[~rows] - activity[~rows] <= activity[~rows] - self._row_lower[~rows]
        rhs = np.where(tight, self._row_upper[~rows], self._row_lower[~rows])
        remainder = rhs - active[:, ~columns] @ scaled[~columns]
        scaled[columns] = np.linalg.solve(active[:, columns], remainder)
        vertex = scaled * self._unit
        exact = ~columns & np.isfinite(bound)
        vertex[exact] = np.where(at_upper, self._upper, self._lower)[exact]
        return vertex

    def _model(self, highspy: Any) -> Any:
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = self._matrix.shape
        model.col_cost_ = np.zeros(self._lower.size)
        model.col_lower_ = self._lower / self._unit
        model.col_upper_ = self._upper / self._unit
        model.row_lower_ = self._row_lower
        model.row_upper_ = self._row_upper
        rows, columns = np.nonzero(self._matrix)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.searchsorted(rows, np.arange(self._matrix.shape[0] + 1))
        model.a_matrix_.index_ = columns
        model.a_matrix_.value_ = self._matrix[rows, columns]
        return model
