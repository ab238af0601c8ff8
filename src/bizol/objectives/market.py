"""Payments, revenues and costs that all share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, Points, Response, as_matrix, as_vector
from bizol.objectives.addition import add
from bizol.problem import Objective
from bizol.records import assign


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
        assign(self, coupling=as_matrix(coupling, "Payment", "coupling"), rate=float(rate))

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
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = add


@final
@dataclass(frozen=True, slots=True, eq=False)
class Revenue:
    """The negative of what a seller earns: φ(x, y) = −(x − cost)ᵀC y.

    Minimizing it maximizes the revenue.

    Args:
        coupling: C, (n, m): which response is charged at which price; the identity where each has
            its own.
        cost: what a unit costs the seller, (n,); zero by default.

    Example:
        >>> phi = Revenue(np.eye(2), cost=[0.5, 0.5])
        >>> float(phi.value(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
        -7.5

    """

    coupling: Points
    cost: Point

    def __init__(self, coupling: ArrayLike, cost: ArrayLike | None = None) -> None:
        charges = as_matrix(coupling, "Revenue", "coupling")
        n = len(charges)
        costs = np.zeros(n) if cost is None else as_vector(cost, "Revenue", "cost", size=n)
        assign(self, coupling=charges, cost=costs)

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
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = add


@final
@dataclass(frozen=True, slots=True, eq=False)
class SocialCost:
    """The total cost of shared resources: φ(x, y) = Σ yₐ cₐ(yₐ).

    An example is the time that all drivers of a network spend.

    Args:
        cost: c, from y to what a unit of each entry costs, entry by entry
            (`TrafficEquilibrium.cost`).
        slope: c′, the derivative of each entry (`TrafficEquilibrium.cost_slope`).

    Example:
        >>> phi = SocialCost(cost=lambda y: 1 + y, slope=lambda y: np.ones_like(y))
        >>> x, y = np.zeros(1), np.array([1.0, 2.0])
        >>> float(phi.value(x, y)), phi.grad_y(x, y)
        (8.0, array([3., 5.]))

    """

    cost: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return np.vecdot(y, self.cost(y))

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = 0: tolls move money between people and cost nothing in total."""
        return np.zeros_like(x)

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = c(y) + y c′(y)."""
        return self.cost(y) + y * self.slope(y)

    def objective(self) -> Objective:
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = add
