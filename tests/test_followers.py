"""The projection followers do what the lower level of Section V says, and the objective is the
paper's φ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from bizol.followers import BallProjection, BoxProjection
from tests.problems import Array

RNG = np.random.default_rng(4)
A, D, CAPACITY = RNG.standard_normal((5, 3)), RNG.standard_normal(5), RNG.uniform(0.3, 1.5, 5)
BOX = BoxProjection(A, D, -CAPACITY, CAPACITY)
BALL = BallProjection(A, D, radius=1.2)
points = st.integers(0, 999).map(lambda seed: np.random.default_rng(seed).standard_normal(3))


@given(x=points)
def test_the_box_response_minimizes_the_discomfort(x: Array) -> None:
    lower_level = minimize(
        lambda y: float(BOX.discomfort(x, y)),
        np.zeros(5),
        jac=lambda y: y - D - A @ x,
        bounds=list(zip(-CAPACITY, CAPACITY, strict=True)),
        options={"ftol": 1e-14, "gtol": 1e-12},
    )
    assert BOX(x) == pytest.approx(lower_level.x, abs=1e-6)


@given(x=points)
def test_the_ball_response_minimizes_the_discomfort(x: Array) -> None:
    lower_level = minimize(
        lambda y: float(BALL.discomfort(x, y)),
        np.zeros(5),
        jac=lambda y: y - D - A @ x,
        constraints={"type": "ineq", "fun": lambda y: 1.2**2 - y @ y, "jac": lambda y: -2 * y},
        options={"ftol": 1e-14},
        method="SLSQP",
    )
    assert BALL(x) == pytest.approx(lower_level.x, abs=1e-5)


def test_within_capacity_the_response_is_the_wish_itself() -> None:
    free = BallProjection(A, D, radius=100.0)
    assert np.array_equal(free(np.ones(3)), np.ones(3) @ A.T + D)


@pytest.mark.parametrize("follower", [BOX, BALL], ids=["box", "ball"])
def test_many_decisions_at_once_give_the_same_responses(follower: Any) -> None:
    decisions = RNG.standard_normal((7, 3))
    at_once = follower(decisions)
    assert at_once == pytest.approx(np.array([follower(x) for x in decisions]), abs=1e-14)
    discomforts = [follower.discomfort(x, y) for x, y in zip(decisions, at_once, strict=True)]
    assert follower.discomfort(decisions, at_once) == pytest.approx(discomforts)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: BoxProjection(D, D, D, D),
            r"BoxProjection\(matrix=\.\.\.\) must be a non-empty matrix",
        ),
        (
            lambda: BoxProjection(A, D[:2], D, D),
            r"BoxProjection\(offset=\.\.\.\) must be a vector of size 5",
        ),
        (lambda: BoxProjection(A, D, CAPACITY, -CAPACITY), r"leaves agent 0 no choice at all"),
        (lambda: BallProjection(A, D, 0), r"BallProjection\(radius=\.\.\.\) must be a positive"),
    ],
)
def test_a_follower_of_the_wrong_parts_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
