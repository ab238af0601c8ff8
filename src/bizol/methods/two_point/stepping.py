"""What two-point methods do with answers: keep the complete pairs, and take a Frank–Wolfe step."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Responses, infinite_rows, stack
from bizol.methods.protocol import make_move
from bizol.methods.two_point.probing import Parameters, Probes, State, make_state, step_at
from bizol.problem import Anchor, EvaluationError, UnansweredError
from bizol.sensitivity import Hypergradient, frank_wolfe_gap


def move_on(
    method: Parameters,
    state: State,
    hypergradient: Hypergradient,
    *,
    where: Probes,
    rows: Responses,
    anchor: Anchor | None = None,
    step: float | None = None,
    memory: Any = None,
) -> State:
    """Step toward the vertex that witnesses the gap: x_{k+1} = x_k + γ (z_k − x_k).

    Algorithm 1, lines 9 and 10.
    """
    gradient = hypergradient.value
    try:
        vertex, gap = frank_wolfe_gap(state.problem.feasible_set, state.x, gradient)
    except Exception:
        _refuse_infinite(hypergradient, rows, state.iteration)  # the set is not to blame for a NaN
        raise
    gap_estimate = float(gap)
    if not isfinite(gap_estimate):
        _refuse_infinite(hypergradient, rows, state.iteration)
    if step is None:
        step = step_at(method, state.iteration)
    move = make_move(
        at=state.x,
        anchor=anchor,
        hypergradient=hypergradient,
        vertex=vertex,
        gap_estimate=gap_estimate,
        step=step,
        delta=where.radius,
        queries=rows.shape[0],
    )
    x = state.x + step * (vertex - state.x)
    x.setflags(write=False)
    return make_state(
        problem=state.problem,
        seed=state.seed,
        iteration=state.iteration + 1,
        x=x,
        move=move,
        memory=memory,
    )


def keep_answered(
    where: Probes,
    rows: Responses,
    answered: NDArray[np.bool_],
    *,
    anchored: bool = True,
    sides: int = 2,
) -> tuple[Probes, Responses] | None:
    """Return the directions all of whose queries were answered, and their rows; None if too few.

    An estimate is a mean over directions, so leaving some out keeps it unbiased, as long as
    failures do not depend on the direction. If fewer than half of the directions are left, the
    iteration must be drawn again.
    """
    if anchored and not answered[0]:
        raise UnansweredError("The follower did not answer at the current decision.")
    count = len(where.directions)
    first = int(anchored)
    kept = np.flatnonzero(np.reshape(answered[first:], (sides, count)).all(axis=0))
    if len(kept) == 0 or 2 * len(kept) < count:
        return None
    pairs = (first + side * count + int(b) for side in range(sides) for b in kept)
    chosen = [*range(first), *pairs]
    directions = replace(where, directions=where.directions[kept], steps=None)
    return directions, stack([rows[row, ...] for row in chosen])


def redraw(state: State) -> State:
    """Return the same state with other directions."""
    return replace(state, redraw=state.redraw + 1)


def _refuse_infinite(hypergradient: Hypergradient, responses: Responses, iteration: int) -> None:
    """Raise an error if the hypergradient is not finite, naming the response or the objective."""
    finite = np.isfinite(hypergradient.value)
    if finite.all():
        return
    rows = infinite_rows(responses)
    if rows:
        count = responses.shape[0]
        raise EvaluationError(
            f"The response to query {rows[0]} is not finite ({len(rows)} of {count} are not)."
        )
    raise EvaluationError(
        f"The hypergradient of iteration {iteration} is not finite in coordinate "
        f"{int(np.argmin(finite))}: look at Objective(grad_x=..., grad_y=...) there."
    )
