"""A learner as the follower: the leader regularizes it, it answers with its coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_positive
from bizol.problem import ResponseError
from bizol.processes import filtered_warnings
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class FittedEstimator:
    """A scikit-learn estimator, fitted anew for each decision.

    The response is its coefficients, the intercept last. The decision holds the logarithms of the
    named parameters, so that it may be any number: with `parameters=("alpha",)`, x = (log α,). Give
    `transform` for another meaning.

    Args:
        estimator: an unfitted estimator with `coef_` after fitting, such as `Ridge`, `ElasticNet`,
            `LogisticRegression` or `SVC(kernel="linear")`. It is cloned, never changed.
        features, targets: the training set, (samples, features) and (samples,).
        parameters: the names of the parameters the decision is about, in its order.
        transform: from x to a dictionary of parameters, instead of their exponentials.
        tolerance: how accurate the coefficients are, relative; a matter of the estimator's own
            `tol`, which should be well below it.

    Raises:
        ResponseError: when fitting fails or does not converge, with what scikit-learn says.

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> follower = FittedEstimator(Ridge(), [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], ("alpha",))
        >>> np.round(follower(np.log([2.0])), 3)  # slope and intercept
        array([0.5, 0.5])

    """

    estimator: Any
    features: Points
    targets: Any
    parameters: tuple[str, ...]
    transform: Callable[[Point], dict[str, Any]] | None
    tolerance: float

    def __init__(
        self,
        estimator: Any,
        features: ArrayLike,
        targets: ArrayLike,
        parameters: Sequence[str] = (),
        *,
        transform: Callable[[Point], dict[str, Any]] | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        _clone()
        if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
            raise ArgumentError(
                "FittedEstimator",
                "estimator",
                f"must be an estimator of scikit-learn, got {estimator!r}.",
            )
        if isinstance(parameters, str) or (not parameters) == (transform is None):
            raise ArgumentError(
                "FittedEstimator",
                "parameters",
                "must be names, as a list, or transform=... given instead.",
            )
        if unknown := [name for name in parameters if name not in estimator.get_params()]:
            raise ArgumentError(
                "FittedEstimator",
                "parameters",
                f"must name parameters: {type(estimator).__name__} has no {unknown[0]!r}.",
            )
        assign(
            self,
            estimator=estimator,
            features=np.array(features, dtype=np.float64),
            targets=np.array(targets),
            parameters=tuple(parameters),
            transform=transform,
            tolerance=as_positive(tolerance, "FittedEstimator", "tolerance"),
        )

    def __call__(self, x: Point) -> Point:
        """Return y(x): coefficients, then the intercept where there is one."""
        if np.ndim(x) == 2:
            return np.array([self(row) for row in x])
        fitted = _clone()(self.estimator)
        try:
            fitted.set_params(**self._parameters(x))
            with filtered_warnings("error"):  # that it did not converge is a warning there
                fitted.fit(self.features, self.targets)
        except Exception as error:
            name = type(self.estimator).__name__
            raise ResponseError(
                f"FittedEstimator: {name} failed at x = {x}: {type(error).__name__}: {error}"
            ) from error
        parts = [np.ravel(fitted.coef_)]
        if getattr(fitted, "fit_intercept", True):
            parts.append(np.ravel(fitted.intercept_))
        return np.concatenate(parts).astype(np.float64)

    def _parameters(self, x: Point) -> dict[str, Any]:
        if self.transform is not None:
            return self.transform(x)
        if len(x) != len(self.parameters):
            raise ValueError(
                f"{len(self.parameters)} parameters are named, and x has {len(x)} entries"
            )
        return {name: float(np.exp(value)) for name, value in zip(self.parameters, x, strict=True)}


def _clone() -> Any:
    try:
        from sklearn.base import clone
    except ImportError as error:
        raise ImportError(
            "FittedEstimator needs scikit-learn: pip install 'bizol[sklearn]'."
        ) from error
    return clone
