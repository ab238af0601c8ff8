"""The door to the follower: one counter, foreign arrays untouched, nothing passes that is not a
response."""

from __future__ import annotations

from itertools import islice
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import bizol
from bizol import BiZOL, EvaluationError
from bizol.arrays import to_numpy
from bizol.evaluation import Batch, Direct, Ledger
from tests.problems import saturated

POINTS = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])


def test_rows_are_answered_in_order_and_counted() -> None:
    for vectorized in (False, True):
        evaluator = Direct(saturated(vectorized=vectorized))
        assert np.array_equal(evaluator.ask(POINTS), np.clip(2 * POINTS + 0.25, -1, 1))
        assert evaluator.queries == 2


def test_the_ceiling_holds_for_direct_callers_too() -> None:
    evaluator = Direct(saturated(), Ledger(budget=3))
    evaluator.ask(POINTS)
    assert evaluator.affords(Batch(0, POINTS[:1], [(0, 0)]))
    assert not evaluator.affords(Batch(0, POINTS, [(0, 0), (1, 0)]))
    assert not evaluator.spent
    with pytest.raises(ValueError, match="2 queries exceed the budget: 2 of 3 are spent"):
        evaluator.ask(POINTS)
    assert evaluator.queries == 2


def test_answers_are_announced_as_they_come() -> None:
    announced: list[int] = []
    Direct(saturated(), Ledger(report=announced.append)).ask(POINTS)
    Direct(saturated(vectorized=True), Ledger(report=announced.append)).ask(POINTS)
    assert announced == [1, 1, 2]


def test_lists_become_arrays_and_other_floats_become_double() -> None:
    evaluator = Direct(saturated(response=lambda x: [1, 2, 3]))
    assert evaluator.ask(POINTS).dtype == np.float64
    evaluator = Direct(saturated(response=lambda x: x.astype(np.float32), vectorized=True))
    assert evaluator.ask(POINTS).dtype == np.float64


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        (
            lambda x: x[:1],
            r"one row per query: given shape \(2, 3\) it must have \(2, m\), got \(1, 3\)",
        ),
        (lambda x: x.sum(axis=1), r"must have one row per query.*got \(2,\)"),
        (
            lambda x: x * [[1], [np.nan]],
            r"The response to query 1 is not finite \(1 of 2 are not\)",
        ),
        (lambda x: x[:, :0], r"must have one row per query.*got \(2, 0\)"),
        (lambda x: x / "a", r"The follower failed at queries 0 to 1: "),
    ],
)
def test_a_vectorized_follower_is_held_to_its_shape(respond: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        Direct(saturated(response=respond, vectorized=True)).ask(POINTS)


def test_huge_responses_are_finite_too() -> None:
    evaluator = Direct(saturated(response=lambda x: 1e200 * x, vectorized=True))
    assert np.array_equal(evaluator.ask(POINTS), 1e200 * POINTS)


def test_a_missing_answer_is_said_to_be_missing() -> None:
    with pytest.raises(EvaluationError, match="it returned None, not a response"):
        Direct(saturated(response=lambda x: None, vectorized=True)).ask(POINTS)


# --- responses live where the follower lives


def in_another_library(xp: Any, *, vectorized: bool) -> bizol.Problem:
    """The saturated problem with a follower and an objective that speak `xp` only; x stays
    NumPy."""

    def respond(x: Any) -> Any:
        return xp.asarray(np.clip(2 * x + 0.25, -1.0, 1.0))

    def value(x: Any, y: Any) -> Any:
        return float(x @ x) / 2 + float(xp.sum((y - 0.5) ** 2)) / 2

    def grad_y(x: Any, y: Any) -> Any:
        assert type(y) is type(xp.asarray([1.0])), "the response was converted on its way"
        return y - 0.5

    return saturated(
        objective=bizol.Objective(value, lambda x, y: x, grad_y),
        response=respond,
        vectorized=vectorized,
    )


@pytest.mark.parametrize("vectorized", [False, True])
def test_responses_of_another_array_library_are_never_converted(vectorized: bool) -> None:
    """array-api-strict refuses everything outside the standard, and mixing with NumPy."""
    method = BiZOL(delta=0.1, step=0.1, batch=4)
    foreign = bizol.iterate(in_another_library(strict, vectorized=vectorized), method, seed=0)
    ours = bizol.iterate(saturated(vectorized=vectorized), method, seed=0)
    for theirs, own in islice(zip(foreign, ours, strict=False), 20):
        assert theirs.x == pytest.approx(own.x, abs=1e-12)


def test_a_check_and_vzo_work_with_another_array_library_too() -> None:
    assert bizol.check(in_another_library(strict, vectorized=True)).repeatability == 0
    method = bizol.VZO(delta=0.1, step=0.1, batch=4)
    theirs = bizol.minimize(
        in_another_library(strict, vectorized=True), method=method, budget=81, seed=0
    )
    assert theirs.x == pytest.approx(
        bizol.minimize(saturated(), method=method, budget=81, seed=0).x, abs=1e-12
    )


@pytest.mark.parametrize("vectorized", [False, True])
def test_torch_responses_are_never_converted(vectorized: bool) -> None:
    import torch

    method = BiZOL(delta=0.1, step=0.1, batch=4)
    solution = bizol.minimize(
        in_another_library(torch, vectorized=vectorized), method=method, budget=200, seed=0
    )
    own = bizol.minimize(saturated(vectorized=vectorized), method=method, budget=200, seed=0)
    assert isinstance(solution.y, torch.Tensor)
    assert solution.x == pytest.approx(own.x, abs=1e-12)


@pytest.mark.parametrize("vectorized", [False, True])
def test_foreign_responses_that_are_not_finite_are_caught(vectorized: bool) -> None:
    def respond(x: Any) -> Any:
        return strict.asarray(np.where(x > 0.35, np.nan, x))

    with pytest.raises(EvaluationError, match="The response to query 1 is not finite"):
        Direct(saturated(response=respond, vectorized=vectorized)).ask(POINTS)


# --- neither side can change what the other holds


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_follower_that_reuses_its_buffer_is_understood(vectorized: bool) -> None:
    buffers: dict[Any, Any] = {}

    def respond(x: Any) -> Any:
        buffer = buffers.setdefault(np.shape(x), np.empty_like(x))
        buffer[...] = np.clip(2 * x + 0.25, -1.0, 1.0)
        return buffer

    method = BiZOL(0.1, 0.2, 3)
    reused = bizol.minimize(
        saturated(response=respond, vectorized=vectorized), method=method, budget=100, seed=0
    )
    fresh = bizol.minimize(saturated(vectorized=vectorized), method=method, budget=100, seed=0)
    for mine, theirs in (
        (reused.best, fresh.best),
        (reused.drawn, fresh.drawn),
        (reused.last, fresh.last),
    ):
        assert np.array_equal(mine.x, theirs.x)
        assert np.array_equal(mine.y, theirs.y)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("budget", [100, 103])  # with and without a closing query
def test_a_follower_may_write_on_its_copy_of_the_decision(vectorized: bool, budget: int) -> None:
    def respond(x: Any) -> Any:
        x *= 2
        x += 0.25
        return np.clip(x, -1.0, 1.0)

    method = BiZOL(0.1, 0.2, 3)
    writing = bizol.minimize(
        saturated(response=respond, vectorized=vectorized), method=method, budget=budget, seed=0
    )
    reading = bizol.minimize(saturated(vectorized=vectorized), method=method, budget=budget, seed=0)
    assert np.array_equal(writing.last.x, reading.last.x)
    polytope = bizol.Polytope(lower=-np.ones(3), upper=np.ones(3))
    bizol.check(saturated(response=respond, vectorized=vectorized, feasible_set=polytope))
    assert polytope.center.tolist() == [0, 0, 0]


def test_an_objective_cannot_write_on_the_response() -> None:
    def value(x: Any, y: Any) -> Any:
        y -= 0.5
        return float(y @ y)

    objective = bizol.Objective(value, lambda x, y: 0 * x, lambda x, y: 2 * y)
    with pytest.raises(
        EvaluationError, match=r"Objective\(value=\.\.\.\) failed: ValueError.*read-only"
    ):
        bizol.minimize(saturated(objective=objective), budget=100)


# --- what is and what is not a response


def test_responses_of_other_kinds() -> None:
    import pandas
    import torch

    def answer(make: Any) -> Any:
        return Direct(saturated(response=make)).ask(POINTS[:1])[0]

    assert np.array_equal(answer(lambda x: pandas.Series([1.0, 2.0, 3.0])), [1, 2, 3])
    assert not answer(lambda x: torch.tensor([1.0, 2.0], requires_grad=True)).requires_grad
    for respond, message in (
        (lambda x: np.array([1j, 0, 0]), "it returned complex numbers"),
        (lambda x: torch.tensor([1, 2, 3], dtype=torch.uint8), "must be of a floating type"),
        (lambda x: np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]), "is not finite"),
    ):
        with pytest.raises(EvaluationError, match=message):
            answer(respond)


