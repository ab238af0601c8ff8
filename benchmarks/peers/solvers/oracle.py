"""What every solver gets: a counted follower that stops with the budget."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, isfinite
from time import process_time
from typing import TypeAlias, final

import numpy as np

import bizol
from benchmarks.peers.problems import Case
from benchmarks.peers.sets import FEASIBLE
from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet


class BudgetSpent(BaseException):
    """The budget is gone. Not an `Exception`, so that no solver swallows it."""


class UnsuitableError(ValueError):
    """The solver does not take this kind of problem; the message says why."""


@final
class Oracle:
    """The follower of a case, counted: every answer costs one query.

    The best feasible value so far is kept.

    Args:
        case: whose follower is asked.
        budget: how many queries may be asked; the next one raises `BudgetSpent`.
        seconds: how much processor time the solver may take, so that busy cores cut nobody; the
            first query after that raises `BudgetSpent` too.

    Attributes:
        best: the lowest φ(x, y(x)) over the feasible points asked so far, after each query; inf
            before the first.
        x: where the lowest value was; None before the first feasible point.
        late: whether the time ended before the budget.

    """

    def __init__(self, case: Case, budget: int, *, seconds: float = inf) -> None:
        self.case = case
        self.budget = budget
        self.best: list[float] = []
        self.x: Point | None = None
        self.late = False
        self._end = process_time() + seconds

    @property
    def queries(self) -> int:
        """How many queries were answered."""
        return len(self.best)

    @property
    def left(self) -> int:
        """How many queries the budget still covers."""
        return self.budget - self.queries

    @property
    def feasible_set(self) -> FeasibleSet:
        """X."""
        return self.case.problem.feasible_set

    @property
    def start(self) -> Point:
        """Where local solvers start."""
        return self.case.start.copy()

    @property
    def dimension(self) -> int:
        """The n of the decision."""
        return self.case.dimension

    @property
    def problem(self) -> bizol.Problem:
        """The problem of the case with the counted follower."""
        return bizol.Problem(self.case.problem.objective, self.response, self.feasible_set)

    def response(self, x: Point) -> Point:
        """Ask the follower: one query."""
        return self._ask(np.array(x, dtype=np.float64))[0]

    def value(self, x: Point) -> float:
        """Return φ(x, y(x)): one query."""
        return self._ask(np.array(x, dtype=np.float64))[1]

    def residuals(self, x: Point) -> Point:
        """Return r(x, y(x)) of an objective ‖r‖²: one query."""
        if self.case.residuals is None:
            raise UnsuitableError("The objective is not a sum of squares.")
        return self.case.residuals(x, self._ask(np.array(x, dtype=np.float64))[0])

    def _ask(self, x: Point) -> tuple[Point, float]:
        if self.left <= 0:
            raise BudgetSpent
        if process_time() > self._end:
            self.late = True
            raise BudgetSpent
        response = np.asarray(self.case.problem.response(x.copy()), dtype=np.float64)
        value = float(self.case.problem.objective.values(x[None], response[None])[0])
        before = self.best[-1] if self.best else inf
        feasible = isfinite(value) and self.feasible_set.contains(x, FEASIBLE)
        if feasible and value < before:
            self.x = x
        self.best.append(min(before, value) if feasible else before)
        return response, value


Solver: TypeAlias = Callable[[Oracle, int], None]  # an oracle and a seed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A solver with what it needs.

    Attributes:
        solve: runs it until the budget is gone or it has nothing more to do.
        package: what must be installed.

    """

    solve: Solver
    package: str | None = None

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return self.package is None or find_spec(self.package) is not None


def run_solver(peer: Peer, oracle: Oracle, seed: int) -> None:
    """Run a solver on a counted follower until it ends or the budget does.

    What it prints and warns of is kept quiet.
    """
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        state = np.random.get_state()
        np.random.seed(seed)  # some peers draw from the global generator
        try:
            peer.solve(oracle, seed)
        except BudgetSpent:
            pass
        finally:
            np.random.set_state(state)
