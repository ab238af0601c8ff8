"""Bi-ZOL, Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses, owned
from bizol.directions import Directions, Sphere
from bizol.evaluation import Slot
from bizol.methods.protocol import as_rows
from bizol.methods.two_point.probing import (
    Probes,
    State,
    around,
    check_parameters,
    name_pairs,
    probes_at,
    radius_at,
    start_at,
)
from bizol.methods.two_point.schedules import Schedule
from bizol.methods.two_point.stepping import keep_answered, move_on, redraw
from bizol.problem import Problem
from bizol.sensitivity import anchor_hypergradient, make_sensitivity


@final
@dataclass(frozen=True, slots=True)
class BiZOL:
    """Bilevel zeroth-order learning, Algorithm 1 of the paper.

    An iteration takes a Frank–Wolfe step with the exact gradients of φ and a two-point estimate of
    the Jacobian of y. It asks the follower 2B + 1 queries, at x_k and at x_k ± δ w_b. Then, by
    eqs. (28) and (29),

        Ĵ = (n / 2δB) Σ_b (y(x_k + δw_b) − y(x_k − δw_b)) w_bᵀ,
        ĝ = ∇₁φ(x_k, y_k) + Ĵᵀ ∇₂φ(x_k, y_k),

    and x_{k+1} = x_k + γ (z_k − x_k), where z_k is the point of X at which ⟨ĝ, z⟩ is smallest.

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1].
        batch: the number B of directions.
        directions: draws the directions; from the uniform sphere by default, as in the paper.

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
        check_parameters(self)

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> State:
        """Return the first state, at x0 or at the center of the set."""
        return start_at(self, problem, x0, seed)

    def ask(self, state: State) -> Points:
        """Query the follower at x and at x ± δw; asking twice changes nothing."""
        return around(state.x, probes_at(self, state))

    def tell(self, state: State, responses: Responses) -> State:
        """Move toward the vertex that witnesses the gap at the current decision."""
        where = probes_at(self, state)
        return self._move(state, where, as_rows(responses, 2 * len(where.directions) + 1))

    def tell_some(self, state: State, responses: Responses, answered: NDArray[np.bool_]) -> State:
        """Move by a mean over the directions that were answered; draw others if too few were."""
        where = probes_at(self, state)
        rows = as_rows(responses, 2 * len(where.directions) + 1)
        part = keep_answered(where, rows, answered)
        return redraw(state) if part is None else self._move(state, *part)

    def slots(self, state: State) -> tuple[Slot, ...]:
        """Return which query is which: the anchor (0, 0), then (b, +1) and (b, −1)."""
        return name_pairs(state, probes_at(self, state))

    def radius(self, state: State) -> float:
        """Return the δ of the iteration."""
        return radius_at(self, state.iteration)

    def _move(self, state: State, where: Probes, rows: Responses) -> State:
        count = len(where.directions)
        anchor = state.problem.objective.anchor(state.x, owned(rows[0, ...]))
        sensitivity = make_sensitivity(
            at=state.x,
            radius=where.radius,
            directions=where.directions,
            differences=rows[1 : count + 1, ...] - rows[count + 1 :, ...],
        )
        hypergradient = anchor_hypergradient(anchor, sensitivity)
        return move_on(self, state, hypergradient, where=where, rows=rows, anchor=anchor)
