"""Vanilla zeroth-order smoothing, the method Bi-ZOL is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Points, Responses
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
from bizol.sensitivity import Hypergradient, average_slopes


@final
@dataclass(frozen=True, slots=True)
class VZO:
    """Vanilla zeroth-order smoothing of the whole hyperobjective.

    An iteration takes a Frank–Wolfe step with a two-point estimate of the gradient of φ(x, y(x)),
    treated as a black box. It asks the follower 2B queries, at x_k ± δ w_b:

        ĝ = (n / 2δB) Σ_b (φ(x_k + δw_b, y(x_k + δw_b)) − φ(x_k − δw_b, y(x_k − δw_b))) w_b.

    It never asks at x_k itself, so the value there is not observed.

    Args:
        delta: the smoothing radius δ.
        step: the step γ in (0, 1].
        batch: the number B of directions.
        directions: draws the directions; from the uniform sphere by default.

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
        check_parameters(self)

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> State:
        """Return the first state, at x0 or at the center of the set."""
        return start_at(self, problem, x0, seed)

    def ask(self, state: State) -> Points:
        """Query the follower at x ± δw; asking twice changes nothing."""
        return around(state.x, probes_at(self, state))[1:]

    def tell(self, state: State, responses: Responses) -> State:
        """Move toward the vertex that is best for the smoothed hyperobjective."""
        where = probes_at(self, state)
        return self._move(state, where, as_rows(responses, 2 * len(where.directions)))

    def tell_some(self, state: State, responses: Responses, answered: NDArray[np.bool_]) -> State:
        """Move by a mean over the directions that were answered; draw others if too few were."""
        where = probes_at(self, state)
        rows = as_rows(responses, 2 * len(where.directions))
        part = keep_answered(where, rows, answered, anchored=False)
        return redraw(state) if part is None else self._move(state, *part)

    def slots(self, state: State) -> tuple[Slot, ...]:
        """Return which query is which: (b, +1), then (b, −1)."""
        return name_pairs(state, probes_at(self, state), anchored=False)

    def radius(self, state: State) -> float:
        """Return the δ of the iteration."""
        return radius_at(self, state.iteration)

    def _move(self, state: State, where: Probes, rows: Responses) -> State:
        count = len(where.directions)
        values = state.problem.objective.values(around(state.x, where)[1:], rows)
        differences = values[:count] - values[count:]
        estimate = average_slopes(differences, where.directions, spacing=2 * where.radius)
        return move_on(self, state, Hypergradient(state.x, estimate), where=where, rows=rows)
