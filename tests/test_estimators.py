"""Learners as followers: against their optimality conditions, and where they do not converge."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import SVC

import bizol
from bizol.followers import FittedEstimator, QuadraticProgram

RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((40, 6))
TARGETS = FEATURES @ np.array([2.0, -1.0, 0, 0, 0.5, 0]) + 0.1 * RNG.standard_normal(40) + 1.0


def test_ridge_solves_the_normal_equations() -> None:
    follower = FittedEstimator(Ridge(), FEATURES, TARGETS, ("alpha",))
    centered, goal = FEATURES - FEATURES.mean(axis=0), TARGETS - TARGETS.mean()
    for log_alpha in (-3.0, 0.0, 2.0):
        slopes = np.linalg.solve(
            centered.T @ centered + np.exp(log_alpha) * np.eye(6), centered.T @ goal
        )
        expected = np.append(slopes, TARGETS.mean() - FEATURES.mean(axis=0) @ slopes)
        assert follower(np.array([log_alpha])) == pytest.approx(expected, rel=follower.tolerance)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_an_elastic_net_is_a_quadratic_program(alpha: float) -> None:
    """Positive and negative parts as variables: w = p − m with p, m ≥ 0; unique in w by the ridge
    term."""
    estimator = ElasticNet(fit_intercept=False, tol=1e-12, max_iter=100_000)
    follower = FittedEstimator(
        estimator,
        FEATURES,
        TARGETS,
        transform=lambda x: {"alpha": float(np.exp(x[0])), "l1_ratio": 0.5},
    )
    y = follower(np.log([alpha]))
    gram = FEATURES.T @ FEATURES / 40 + 0.5 * alpha * np.eye(6)
    pull = FEATURES.T @ TARGETS / 40
    program = QuadraticProgram(
        np.block([[gram, -gram], [-gram, gram]]),
        np.concatenate([-pull, pull]) + 0.5 * alpha,
        np.zeros((12, 1)),
        G=-np.eye(12),
        h=np.zeros(12),
        regularization=1e-9,
    )
    parts = program(np.zeros(1))
    assert y == pytest.approx(parts[:6] - parts[6:], abs=1e-6)
    zero = np.abs(y) < 1e-9
    residual = pull - gram @ y
    assert np.abs(residual[zero]).max(initial=0.0) <= 0.5 * alpha + 1e-9
    assert residual[~zero] == pytest.approx(0.5 * alpha * np.sign(y[~zero]), abs=1e-6)


def test_a_linear_svm_has_a_response_and_classes_have_targets_of_their_own() -> None:
    labels = np.where(TARGETS > 1, "yes", "no")
    machine = FittedEstimator(SVC(kernel="linear", tol=1e-9), FEATURES, labels, ("C",))
    y = machine(np.array([0.0]))
    assert y.shape == (7,)
    margins = np.where(labels == "yes", 1, -1) * (FEATURES @ y[:6] + y[6])
    pull = -(
        (margins < 1 - 1e-6)[:, None] * np.where(labels == "yes", 1, -1)[:, None] * FEATURES
    ).sum(axis=0)
    on_margin = np.abs(margins - 1) <= 1e-6  # they take the rest of the force, between 0 and C each
    basis = (np.where(labels == "yes", 1, -1)[:, None] * FEATURES)[on_margin].T
    weights = np.linalg.lstsq(basis, y[:6] + pull, rcond=None)[0]
    assert basis @ weights == pytest.approx(y[:6] + pull, abs=1e-4)
    assert machine(np.array([[0.0], [1.0]])).shape == (2, 7)
    assert FittedEstimator(LogisticRegression(tol=1e-8), FEATURES, labels, ("C",))(
        np.zeros(1)
    ).shape == (7,)


def test_a_kink_of_the_elastic_net_is_seen_by_the_whole_problem() -> None:
    validation = RNG.standard_normal((30, 6))
    goal = validation @ np.array([2.0, -1.0, 0, 0, 0.5, 0]) + 1.0
    follower = FittedEstimator(ElasticNet(tol=1e-10), FEATURES, TARGETS, ("alpha",))
    problem = bizol.Problem(
        bizol.objectives.ValidationLoss(validation, goal).objective(),
        follower,
        bizol.Box([-7], [1]),
    )
    solution = bizol.minimize(problem, budget=40, seed=0)
    grid = min(
        problem.objective.anchor(x, follower(x)).value for x in np.linspace(-7, 1, 41)[:, None]
    )
    assert solution.value <= grid * 1.001


def test_failures_carry_the_words_of_scikit_learn() -> None:
    slow = FittedEstimator(ElasticNet(tol=1e-14, max_iter=1), FEATURES, TARGETS, ("alpha",))
    with pytest.raises(
        bizol.ResponseError,
        match=r"ElasticNet failed at x = \[-9.\]: ConvergenceWarning: .*converge",
    ):
        slow(np.array([-9.0]))
    with pytest.raises(bizol.ResponseError, match="2 entries"):
        slow(np.zeros(2))
    wrong = FittedEstimator(Ridge(), FEATURES, TARGETS, transform=lambda x: {"alpha": -1.0})
    with pytest.raises(bizol.ResponseError, match="InvalidParameterError"):
        wrong(np.zeros(1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((Ridge, FEATURES, TARGETS, ("alpha",)), "must be an estimator of scikit-learn"),
        ((object(), FEATURES, TARGETS, ("alpha",)), "must be an estimator of scikit-learn"),
        ((Ridge(), FEATURES, TARGETS), "must be names"),
        ((Ridge(), FEATURES, TARGETS, "alpha"), "must be names"),
        ((Ridge(), FEATURES, TARGETS, ("beta",)), "Ridge has no 'beta'"),
    ],
)
def test_estimators_of_the_wrong_parts_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FittedEstimator(*given)


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = Ridge()
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ImportError, match=r"pip install 'bizol\[sklearn\]'"):
        FittedEstimator(estimator, FEATURES, TARGETS, ("alpha",))
