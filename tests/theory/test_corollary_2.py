"""Corollary 2: parameters for a wanted accuracy, and what they cost."""

from __future__ import annotations

import pytest

from bizol.theory import corollary_2, theorem_1
from bizol.verification.algorithm import corollary_2 as statement
from tests.theory.test_theorem_1 import SIMPLE


def test_the_statement_holds() -> None:
    assert statement().holds


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3, 1e6])
def test_the_promise_is_kept_for_any_epsilon(epsilon: float) -> None:
    choice = corollary_2(SIMPLE, epsilon=epsilon, initial_gap=3)
    bound = theorem_1(
        SIMPLE,
        delta=choice.delta,
        batch=choice.batch,
        step=choice.step,
        horizon=choice.horizon,
        initial_gap=3,
    )
    assert bound.total <= epsilon * (1 + 1e-9)
    assert bound.bias == pytest.approx(epsilon / 4)
    assert choice.queries == choice.horizon * (2 * choice.batch + 1)
