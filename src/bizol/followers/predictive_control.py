"""Model predictive control as the follower: the leader tunes the weights of the controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_size, as_vector
from bizol.followers.quadratic_program import QuadraticProgram
from bizol.problem import ResponseError
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictiveControl:
    """Linear model predictive control in closed loop, with a controller tuned by x.

    The system s⁺ = A s + B u starts at `initial`. At every step the controller plans `horizon`
    inputs that minimize

        Σₖ ½ (sₖᵀ diag(q) sₖ + uₖᵀ diag(r) uₖ) + ½ s_HᵀP s_H
        subject to   lower ≤ uₖ ≤ upper,   |sₖ| ≤ state_limit,

    where P solves the Riccati equation, and applies the first of them. The decision is
    (log q, log r), unless `weights` maps it to q and r. The response holds the states s₁, …, s_T
    and then the inputs u₀, …, u_{T−1}, step after step.

    Args:
        A, B: (s, s) and (s, i), the system, which the controller knows.
        initial: (s,), the first state.
        steps: T, the number of steps to simulate.
        horizon: H, the number of steps to plan.
        lower, upper: (i,), the limits of the inputs.
        state_limit: (s,), on every planned state, infinite by default; at some x no plan may
            respect it.
        weights: from x to (q, r), all positive; by default the exponentials of the first s and the
            last i entries.
        disturbance: (T, s), added to the state at every step; unknown to the controller.

    Raises:
        ResponseError: when no plan respects the limits, or a weight is not positive.

    Example:
        >>> follower = PredictiveControl(A=[[1.0]], B=[[1.0]], initial=[2.0], steps=3,
        ...                              lower=[-1.0], upper=[1.0])
        >>> np.round(follower(np.zeros(2)), 2)  # three states, three inputs: the first saturates
        array([ 1.  ,  0.38,  0.15, -1.  , -0.62, -0.24])

    """

    # Every input solves a quadratic program, and errors propagate through the system.
    tolerance: ClassVar[float] = 1e-8

    A: Points
    B: Points
    initial: Point
    steps: int
    lower: Point
    upper: Point
    horizon: int = 10
    state_limit: Point | None = None
    weights: Callable[[Point], tuple[Any, Any]] | None = None
    disturbance: Points | None = None

    def __post_init__(self) -> None:
        owner = "PredictiveControl"
        system = as_matrix(self.A, owner, "A")
        size = len(system)
        if system.shape != (size, size):
            raise ArgumentError(owner, "A", f"must be square, got {system.shape}.")
        inputs = as_matrix(self.B, owner, "B")
        if len(inputs) != size:
            raise ArgumentError(owner, "B", f"must have {size} rows, got {len(inputs)}.")
        sizes = {"initial": size, "lower": inputs.shape[1], "upper": inputs.shape[1]}
        for name, count in sizes.items():
            vector = as_vector(getattr(self, name), owner, name, size=count, finite=True)
            assign(self, **{name: vector})
        if (self.lower >= self.upper).any():
            raise ArgumentError(owner, ("lower", "upper"), "must leave every input a choice.")
        limit = np.full(size, np.inf) if self.state_limit is None else self.state_limit
        limit = as_vector(limit, owner, "state_limit", size=size)
        steps = as_size(self.steps, owner, "steps")
        horizon = as_size(self.horizon, owner, "horizon")
        pushes = np.zeros((steps, size)) if self.disturbance is None else self.disturbance
        pushes = as_matrix(pushes, owner, "disturbance", columns=size)
        if len(pushes) != steps:
            raise ArgumentError(owner, "disturbance", f"must have {steps} rows, one per step.")
        assign(self, A=system, B=inputs, steps=steps, horizon=horizon)
        assign(self, state_limit=limit, disturbance=pushes)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self(row) for row in x])
        controller = self.controller(x)
        state = self.initial
        states = []
        inputs = []
        for step, push in enumerate(np.asarray(self.disturbance)):
            try:
                applied = controller(state)[: self.B.shape[1]]
            except ResponseError as error:
                raise ResponseError(
                    f"PredictiveControl has no plan at step {step} for x = {x}: {error}"
                ) from error
            state = self.A @ state + self.B @ applied + push
            states.append(state)
            inputs.append(applied)
        return np.concatenate([*states, *inputs])

    def controller(self, x: Point) -> QuadraticProgram:
        """Return the controller tuned by x: a quadratic program from the state to the plan."""
        q, r = self._weights(x)
        free, forced = self._prediction()
        costs = np.kron(np.eye(self.horizon), np.diag(q))
        costs[-len(q) :, -len(q) :] = self._terminal(q, r, x)
        effort = np.kron(np.eye(self.horizon), np.diag(r))
        hessian = forced.T @ costs @ forced + effort
        count = self.horizon * self.B.shape[1]
        limit = np.tile(np.asarray(self.state_limit), self.horizon)
        held = np.isfinite(limit)
        upper = np.tile(self.upper, self.horizon)
        lower = np.tile(self.lower, self.horizon)
        return QuadraticProgram(
            P=(hessian + hessian.T) / 2,
            q=np.zeros(count),
            Q=forced.T @ costs @ free,
            G=np.vstack([np.eye(count), -np.eye(count), forced[held], -forced[held]]),
            h=np.concatenate([upper, -lower, limit[held], limit[held]]),
            S=np.vstack([np.zeros((2 * count, len(q))), -free[held], free[held]]),
        )

    def _weights(self, x: Point) -> tuple[Point, Point]:
        size, inputs = self.B.shape
        if self.weights is not None:
            q, r = self.weights(x)
        elif len(x) == size + inputs:
            q, r = np.exp(x[:size]), np.exp(x[size:])
        else:
            expected = f"x of size {size + inputs}, log q and log r"
            raise ValueError(f"PredictiveControl takes {expected}, got {len(x)}.")
        q = np.asarray(q, dtype=np.float64)
        r = np.asarray(r, dtype=np.float64)
        if q.shape != (size,) or r.shape != (inputs,) or not (np.append(q, r) > 0).all():
            wanted = f"q > 0 and r > 0 at x = {x}"
            raise ResponseError(
                f"PredictiveControl(weights=...) must return {wanted}, got {q}, {r}."
            )
        return q, r

    def _terminal(self, q: Point, r: Point, x: Point) -> Points:
        """Return P, the solution of the Riccati equation."""
        from scipy.linalg import LinAlgError, solve_discrete_are

        try:
            return np.asarray(solve_discrete_are(self.A, self.B, np.diag(q), np.diag(r)))
        except (LinAlgError, ValueError) as error:
            raise ResponseError(
                f"PredictiveControl: the Riccati equation has no solution "
                f"at x = {x} ({error}); can B steer A?"
            ) from error

    def _prediction(self) -> tuple[Points, Points]:
        """Return the maps from the state and from the inputs to the states s₁, …, s_H."""
        size, inputs = self.B.shape
        free = []
        forced = np.zeros((self.horizon, size, self.horizon, inputs))
        power = np.eye(size)
        for lag in range(self.horizon):
            for start in range(self.horizon - lag):
                forced[start + lag, :, start] = power @ self.B
            power = self.A @ power
            free.append(power)
        return np.concatenate(free), forced.reshape(self.horizon * size, self.horizon * inputs)
