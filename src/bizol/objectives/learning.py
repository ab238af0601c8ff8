"""The validation loss of a model that the follower fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, Response, as_matrix, as_vector
from bizol.objectives.addition import add
from bizol.problem import Objective
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class ValidationLoss:
    """The mean loss of a linear model with coefficients y on data it was not fitted to.

        squared:   ½ (prediction − target)²
        logistic:  log(1 + exp(−target · prediction)),   targets ±1

    The response holds the coefficients. If it has one more entry than there are features, the last
    one is the intercept (`followers.FittedEstimator`).

    Args:
        features, targets: the validation set, (samples, features) and (samples,).
        loss: "squared" or "logistic".

    Example:
        >>> phi = ValidationLoss([[1.0], [2.0]], [1.0, 1.0])
        >>> x, y = np.zeros(1), np.array([1.0, 0.0])
        >>> float(phi.value(x, y)), phi.grad_y(x, y)
        (0.25, array([1. , 0.5]))

    """

    features: Points
    targets: Point
    loss: Literal["squared", "logistic"] = "squared"

    def __init__(
        self,
        features: ArrayLike,
        targets: ArrayLike,
        loss: Literal["squared", "logistic"] = "squared",
    ) -> None:
        owner = "ValidationLoss"
        samples = as_matrix(features, owner, "features")
        wanted = as_vector(targets, owner, "targets", size=len(samples))
        if loss not in ("squared", "logistic"):
            raise ArgumentError(owner, "loss", f'must be "squared" or "logistic", got {loss!r}.')
        if loss == "logistic" and not np.isin(wanted, (-1.0, 1.0)).all():
            raise ArgumentError(owner, "targets", "must be 1 or −1 for the logistic loss.")
        assign(self, features=samples, targets=wanted, loss=loss)

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        prediction = self._predict(y)
        if self.loss == "squared":
            return np.mean((prediction - self.targets) ** 2, axis=-1) / 2
        return np.mean(np.logaddexp(0.0, -self.targets * prediction), axis=-1)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = 0: the loss depends on x through the response only."""
        return np.zeros_like(x)

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ: the derivatives by the predictions, times the features."""
        prediction = self._predict(y)
        if self.loss == "squared":
            slope = (prediction - self.targets) / len(self.targets)
        else:
            weight = np.exp(-np.logaddexp(0.0, self.targets * prediction))
            slope = -self.targets * weight / len(self.targets)
        gradient = slope @ self.features
        if y.shape[-1] == self.features.shape[1]:
            return gradient
        return np.concatenate([gradient, slope.sum(axis=-1, keepdims=True)], axis=-1)

    def _predict(self, y: Response) -> Any:
        count = self.features.shape[1]
        if y.shape[-1] not in (count, count + 1):
            expected = f"{count} coefficients, and an intercept perhaps"
            raise ValueError(f"ValidationLoss takes {expected}, got {y.shape[-1]}.")
        prediction = y[..., :count] @ self.features.T
        if y.shape[-1] == count:
            return prediction
        return prediction + y[..., -1:]

    def objective(self) -> Objective:
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = add
