"""What can go wrong between a problem and its answers."""

from __future__ import annotations

from typing import Any

from bizol.arrays import Points, Response


class EvaluationError(ValueError):
    """The follower or the objective gave no usable answer.

    Attributes:
        solution: the `Solution` a run had found until then; None outside of `minimize`.
        points, responses: the queries of the failed batch that were answered, in order; None where
            there are none.

    """

    solution: Any = None

    def __init__(
        self, message: str, *, points: Points | None = None, responses: list[Response] | None = None
    ) -> None:
        super().__init__(message)
        self.points = points
        self.responses = responses


class UnansweredError(EvaluationError):
    """A query that a method cannot do without was not answered, however often it was asked."""


class ResponseError(ValueError):
    """There is no response at a decision: infeasible, unbounded, or not solved.

    Raise it in a follower of your own where asking again would not help; the message should name
    the decision and say what the solver said. Where failures are a matter of policy (`Retries`),
    the query is left out at once.
    """
