"""Collects what a run will report, while it goes on."""

from __future__ import annotations

from math import nan
from typing import Any, final

import numpy as np

from bizol.arrays import Point, Response
from bizol.methods import Move
from bizol.run.solution import History, Iterate, Solution, Status


@final
class Recorder:
    """Keeps the best, the last and a uniformly drawn decision, and a row for every iteration."""

    def __init__(self, x0: Point, draws: np.random.Generator) -> None:
        self._draws = draws
        self._x = x0
        self._last: Iterate | None = None
        self._best: Iterate | None = None
        self._drawn: Iterate | None = None
        self._next_draw = 1
        self._moves = 0
        self._rows: list[tuple[int, int, float, float, float, float]] = []

    def record_move(self, move: Move, *, to: Point, queries: int) -> None:
        """Take note of a move and of the decision it led to."""
        anchor = move.anchor
        value = nan if anchor is None else anchor.value
        self._rows.append((self._moves, queries, value, move.gap_estimate, move.step, move.delta))
        if anchor is not None and (self._best is None or value < self._best.value):
            self._best = self._departure(move)
        if self._moves + 1 == self._next_draw:
            # Every decision so far is x_R with the same probability: after the k-th was taken, the
            # next one taken is beyond the t-th with probability k/t, as ⌊k/U⌋ ≥ t has it for
            # U ~ Unif(0, 1).
            self._drawn = self._departure(move)
            self._next_draw = int(self._next_draw / (1 - self._draws.random())) + 1
        self._moves += 1
        self._x = to
        self._last = None
        if (landed := move.landed) is not None:
            found = Iterate(
                iteration=self._moves, x=landed.at, y=landed.response, value=landed.value
            )
            if np.array_equal(landed.at, to):
                self._last = found
            if self._best is None or landed.value < self._best.value:
                self._best = found

    def record_end(self, response: Response, value: float, *, queries: int) -> None:
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

    def solution(self, *, status: Status, message: str, **facts: Any) -> Solution:
        """Return what was collected; the caller may write to all of it."""
        last = self._last or Iterate(iteration=self._moves, x=self._x)
        return Solution(
            best=(self._best or last).copy(),
            last=last.copy(),
            drawn=(self._drawn or last).copy(),
            iterations=self._moves,
            history=self._history(),
            status=status,
            message=message,
            **facts,
        )

    def _departure(self, move: Move) -> Iterate:
        return Iterate(iteration=self._moves, x=move.at, y=move.response, value=move.value)

    def _history(self) -> History:
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, 6).T
        iteration, queries, value, gap_estimate, step, delta = columns.copy()
        return History(
            iteration=iteration.astype(np.int64),
            queries=queries.astype(np.int64),
            value=value,
            gap_estimate=gap_estimate,
            step=step,
            delta=delta,
        )
