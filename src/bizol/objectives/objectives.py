"""Ready objectives, each with its exact partial gradients; add them up with `+`.

The methods of all take one pair, x (n,) and y (m,), or k pairs at once, x (k, n) and y (k, m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, Response, as_matrix, as_size, as_vector
from bizol.problem import Objective


class _Ready(Protocol):
    """What all of them have."""

    def objective(self) -> Objective: ...


def _sum(self: _Ready, other: Any) -> Objective:
    """Return the sum as the objective of a problem."""
    total: Objective = self.objective() + other
    return total


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracking:
    """The tracking objective of Section V: control effort, tracking error and payments.

        φ(x, y) = μ/2 ‖x − x_ref‖² + κ/2 ‖H y − y_ref‖² + β xᵀ C y

    Args:
        effort: μ.
        tracking: κ.
        payment: β.
        x_ref: the nominal signal, (n,).
        y_ref: the wanted output, (p,).
        output: H, (p, m).
        coupling: C, (n, m).

    Example:
        >>> phi = Tracking(effort=2, tracking=2, payment=1, x_ref=np.zeros(1), y_ref=np.ones(1),
        ...                output=np.eye(1), coupling=np.eye(1))
        >>> x, y = np.array([3.0]), np.array([2.0])
        >>> float(phi.value(x, y)), phi.grad_x(x, y), phi.grad_y(x, y)
        (16.0, array([8.]), array([5.]))

    """

    effort: float
    tracking: float
    payment: float
    x_ref: Point
    y_ref: Point
    output: Points
    coupling: Points

    def __post_init__(self) -> None:
        for name in ("x_ref", "y_ref", "output", "coupling"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        n, p = np.shape(self.x_ref), np.shape(self.y_ref)
        m = np.shape(self.output)[1:]
        for name, wanted in {
            "x_ref": n[:1],
            "y_ref": p[:1],
            "output": p + m,
            "coupling": n + m,
        }.items():
            if np.shape(getattr(self, name)) != wanted:
                raise ArgumentError(
                    "Tracking",
                    name,
                    f"must have shape {wanted}, as x_ref (n,), y_ref (p,) and output (p, m) "
                    f"have it, got {np.shape(getattr(self, name))}.",
                )

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        effort, error = x - self.x_ref, y @ self.output.T - self.y_ref
        costs = self.effort / 2 * np.vecdot(effort, effort) + self.tracking / 2 * np.vecdot(
            error, error
        )
        return costs + self.payment * np.vecdot(x, y @ self.coupling.T)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = μ (x − x_ref) + β C y."""
        gradient: Point = self.effort * (x - self.x_ref) + self.payment * (y @ self.coupling.T)
        return gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = κ Hᵀ(H y − y_ref) + β Cᵀx."""
        error = y @ self.output.T - self.y_ref
        return self.tracking * (error @ self.output) + self.payment * (x @ self.coupling)

    def joint(self, x: Point, y: Response) -> tuple[Any, Point, Response]:
        """Return φ, ∇₁φ and ∇₂φ at one pair, with the products they share computed once."""
        effort, error, pay = (
            x - self.x_ref,
            y @ self.output.T - self.y_ref,
            self.payment * (y @ self.coupling.T),
        )
        value = self.effort / 2 * (effort @ effort) + self.tracking / 2 * (error @ error) + x @ pay
        pull = self.tracking * (error @ self.output) + self.payment * (x @ self.coupling)
        return value, self.effort * effort + pay, pull

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True, joint=self.joint)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """A quadratic in both: φ(x, y) = ½ xᵀM x + xᵀN y + ½ yᵀR y + aᵀx + bᵀy; what is not given is
    zero.

    Args:
        n, m: the sizes of x and y.
        xx, xy, yy: M (n, n), N (n, m) and R (m, m); only the symmetric parts of M and R count.
        x, y: a (n,) and b (m,).

    Example:
        >>> phi = Quadratic(1, 2, yy=np.eye(2), x=[3.0])
        >>> float(phi.value(np.ones(1), np.array([1.0, 2.0]))), phi.grad_y(np.ones(1), np.array([1.0, 2.0]))
        (5.5, array([1., 2.]))

    """

    n: int
    m: int
    xx: Points
    xy: Points
    yy: Points
    x: Point
    y: Point

    def __init__(
        self,
        n: int,
        m: int,
        *,
        xx: ArrayLike | None = None,
        xy: ArrayLike | None = None,
        yy: ArrayLike | None = None,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "n", as_size(n, "Quadratic", "n"))
        object.__setattr__(self, "m", as_size(m, "Quadratic", "m"))
        for name, part, shape in (
            ("xx", xx, (n, n)),
            ("xy", xy, (n, m)),
            ("yy", yy, (m, m)),
            ("x", x, (n,)),
            ("y", y, (m,)),
        ):
            array = np.zeros(shape) if part is None else np.array(part, dtype=np.float64)
            if array.shape != shape:
                raise ArgumentError(
                    "Quadratic", name, f"must have shape {shape}, got {array.shape}."
                )
            object.__setattr__(self, name, (array + array.T) / 2 if name in ("xx", "yy") else array)

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        by_x: Point = x @ self.xx / 2 + y @ self.xy.T + self.x
        return np.vecdot(by_x, x) + np.vecdot(y @ self.yy / 2 + self.y, y)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = M x + N y + a."""
        gradient: Point = x @ self.xx + y @ self.xy.T + self.x
        return gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = Nᵀx + R y + b."""
        return x @ self.xy + y @ self.yy + self.y

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class Payment:
    """What the leader pays at the rates x for what the follower does: φ(x, y) = β xᵀC y.

    Args:
        coupling: C, (n, m): how much of each response each rate is paid for.
        rate: β.

    Example:
        >>> float(Payment(np.eye(2)).value(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
        11.0

    """

    coupling: Points
    rate: float = 1.0

    def __init__(self, coupling: ArrayLike, rate: float = 1.0) -> None:
        object.__setattr__(self, "coupling", as_matrix(coupling, "Payment", "coupling"))
        object.__setattr__(self, "rate", float(rate))

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return self.rate * np.vecdot(x, y @ self.coupling.T)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = β C y."""
        gradient: Point = self.rate * (y @ self.coupling.T)
        return gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = β Cᵀx."""
        return self.rate * (x @ self.coupling)

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class Revenue:
    """What a seller earns, with its sign turned as the leader minimizes: φ(x, y) = −(x − cost)ᵀC y.

    Args:
        coupling: C, (n, m): which response is charged at which price; the identity where each has
            its own.
        cost: what a unit costs the seller, (n,); nothing by default.

    Example:
        >>> float(Revenue(np.eye(2), cost=[0.5, 0.5]).value(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
        -7.5

    """

    coupling: Points
    cost: Point

    def __init__(self, coupling: ArrayLike, cost: ArrayLike | None = None) -> None:
        object.__setattr__(self, "coupling", as_matrix(coupling, "Revenue", "coupling"))
        n = len(self.coupling)
        object.__setattr__(
            self,
            "cost",
            np.zeros(n) if cost is None else as_vector(cost, "Revenue", "cost", size=n),
        )

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return -np.vecdot(x - self.cost, y @ self.coupling.T)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = −C y."""
        gradient: Point = -(y @ self.coupling.T)
        return gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = −Cᵀ(x − cost)."""
        return -((x - self.cost) @ self.coupling)

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class SocialCost:
    """What all pay together for what they share: φ(x, y) = Σ yₐ cₐ(yₐ), such as the time all
    drivers spend.

    Args:
        cost: c, from y to what a unit of each entry costs, entry by entry
            (`TrafficEquilibrium.cost`).
        slope: c′, likewise (`TrafficEquilibrium.cost_slope`).

    Example:
        >>> phi = SocialCost(cost=lambda y: 1 + y, slope=lambda y: np.ones_like(y))
        >>> float(phi.value(np.zeros(1), np.array([1.0, 2.0]))), phi.grad_y(np.zeros(1), np.array([1.0, 2.0]))
        (8.0, array([3., 5.]))

    """

    cost: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return np.vecdot(y, self.cost(y))

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = 0: tolls are only passed on."""
        return np.zeros_like(x)

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = c(y) + y c′(y)."""
        return self.cost(y) + y * self.slope(y)

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class ValidationLoss:
    """How a linear model with coefficients y does on data it was not fitted to, the mean over
    samples.

        squared: ½ (prediction − target)²     logistic: log(1 + exp(−target · prediction)), targets
            ±1

    The response holds the coefficients, and the intercept last where it has one more entry than
    there are features (`followers.FittedEstimator`).

    Args:
        features, targets: the validation set, (samples, features) and (samples,).
        loss: "squared" or "logistic".

    Example:
        >>> phi = ValidationLoss([[1.0], [2.0]], [1.0, 1.0])
        >>> float(phi.value(np.zeros(1), np.array([1.0, 0.0]))), phi.grad_y(np.zeros(1), np.array([1.0, 0.0]))
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
        object.__setattr__(self, "features", as_matrix(features, "ValidationLoss", "features"))
        size = len(self.features)
        object.__setattr__(
            self, "targets", as_vector(targets, "ValidationLoss", "targets", size=size)
        )
        object.__setattr__(self, "loss", loss)
        if loss not in ("squared", "logistic"):
            raise ValueError(
                f'ValidationLoss(loss=...) must be "squared" or "logistic", got {loss!r}.'
            )
        if loss == "logistic" and not np.isin(self.targets, (-1.0, 1.0)).all():
            raise ArgumentError(
                "ValidationLoss", "targets", "must be 1 or −1 for the logistic loss."
            )

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        prediction = self._prediction(y)
        if self.loss == "squared":
            return np.mean((prediction - self.targets) ** 2, axis=-1) / 2
        return np.mean(np.logaddexp(0.0, -self.targets * prediction), axis=-1)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = 0."""
        return np.zeros_like(x)

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ."""
        prediction = self._prediction(y)
        if self.loss == "squared":
            slope = (prediction - self.targets) / len(self.targets)
        else:
            slope = (
                -self.targets
                * np.exp(-np.logaddexp(0.0, self.targets * prediction))
                / len(self.targets)
            )
        gradient = slope @ self.features
        if y.shape[-1] == self.features.shape[1]:
            return gradient
        return np.concatenate([gradient, slope.sum(axis=-1, keepdims=True)], axis=-1)

    def _prediction(self, y: Response) -> Any:
        count = self.features.shape[1]
        if y.shape[-1] not in (count, count + 1):
            raise ValueError(
                f"ValidationLoss takes {count} coefficients, and an intercept perhaps, got {y.shape[-1]}."
            )
        prediction = y[..., :count] @ self.features.T
        return prediction if y.shape[-1] == count else prediction + y[..., -1:]

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = _sum


@final
@dataclass(frozen=True, slots=True)
class Average:
    """A mean over agents: φ(x, y) = (1/N) Σ φᵢ(x, yᵢ), where y stacks y₁, …, y_N.

    The stacked response of N agents moves √N times as much as that of one, and ∇₂φ is 1/√N as long
    as that of one, so that their product, which the method depends on, does not grow with N (the
    remark on response size).

    Args:
        agents: N.
        value: from x (n,) and the agents' responses (N, d) to all φᵢ, (N,).
        grad_x: to all ∇₁φᵢ, (N, n), or their mean, (n,).
        grad_y: to all ∇₂φᵢ, (N, d).

    Example:
        >>> phi = Average(2, lambda x, y: (y**2).sum(axis=1), grad_x=lambda x, y: 0 * x, grad_y=lambda x, y: 2 * y)
        >>> float(phi.value(np.zeros(1), np.array([1.0, 3.0]))), phi.grad_y(np.zeros(1), np.array([1.0, 3.0]))
        (5.0, array([1., 3.]))

    """

    agents: int
    of: Callable[[Any, Any], Any]
    by_x: Callable[[Any, Any], Any]
    by_y: Callable[[Any, Any], Any]

    def __init__(
        self,
        agents: int,
        value: Callable[[Any, Any], Any],
        grad_x: Callable[[Any, Any], Any],
        grad_y: Callable[[Any, Any], Any],
    ) -> None:
        object.__setattr__(self, "agents", as_size(agents, "Average", "agents"))
        for name, part in {"of": value, "by_x": grad_x, "by_y": grad_y}.items():
            object.__setattr__(self, name, part)

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return np.mean(self.of(x, self._apart(y)))

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ, the mean of the agents'."""
        gradient = np.asarray(self.by_x(x, self._apart(y)), dtype=np.float64)
        return gradient.mean(axis=0) if gradient.ndim == 2 else gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ, the agents' gradients over N."""
        return np.reshape(self.by_y(x, self._apart(y)), -1) / self.agents

    def _apart(self, y: Response) -> Any:
        if y.size % self.agents:
            raise ValueError(
                f"Average(agents={self.agents}) cannot share out a response of size {y.size}."
            )
        return y.reshape(self.agents, -1)

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y)

    __add__ = _sum
