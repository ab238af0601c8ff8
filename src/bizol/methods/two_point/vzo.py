"""Vanilla zeroth-order smoothing, the method Bi-ZOL is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses
from bizol.directions import Directions, Sphere
from bizol.methods.two_point.schedules import Schedule
from bizol.methods.two_point.two_point import (
    State,
    answered_part,
    around,
    drawn_again,
    matched,
    move_on,
    numbered,
    probes,
    settle,
    start_at,
)
from bizol.problem import Problem
from bizol.sensitivity import Hypergradient, Sensitivity


@final
@dataclass(frozen=True, slots=True)
class VZO:
    """Vanilla zeroth-order smoothing: a two-point estimate of the whole hyperobjective, a
    Frank–Wolfe step.

    Treats φ(x, y(x)) as a black box, its gradients unused, and asks 2B questions at x_k ± δ w_b:

        ĝ = (n / 2δB) Σ_b (φ(x_k + δw_b, y(x_k + δw_b)) − φ(x_k − δw_b, y(x_k − δw_b))) w_b.

    It never asks at x_k itself, so the value there stays unobserved.

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1].
        batch: the number B of directions.
        directions: where to look; the uniform sphere by default.

    The first three are numbers or functions of the iteration k = 0, 1, 2, ...

    Example:
        >>> VZO(delta=0.08, step=0.1, batch=10)
        VZO(delta=0.08, step=0.1, batch=10, directions=Sphere())

    """

    delta: Schedule
    step: Schedule
    batch: Schedule
    directions: Directions = Sphere()

    def __post_init__(self) -> None:
        settle(self)

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> State:
        """Return the state at x0, or at the center of the set."""
        return start_at(self, problem, x0, seed)

    def ask(self, state: State) -> Points:
        """Query the follower at x ± δw; asking twice changes nothing."""
        return around(state.x, probes(self, state))[1:]

    def slots(self, state: State) -> list[tuple[int, int]]:
        """Return which query is which: (b, +1), then (b, −1)."""
        return numbered(state, probes(self, state), anchored=False)

    def tell(
        self, state: State, responses: Responses, *, answered: NDArray[np.bool_] | None = None
    ) -> State:
        """Move toward the vertex that is best for the smoothed hyperobjective.

        Where `answered` says that some responses are missing, the estimate is a mean over the
        directions that are left.
        """
        looked = probes(self, state)
        rows = matched(responses, 2 * len(looked.directions))
        if (part := answered_part(looked, rows, answered, anchored=False)) is None:
            return drawn_again(state)
        where, rows = part
        count = len(where.directions)
        values = state.problem.objective.values(around(state.x, where)[1:], rows)
        sensitivity = Sensitivity(  # of the scalar "response" φ(x, y(x))
            at=state.x,
            radius=where.radius,
            directions=where.directions,
            differences=(values[:count] - values[count:])[:, None],
        )
        hypergradient = Hypergradient(state.x, sensitivity.pull_back(np.ones(1)))
        return move_on(self, state, hypergradient, where=where, rows=rows)
