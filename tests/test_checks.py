"""bizol.check: finds what is wrong, says where, and costs a handful of queries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import Objective
from bizol.reproduction.instances import BALL, BOX, tracking_instance
from tests.problems import Array, Counting, quadratic, saturated


def wrong_in(index: int, part: str, size: int = 3) -> Objective:
    """The quadratic with one entry of one gradient off by one percent."""
    factor = np.ones(size)
    factor[index] = 1.01
    right = quadratic(0.4)
    grad_x = (lambda x, y: factor * x) if part == "grad_x" else right.grad_x
    grad_y = (lambda x, y: factor * (y - 0.4)) if part == "grad_y" else right.grad_y
    return Objective(right.value, grad_x, grad_y)


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_sound_problem_passes_with_three_queries(vectorized: bool) -> None:
    follower = Counting(saturated().response)
    check = bizol.check(saturated(response=follower, vectorized=vectorized))
    assert len(follower.asked) == check.queries == 3
    assert check.dimensions == (3, 3)
    assert check.repeatability == 0
    assert max(check.grad_x_error, check.grad_y_error) < 1e-8
    assert "n = 3 decisions, m = 3 responses, checked with 3 queries" in str(check)


@pytest.mark.parametrize("constants", [BOX, BALL], ids=["box", "ball"])
def test_the_tracking_problem_passes(constants: Any) -> None:
    instance = tracking_instance(constants)
    check = bizol.check(instance.problem, instance.start, delta=0.08)
    assert check.queries == 4
    assert max(check.grad_x_error, check.grad_y_error) < 1e-6


@pytest.mark.parametrize("part", ["grad_x", "grad_y"])
@pytest.mark.parametrize("index", [0, 2])
def test_a_wrong_gradient_is_found_and_the_coordinate_named(part: str, index: int) -> None:
    problem = saturated(objective=wrong_in(index, part))
    with pytest.raises(
        ValueError, match=rf"Objective\({part}=\.\.\.\) is off in coordinate {index}: it says "
    ):
        bizol.check(problem, [0.3, 0.35, 0.2])


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(unit: float) -> None:
    """The same problem with x, y and φ in other units passes, and its mistakes are still found."""

    def problem(factor: Array) -> bizol.Problem:
        return bizol.Problem(
            Objective(
                lambda x, y: unit * ((x / unit) @ (x / unit) + np.cos(y / unit).sum()),
                lambda x, y: 2 * x / unit,
                lambda x, y: -factor * np.sin(y / unit),
            ),
            lambda x: np.clip(x, -unit / 2, unit / 2),
            bizol.Box(-unit * np.ones(3), unit * np.ones(3)),
        )

    x = unit * np.array([0.3, 0.35, 0.2])
    bizol.check(problem(np.ones(3)), x)
    with pytest.raises(ValueError, match=r"Objective\(grad_y=\.\.\.\) is off in coordinate 1"):
        bizol.check(problem(np.array([1, 1.01, 1])), x)


def test_a_response_that_changes_its_mind_is_found() -> None:
    tick = itertools.count()
    problem = saturated(response=lambda x: x + np.array([0, 0, 1e-3]) * next(tick))
    with pytest.raises(ValueError, match=r"not repeatable.*coordinate 2 differs by 0\.002"):
        bizol.check(problem, [0.3, 0.5, 0.5])
    assert bizol.check(problem, [0.3, 0.5, 0.5], noise=0.01).repeatability == pytest.approx(
        4e-3, rel=0.1
    )


def test_a_vectorized_follower_that_mixes_its_rows_is_found() -> None:
    problem = saturated(response=lambda x: x - x.mean(axis=0), vectorized=True)
    with pytest.raises(ValueError, match=r"not repeatable.*each row depends on its own x alone"):
        bizol.check(problem)


def test_a_follower_that_refuses_to_leave_the_set_is_found() -> None:
    def respond(x: Array) -> Array:
        if np.abs(x).max() > 1:
            raise RuntimeError("no price above 1")
        return x

    problem = saturated(response=respond)
    bizol.check(problem)
    with pytest.raises(ValueError, match="failed at query 3: RuntimeError: no price above 1"):
        bizol.check(problem, delta=0.1)


def test_in_high_dimension_a_sample_of_coordinates_is_compared() -> None:
    size, calls = 5000, itertools.count()
    right = quadratic(0.4)

    def value(x: Array, y: Array) -> Any:
        next(calls)
        return right.value(x, y)

    problem = saturated(size, objective=Objective(value, right.grad_x, right.grad_y))
    bizol.check(problem)
    assert next(calls) < 2000
    everywhere = Objective(right.value, right.grad_x, lambda x, y: 1.01 * (y - 0.4))
    with pytest.raises(ValueError, match="is off in coordinate"):
        bizol.check(saturated(size, objective=everywhere))


def test_a_constant_objective_and_a_response_of_zeros_pass() -> None:
    objective = Objective(lambda x, y: 0.0, lambda x, y: 0 * x, lambda x, y: 0 * y)
    check = bizol.check(saturated(objective=objective, response=lambda x: 0 * x))
    assert (check.grad_x_error, check.grad_y_error, check.repeatability) == (0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": [5, 5, 5]}, r"check\(x=\.\.\.\) must lie in the feasible set"),
        ({"x": [0]}, r"check\(x=\.\.\.\) must be a vector of size 3"),
        ({"delta": -1}, r"check\(delta=\.\.\.\) must be a positive"),
    ],
)
def test_a_check_at_the_wrong_place_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bizol.check(saturated(), **arguments)


@pytest.mark.parametrize("library", ["jax", "torch", "numpy"])
def test_single_precision_passes_and_its_mistakes_are_found(library: str) -> None:
    import jax
    import torch

    make: Any = {
        "jax": lambda x: jax.numpy.asarray(np.clip(2 * x + 0.25, -1, 1), dtype=jax.numpy.float32),
        "torch": lambda x: torch.tensor(np.clip(2 * x + 0.25, -1, 1), dtype=torch.float32),
        "numpy": lambda x: np.clip(2 * x + 0.25, -1, 1).astype(np.float32),
    }[library]

    def problem(factor: float) -> bizol.Problem:
        objective = Objective(
            lambda x, y: float((x**2).sum()) / 2 + float(((y - 0.5) ** 2).sum()) / 2,
            lambda x, y: x,
            lambda x, y: factor * (y - 0.5),
        )
        return saturated(objective=objective, response=make)

    bizol.check(problem(1.0), [0.3, 0.35, -0.2])
    with pytest.raises(ValueError, match=r"Objective\(grad_y=\.\.\.\) is off"):
        bizol.check(problem(1.2), [0.3, 0.35, -0.2])


def test_a_small_gradient_beside_a_large_one_is_looked_at_too() -> None:
    def problem(second: float) -> bizol.Problem:
        return saturated(
            2,
            objective=Objective(
                lambda x, y: 1e6 * x[0] + 2 * x[1] + y @ y,
                lambda x, y: np.array([1e6, second]),
                lambda x, y: 2 * y,
            ),
        )

    bizol.check(problem(2.0))
    with pytest.raises(ValueError, match=r"grad_x=\.\.\.\) is off in coordinate 1: it says -7"):
        bizol.check(problem(-7.0))


def test_a_tenth_of_a_percent_is_found() -> None:
    right = quadratic(0.4)
    objective = Objective(right.value, right.grad_x, lambda x, y: 1.001 * (y - 0.4))
    with pytest.raises(ValueError, match=r"grad_y=\.\.\.\) is off"):
        bizol.check(saturated(objective=objective), [0.3, 0.35, 0.2])


def test_the_domain_of_the_objective_is_not_left_for_responses_of_different_size() -> None:
    objective = Objective(lambda x, y: np.log(y).sum(), lambda x, y: 0 * x, lambda x, y: 1 / y)
    bizol.check(saturated(2, objective=objective, response=lambda x: np.array([2e-6, 200.0])))


def test_rounding_of_a_large_value_is_not_taken_for_a_mistake() -> None:
    right = quadratic(0.4)
    objective = Objective(lambda x, y: right.value(x, y) + 1e9, right.grad_x, right.grad_y)
    for x in np.random.default_rng(0).uniform(-1, 1, (50, 3)):
        bizol.check(saturated(objective=objective), x)


def test_curvature_is_not_taken_for_a_mistake() -> None:
    objective = Objective(
        lambda x, y: np.exp(3000 * y).sum(),
        lambda x, y: 0 * x,
        lambda x, y: 3000 * np.exp(3000 * y),
    )
    bizol.check(saturated(objective=objective, response=lambda x: 0.1 + 0.0 * x))


def test_noise_must_make_sense() -> None:
    with pytest.raises(
        ValueError, match=r"check\(noise=\.\.\.\) must be finite and not negative, got -1"
    ):
        bizol.check(saturated(), noise=-1)
