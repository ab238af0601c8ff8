"""Objective and Problem: what they accept, what they refuse, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bizol
from bizol import EvaluationError, Objective, Problem
from tests.problems import quadratic, saturated

X, Y = np.array([1.0, 2.0]), np.array([0.5, 1.0, 2.0])


def rows() -> Objective:
    return Objective(
        value=lambda x, y: (x**2).sum(axis=1) / 2 + ((y - 0.5) ** 2).sum(axis=1) / 2,
        grad_x=lambda x, y: x,
        grad_y=lambda x, y: y - 0.5,
        vectorized=True,
    )


@pytest.mark.parametrize("objective", [quadratic(), rows()], ids=["one pair", "vectorized"])
def test_an_anchor_holds_the_exact_first_order_information(objective: Objective) -> None:
    anchor = objective.anchor(X, Y)
    assert anchor.at is X
    assert anchor.response is Y
    assert anchor.value == (1 + 4 + 0.25 + 2.25) / 2
    assert np.array_equal(anchor.grad_x, X)
    assert np.array_equal(anchor.grad_y, Y - 0.5)


def test_gradients_may_be_lists() -> None:
    objective = changed(grad_x=lambda x, y: [1, 2], grad_y=lambda x, y: [1, 2, 3])
    anchor = objective.anchor(X, Y)
    assert anchor.grad_x.tolist() == [1, 2]
    assert anchor.grad_y.tolist() == [1, 2, 3]


def test_values_are_the_same_one_by_one_or_at_once() -> None:
    rng = np.random.default_rng(0)
    points, responses = rng.standard_normal((5, 2)), rng.standard_normal((5, 3))
    assert quadratic().values(points, responses) == pytest.approx(rows().values(points, responses))


@pytest.mark.parametrize("part", ["value", "grad_x", "grad_y"])
def test_every_part_must_be_callable(part: str) -> None:
    parts: dict[str, Any] = {name: lambda x, y: x for name in ("value", "grad_x", "grad_y")}
    with pytest.raises(ValueError, match=rf"Objective\({part}=\.\.\.\) must be callable, got 3"):
        Objective(**(parts | {part: 3}))


def changed(**parts: Any) -> Objective:
    return Objective(
        **({"value": lambda x, y: 0.0, "grad_x": lambda x, y: x, "grad_y": lambda x, y: y} | parts)
    )


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (
            changed(value=lambda x, y: x),
            r"Objective\(value=\.\.\.\) must return shape \(\), a number, got \(2,\)",
        ),
        (
            changed(value=lambda x, y: np.nan),
            r"Objective\(value=\.\.\.\) must be finite, got nan at x = \[1\. 2\.\]",
        ),
        (
            changed(value=lambda x, y: 1 / 0),
            r"Objective\(value=\.\.\.\) failed: ZeroDivisionError: division by zero",
        ),
        (
            changed(grad_x=lambda x, y: y),
            r"\(grad_x=\.\.\.\) must return shape \(2,\), the shape of x, got \(3,\)",
        ),
        (
            changed(grad_y=lambda x, y: x),
            r"\(grad_y=\.\.\.\) must return shape \(3,\), the shape of y, got \(2,\)",
        ),
        (
            changed(value=lambda x, y: None),
            r"Objective\(value=\.\.\.\) must return a number, got None",
        ),
        (
            changed(grad_x=lambda x, y: "steep"),
            r"\(grad_x=\.\.\.\) must return an array of numbers, got 'steep'",
        ),
        (
            changed(value=lambda x, y: np.zeros(2), vectorized=True),
            r"must return one row per pair: given 1 pair it returned shape \(2,\)",
        ),
        (
            changed(grad_y=lambda x, y: 1.0),
            r"\(grad_y=\.\.\.\) must return shape \(3,\), the shape of y, got \(\)",
        ),
        (
            changed(value=lambda x, y: 0.0, vectorized=True),
            r"Objective\(value=\.\.\., vectorized=True\) must return one row per pair.*shape \(\)",
        ),
    ],
)
def test_an_objective_that_answers_wrongly_is_named(objective: Objective, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        objective.anchor(X, Y)


def test_all_three_at_once_are_taken_at_their_word_and_checked() -> None:
    joint = changed(joint=lambda x, y: (7.0, 2 * x, 3 * y))
    anchor = joint.anchor(X, Y)
    assert (anchor.value, anchor.grad_x.tolist(), anchor.grad_y.tolist()) == (
        7.0,
        [2, 4],
        [1.5, 3, 6],
    )
    for broken, message in (
        (lambda x, y: (1.0, x), r"Objective\(joint=\.\.\.\) failed: ValueError"),
        (lambda x, y: (1.0, y, y), r"Objective\(grad_x=\.\.\.\) must return shape \(2,\)"),
    ):
        with pytest.raises(EvaluationError, match=message):
            changed(joint=broken).anchor(X, Y)
    with pytest.raises(ValueError, match=r"Objective\(joint=\.\.\.\) must be callable, got 3"):
        changed(joint=3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x, y: np.zeros(3), r"must return shape \(2,\), one number per pair, got \(3,\)"),
        (lambda x, y: np.array([0.0, np.inf]), r"must be finite, got inf at x = \[3\. 4\.\]"),
        (lambda x, y: 1 / 0, r"failed: ZeroDivisionError"),
    ],
)
def test_a_vectorized_value_that_answers_wrongly_is_named(value: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        changed(value=value, vectorized=True).values(
            np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 3))
        )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"objective": 3}, r"Problem\(objective=\.\.\.\) must be a bizol.Objective, got 3"),
        ({"response": 3}, r"Problem\(response=\.\.\.\) must be callable, got 3"),
        (
            {"feasible_set": [0, 1]},
            r"Problem\(feasible_set=\.\.\.\).*list lacks dimension, diameter, center, ",
        ),
    ],
)
def test_a_problem_of_the_wrong_parts_is_refused(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        saturated(**parts)


def test_a_users_own_set_is_as_good_as_ours() -> None:
    class Segment:
        dimension, diameter, center = 1, 2.0, np.zeros(1)

        def minimize_linear(self, cost: Any) -> Any:
            return np.array([1.0 if cost[0] < 0 else -1.0])

        def contains(self, point: Any, tolerance: float = 1e-9) -> bool:
            return bool(abs(point[0]) <= 1 + tolerance)

    bizol.testing.check_feasible_set(Segment())
    problem = Problem(quadratic(), lambda x: 3 * x, Segment())
    solution = bizol.minimize(problem, budget=300, seed=0)
    assert solution.x == pytest.approx([0.15], abs=0.02)  # minimizes x²/2 + (3x − 1/2)²/2
