"""Bi-ZOL with memory: what was learned of the response before is kept, and only what is new is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses, as_size, owned, stack, to_numpy
from bizol.directions import Directions, Sphere
from bizol.methods.two_point.schedules import AdaptiveStep, Schedule
from bizol.methods.two_point.two_point import (
    Probes,
    State,
    answered_part,
    around,
    drawn_again,
    matched,
    move_on,
    numbered,
    parameter,
    probes,
    settle,
    start_at,
)
from bizol.problem import Problem
from bizol.sensitivity import (
    Hypergradient,
    RememberedSensitivity,
    RunningSensitivity,
    Secant,
    remember,
)

DENSE = 5_000_000  # entries of a Jacobian that is kept as a matrix, at most


@final
@dataclass(frozen=True, slots=True)
class MemoryBiZOL:
    """Bi-ZOL whose estimate leans on a remembered Jacobian M, as a control variate.

    With s_b the difference quotient of the response along w_b, the hypergradient is estimated by

        ĝ = d_x + Mᵀd_y + (n/B) Σ_b ⟨s_b − M w_b, d_y⟩ w_b.

    As E[n w wᵀ] = I, it is unbiased for g_δ whatever M is, so Lemma 1 and Theorem 1 hold, with the
    variance of n‖(J − M)ᵀd_y‖² in place of n‖Jᵀd_y‖²: what is known already adds no noise. M is a
    matrix that every slope corrects (`RunningSensitivity`) or, where that would be too large, put
    together from the last slopes (`RememberedSensitivity`).

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1], a function of the iteration, or a rule that looks at what was
            observed.
        batch: the number B of directions.
        directions: where to look; the uniform sphere by default.
        one_sided: ask at x and x + δw alone, B + 1 queries; otherwise at x ± δw too, 2B + 1.
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
        settle(self)
        if self.memory is not None:
            as_size(self.memory, "MemoryBiZOL", "memory")

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> State:
        """Return the state at x0, or at the center of the set."""
        return start_at(self, problem, x0, seed)

    def ask(self, state: State) -> Points:
        """Query the follower at x and around it; asking twice changes nothing."""
        where = probes(self, state)
        points = around(state.x, where)
        return points[: len(where.directions) + 1] if self.one_sided else points

    def slots(self, state: State) -> list[tuple[int, int]]:
        """Return which query is which: the anchor (0, 0), then (b, +1) and (b, −1)."""
        return numbered(state, probes(self, state), sides=self._sides)

    def tell(
        self, state: State, responses: Responses, *, answered: NDArray[np.bool_] | None = None
    ) -> State:
        """Move toward the vertex that witnesses the gap, and remember what was new.

        Where `answered` says that some responses are missing, the estimate is a mean over the
        directions that are left.
        """
        looked = probes(self, state)
        rows = matched(responses, self._sides * len(looked.directions) + 1)
        if (part := answered_part(looked, rows, answered, sides=self._sides)) is None:
            return drawn_again(state)
        where, rows = part
        count = len(where.directions)
        anchor = state.problem.objective.anchor(state.x, owned(rows[0, ...]))
        ahead, behind = (
            rows[1 : count + 1, ...],
            rows[:1, ...] if self.one_sided else rows[count + 1 :, ...],
        )
        length = where.radius * (1 if self.one_sided else 2)
        slopes = to_numpy((ahead - behind) @ anchor.grad_y) / length  # ⟨s_b, d_y⟩, (B,)
        known = self._known(state, where.radius, ahead)
        pull = known.pull_back(anchor.grad_y)
        surprises = slopes - where.directions @ pull  # ⟨s_b − M w_b, d_y⟩
        estimate = anchor.grad_x + pull + state.x.size / count * (surprises @ where.directions)
        return move_on(
            self,
            state,
            Hypergradient(state.x, estimate),
            where=where,
            rows=rows,
            response=anchor.response,
            value=anchor.value,
            step=self._step(state, anchor.value),
            memory=self._learned(state, known, where, (ahead - behind) / length),
        )

    @property
    def _sides(self) -> int:
        return 1 if self.one_sided else 2

    def _known(
        self, state: State, scale: float, responses: Responses
    ) -> RunningSensitivity | RememberedSensitivity:
        """Return the Jacobian that is believed at x: the running one, or one put together from what is remembered."""
        n, m = state.x.size, int(responses.shape[1])
        if isinstance(state.memory, RunningSensitivity):
            return state.memory
        if state.memory is None and self.memory is None and n * m <= DENSE:
            return RunningSensitivity(stack([0 * responses[0, ...]] * n).T)
        most = min(n, self._most(n))
        return remember(state.memory or (), state.x, scale=scale, most=most, independence=0.5)

    def _learned(
        self,
        state: State,
        known: RunningSensitivity | RememberedSensitivity,
        where: Probes,
        slopes: Responses,
    ) -> RunningSensitivity | tuple[Secant, ...]:
        """Return what will be remembered, the slopes along the directions included."""
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
        return (*(state.memory or ()), *secants)[-self._most(state.x.size) :]

    def _step(self, state: State, value: float) -> float:
        if isinstance(self.step, AdaptiveStep):
            return self.step.after(state.move, value)
        return parameter(self, "step", state.iteration)

    def _most(self, n: int) -> int:
        return self.memory or min(2 * n, 60)
