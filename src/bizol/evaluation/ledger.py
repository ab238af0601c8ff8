"""The only counter of what the follower was asked, and the first look at every answer."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import final

from bizol.arrays import Point, Points, Response, Responses
from bizol.evaluation.outcomes import UnusableResponseError


@final
class Ledger:
    """Counts queries against a budget, and holds answers to the size of the first one.

    Args:
        budget: a hard ceiling on the number of queries; none by default.
        examine: called with the first decision and its response, to look at both before more is
            asked.
        report: called with the number of queries just answered, for a progress bar.

    """

    def __init__(
        self,
        *,
        budget: float = inf,
        examine: Callable[[Point, Response], object] | None = None,
        report: Callable[[int], object] | None = None,
    ) -> None:
        self.queries = 0  # sent so far, answered or not
        self.budget = budget
        self._size: int | None = None  # m, known from the first response
        self._examine = examine
        self._report = report

    @property
    def sized(self) -> bool:
        """Whether the size of responses is known."""
        return self._size is not None

    def affords(self, count: int) -> bool:
        """Whether `count` more queries stay within the budget."""
        return self.queries + count <= self.budget

    def spend(self, count: int) -> None:
        """Count queries that are sent."""
        self.queries += count

    def check_size(self, size: int) -> None:
        """Raise an `UnusableResponseError` for a response of another size than the first one."""
        if self._size is not None and size != self._size:
            what = f"must have the size of the first one, {self._size}, got {size}"
            raise UnusableResponseError("shape", what)

    def admit(self, x: Point, response: Response) -> None:
        """Take note of an answer."""
        if self._size is None:
            self._admit_first(x, response)
        if self._report is not None:
            self._report(1)

    def admit_all(self, points: Points, responses: Responses) -> None:
        """Take note of answers that came together."""
        if self._size is None:
            self._admit_first(points[0], responses[0, ...])
        if self._report is not None:
            self._report(len(points))

    def _admit_first(self, x: Point, response: Response) -> None:
        self._size = int(response.shape[0])
        if self._examine is not None:
            self._examine(x, response)
