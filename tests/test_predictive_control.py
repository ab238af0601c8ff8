"""The controller: against linear-quadratic regulation, another solver, and impossible limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import bizol
from bizol.followers import PredictiveControl

A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
X = np.array([0.3, -0.5, -1.0])


def controlled(**changes: Any) -> PredictiveControl:
    parts: dict[str, Any] = {
        "A": A,
        "B": B,
        "initial": [1.0, 0.0],
        "steps": 30,
        "lower": [-1.0],
        "upper": [1.0],
    }
    return PredictiveControl(**(parts | changes))


def test_without_active_limits_it_is_the_linear_quadratic_regulator() -> None:
    y = controlled(lower=[-1e3], upper=[1e3])(X)
    q, r = np.diag(np.exp(X[:2])), np.exp(X[2:])[None]
    cost = solve_discrete_are(A, B, q, r)
    gain = np.linalg.solve(r + B.T @ cost @ B, B.T @ cost @ A)
    state = np.array([1.0, 0.0])
    for step in range(30):
        assert y[60 + step] == pytest.approx((-gain @ state)[0], abs=1e-8)
        state = (A - B @ gain) @ state
        assert y[2 * step : 2 * step + 2] == pytest.approx(state, abs=1e-8)


def test_every_plan_is_what_another_solver_plans() -> None:
    """The first input of the plan written out state by state, by CVXPY."""
    cp = pytest.importorskip("cvxpy")
    follower = controlled(state_limit=[2.0, 0.5], horizon=8)
    y = follower(X)
    states, inputs = np.vstack([[1.0, 0.0], y[:60].reshape(30, 2)]), y[60:]
    q, r = np.exp(X[:2]), np.exp(X[2:])
    terminal = solve_discrete_are(A, B, np.diag(q), np.diag(r))
    s, u, here = cp.Variable((9, 2)), cp.Variable((8, 1)), cp.Parameter(2)
    cost = (
        sum(q @ cp.square(s[k]) for k in range(1, 8))
        + cp.quad_form(s[8], terminal)
        + r[0] * cp.sum_squares(u)
    )
    rules = [s[0] == here, cp.abs(u) <= 1, cp.abs(s[1:, 1]) <= 0.5, cp.abs(s[1:, 0]) <= 2]
    rules += [s[k + 1] == A @ s[k] + B @ u[k] for k in range(8)]
    plan = cp.Problem(cp.Minimize(cost), rules)
    assert (np.abs(inputs) > 1 - 1e-9).any()  # limits bind
    assert (np.abs(states[:, 1]) > 0.5 - 1e-7).any()
    for step in (0, 1, 7, 15):
        here.value = states[step]
        plan.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        assert inputs[step] == pytest.approx(u.value[0, 0], abs=1e-5)
        assert states[step + 1] == pytest.approx(
            A @ states[step] + B[:, 0] * inputs[step], abs=1e-12
        )


def test_disturbances_push_and_weights_may_be_anything_positive() -> None:
    push = np.zeros((30, 2))
    push[5] = [0.0, 0.5]
    calm, pushed = controlled(), controlled(disturbance=push)
    assert np.array_equal(calm(X)[:10], pushed(X)[:10])
    assert pushed(X)[11] - calm(X)[11] == pytest.approx(0.5)
    ratio = controlled(weights=lambda x: ([1.0, 1e-3], [np.exp(x[0])]))
    assert ratio(np.array([[0.0], [3.0]])).shape == (2, 90)
    assert np.abs(ratio(np.array([5.0]))[60:]).max() < np.abs(ratio(np.array([-5.0]))[60:]).max()


def test_the_response_has_kinks_and_no_jumps() -> None:
    follower, values = controlled(), np.linspace(-6, 2, 80)
    path = follower(np.column_stack([np.zeros(80), np.zeros(80), values]))
    steps = np.abs(np.diff(path, axis=0)).max(axis=1)
    assert steps.max() < 0.3
    assert (np.abs(path[:, 60:]) > 1 - 1e-9).any(axis=1).any()


def test_failures_say_at_which_step_and_what_the_solver_said() -> None:
    with pytest.raises(
        bizol.ResponseError, match=r"has no plan at step 0 for x = \[ 0.3 -0.5 -1. \].*PIQP says"
    ):
        controlled(initial=[1.0, 5.0], state_limit=[9.0, 0.5])(X)
    with pytest.raises(bizol.ResponseError, match="the Riccati equation has no solution at x = "):
        controlled(A=np.diag([1.5, 1.0]), B=[[0.0], [1.0]])(X)
    with pytest.raises(bizol.ResponseError, match="must return q > 0 and r > 0 at x"):
        controlled(weights=lambda x: ([1.0, -1.0], [1.0]))(X)
    with pytest.raises(ValueError, match="takes x of size 3"):
        controlled()(np.zeros(2))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"A": np.ones((2, 3))}, "must be square"),
        ({"B": np.ones((3, 1))}, "must have 2 rows"),
        ({"lower": [1.0]}, "must leave every input a choice"),
        ({"disturbance": np.zeros((3, 2))}, "must have 30 rows"),
        ({"steps": 0}, r"\(steps=\.\.\.\) must be a positive integer"),
    ],
)
def test_controllers_of_the_wrong_parts_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        controlled(**parts)
