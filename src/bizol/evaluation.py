"""One batch of queries → responses. The only caller of the follower, and the only counter of what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, final

import numpy as np

from bizol.arrays import Points, Response, Responses, namespace
from bizol.problem import EvaluationError, Problem


@final
class Evaluator:
    """Ask the follower, count every query, let nothing pass that is not a response.

    Args:
        problem: whose follower is asked, one decision at a time or whole batches (`Problem(vectorized=True)`).
        budget: a hard ceiling on the number of queries; none by default.
        answered: called with the number of queries just answered, for a progress bar.

    """

    def __init__(
        self, problem: Problem, *, budget: float = inf, answered: Callable[[int], object] | None = None
    ) -> None:
        self._problem = problem
        self._budget = budget
        self._answered = answered
        self._shape: tuple[int, ...] | None = None  # of a response, known from the first one
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
            responses = _as_array(self._problem.response(points))
        except Exception as error:
            raise _failure(f"queries {first} to {first + count - 1}", error) from error
        shape = tuple(responses.shape)
        if len(shape) != 2 or shape[0] != count:
            raise EvaluationError(
                f"Problem(response=..., vectorized=True) must return one row per query: "
                f"given shape {points.shape} it must return ({count}, m), got {shape}."
            )
        self._check_shape(shape[1:], first)
        bad = _not_finite(responses)
        if bad:
            raise EvaluationError(
                f"The response to query {first + bad[0]} is not finite ({len(bad)} of {count} are not)."
            )
        self._report(count)
        return responses

    def _one_by_one(self, points: Points) -> Responses:
        answered: list[Response] = []
        try:
            for point in points:
                answered.append(self._answer(point))
                self._report(1)
        except EvaluationError as error:
            error.points, error.responses = points[: len(answered)], answered
            raise
        return namespace(answered[0]).stack(answered)

    def _answer(self, point: Points) -> Response:
        query = self._queries
        self._queries += 1
        try:
            response = _as_array(self._problem.response(point))
        except Exception as error:
            raise _failure(f"query {query}", error) from error
        if len(response.shape) != 1:
            raise EvaluationError(
                f"The response to query {query} must be a vector (m,), got shape {tuple(response.shape)}; "
                f"return a one-dimensional array, also when m is 1."
            )
        self._check_shape(tuple(response.shape), query)
        if _not_finite(response[None, ...]):
            raise EvaluationError(f"The response to query {query} is not finite.")
        if query == 0:
            self._problem.objective.anchor(point, response)  # a misshapen gradient shows before a second query
        return response

    def _check_shape(self, shape: tuple[int, ...], query: int) -> None:
        if self._shape is None:
            self._shape = shape
        if shape != self._shape or 0 in shape:
            raise EvaluationError(
                f"The response to query {query} must have the size of the first one, {self._shape[0]}, got {shape[0]}."
            )

    def _report(self, count: int) -> None:
        if self._answered is not None:
            self._answered(count)


def _as_array(response: Any) -> Any:
    """Leave the arrays of other libraries as they are; everything else becomes float64."""
    if response is None:
        raise TypeError("it returned None, not a response")
    if isinstance(response, np.ndarray) or not hasattr(response, "shape"):
        return np.asarray(response, dtype=np.float64)
    return response


def _not_finite(responses: Responses) -> list[int]:
    """Return the rows that hold a NaN or an infinity."""
    if isinstance(responses, np.ndarray) and np.isfinite(responses).all():
        return []
    xp = namespace(responses)
    finite = xp.isfinite(responses)
    return [row for row in range(responses.shape[0]) if not xp.all(finite[row, ...])]


def _failure(which: str, error: Exception) -> EvaluationError:
    return EvaluationError(f"The follower failed at {which}: {type(error).__name__}: {error}")
