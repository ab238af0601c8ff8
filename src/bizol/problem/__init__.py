"""Who decides what: the leader's objective, the follower's response, the set of decisions."""

from bizol.problem.errors import EvaluationError, ResponseError, UnansweredError
from bizol.problem.follower import Follower
from bizol.problem.gradients import GradientError
from bizol.problem.objective import Anchor, Objective, ReadyObjective
from bizol.problem.problem import Problem

__all__ = [
    "Anchor",
    "EvaluationError",
    "Follower",
    "GradientError",
    "Objective",
    "Problem",
    "ReadyObjective",
    "ResponseError",
    "UnansweredError",
]
