"""One batch of queries → responses. The only caller of the follower, and the only counter of what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import final

from bizol.arrays import Point, Points, Response, Responses, as_response, infinite_rows, owned, stack
from bizol.problem import EvaluationError, Problem


@final
class Evaluator:
    """Ask the follower, count every query, let nothing pass that is not a response.

    The follower gets copies of the decisions, so it may write on them. Responses to a batch are good until the next
    batch is asked for, as a follower may use its buffers again; what is kept for longer is copied (`arrays.owned`).

    Args:
        problem: whose follower is asked, one decision at a time or whole batches (`Problem(vectorized=True)`).
        budget: a hard ceiling on the number of queries; none by default.
        answered: called with the number of queries just answered, for a progress bar.
        first: called with the first decision and the response to it, as soon as they are there, to look at both before
            more is asked.

    """

    def __init__(
        self,
        problem: Problem,
        *,
        budget: float = inf,
        answered: Callable[[int], object] | None = None,
        first: Callable[[Point, Response], object] | None = None,
    ) -> None:
        self._problem = problem
        self._budget = budget
        self._answered = answered
        self._first = first
        self._size: int | None = None  # m, known from the first response
        self._queries = 0

    @property
    def queries(self) -> int:
        """How many queries were sent so far, answered or not."""
        return self._queries

    def affords(self, count: int) -> bool:
        """Whether `count` more queries stay within the budget."""
        return self._queries + count <= self._budget

    def evaluate(self, points: Points) -> Responses:
        """Return the responses (q, m) to the queries (q, n), in their order."""
        if not self.affords(len(points)):
            raise ValueError(f"{len(points)} queries exceed the budget: {self._queries} of {self._budget} are spent.")
        return self._all_at_once(points) if self._problem.vectorized else self._one_by_one(points)

    def _all_at_once(self, points: Points) -> Responses:
        first, count = self._queries, len(points)
        self._queries += count
        try:
            responses = as_response(self._problem.response(points.copy()))
        except Exception as error:
            raise _failure(f"queries {first} to {first + count - 1}", error) from error
        if len(responses.shape) != 2 or responses.shape[0] != count:
            raise EvaluationError(
                f"Problem(response=..., vectorized=True) must return one row per query: "
                f"given shape {points.shape} it must return ({count}, m), got {tuple(responses.shape)}."
            )
        self._check_size(responses.shape[1], first)
        if bad := infinite_rows(responses):
            message = f"The response to query {first + bad[0]} is not finite ({len(bad)} of {count} are not)."
            good = [row for row in range(count) if row not in bad]
            raise EvaluationError(message, points=points[good], responses=[responses[row, ...] for row in good])
        if first == 0 and self._first is not None:
            self._first(points[0], responses[0, ...])
        if self._answered is not None:
            self._answered(count)
        return responses

    def _one_by_one(self, points: Points) -> Responses:
        answers: list[Response] = []
        try:
            for point in points:
                answers.append(self._answer(point))
                if self._queries == 1 and self._first is not None:
                    self._first(point, answers[-1])
                if self._answered is not None:
                    self._answered(1)
        except EvaluationError as error:
            error.points, error.responses = points[: len(answers)], answers
            raise
        return stack(answers)

    def _answer(self, point: Point) -> Response:
        query = self._queries
        self._queries += 1
        try:
            response = owned(as_response(self._problem.response(point.copy())))
        except Exception as error:
            raise _failure(f"query {query}", error) from error
        if len(response.shape) != 1:
            raise EvaluationError(
                f"The response to query {query} must be a vector (m,), got shape {tuple(response.shape)}; "
                f"return a one-dimensional array, also when m is 1."
            )
        self._check_size(response.shape[0], query)
        if infinite_rows(response[None, ...]):
            raise EvaluationError(f"The response to query {query} is not finite.")
        return response

    def _check_size(self, size: int, query: int) -> None:
        if size == self._size:
            return
        if size == 0:
            raise EvaluationError(f"The response to query {query} must not be empty.")
        if self._size is None:
            self._size = size
        else:
            raise EvaluationError(
                f"The response to query {query} must have the size of the first one, {self._size}, got {size}."
            )


def _failure(which: str, error: Exception) -> EvaluationError:
    return EvaluationError(f"The follower failed at {which}: {type(error).__name__}: {error}")
