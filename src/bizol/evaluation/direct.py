"""Queries asked here, one after the other or a batch at once, until one fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from bizol.arrays import Point, Points, Response, Responses, RowStack, guarded
from bizol.evaluation.ledger import Ledger
from bizol.evaluation.outcomes import UnusableResponseError
from bizol.evaluation.query import Answers, Batch, make_answers
from bizol.evaluation.question import Question
from bizol.problem import EvaluationError, Problem
from bizol.problem.follower import close
from bizol.randomness import FOLLOWER, seed_of


@final
class Direct:
    """Ask the follower in this thread, and end at the first failure.

    The way of a plain run, and of everything that needs a few answers: a typing error in a
    follower should not be retried.

    Args:
        problem: whose follower is asked, one decision at a time or whole batches
            (`Problem(vectorized=True)`).
        ledger: counts the queries; a new one without a budget by default.
        seed: what the seeds of a follower that takes one are made of.

    Example:
        >>> import numpy as np, bizol
        >>> problem = bizol.Problem(
        ...     bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        ...     lambda x: np.minimum(x, 0.5),
        ...     bizol.Box([-1, -1], [1, 1]),
        ... )
        >>> direct = Direct(problem)
        >>> direct.ask(np.array([[0.2, 0.9], [1.0, -1.0]]))
        array([[ 0.2,  0.5],
               [ 0.5, -1. ]])
        >>> direct.queries
        2

    """

    unanswered = 0  # a query that fails ends the run
    trouble = ""

    def __init__(self, problem: Problem, ledger: Ledger | None = None, *, seed: int = 0) -> None:
        self._question = Question.of(problem)
        self._ledger = Ledger() if ledger is None else ledger
        self._seed = seed

    def __enter__(self) -> Direct:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the follower end what it holds."""
        close(self._question.response)

    @property
    def queries(self) -> int:
        """How many queries were sent so far, answered or not."""
        return self._ledger.queries

    @property
    def spent(self) -> bool:
        """Whether the budget covers no further query."""
        return not self._ledger.affords(1)

    def affords(self, batch: Batch) -> bool:
        """Whether the budget covers a batch."""
        return self._ledger.affords(len(batch.points))

    def forgive(self, batch: Batch) -> bool:
        """Return False: no query was given up, so none can be given another chance."""
        return False

    def answer(self, batch: Batch) -> Answers:
        """Return the answers to a batch, all of them."""
        return make_answers(self.ask(batch.points))

    def ask(self, points: Points, *, seeds: list[int] | None = None) -> Responses:
        """Return the responses (q, m) to decisions (q, n), in their order, read-only.

        Args:
            points: the decisions.
            seeds: one for each, for a follower that takes seeds; by default others for every query.

        Raises:
            EvaluationError: naming the query that failed; it carries the answers before that one.

        """
        ledger = self._ledger
        count = len(points)
        if not ledger.affords(count):
            raise ValueError(
                f"{count} queries exceed the budget: {ledger.queries} of {ledger.budget} are spent."
            )
        if seeds is not None:
            seeds = list(seeds)
        elif self._question.seeded:
            seeds = self._draw_seeds(count)
        if self._question.vectorized:
            return self._all_at_once(points, seeds)
        return self._in_turn(points, [None] * count if seeds is None else seeds)

    def _all_at_once(self, points: Points, seeds: list[int] | None) -> Responses:
        ledger = self._ledger
        first = ledger.queries
        count = len(points)
        ledger.spend(count)
        try:
            answer, infinite = self._question.ask_all(points, seeds)
            responses = guarded(answer)
            ledger.check_size(responses.shape[1])
        except Exception as error:
            which = f"queries {first} to {first + count - 1}"
            raise _failure(which, error, "Problem(response=..., vectorized=True)") from error
        if infinite:
            good = [row for row in range(count) if row not in infinite]
            raise EvaluationError(
                f"The response to query {first + infinite[0]} is not finite "
                f"({len(infinite)} of {count} are not).",
                points=points[good],
                responses=[responses[row, ...] for row in good],
            )
        ledger.admit_all(points, responses)
        return responses

    def _in_turn(self, points: Points, seeds: Sequence[int | None]) -> Responses:
        rows = RowStack(len(points))
        try:
            for point, seed in zip(points, seeds, strict=True):
                response = rows.append(self._one(point, seed))
                self._ledger.admit(point, response)
        except EvaluationError as error:
            error.points, error.responses = points[: len(rows)], rows.rows()
            raise
        return rows.array()

    def _one(self, point: Point, seed: int | None) -> Response:
        query = self.queries
        self._ledger.spend(1)
        try:
            response = self._question.ask(point, seed)
            self._ledger.check_size(response.shape[0])
        except Exception as error:
            raise _failure(f"query {query}", error, f"The response to query {query}") from error
        return response

    def _draw_seeds(self, count: int) -> list[int]:
        first = self.queries
        return [seed_of(self._seed, *FOLLOWER, query) for query in range(first, first + count)]


def _failure(which: str, error: Exception, subject: str) -> EvaluationError:
    if isinstance(error, UnusableResponseError):
        return EvaluationError(f"{subject} {error}.")
    return EvaluationError(f"The follower failed at {which}: {type(error).__name__}: {error}")
