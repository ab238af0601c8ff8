"""Programs written with CVXPY: against our own solver, and infeasible, unbounded, or with several
solutions."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import bizol
from bizol.followers import CvxpyFollower, QuadraticProgram


def program(seed: int = 0) -> tuple[CvxpyFollower, QuadraticProgram]:
    """The same quadratic program, here and there."""
    rng = np.random.default_rng(seed)
    root, G = rng.standard_normal((4, 4)), rng.standard_normal((7, 4))
    P, Q = root @ root.T + 0.3 * np.eye(4), rng.standard_normal((4, 2))
    x, y = cp.Parameter(2), cp.Variable(4)
    cost = cp.quad_form(y, P) / 2 + (Q @ x) @ y
    return (
        CvxpyFollower(cp.Problem(cp.Minimize(cost), [G @ y <= 1]), x, y),
        QuadraticProgram(P, np.zeros(4), Q, G=G, h=np.ones(7)),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_response_is_that_of_our_own_solver(seed: int) -> None:
    here, there = program(seed)
    points = np.random.default_rng(seed).standard_normal((4, 2))
    reference = there(points)
    assert here(points) == pytest.approx(
        reference, abs=here.tolerance * 10 * max(1.0, np.abs(reference).max())
    )


def test_several_variables_are_stacked_and_threads_wait_for_each_other() -> None:
    x, y, z = cp.Parameter(2), cp.Variable((2, 2)), cp.Variable()
    cost = cp.sum_squares(y - 1) + (z - cp.sum(x)) ** 2
    follower = CvxpyFollower(cp.Problem(cp.Minimize(cost), [y[0] <= x]), x, [y, z])
    points = np.random.default_rng(0).uniform(-1, 1, (8, 2))
    expected = np.array([[*np.minimum(p, 1), 1, 1, p.sum()] for p in points])
    assert follower(points) == pytest.approx(expected, abs=1e-5)
    with ThreadPoolExecutor(4) as pool:
        assert np.array(list(pool.map(follower, points))) == pytest.approx(expected, abs=1e-5)
    assert pickle.loads(pickle.dumps(follower))(points[0]) == pytest.approx(expected[0], abs=1e-5)


def test_infeasible_and_unbounded_programs_say_so_and_where() -> None:
    x, y = cp.Parameter(1), cp.Variable(1)
    narrow = CvxpyFollower(cp.Problem(cp.Minimize(cp.sum_squares(y)), [y >= 1, y <= x]), x, y)
    assert narrow(np.array([2.0])) == pytest.approx([1.0], abs=1e-6)
    with pytest.raises(bizol.ResponseError, match=r"CLARABEL says 'infeasible' at x = \[0.\]"):
        narrow(np.array([0.0]))
    open_ended = CvxpyFollower(cp.Problem(cp.Minimize(cp.sum(cp.multiply(x, y))), [y >= 0]), x, y)
    assert open_ended(np.array([1.0])) == pytest.approx([0.0], abs=1e-6)
    with pytest.raises(bizol.ResponseError, match=r"CLARABEL says 'unbounded' at x = \[-1.\]"):
        open_ended(np.array([-1.0]))


def test_failures_are_left_to_the_failure_policy() -> None:
    x, y = cp.Parameter(1), cp.Variable(1)
    follower = CvxpyFollower(
        cp.Problem(cp.Minimize(cp.sum_squares(y)), [y >= 0.1, y <= x + 0.1]), x, y
    )
    problem = bizol.Problem(
        bizol.Objective(
            lambda x, y: float(y @ y + (x @ x)), lambda x, y: 2 * x, lambda x, y: 2 * y
        ),
        follower,
        bizol.Box([0], [1]),
    )
    method = bizol.BiZOL(delta=0.2, step=0.5, batch=2)
    solution = bizol.minimize(
        problem, method=method, budget=40, seed=0, retries=bizol.Retries(breaker=1.0, wait=0.0)
    )
    assert solution.unanswered > 0
    assert solution.value < 0.27


def test_a_solver_that_stops_short_or_is_not_there_is_quoted() -> None:
    x, y = cp.Parameter(1), cp.Variable(1)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(y - x)), [cp.norm(y) <= 1])
    with pytest.raises(
        bizol.ResponseError,
        match=r"CLARABEL failed at x = \[1.\]: .*solver|CLARABEL says 'user_limit'",
    ):
        CvxpyFollower(problem, x, y, options={"max_iter": 1})(np.ones(1))
    with pytest.raises(bizol.ResponseError, match="NOSUCH failed at x"):
        CvxpyFollower(problem, x, y, solver="NOSUCH")(np.ones(1))


def test_a_degenerate_linear_program_is_detected_and_said() -> None:
    """Two goods at the same price: any split is optimal, at every x."""
    x, y = cp.Parameter(1), cp.Variable(2)
    limits = [y >= 0, cp.sum(y) == 1 + x[0]]
    several = CvxpyFollower(cp.Problem(cp.Minimize(cp.sum(y)), limits), x, y)
    with pytest.raises(
        bizol.ResponseError, match=r"the response is not unique at x = \[0.\]: responses .* apart"
    ):
        several.check_unique(np.zeros(1))
    gain = CvxpyFollower(cp.Problem(cp.Maximize(-cp.sum(y)), limits), x, y)
    with pytest.raises(bizol.ResponseError, match="not unique"):
        gain.check_unique(np.zeros(1))
    CvxpyFollower(
        cp.Problem(cp.Minimize(cp.sum(y) + 0.1 * cp.sum_squares(y)), limits), x, y
    ).check_unique(np.zeros(1))
    program()[0].check_unique(np.zeros(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: (cp.Problem(cp.Maximize(cp.sum_squares(y))), x, y), "that is DPP"),
        (
            lambda x, y: (cp.Problem(cp.Minimize(cp.sum_squares(x[0] * x[1] * y))), x, y),
            "that is DPP",
        ),
        (
            lambda x, y: (cp.Problem(cp.Minimize(cp.sum_squares(y))), x, y),
            "must be a vector parameter of the problem",
        ),
        (
            lambda x, y: (cp.Problem(cp.Minimize(cp.sum_squares(y - x))), x, cp.Variable()),
            "must be a variable of the",
        ),
        (
            lambda x, y: (
                cp.Problem(
                    cp.Minimize(cp.sum_squares(y - x) + cp.Parameter(name="tax") * cp.sum(y))
                ),
                x,
                y,
            ),
            "another parameter without a value, tax",
        ),
    ],
)
def test_programs_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CvxpyFollower(*make(cp.Parameter(2), cp.Variable(2)))


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"pip install 'bizol\[cvxpy\]'"):
        CvxpyFollower(None, None, None)
