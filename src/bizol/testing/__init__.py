"""Conformance checks for what users bring: sets, followers, methods and whole problems."""

from bizol.testing.testing import FollowerCheck, check_feasible_set, check_follower, check_method

__all__ = ["FollowerCheck", "check_feasible_set", "check_follower", "check_method"]
