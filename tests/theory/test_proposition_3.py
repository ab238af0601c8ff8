"""Proposition 3: the structural bias is at most ‖d_y‖ ω(x, δ)."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.structure.clarke import structural_bias
from bizol.verification.finding import decisions, example, vee
from bizol.verification.geometry import proposition_3


def test_the_statement_holds() -> None:
    assert proposition_3().holds


def test_the_bias_beside_a_kink_by_hand() -> None:
    """At distance 0.05 from a kink of |x₁|, δ = 0.1: twice the share of the disk beyond it."""
    bias = structural_bias(vee().problem, np.array([0.05, 1.0]), 0.1)
    beyond = np.arccos(0.5) / np.pi - 0.5 * np.sqrt(0.75) / np.pi  # circular segment of height 1/2
    assert bias.distance == pytest.approx(2 * beyond)
    assert bias.bound >= bias.distance
    assert not bias.regular


@pytest.mark.parametrize("kind", ["simplex", "program"])
def test_the_bound_holds_for_the_followers_that_are_searched(kind: str) -> None:
    case = example(kind, n=2)
    for x in decisions(case, 2):
        bias = structural_bias(case.problem, x, 0.2)
        error = case.follower.smoothed(x, 0.2).error
        assert bias.distance <= bias.bound + 50 * error
