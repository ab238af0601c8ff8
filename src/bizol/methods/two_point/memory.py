"""Bi-ZOL with memory: a remembered Jacobian, of which each iteration estimates only the error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses, as_size, owned, stack, to_numpy
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
    step_at,
)
from bizol.methods.two_point.schedules import AdaptiveStep, Schedule
from bizol.methods.two_point.stepping import keep_answered, move_on, redraw
from bizol.problem import Problem
from bizol.sensitivity import (
    Hypergradient,
    RememberedSensitivity,
    RunningSensitivity,
    Secant,
    average_slopes,
    remember,
)

DENSE = 5_000_000  # entries of a Jacobian that is kept as a matrix, at most


@final
@dataclass(frozen=True, slots=True)
class MemoryBiZOL:
    """Bi-ZOL with a remembered Jacobian M as a control variate.

    With s_b the difference quotient of the response along w_b, the hypergradient is estimated by

        ĝ = d_x + Mᵀd_y + (n/B) Σ_b ⟨s_b − M w_b, d_y⟩ w_b.

    As E[n w wᵀ] = I, it is unbiased for g_δ whatever M is, so Lemma 1 and Theorem 1 hold, with the
    variance of n‖(J − M)ᵀd_y‖² in place of n‖Jᵀd_y‖²: what is known already adds no noise. M is a
    matrix that every slope corrects (`RunningSensitivity`). Where the matrix would be too large, it
    is assembled from the last slopes (`RememberedSensitivity`).

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1], or a rule that depends on the observed values.
        batch: the number B of directions.
        directions: draws the directions; from the uniform sphere by default.
        one_sided: ask at x and x + δw only, B + 1 queries, instead of at x and x ± δw, 2B + 1.
        memory: how many slopes to remember; by default a whole matrix up to five million entries,
            60 slopes beyond.

    The first three are numbers or functions of the iteration k = 0, 1, 2, ...

    Example:
        >>> MemoryBiZOL(delta=0.08, batch=2).batch
        2

    """

    delta: Schedule
    step: Schedule | AdaptiveStep = AdaptiveStep()
    batch: Schedule = 1
    directions: Directions = Sphere()
    one_sided: bool = False
    memory: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.memory is not None:
            as_size(self.memory, "MemoryBiZOL", "memory")

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> State:
        """Return the first state, at x0 or at the center of the set."""
        return start_at(self, problem, x0, seed)

    def ask(self, state: State) -> Points:
        """Query the follower at x and around it; asking twice changes nothing."""
        where = probes_at(self, state)
        return around(state.x, where)[: self._sides * len(where.directions) + 1]

    def tell(self, state: State, responses: Responses) -> State:
        """Move toward the vertex that witnesses the gap, and remember what was new."""
        where = probes_at(self, state)
        rows = as_rows(responses, self._sides * len(where.directions) + 1)
        return self._move(state, where, rows)

    def tell_some(self, state: State, responses: Responses, answered: NDArray[np.bool_]) -> State:
        """Move by a mean over the directions that were answered; draw others if too few were."""
        where = probes_at(self, state)
        rows = as_rows(responses, self._sides * len(where.directions) + 1)
        part = keep_answered(where, rows, answered, sides=self._sides)
        return redraw(state) if part is None else self._move(state, *part)

    def slots(self, state: State) -> tuple[Slot, ...]:
        """Return which query is which: the anchor (0, 0), then (b, +1) and (b, −1)."""
        return name_pairs(state, probes_at(self, state), sides=self._sides)

    def radius(self, state: State) -> float:
        """Return the δ of the iteration."""
        return radius_at(self, state.iteration)

    def _move(self, state: State, where: Probes, rows: Responses) -> State:
        count = len(where.directions)
        anchor = state.problem.objective.anchor(state.x, owned(rows[0, ...]))
        ahead = rows[1 : count + 1, ...]
        behind = rows[:1, ...] if self.one_sided else rows[count + 1 :, ...]
        length = where.radius * self._sides
        slopes = to_numpy((ahead - behind) @ anchor.grad_y) / length  # ⟨s_b, d_y⟩, (B,)
        known = self._recall(state, where.radius, ahead)
        pull = known.pull_back(anchor.grad_y)
        surprises = slopes - where.directions @ pull  # ⟨s_b − M w_b, d_y⟩
        estimate = anchor.grad_x + pull + average_slopes(surprises, where.directions)
        return move_on(
            self,
            state,
            Hypergradient(state.x, estimate),
            where=where,
            rows=rows,
            anchor=anchor,
            step=self._choose_step(state, anchor.value),
            memory=self._learn(state, known, where, (ahead - behind) / length),
        )

    @property
    def _sides(self) -> int:
        """How many queries a direction takes, besides the one at x."""
        return 1 if self.one_sided else 2

    def _recall(
        self, state: State, scale: float, responses: Responses
    ) -> RunningSensitivity | RememberedSensitivity:
        """Return M at x: the running matrix, or one assembled from the remembered slopes."""
        n, m = state.x.size, int(responses.shape[1])
        if isinstance(state.memory, RunningSensitivity):
            return state.memory
        if state.memory is None and self.memory is None and n * m <= DENSE:
            return RunningSensitivity(stack([0 * responses[0, ...]] * n).T)
        most = min(n, self._count_kept(n))
        return remember(state.memory or (), state.x, scale=scale, most=most, independence=0.5)

    def _learn(
        self,
        state: State,
        known: RunningSensitivity | RememberedSensitivity,
        where: Probes,
        slopes: Responses,
    ) -> RunningSensitivity | tuple[Secant, ...]:
        """Return what to remember, including the slopes along the directions."""
        if isinstance(known, RunningSensitivity):
            return known.corrected(where.directions, slopes)
        secants = tuple(
            Secant(
                start=state.x,
                end=state.x + where.radius * direction,
                difference=where.radius * owned(slopes[row, ...]),
            )
            for row, direction in enumerate(where.directions)
        )
        return (*(state.memory or ()), *secants)[-self._count_kept(state.x.size) :]

    def _choose_step(self, state: State, value: float) -> float:
        """Return the step to take where φ has this value."""
        if isinstance(self.step, AdaptiveStep):
            return self.step.after(state.move, value)
        return step_at(self, state.iteration)

    def _count_kept(self, n: int) -> int:
        """Return how many slopes are remembered."""
        return self.memory or min(2 * n, 60)
