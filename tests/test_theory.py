"""Constants, computed and estimated; recommendations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bizol
from bizol.reproduction.instances import BALL, BOX, tracking_instance
from bizol.theory import estimate_constants, exponent, recommend, theorem_1, tracking_constants
from bizol.verification.finding import example
from tests.problems import Counting, affine
from tests.theory.test_theorem_1 import SIMPLE


@pytest.mark.parametrize("constants", [BOX, BALL], ids=["box", "ball"])
def test_estimates_never_exceed_what_is_computed(constants: Any) -> None:
    instance = tracking_instance(constants)
    box = instance.problem.feasible_set
    assert isinstance(box, bizol.Box)
    computed = tracking_constants(instance.objective, instance.follower, box)
    estimated = estimate_constants(instance.problem, probes=100)
    assert (computed.kind, estimated.kind) == ("computed", "estimated")
    for name in ("L1x", "L1y", "L2x", "L2y", "M_x", "M_y", "L_y"):
        assert getattr(estimated, name) <= getattr(computed, name) * (1 + 1e-9), name
        assert getattr(estimated, name) > 0.05 * getattr(computed, name), name
    assert estimated.L1x == pytest.approx(computed.L1x)  # φ is quadratic in x: any pair shows it


def test_estimates_are_exact_where_everything_is_linear() -> None:
    constants = estimate_constants(affine(3 * np.eye(2)), probes=20)
    assert (constants.L1x, constants.L1y, constants.L2x) == pytest.approx((1, 0, 0))
    assert (constants.L2y, constants.L_y) == pytest.approx((1, 3))


def test_probing_costs_what_it_says() -> None:
    follower = Counting(lambda x: x)
    recommend(affine(np.eye(2), response=follower), epsilon=1.0, probes=30)
    assert len(follower.asked) == 30


def test_a_recommendation_promises_its_epsilon_and_reads_well() -> None:
    recommendation = recommend(affine(np.eye(2)), epsilon=0.5)
    constants = recommendation.constants
    spread = (constants.M_x + constants.M_y * constants.L_y) * constants.diameter
    bound = theorem_1(
        constants,
        delta=recommendation.delta,
        batch=recommendation.batch,
        step=recommendation.step,
        horizon=recommendation.horizon,
        initial_gap=spread,
    )
    assert bound.total <= 0.5 * (1 + 1e-9)
    assert "for E[G_δ(x_R)] ≤ 0.5" in str(recommendation)
    assert "worst case; constants estimated" in str(recommendation)


def test_the_derived_constants_by_hand() -> None:
    assert SIMPLE.A_y == 1 + 2 * 6 + 6 * (3 + 4 * 6)
    assert SIMPLE.C_bias == (2 + 6 * 4) * 6
    assert SIMPLE.kappa_bias == 2 * SIMPLE.C_bias
    assert SIMPLE.sigma == pytest.approx(np.sqrt(16 * np.sqrt(2 * np.pi) * 4) * 5 * 6)
    assert SIMPLE.L_y == SIMPLE.M_J


def test_an_exponent_is_a_slope() -> None:
    sizes = np.array([1.0, 10.0, 100.0])
    assert exponent(sizes, 7 * sizes**-2.5) == pytest.approx(-2.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0}, r"theorem_1\(delta=\.\.\.\)"),
        ({"batch": 0}, r"theorem_1\(batch=\.\.\.\)"),
        ({"step": 1.5}, r"theorem_1\(step=\.\.\.\) must be in \(0, 1\]"),
        ({"horizon": 0}, r"theorem_1\(horizon=\.\.\.\)"),
    ],
)
def test_parameters_without_a_meaning_are_refused(arguments: Any, message: str) -> None:
    given = {"delta": 0.1, "batch": 1, "step": 0.1, "horizon": 1, "initial_gap": 1.0} | arguments
    with pytest.raises(ValueError, match=message):
        theorem_1(SIMPLE, **given)


def test_a_steep_effort_is_not_overlooked() -> None:
    """φ = 100 x₁ + a little: what φ can fall is the leader's own doing."""
    steep = bizol.Objective(
        lambda x, y: 100 * x[0] + 0.01 * y[0],
        lambda x, y: np.array([100.0, 0.0]),
        lambda x, y: np.array([0.01]),
    )
    problem = affine(np.array([[1.0, 0.0]]), objective=steep)
    choice = recommend(problem, epsilon=1.0)
    method = bizol.BiZOL(delta=choice.delta, step=choice.step, batch=choice.batch)
    states = itertools.islice(bizol.iterate(problem, method, [1.0, 0.0], seed=0), choice.horizon)
    gaps = [100.01 * (state.x[0] + 1) for state in states]  # exact: everything is linear
    assert np.mean(gaps) <= 1.0


def test_the_tracking_problem_is_computed_not_probed() -> None:
    assert recommend(tracking_instance(BOX).problem, epsilon=1.0).constants.kind == "computed"
    flat = bizol.Objective(lambda x, y: 1.0, lambda x, y: 0 * x, lambda x, y: 0 * y)
    with pytest.raises(ValueError, match="every decision is as good"):
        recommend(affine(np.eye(2), objective=flat), epsilon=1.0)


def test_payments_may_flow_the_other_way() -> None:
    case = example("box")
    paid = replace(case.objective, payment=-3.0)
    constants = tracking_constants(paid, case.follower, case.box)
    rng = np.random.default_rng(0)
    pairs = zip(rng.uniform(-1, 1, (200, 3)), rng.uniform(-0.7, 0.7, (200, 6)), strict=True)
    steepest = max(np.linalg.norm(paid.grad_y(x, y)) for x, y in pairs)
    assert constants.M_y >= steepest
    assert constants.L1y > 0


def test_too_few_probes_are_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 4, got 3"):
        estimate_constants(affine(np.eye(2)), probes=3)
    with pytest.raises(ValueError, match=r"recommend\(epsilon=\.\.\.\) must be a positive"):
        recommend(affine(np.eye(2)), epsilon=0)
