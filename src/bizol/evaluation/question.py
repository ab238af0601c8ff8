"""How a query is put to the follower: the one place that calls it and looks at what it returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses, as_response, infinite_rows, owned
from bizol.evaluation.isolation import ask_child
from bizol.evaluation.outcomes import Outcome, UnusableResponseError, failure_of
from bizol.evaluation.query import Query
from bizol.problem import Problem, ResponseError
from bizol.problem.follower import remarks_of
from bizol.processes import follow_parent


@final
@dataclass(frozen=True, slots=True)
class Question:
    """How decisions are put to a follower: alone or several at once, with seeds if it takes them.

    The follower gets copies of the decisions, so it may write on them. What it returns may be a
    buffer that it uses again: who keeps it, copies it.
    """

    response: Any
    vectorized: bool
    seeded: bool

    @classmethod
    def of(cls, problem: Problem) -> Question:
        """Return the question of a problem."""
        return cls(problem.response, problem.vectorized, problem.is_seeded)

    def ask(self, x: Point, seed: int | None) -> Response:
        """Return the response to one decision: a vector of finite numbers.

        Raises:
            UnusableResponseError: saying what is wrong with what the follower returned.

        """
        if self.vectorized:
            rows, infinite = self.ask_all(x[None], [seed])
            if infinite:
                raise UnusableResponseError("infinite", "is not finite")
            return rows[0, ...]
        given = x.copy()
        answer = self.response(given, seed=seed) if self.seeded else self.response(given)
        response = as_response(answer)
        _check_vector(response)
        if infinite_rows(response[None, ...]):
            raise UnusableResponseError("infinite", "is not finite")
        return response

    def ask_all(
        self, points: Points, seeds: Sequence[int | None] | None
    ) -> tuple[Responses, list[int]]:
        """Return the responses (k, m) of a vectorized follower, and the rows that are not finite.

        Raises:
            UnusableResponseError: when there is not one row per decision.

        """
        given = points.copy()
        answer = self.response(given, seed=seeds) if self.seeded else self.response(given)
        rows = as_response(answer)
        shape = rows.shape
        if len(shape) != 2 or shape[0] != len(points) or shape[1] == 0:
            raise UnusableResponseError(
                "shape",
                "must have one row per query: "
                f"given shape {points.shape} it must have ({len(points)}, m), got {tuple(shape)}",
            )
        return rows, infinite_rows(rows)

    def attempt(self, x: Point, seed: int | None) -> Outcome:
        """Ask about one decision, and return whatever happens as plain data."""
        try:
            return Outcome("ok", owned(self.ask(x, seed)), remarks_of(self.response))
        except (Exception, SystemExit) as error:
            return failure_of(error)

    def attempt_all(self, group: list[Query]) -> list[Outcome]:
        """Ask a vectorized follower about several decisions at once."""
        points = np.array([query.x for query in group])
        try:
            rows, infinite = self.ask_all(points, [query.seed for query in group])
        except ResponseError:  # of one of them; the others have their answers
            return [self.attempt(query.x, query.seed) for query in group]
        except (Exception, SystemExit) as error:
            return [failure_of(error)] * len(group)
        remarks = remarks_of(self.response)
        flawed = failure_of(UnusableResponseError("infinite", "is not finite"))
        return [
            flawed if row in infinite else Outcome("ok", owned(rows[row, ...]), remarks)
            for row in range(len(group))
        ]


def carry_out(
    follower: bytes | Question, group: list[Query], timeout: float | None, home: int
) -> list[Outcome]:
    """Ask about a group of decisions, wherever this runs.

    Args:
        follower: the question; packed, it is asked in a process of its own.
        group: the queries; more than one only of a vectorized follower.
        timeout: seconds after which an isolated query is stopped.
        home: the process of the run. Away from it, a worker ends with the one who started it.

    """
    if os.getpid() != home:
        follow_parent()
    if isinstance(follower, bytes):
        return [ask_child(follower, query.x, query.seed, timeout=timeout) for query in group]
    if len(group) == 1:
        return [follower.attempt(group[0].x, group[0].seed)]
    return follower.attempt_all(group)


def _check_vector(response: Response) -> None:
    shape = tuple(response.shape)
    if len(shape) != 1:
        raise UnusableResponseError(
            "shape",
            f"must be a vector (m,), got shape {shape}; "
            f"return a one-dimensional array, also when m is 1",
        )
    if shape[0] == 0:
        raise UnusableResponseError("shape", "must not be empty")
