"""Corollary 2: parameters for a wanted accuracy, and what they cost."""

from __future__ import annotations

import pytest

from bizol.theory import Constants, corollary_2, theorem_1
from bizol.verification.algorithm import corollary_2 as statement
from tests.theory.test_theorem_1 import SIMPLE


def test_the_statement_holds() -> None:
    assert statement().holds


def test_the_promise_is_kept_when_the_step_is_one() -> None:
    gentle = Constants(
        dimension=4, diameter=2, L1x=0, L1y=0, L2x=0, L2y=0, M_x=1, M_y=1e-6, L_y=1, kind="computed"
    )
    for epsilon in (1.0, 50.0):
        choice = corollary_2(gentle, epsilon=epsilon, initial_gap=1000)
        assert choice.step == 1
        bound = theorem_1(
            gentle,
            delta=choice.delta,
            batch=choice.batch,
            step=1.0,
            horizon=choice.horizon,
            initial_gap=1000,
        )
        assert bound.total <= epsilon


def test_the_radius_stays_within_reach() -> None:
    assert corollary_2(SIMPLE, epsilon=1e6, initial_gap=3, reach=0.01).delta == 0.01


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
    assert bound.bias <= epsilon / 4 * (1 + 1e-9)
    assert choice.queries == choice.horizon * (2 * choice.batch + 1)
