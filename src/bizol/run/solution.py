"""What a run returns: the best decision, how the run ended, and its history."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Response, writable
from bizol.evaluation import Query
from bizol.run.noise import Noise

if TYPE_CHECKING:
    import pandas


class Status(Enum):
    """How a run ended; the value is the message."""

    BUDGET_SPENT = "The query budget does not cover another iteration."
    STOPPED = "The stop condition was met."
    INTERRUPTED = "Interrupted from the keyboard."
    WAITING = "The run waits for answers from outside."
    UNANSWERED = "A query that the run needs was not answered."
    FAILING = "Too many queries fail."
    FAILED = "The run could not continue."


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterate:
    """A decision of the run and, where the follower was asked there, the response to it."""

    iteration: int
    x: Point
    y: Response = None  # None where the follower was not asked
    value: float = nan

    @property
    def observed(self) -> bool:
        """Whether the follower was asked at exactly this decision."""
        return self.y is not None

    def copy(self) -> Iterate:
        """Return the same with new arrays, which may be written to."""
        return replace(self, x=self.x.copy(), y=None if self.y is None else writable(self.y))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """The run as columns, one row per iteration; NaN where something was not observed.

    The gap estimate is the Frank–Wolfe gap of the noisy direction that was used. It is biased
    upward: use it to watch a run, not as a certificate. A last row without a step is the final
    decision, observed with what was left of the budget.
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
        """Write the columns with a header line.

        Floats are written with all their digits, so that reading them gives the same bits.
        """
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
        best: the observed decision with the lowest value, or the last decision if none was observed
            (VZO asks beside its iterates, never at them). `x`, `y` and `value` are those of `best`.
        last: the decision after the final move.
        drawn: x_R, drawn uniformly from the decisions at which moves were made. Theorem 1 is about
            this one.
        queries: how many responses were asked for.
        iterations: how many moves were made.
        status, message: how the run ended, as a value and in words.
        history: the run as columns, one row per iteration.
        seed: pass it to `minimize` to repeat the run.
        method: the method that was used.
        unanswered: how many queries failed permanently and were left out.
        pending: the queries that wait for an answer from outside.
        noise: the noise that repeats measured; None without repeats.

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
        """The response to the best decision; None where it was not observed."""
        return self.best.y

    @property
    def value(self) -> float:
        """φ(x, y); NaN where the response was not observed."""
        return self.best.value

    def __repr__(self) -> str:
        return (
            f"Solution(value={self.value:.6g}, queries={self.queries}, "
            f"iterations={self.iterations}, status={self.status.name}, seed={self.seed})"
        )

    def __str__(self) -> str:
        gaps = self.history.gap_estimate[~np.isnan(self.history.gap_estimate)]
        gap_estimate = f"{gaps[-1]:.4g}   (of the last move; noisy)" if len(gaps) else "none"
        first = next((value for value in self.history.value if not isnan(value)), nan)
        best = f"(iteration {self.best.iteration}; the first was {_format_value(first)})"
        with np.printoptions(precision=4, threshold=8, edgeitems=3):
            lines = {
                "status": self.message,
                "value": f"{_format_value(self.value)}   {best}",
                "x": f"{self.x}",
                "y": "not observed" if self.y is None else f"{self.y}",
                "last": _format_value(self.last.value),
                "drawn": f"{_format_value(self.drawn.value)}   (iteration {self.drawn.iteration})",
                "gap estimate": gap_estimate,
                "queries": f"{self.queries} in {self.iterations} iterations",
                "method": f"{self.method!r}",
                "seed": f"{self.seed}",
            }
        return "\n".join(f"{name:>13}: {text}" for name, text in lines.items())


def _format_value(value: float) -> str:
    return "not observed" if isnan(value) else f"{value:.8g}"
