"""Bi-ZOL, Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses, owned
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
from bizol.sensitivity import Sensitivity, anchored


@final
@dataclass(frozen=True, slots=True)
class BiZOL:
    """Bilevel zeroth-order learning: exact gradients of φ, a two-point estimate of how y moves, a
    Frank–Wolfe step.

    At x_k the follower is asked 2B + 1 questions: at x_k itself and at x_k ± δ w_b. Then, eqs. (28)
    and (29),

        Ĵ = (n / 2δB) Σ_b (y(x_k + δw_b) − y(x_k − δw_b)) w_bᵀ,     ĝ = ∇₁φ(x_k, y_k) + Ĵᵀ ∇₂φ(x_k,
        y_k),

    and x_{k+1} = x_k + γ (z_k − x_k) with z_k the point of X where ⟨ĝ, z⟩ is smallest.

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1].
        batch: the number B of directions.
        directions: where to look; the paper's uniform sphere by default.

    The first three are numbers or functions of the iteration k = 0, 1, 2, ...

    Example:
        >>> BiZOL(delta=0.08, step=0.1, batch=10)
        BiZOL(delta=0.08, step=0.1, batch=10, directions=Sphere())

    References:
        Z. Jiang and S. Bolognani, Bi-ZOL: Bilevel Zeroth-Order Learning with Nonsmooth Responses.

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
        """Query the follower at x and at x ± δw; asking twice changes nothing."""
        return around(state.x, probes(self, state))

    def slots(self, state: State) -> list[tuple[int, int]]:
        """Return which query is which: the anchor (0, 0), then (b, +1) and (b, −1)."""
        return numbered(state, probes(self, state))

    def tell(
        self, state: State, responses: Responses, *, answered: NDArray[np.bool_] | None = None
    ) -> State:
        """Move toward the vertex that witnesses the gap at the current decision.

        Where `answered` says that some responses are missing, the estimate is a mean over the
        directions that are left.
        """
        looked = probes(self, state)
        rows = matched(responses, 2 * len(looked.directions) + 1)
        if (part := answered_part(looked, rows, answered)) is None:
            return drawn_again(state)
        where, rows = part
        count = len(where.directions)
        anchor = state.problem.objective.anchor(state.x, owned(rows[0, ...]))
        sensitivity = Sensitivity(
            at=state.x,
            radius=where.radius,
            directions=where.directions,
            differences=rows[1 : count + 1, ...] - rows[count + 1 :, ...],
        )
        hypergradient = anchored(anchor, sensitivity)
        return move_on(
            self,
            state,
            hypergradient,
            where=where,
            rows=rows,
            response=anchor.response,
            value=anchor.value,
        )
