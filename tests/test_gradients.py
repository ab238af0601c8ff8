"""Gradients of φ at the first answer: what is wrong is refused before the second query, and nothing
that is right."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import Objective
from bizol.arrays import Point
from bizol.evaluation import Direct
from bizol.feasible_sets.protocol import widths
from bizol.problem.gradients import COMPARED, GradientError, compare_gradients
from tests.problems import Array, Counting, quadratic, saturated

X = [0.3, 0.35, 0.2]
Wrong = Callable[[Objective], Objective]


GALLERY = """
    demand_response electricity_prices external_program hyperparameters mpc_tuning noisy_follower
    tolls
""".split()
NEEDED = {"electricity_prices": ["pandapower"], "hyperparameters": ["sklearn"]}


def flipped_y(right: Objective) -> Objective:
    return Objective(right.value, right.grad_x, lambda x, y: -right.anchor(x, y).grad_y)


def doubled_x(right: Objective) -> Objective:
    return Objective(right.value, lambda x, y: 2 * right.anchor(x, y).grad_x, right.grad_y)


def doubled_y(right: Objective) -> Objective:
    return Objective(right.value, right.grad_x, lambda x, y: 2 * right.anchor(x, y).grad_y)


def without_the_steepest_x(right: Objective) -> Objective:
    """A term that only depends on one coordinate is missing."""

    def grad_x(x: Array, y: Any) -> Array:
        gradient = np.array(right.anchor(x, y).grad_x)
        gradient[np.argmax(np.abs(gradient))] = 0.0
        return gradient

    return Objective(right.value, grad_x, right.grad_y)


def without_the_steepest_y(right: Objective) -> Objective:
    def grad_y(x: Array, y: Any) -> Array:
        gradient = np.array(right.anchor(x, y).grad_y)
        gradient[np.argmax(np.abs(gradient))] = 0.0
        return gradient

    return Objective(right.value, right.grad_x, grad_y)


MISTAKES: dict[str, Wrong] = {
    "grad_y": flipped_y,
    "grad_y doubled": doubled_y,
    "grad_x": doubled_x,
    "grad_x without a term": without_the_steepest_x,
    "grad_y without a term": without_the_steepest_y,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_costs_one_query_and_is_named(mistake: str) -> None:
    follower = Counting(saturated().response)
    problem = saturated(response=follower, objective=MISTAKES[mistake](quadratic(0.4)))
    with pytest.raises(GradientError, match=r"is off in coordinate \d: it says .* say ") as caught:
        bizol.minimize(problem, X, budget=50, seed=0)
    assert len(follower.asked) == 1
    assert caught.value.part == mistake.split()[0]
    assert caught.value.solution.queries == 1
    with pytest.raises(GradientError):
        bizol.certify(problem, X, delta=0.05, directions=20, seed=0)
    assert len(follower.asked) == 2


def test_a_transposed_product_is_found() -> None:
    matrix = np.random.default_rng(0).standard_normal((3, 3))
    objective = Objective(
        lambda x, y: float(x @ matrix @ y), lambda x, y: matrix.T @ y, lambda x, y: matrix.T @ x
    )
    with pytest.raises(GradientError, match="grad_x"):
        bizol.minimize(saturated(objective=objective), X, budget=10, seed=0)


def test_it_can_be_turned_off() -> None:
    problem = saturated(objective=flipped_y(quadratic(0.4)))
    assert bizol.minimize(problem, X, budget=10, seed=0, check=False).queries == 10
    bizol.certify(problem, X, delta=0.05, directions=20, seed=0, check=False)


def test_no_bit_of_a_run_depends_on_it() -> None:
    runs = [bizol.minimize(saturated(), budget=30, seed=0, check=check) for check in (True, False)]
    assert np.array_equal(runs[0].history.value, runs[1].history.value)


@pytest.mark.parametrize("name", GALLERY)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_problems_of_the_gallery_are_found(name: str, mistake: str) -> None:
    examples = str(Path(__file__).parents[1] / "examples")
    if examples not in sys.path:
        sys.path.insert(0, examples)
    for package in NEEDED.get(name, ()):
        pytest.importorskip(package)
    problem: bizol.Problem = importlib.import_module(name).problem
    x = problem.feasible_set.center
    y = np.asarray(Direct(problem).ask(x[None])[0])
    right = problem.objective.anchor(x, y)
    part = "grad_x" if "grad_x" in mistake else "grad_y"
    if not np.abs(np.asarray(getattr(right, part))).max() > 0:
        pytest.skip("φ does not depend on it")
    across = widths(problem.feasible_set)
    rng = np.random.default_rng(0)
    compare_gradients(problem.objective, right, across, most=COMPARED, rng=rng)
    wrong = MISTAKES[mistake](problem.objective)
    with pytest.raises(GradientError, match=part):
        compare_gradients(wrong, wrong.anchor(x, y), across, most=COMPARED, rng=rng)


# --- no false alarms


def _terms(rng: np.random.Generator, n: int, m: int) -> list[Objective]:
    """Terms of objectives as people write them: smooth, kinked, steep, bent, mixed."""
    a, b = rng.standard_normal((m, m)), rng.standard_normal((n, m))
    c, d, e = rng.standard_normal(m), rng.standard_normal(n), 10.0 ** rng.uniform(-4, 4)
    cap = float(rng.uniform(-0.5, 0.5))

    def beyond(y: Array) -> Array:
        return np.clip(y - cap, 0, None)

    return [
        Objective(
            lambda x, y: e * float(y @ a @ y), lambda x, y: 0 * x, lambda x, y: e * (a + a.T) @ y
        ),
        Objective(
            lambda x, y: e * float((beyond(y) ** 2).sum()),
            lambda x, y: 0 * x,
            lambda x, y: 2 * e * beyond(y),
        ),
        Objective(lambda x, y: float(x @ b @ y), lambda x, y: b @ y, lambda x, y: x @ b),
        Objective(
            lambda x, y: float(np.abs(c * y).sum()),
            lambda x, y: 0 * x,
            lambda x, y: np.abs(c) * np.sign(y),
        ),
        Objective(
            lambda x, y: e * float(np.exp(d @ x)),
            lambda x, y: e * np.exp(d @ x) * d,
            lambda x, y: 0 * y,
        ),
        Objective(
            lambda x, y: float(np.maximum(c @ y, 0) ** 2 + 1e6),
            lambda x, y: 0 * x,
            lambda x, y: 2 * np.maximum(c @ y, 0) * c,
        ),
        Objective(
            lambda x, y: float(np.log(3 + x**2).sum()),
            lambda x, y: 2 * x / (3 + x**2),
            lambda x, y: 0 * y,
        ),
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_thousand_right_objectives_raise_no_alarm(dtype: Any) -> None:
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(1, 12)), int(rng.integers(1, 30))
        scale = 10.0 ** rng.uniform(-3, 3)
        x = rng.uniform(-1, 1, n)
        y = (scale * rng.uniform(-1, 1, m)).astype(dtype)
        y[rng.random(m) < 0.2] = 0.0  # at a kink of |y|
        terms = _terms(rng, n, m)
        chosen = rng.choice(len(terms), size=int(rng.integers(1, 4)), replace=False)
        objective = terms[chosen[0]]
        for index in chosen[1:]:
            objective = objective + terms[index]
        anchor = objective.anchor(x, y)
        errors = compare_gradients(objective, anchor, np.full(n, 2.0), most=COMPARED, rng=rng)
        assert min(errors) >= 0


def test_rounding_within_the_objective_is_no_mistake() -> None:
    """φ is of order one, and off by 1e-7: it is the difference of two numbers of 1e9."""
    right = quadratic(0.4)
    objective = Objective(
        lambda x, y: float((right.value(x, y) + 1e9) - 1e9), right.grad_x, right.grad_y
    )
    for x in np.random.default_rng(0).uniform(-1, 1, (50, 3)):
        y = saturated().response(x)
        anchor = objective.anchor(x, np.asarray(y))
        compare_gradients(
            objective, anchor, np.full(3, 2.0), most=COMPARED, rng=np.random.default_rng(0)
        )


def test_entries_that_are_not_finite_are_left_to_others_among_many_too() -> None:
    n = 3 * COMPARED
    slope = np.ones(n)
    slope[7] = np.nan
    objective = Objective(lambda x, y: float(x.sum()), lambda x, y: slope, lambda x, y: 0 * y)
    x, rng = np.full(n, 0.1), np.random.default_rng(0)
    anchor = objective.anchor(x, np.ones(2))
    assert compare_gradients(objective, anchor, np.full(n, 2.0), most=COMPARED, rng=rng)[0] < 1e-6


def test_many_coordinates_are_sampled_and_the_steepest_always_compared() -> None:
    n = 4000
    calls = 0

    def value(x: Array, y: Array) -> float:
        nonlocal calls
        calls += 1
        return float(x @ x + 50 * x[1234] + y @ y)

    def grad_x(x: Array, y: Array) -> Array:
        gradient: Point = 2 * x
        gradient[1234] -= 50
        return gradient

    problem = saturated(n, objective=Objective(value, grad_x, lambda x, y: 2 * y))
    with pytest.raises(GradientError, match=r"grad_x.*coordinate 1234"):
        bizol.minimize(problem, np.full(n, 0.1), budget=10, seed=0)
    assert calls < 20 * COMPARED
