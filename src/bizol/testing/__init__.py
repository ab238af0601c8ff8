"""Conformance checks for what users bring: sets, followers, methods and whole problems.

`check` raises a `ValueError` that says what is wrong with a problem. The others are for your own
tests: each raises an `AssertionError` that names the law that is broken and shows the case that
breaks it.
"""

from bizol.testing.feasible_sets import check_feasible_set
from bizol.testing.followers import FollowerCheck, check_follower
from bizol.testing.methods import check_method
from bizol.testing.problems import ProblemCheck, check

__all__ = [
    "FollowerCheck",
    "ProblemCheck",
    "check",
    "check_feasible_set",
    "check_follower",
    "check_method",
]
