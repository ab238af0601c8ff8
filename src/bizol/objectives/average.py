"""The mean objective of many agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bizol.arrays import Point, Response, as_size
from bizol.objectives.addition import add
from bizol.problem import Objective
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True)
class Average:
    """A mean over agents: φ(x, y) = (1/N) Σ φᵢ(x, yᵢ), where y stacks y₁, …, y_N.

    The stacked response of N agents moves √N times as much as that of one agent, and ∇₂φ is 1/√N
    times as long. Their product, which the method depends on, therefore does not grow with N (the
    remark on response size).

    Args:
        agents: N.
        value: from x (n,) and the agents' responses (N, d) to all φᵢ, (N,).
        grad_x: from the same to all ∇₁φᵢ, (N, n), or to their mean, (n,).
        grad_y: from the same to all ∇₂φᵢ, (N, d).

    Example:
        >>> phi = Average(2, lambda x, y: (y**2).sum(axis=1), grad_x=lambda x, y: 0 * x,
        ...               grad_y=lambda x, y: 2 * y)
        >>> x, y = np.zeros(1), np.array([1.0, 3.0])
        >>> float(phi.value(x, y)), phi.grad_y(x, y)
        (5.0, array([1., 3.]))

    """

    agents: int
    values: Callable[[Any, Any], Any]  # (x, y) ↦ all φᵢ
    grads_x: Callable[[Any, Any], Any]  # (x, y) ↦ all ∇₁φᵢ
    grads_y: Callable[[Any, Any], Any]  # (x, y) ↦ all ∇₂φᵢ

    def __init__(
        self,
        agents: int,
        value: Callable[[Any, Any], Any],
        grad_x: Callable[[Any, Any], Any],
        grad_y: Callable[[Any, Any], Any],
    ) -> None:
        assign(self, agents=as_size(agents, "Average", "agents"))
        assign(self, values=value, grads_x=grad_x, grads_y=grad_y)

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        return np.mean(self.values(x, self._split(y)))

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ, the mean of the agents' gradients."""
        gradient = np.asarray(self.grads_x(x, self._split(y)), dtype=np.float64)
        return gradient.mean(axis=0) if gradient.ndim == 2 else gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ, the agents' gradients divided by N."""
        return np.reshape(self.grads_y(x, self._split(y)), -1) / self.agents

    def _split(self, y: Response) -> Any:
        """Return the response of each agent, (N, d)."""
        if y.size % self.agents:
            raise ValueError(
                f"Average(agents={self.agents}) cannot share out a response of size {y.size}."
            )
        return y.reshape(self.agents, -1)

    def objective(self) -> Objective:
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y)

    __add__ = add
