"""Does my method ask purely, move within the set and account for its queries?"""

from __future__ import annotations

import numpy as np

from bizol.arrays import Points, Responses
from bizol.evaluation import Direct, Slot
from bizol.methods import Method
from bizol.methods.protocol import (
    NamesQueries,
    S,
    ToleratesGaps,
    radius_of,
    remark_of,
)
from bizol.problem import Problem, UnansweredError
from bizol.randomness import generator
from bizol.testing.laws import require, require_member


def check_method(
    method: Method[S], problem: Problem, *, iterations: int = 5, seed: int = 0
) -> None:
    """Check that a method is pure, stays within the feasible set and accounts for its queries.

    What it may offer beside `start`, `ask` and `tell` is checked too: `slots`, `tell_some`,
    `radius`, and the `remark` of its states.

    Args:
        method: the method to look at.
        problem: a problem to try it on; its follower is asked.
        iterations: how many iterations to run.
        seed: the seed of the run.

    """
    direct = Direct(problem)
    state = method.start(problem, seed=seed)
    require(
        state.iteration == 0 and state.move is None,
        "a run starts at iteration 0, without a move",
    )
    for _ in range(iterations):
        queries = method.ask(state)
        require(
            queries.ndim == 2 and queries.shape[1] == state.x.size,
            f"ask returns (q, n), got {queries.shape}",
        )
        require(np.array_equal(queries, method.ask(state)), "asking twice gives the same queries")
        responses = direct.ask(queries)
        after = _check_tell(method, state, responses, problem)
        _check_offers(method, state, queries, responses, problem=problem)
        state = after


def _check_tell(method: Method[S], state: S, responses: Responses, problem: Problem) -> S:
    before = state.x.copy()
    after = method.tell(state, responses)
    twin = method.tell(state, responses)
    require(np.array_equal(before, state.x), "telling leaves the state it was given alone")
    require(np.array_equal(after.x, twin.x), "telling twice gives the same next state")
    require(after.iteration == state.iteration + 1, "telling goes one iteration on")
    move = after.move
    require(
        move is not None and np.array_equal(move.at, before),
        "the move is reported at the decision it left",
    )
    require(
        move is not None and move.queries == responses.shape[0],
        "the move reports as many queries as were asked",
    )
    what = f"the decision of iteration {after.iteration}"
    require_member(problem.feasible_set, after.x, what)
    return after


def _check_offers(
    method: Method[S], state: S, queries: Points, responses: Responses, *, problem: Problem
) -> None:
    """Look at what a method offers beside what it must."""
    if isinstance(method, NamesQueries):
        _check_slots(list(method.slots(state)), queries, state.x)
    radius = radius_of(method, state)
    require(radius is None or 0 < radius < np.inf, f"radius is positive, got {radius!r}")
    remark = remark_of(state)
    require(isinstance(remark, str), f"remark is a text, got {remark!r}")
    if not isinstance(method, ToleratesGaps):
        return
    tolerant: ToleratesGaps[S] = method
    everything = np.ones(len(queries), dtype=bool)
    same = tolerant.tell_some(state, responses, everything)
    require(
        np.array_equal(same.x, method.tell(state, responses).x),
        "told that everything was answered, tell_some does what tell does",
    )
    answered = generator(state.seed, state.iteration).random(len(queries)) < 0.7
    try:
        after = tolerant.tell_some(state, responses, answered)
    except UnansweredError:
        return  # it may not be able to do without one of them
    what = "the decision after a batch with gaps"
    require_member(problem.feasible_set, after.x, what)


def _check_slots(slots: list[Slot], queries: Points, x: Points) -> None:
    require(len(slots) == len(queries), f"slots names every query, got {len(slots)} names")
    require(len(set(slots)) == len(slots), "slots gives every query a name of its own")
    rows = dict(zip(slots, queries, strict=True))
    require(
        (0, 0) not in rows or np.array_equal(rows[0, 0], x), "slot (0, 0) is the decision itself"
    )
    for number, sign in slots:
        if sign > 0 and (number, -1) in rows:
            middle = (rows[number, 1] + rows[number, -1]) / 2
            require(
                bool(np.allclose(middle, x, rtol=1e-9, atol=1e-12)),
                f"the two sides of pair {number} lie on both sides of the decision",
            )
