"""Tracking a reference: the objective of Section V of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bizol.arrays import ArgumentError, Point, Points, Response
from bizol.objectives.addition import add
from bizol.problem import Objective
from bizol.records import assign


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
        arrays = {
            name: np.asarray(getattr(self, name), dtype=np.float64)
            for name in ("x_ref", "y_ref", "output", "coupling")
        }
        n = arrays["x_ref"].shape
        p = arrays["y_ref"].shape
        m = arrays["output"].shape[1:]
        shapes = {"x_ref": n[:1], "y_ref": p[:1], "output": p + m, "coupling": n + m}
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ArgumentError(
                    "Tracking",
                    name,
                    f"must have shape {shape}, as x_ref (n,), y_ref (p,) and output (p, m) "
                    f"have it, got {arrays[name].shape}.",
                )
        assign(self, **arrays)

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        effort = x - self.x_ref
        error = y @ self.output.T - self.y_ref
        effort_cost = self.effort / 2 * np.vecdot(effort, effort)
        error_cost = self.tracking / 2 * np.vecdot(error, error)
        return effort_cost + error_cost + self.payment * np.vecdot(x, y @ self.coupling.T)

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
        effort = x - self.x_ref
        error = y @ self.output.T - self.y_ref
        pay = self.payment * (y @ self.coupling.T)
        value = self.effort / 2 * (effort @ effort) + self.tracking / 2 * (error @ error) + x @ pay
        grad_y = self.tracking * (error @ self.output) + self.payment * (x @ self.coupling)
        return value, self.effort * effort + pay, grad_y

    def objective(self) -> Objective:
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True, joint=self.joint)

    __add__ = add
