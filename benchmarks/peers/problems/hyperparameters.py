"""Hyperparameters."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Residuals, make_case, squares
from bizol.arrays import Point, Points


def _diabetes() -> tuple[Points, Point, Points, Point]:
    from sklearn.datasets import load_diabetes

    inputs, target = load_diabetes(return_X_y=True, scaled=False)
    return _halved(
        np.asarray(inputs, dtype=np.float64), np.asarray(target, dtype=np.float64) / 100, 0
    )


def _halved(inputs: Points, target: Point, seed: int) -> tuple[Points, Point, Points, Point]:
    """Return training and validation halves.

    Inputs are standardized by the training half, and the target is centered by it.
    """
    order = np.random.default_rng(seed).permutation(len(target))
    train, valid = order[: len(order) // 2], order[len(order) // 2 :]
    mean, scale = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    ready = (inputs - mean) / scale
    return (
        ready[train],
        target[train] - target[train].mean(),
        ready[valid],
        target[valid] - target[train].mean(),
    )


def _validation(inputs: Points, target: Point, n: int) -> tuple[bizol.Objective, Residuals]:
    """Return the mean squared error on held-out data as the leader's objective."""
    size = np.sqrt(len(target))

    def residuals(x: Point, y: Point) -> Point:
        return np.asarray((inputs @ y - target) / size)

    objective = squares(
        residuals, lambda x, y: np.zeros((len(target), n)), lambda x, y: inputs / size
    )
    return objective, residuals


def ridge_weights() -> Case:
    """Ridge regression with one penalty for each feature, their logarithms chosen on held-out data.

    Bilevel hyperparameter tuning: J. Kunapuli, K. Bennett, J. Hu and J.-S. Pang, 2008.
    """
    inputs, target, held, answers = _diabetes()
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 10)
    return make_case(
        "ridge-weights",
        objective,
        lambda x: np.linalg.solve(gram + np.diag(np.exp(x)), moment),
        bizol.Box(-8 * np.ones(10), 4 * np.ones(10)),
        split="tune",
        source="J. Kunapuli and others, Optimization Methods and Software 23, 2008; "
        "scikit-learn's diabetes data",
        tags="hyperparameters smooth multimodal",
        residuals=residuals,
    )


def elastic_net() -> Case:
    """An elastic net: the logarithms of its two penalties, chosen on held-out data."""
    inputs, target, held, answers = _diabetes()
    rng = np.random.default_rng(5)
    # Twenty features that say nothing.
    inputs = np.hstack([inputs, rng.standard_normal((len(inputs), 20))])
    held = np.hstack([held, rng.standard_normal((len(held), 20))])
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 2)
    return make_case(
        "elastic-net",
        objective,
        lambda x: _soft_descent(gram, moment, np.full(30, np.exp(x[0])), float(np.exp(x[1]))),
        bizol.Box([-7, -7], [0, 2]),
        split="report",
        source="H. Zou and T. Hastie, J. Royal Statistical Society B 67, 2005; "
        "scikit-learn's diabetes data",
        tags="hyperparameters kinks multimodal",
        start=[-6.5, 1.5],
        residuals=residuals,
    )


def weighted_lasso() -> Case:
    """A lasso with one penalty for each feature, and a little ridge so that the fit is unique."""
    inputs, target, held, answers = _diabetes()
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 10)
    return make_case(
        "weighted-lasso",
        objective,
        lambda x: _soft_descent(gram, moment, np.exp(x), 0.02),
        bizol.Box(-6 * np.ones(10), np.zeros(10)),
        split="tune",
        source="H. Zou, Journal of the American Statistical Association 101, 2006; "
        "scikit-learn's diabetes data",
        tags="hyperparameters kinks multimodal",
        start=-np.ones(10),
        residuals=residuals,
    )


def _soft_descent(gram: Points, moment: Point, lasso: Point, ridge: float) -> Point:
    """Minimize ½ yᵀ(gram + ridge I)y − momentᵀy + Σ lassoᵢ|yᵢ|.

    By coordinate descent, polished by a linear system on the support.
    """
    hessian = gram + ridge * np.eye(moment.size)
    y = np.zeros(moment.size)
    for _ in range(2000):
        before = y.copy()
        for i in range(moment.size):
            pull = moment[i] - hessian[i] @ y + hessian[i, i] * y[i]
            y[i] = np.sign(pull) * max(abs(pull) - lasso[i], 0.0) / hessian[i, i]
        if np.abs(y - before).max() <= 1e-8 and ((y == 0) == (before == 0)).all():
            support, signs = y != 0, np.sign(y)
            exact = np.zeros(moment.size)
            exact[support] = np.linalg.solve(
                hessian[np.ix_(support, support)], (moment - lasso * signs)[support]
            )
            slack = np.abs(moment - hessian @ exact) <= lasso + 1e-12
            if (np.sign(exact) == signs).all() and slack[~support].all():
                return exact
        if np.abs(y - before).max() <= 1e-13:
            break
    return y


def logistic_ridge() -> Case:
    """Logistic regression with one ridge penalty for each of thirty features.

    On scikit-learn's breast cancer data; by damped Newton steps.
    """
    from scipy.special import expit
    from sklearn.datasets import load_breast_cancer

    inputs, labels = load_breast_cancer(return_X_y=True)
    train, target, held, answers = _halved(
        np.asarray(inputs, dtype=np.float64), np.asarray(labels * 2.0 - 1.0), 1
    )
    signs, held_signs = np.sign(target), np.sign(answers)
    rows, held_rows = train * signs[:, None], held * held_signs[:, None]

    def cost(y: Point, penalty: Point) -> float:
        return float(_logistic(rows, y) + penalty @ y**2 / 2)

    def follower(x: Point) -> Point:
        penalty = np.exp(x)
        y = np.zeros(30)
        for _ in range(100):
            misses = expit(-rows @ y)
            gradient = penalty * y - rows.T @ misses / len(rows)
            curvature = (misses * (1 - misses))[:, None]
            hessian = np.diag(penalty) + (rows * curvature).T @ rows / len(rows)
            move = np.linalg.solve(hessian, gradient)
            drop = float(gradient @ move)
            now = cost(y, penalty)
            length = 1.0
            while length > 1e-8:
                if cost(y - length * move, penalty) <= now - 1e-4 * length * drop + 1e-14:
                    break
                length /= 2
            y = y - length * move
            if np.abs(move).max() <= 1e-11 * max(1.0, float(np.abs(y).max())):
                break
        return y

    return make_case(
        "logistic-ridge",
        bizol.Objective(
            value=lambda x, y: _logistic(held_rows, y),
            grad_x=lambda x, y: np.zeros(30),
            grad_y=lambda x, y: -held_rows.T @ expit(-held_rows @ y) / len(held_rows),
        ),
        follower,
        bizol.Box(-8 * np.ones(30), 2 * np.ones(30)),
        split="report",
        source="F. Pedregosa, ICML 2016 (the form); scikit-learn's breast cancer data",
        tags="hyperparameters smooth multimodal",
        start=np.ones(30),
    )


def _logistic(rows: Points, y: Point) -> float:
    return float(np.logaddexp(0.0, -rows @ y).mean())
