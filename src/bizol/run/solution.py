"""What a run returns: where it arrived, how it ended, and what it saw on the way."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, fields
from enum import Enum
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Response
from bizol.evaluation import Query
from bizol.methods import Move
from bizol.run.noise import Noise

if TYPE_CHECKING:
    import pandas


class Status(Enum):
    """How a run ended; the value is the message."""

    BUDGET_SPENT = "The query budget does not cover another iteration."
    STOPPED = "The stop condition was met."
    INTERRUPTED = "Interrupted from the keyboard."
    WAITING = "Answers from outside are awaited."
    UNANSWERED = "A query that the run cannot do without was not answered."
    FAILING = "Too many queries fail."
    FAILED = "The run could not go on."


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterate:
    """A decision of the run and, where it was asked for, the response to it."""

    iteration: int
    x: Point
    y: Response = None  # where it was not asked for
    value: float = nan

    @property
    def observed(self) -> bool:
        """Whether the follower was asked at exactly this decision."""
        return self.y is not None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """The run as columns, one row per iteration; NaN where something was not observed.

    The gap estimate is the Frank–Wolfe gap of the noisy direction that was used, biased upward:
    good to watch, not a certificate. A last row without a step is the final decision, observed with
    what the budget had left.
    """

    iteration: NDArray[np.int64]
    queries: NDArray[np.int64]  # spent so far, this iteration included
    value: NDArray[np.float64]  # φ(x_k, y(x_k))
    gap_estimate: NDArray[np.float64]
    step: NDArray[np.float64]
    delta: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iteration)

    def __repr__(self) -> str:
        return f"History({len(self)} rows of {', '.join(self.columns)})"

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in fields(self)]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns as a data frame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "History.to_pandas needs pandas: pip install 'bizol[pandas]'."
            ) from error
        return pandas.DataFrame({name: getattr(self, name) for name in self.columns})

    def to_csv(self, path: str | Path) -> None:
        """Write the columns with a header line; floats are written so that reading gives the same bits."""
        rows = zip(*(getattr(self, name).tolist() for name in self.columns), strict=True)
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(rows)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """The outcome of `minimize`.

    Attributes:
        best: the observed decision with the lowest value; the last one where none was observed (VZO
            asks beside its iterates, never at them). `x`, `y` and `value` are its own.
        last: the decision after the final move.
        drawn: x_R, drawn uniformly from the decisions moves were made at: the one Theorem 1 speaks
            of.
        queries: how many responses were asked for.
        status, message: how the run ended, as a value and in words.
        history: what was seen on the way.
        seed: repeats the run when given again.
        unanswered: how many queries failed for good and were left out.
        pending: the queries that wait for an answer from outside.
        noise: what repeats told about noise; None without repeats.

    """

    best: Iterate
    last: Iterate
    drawn: Iterate
    queries: int
    iterations: int
    status: Status
    message: str
    history: History
    seed: int
    method: Any = field(repr=False)
    unanswered: int = 0
    pending: tuple[Query, ...] = ()
    noise: Noise | None = None

    @property
    def x(self) -> Point:
        """The best decision."""
        return self.best.x

    @property
    def y(self) -> Response:
        """The response to it; None where it was not observed."""
        return self.best.y

    @property
    def value(self) -> float:
        """φ(x, y); NaN where the response was not observed."""
        return self.best.value

    def __repr__(self) -> str:
        return (
            f"Solution(value={self.value:.6g}, queries={self.queries}, iterations={self.iterations}, "
            f"status={self.status.name}, seed={self.seed})"
        )

    def __str__(self) -> str:
        gaps = self.history.gap_estimate[~np.isnan(self.history.gap_estimate)]
        first = next((value for value in self.history.value if not isnan(value)), nan)
        with np.printoptions(precision=4, threshold=8, edgeitems=3):
            lines = {
                "status": self.message,
                "value": f"{_number(self.value)}   (iteration {self.best.iteration}; the first was {_number(first)})",
                "x": f"{self.x}",
                "y": "not observed" if self.y is None else f"{self.y}",
                "last": _number(self.last.value),
                "drawn": f"{_number(self.drawn.value)}   (iteration {self.drawn.iteration})",
                "gap estimate": f"{gaps[-1]:.4g}   (of the last move; noisy)"
                if len(gaps)
                else "none",
                "queries": f"{self.queries} in {self.iterations} iterations",
                "method": f"{self.method!r}",
                "seed": f"{self.seed}",
            }
        return "\n".join(f"{name:>13}: {text}" for name, text in lines.items())


@final
class Recorder:
    """Collects what `minimize` will report, while the run goes on."""

    def __init__(self, x0: Point, draws: np.random.Generator) -> None:
        self._draws = draws
        self._x = x0
        self._last: Iterate | None = None
        self._best: Iterate | None = None
        self._drawn: Iterate | None = None
        self._next_draw = 1
        self._moves = 0
        self._rows: list[tuple[int, int, float, float, float, float]] = []

    def moved(self, move: Move, to: Point, queries: int) -> None:
        """Take note of a move and of the decision it led to."""
        self._rows.append(
            (self._moves, queries, move.value, move.gap_estimate, move.step, move.delta)
        )
        if move.response is not None and (self._best is None or move.value < self._best.value):
            self._best = self._left(move)
        if self._moves + 1 == self._next_draw:
            # Every decision so far is x_R with the same probability: after the k-th was taken, the
            # next one taken is beyond the t-th with probability k/t, as ⌊k/U⌋ ≥ t has it for U ~
            # Unif(0, 1).
            self._drawn = self._left(move)
            self._next_draw = int(self._next_draw / (1 - self._draws.random())) + 1
        self._moves += 1
        self._x = to
        self._last = None
        if (landed := move.landed) is not None:
            found = Iterate(
                iteration=self._moves, x=landed.at, y=landed.response, value=landed.value
            )
            self._last = found if np.array_equal(landed.at, to) else None
            if self._best is None or landed.value < self._best.value:
                self._best = found

    def closed(self, response: Response, value: float, queries: int) -> None:
        """Take note of the response to the last decision."""
        self._last = Iterate(iteration=self._moves, x=self._x, y=response, value=value)
        self._rows.append((self._moves, queries, value, nan, nan, nan))
        if self._best is None or value < self._best.value:
            self._best = self._last

    @property
    def observed(self) -> bool:
        """Whether the response to the last decision is known already."""
        return self._last is not None

    def lowest(self) -> float:
        """Return the lowest value observed so far, NaN while there is none."""
        return nan if self._best is None else self._best.value

    def solution(
        self, *, queries: int, status: Status, message: str, seed: int, method: Any, **others: Any
    ) -> Solution:
        """Return what was collected, as it stands."""
        last = self._last or Iterate(iteration=self._moves, x=self._x)
        return Solution(
            best=self._best or last,
            last=last,
            drawn=self._drawn or last,
            queries=queries,
            iterations=self._moves,
            status=status,
            message=message,
            history=self._history(),
            seed=seed,
            method=method,
            **others,
        )

    def _left(self, move: Move) -> Iterate:
        return Iterate(iteration=self._moves, x=move.at, y=move.response, value=move.value)

    def _history(self) -> History:
        iteration, queries, value, gap_estimate, step, delta = (
            np.array(self._rows, dtype=np.float64).reshape(-1, 6).T
        )
        return History(
            iteration=iteration.astype(np.int64),
            queries=queries.astype(np.int64),
            value=value,
            gap_estimate=gap_estimate,
            step=step,
            delta=delta,
        )


def _number(value: float) -> str:
    return "not observed" if isnan(value) else f"{value:.8g}"
