"""Any convex program written with CVXPY, as a follower."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from bizol.arrays import ArgumentError, Point, as_positive
from bizol.problem import ResponseError
from bizol.processes import filtered_warnings
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class CvxpyFollower:
    """The solution of a parametrized convex program (DPP), solved by CVXPY.

    Args:
        problem: a `cvxpy.Problem`, convex and DPP: then it is compiled once, and a query is a
            solve.
        parameter: the `cvxpy.Parameter` that stands for x, a vector.
        variable: the `cvxpy.Variable`, or a list of them, whose value is the response; stacked, row
            by row.
        tolerance: how accurate the response is, relative; given to the solver where it takes it.
        solver: a name CVXPY knows; Clarabel by default.
        options: more for the solver.

    Raises:
        ResponseError: when the program is infeasible or unbounded at x, or the solver stops short,
        with its own words.

    Example:
        >>> import cvxpy as cp
        >>> x, y = cp.Parameter(2), cp.Variable(2)
        >>> nearest = cp.Problem(cp.Minimize(cp.sum_squares(y - x)), [cp.norm1(y) <= 1])
        >>> follower = CvxpyFollower(nearest, x, y)
        >>> np.round(follower(np.array([0.9, 0.5])), 4)
        array([0.7, 0.3])

    """

    problem: Any
    parameter: Any
    variables: tuple[Any, ...]
    tolerance: float
    solver: str
    options: dict[str, Any] = field(repr=False)
    _lock: Any = field(repr=False)  # one solve at a time, as a problem holds its values

    def __init__(
        self,
        problem: Any,
        parameter: Any,
        variable: Any,
        *,
        tolerance: float = 1e-6,
        solver: str = "CLARABEL",
        options: dict[str, Any] | None = None,
    ) -> None:
        cp = _cvxpy()
        if not isinstance(problem, cp.Problem) or not problem.is_dcp(dpp=True):
            raise ArgumentError(
                "CvxpyFollower",
                "problem",
                "must be a cvxpy.Problem that is DPP: convex, with the parameter entering "
                "so that CVXPY can compile it once.",
            )
        if (
            not isinstance(parameter, cp.Parameter)
            or parameter.ndim != 1
            or not _among(parameter, problem.parameters())
        ):
            raise ArgumentError(
                "CvxpyFollower",
                "parameter",
                "must be a vector parameter of the problem, cvxpy.Parameter(n).",
            )
        if others := [
            other.name()
            for other in problem.parameters()
            if other is not parameter and other.value is None
        ]:
            raise ArgumentError(
                "CvxpyFollower", "problem", f"has another parameter without a value, {others[0]}."
            )
        variables = tuple(variable) if isinstance(variable, (list, tuple)) else (variable,)
        if not variables or not all(_among(part, problem.variables()) for part in variables):
            raise ArgumentError(
                "CvxpyFollower", "variable", "must be a variable of the problem, or a list of them."
            )
        # The solver works in values, and a response is as accurate as the root of its value where
        # that is flat.
        names = ("tol_gap_abs", "tol_gap_rel", "tol_feas") if solver == "CLARABEL" else ()
        accurate = dict.fromkeys(names, max(tolerance**2, 1e-12))
        assign(
            self,
            problem=problem,
            parameter=parameter,
            variables=variables,
            tolerance=as_positive(tolerance, "CvxpyFollower", "tolerance"),
            solver=str(solver),
            options=accurate | (options or {}),
            _lock=threading.Lock(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (
            self.problem.objective,
            self.problem.constraints,
            self.parameter,
            self.variables,
        )  # solvers stay here
        return _rebuilt, (
            parts,
            {"tolerance": self.tolerance, "solver": self.solver, "options": self.options},
        )

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self(row) for row in x])
        with self._lock:
            self._solve(self.problem, x)
            return np.concatenate([np.ravel(part.value) for part in self.variables]).astype(
                np.float64
            )

    def spread(
        self, x: Point, *, excess: float = 1e-6, directions: int = 3, seed: int = 0
    ) -> float:
        """Return how far apart two responses can be that cost at most `excess` more than the best.

        Relative to the response; along a few random directions, two solves each. Of a strongly
        convex program it shrinks with the root of the excess, of a program with several solutions
        not at all.
        """
        cp = _cvxpy()
        with self._lock:
            self._solve(self.problem, x)
            best = float(self.problem.value)
            y = np.concatenate([np.ravel(part.value) for part in self.variables])
            sense = 1.0 if isinstance(self.problem.objective, cp.Minimize) else -1.0
            room = sense * self.problem.objective.expr <= sense * best + excess * max(
                1.0, abs(best)
            )
            stacked = cp.hstack([cp.vec(part, order="C") for part in self.variables])
            rng, widths = np.random.default_rng(seed), []
            for direction in rng.standard_normal((directions, y.size)):
                unit, ends = direction / np.linalg.norm(direction), []
                for sign in (1.0, -1.0):
                    end = cp.Problem(
                        cp.Minimize(sign * (unit @ stacked)), [*self.problem.constraints, room]
                    )
                    self._solve(end, x, options={})
                    ends.append(float(unit @ stacked.value))
                widths.append(abs(ends[1] - ends[0]))
        return max(widths) / max(1.0, float(np.linalg.norm(y)))

    def check_unique(self, x: Point) -> None:
        """Raise a `ResponseError` where the program has several solutions, as many LPs have."""
        wide, narrow = self.spread(x, excess=1e-3), self.spread(x, excess=1e-5)
        if narrow > 0.5 * wide and narrow > 1e3 * self.tolerance:
            raise ResponseError(
                f"CvxpyFollower: the response is not unique at x = {x}: responses {narrow:.2g} "
                f"apart (relative) cost the follower the same. Add a small strongly convex term, "
                f"such as 1e-3 * cp.sum_squares(y)."
            )

    def _solve(self, problem: Any, x: Point, options: dict[str, Any] | None = None) -> None:
        self.parameter.value = np.array(x, dtype=np.float64)
        try:
            with filtered_warnings("ignore"):  # an inaccurate solution is refused below
                problem.solve(solver=self.solver, **(self.options if options is None else options))
        except Exception as error:
            raise ResponseError(
                f"CvxpyFollower: {self.solver} failed at x = {x}: {error}"
            ) from error
        if problem.status != "optimal":
            raise ResponseError(f"CvxpyFollower: {self.solver} says {problem.status!r} at x = {x}.")


def _rebuilt(parts: tuple[Any, ...], given: dict[str, Any]) -> CvxpyFollower:
    objective, constraints, parameter, variables = parts
    return CvxpyFollower(_cvxpy().Problem(objective, constraints), parameter, variables, **given)


def _among(part: Any, parts: list[Any]) -> bool:
    return any(part is other for other in parts)  # == makes a constraint of them


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError("CvxpyFollower needs CVXPY: pip install 'bizol[cvxpy]'.") from error
    return cvxpy
