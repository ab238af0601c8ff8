"""Who decides what: the leader's objective, the follower's response, the set of decisions."""

from bizol.problem.problem import (
    NAMES,
    Anchor,
    EvaluationError,
    Objective,
    Problem,
    ResponseError,
    UnansweredError,
)

__all__ = [
    "NAMES",
    "Anchor",
    "EvaluationError",
    "Objective",
    "Problem",
    "ResponseError",
    "UnansweredError",
]