def test_the_rows_that_were_answered_are_kept_when_others_are_not_finite() -> None:
    with pytest.raises(EvaluationError) as caught:
        Direct(saturated(response=lambda x: x * [[1], [np.nan]], vectorized=True)).ask(POINTS)
    assert np.array_equal(caught.value.points, POINTS[:1])  # type: ignore[arg-type]
    assert np.array_equal(caught.value.responses, POINTS[:1])  # type: ignore[arg-type]


def test_the_first_response_is_shown_before_the_second_query() -> None:
    shown: list[Any] = []
    for vectorized in (False, True):
        evaluator = Direct(
            saturated(vectorized=vectorized),
            Ledger(examine=lambda x, y: shown.append((x, y))),
        )
        evaluator.ask(POINTS)
        evaluator.ask(POINTS)
    assert len(shown) == 2
    assert np.array_equal(shown[0][0], POINTS[0])


def test_a_device_of_its_own_is_no_obstacle_for_the_estimate() -> None:
    """Only B numbers come back, through one door (`to_numpy`); everything else stays on the
    device."""

    class Elsewhere:
        """A vector that is moved home by `cpu`, as PyTorch's are, and refuses every other way."""

        def __init__(self, array: Any) -> None:
            self.array = array

        def detach(self) -> Elsewhere:
            return self

        def cpu(self) -> Any:
            return self.array

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("not from here")

    assert np.array_equal(to_numpy(Elsewhere(np.ones(3))), np.ones(3))
    with pytest.raises(TypeError, match="not from here"):
        np.asarray(Elsewhere(np.ones(3)))


def test_a_follower_that_changes_its_array_library_is_understood() -> None:
    """Rows of one batch from two libraries: never what happens to be in memory."""
    import jax.numpy as jnp

    def respond(x: Any) -> Any:
        return jnp.asarray(x) if x[0] > 0.2 else np.array(x)

    rows = Direct(saturated(response=respond)).ask(POINTS)
    assert np.asarray(rows) == pytest.approx(POINTS, abs=1e-6)
