"""Foresight: minimize the objective through a forecast of the response.

The objective is known exactly; the response is the only thing that is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import (
    Point,
    Points,
    Response,
    Responses,
    as_size,
    frozen,
    infinite_rows,
    norm,
    owned,
)
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight.forecasts import judged
from bizol.methods.foresight.planning import planned
from bizol.methods.foresight.policy import go_on, judge
from bizol.methods.foresight.restarts import begin_elsewhere
from bizol.methods.foresight.settings import (
    ANSWER_ROUNDING,
    FIRST_RADIUS,
    SHORTEST_STEP,
    kept,
)
from bizol.methods.foresight.state import ForesightState, Plan
from bizol.methods.protocol import Move, as_rows, first_decision
from bizol.problem import Anchor, EvaluationError, Problem
from bizol.randomness import as_seed
from bizol.sensitivity import Hypergradient, Secant, frank_wolfe_gap


@final
@dataclass(frozen=True, slots=True)
class Foresight:
    """Minimize φ(u, ŷ(u)) with a forecast ŷ of the response alone, then ask the follower there.

    Around the current decision x the response is forecast in four ways from all that was answered
    before (`bizol.methods.foresight.forecasts`): straight, ŷ(u) = y(x) + M (u − x) with a Jacobian
    M put together from secants (`bizol.sensitivity.remember`); curved, by the quadratic that
    explains the nearest answers with the least curvature; everywhere, by Gaussian processes on all
    answers; and by pieces, every component as the larger or the smaller of two planes between
    limits. Of the first three, the one that was closest to the latest answers is followed, with
    pieces for the components where these were clearly closer. φ is known, so

        u = argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖²   over X

    costs no query at all. One query at u tells how good the forecast was: λ shrinks when it was
    good and grows when it was not. Between trials, a query in a direction that M does not know, or
    knows from too far away, keeps it honest. When a trial fails, all directions are learned before
    the next one; when one fails that knew them all, λ gives way to a trust region, in which
    explorations are as wide as trials, and which shrinks only when all is known within it. When a
    descent gains nothing more, or falls too far behind, φ is minimized over all of X through the
    forecast everywhere, and the follower asked there. Where that leads nowhere, the next descent
    starts far from all that was asked, every third one at the best decision again, with a wider
    view. The best decision ever seen is kept. The anchored model of the paper is the straight
    forecast with φ linearized too.

    Args:
        workers: how many queries are asked at a time: one trial and one exploration in turn with
            one worker, several trials and explorations together with more.

    Example:
        >>> import bizol
        >>> problem = bizol.Problem(
        ...     bizol.Objective(
        ...         lambda x, y: (y - 1) @ (y - 1), lambda x, y: 0 * x, lambda x, y: 2 * (y - 1)
        ...     ),
        ...     response=lambda x: np.minimum(x[:2] + 0.5 * x[1:], 2.0),
        ...     feasible_set=bizol.Box(-np.ones(3), np.ones(3)),
        ... )
        >>> bizol.minimize(problem, method=Foresight(), budget=12, seed=0).value < 1e-9
        True

    """

    workers: int = 1

    def __post_init__(self) -> None:
        as_size(self.workers, "Foresight", "workers")

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> ForesightState:
        """Return the state at x0, or at the center of the set."""
        x, space = first_decision(problem, x0), InUnits(problem.feasible_set)
        return ForesightState(
            problem=problem,
            seed=as_seed(seed),
            iteration=0,
            x=x,
            space=space,
            radius=FIRST_RADIUS * space.diameter,
        )

    def ask(self, state: ForesightState) -> Points:
        """Query the follower at trials or around the decision; asking twice changes nothing."""
        return planned(state, self.workers).queries.copy()

    def tell(self, state: ForesightState, responses: Responses) -> ForesightState:
        """Learn from the answers, and go to the best of them.

        Answers that φ or its gradients are not defined at count as missing after the first, but
        the best decision seen may be such a one.
        """
        return self.tell_some(
            state, responses, np.ones(len(planned(state, self.workers).queries), bool)
        )

    def tell_some(
        self, state: ForesightState, responses: Responses, answered: NDArray[np.bool_]
    ) -> ForesightState:
        """Learn from the answers that came.

        A trial without an answer is rejected, a descent that would have begun at one begins at
        another of those asked with it or elsewhere, and a failed exploration is skipped.
        """
        plan = planned(state, self.workers)
        rows = as_rows(responses, len(plan.queries))
        there, found, flawed = _read(state, plan.queries, rows, answered)
        state = replace(state, undefined=state.undefined + int(answered.sum()) - len(found))
        here, others, noise = state.anchor, found, state.noise
        if here is None:
            if not found:
                return begin_elsewhere(state)
            here, *others = found
        elif state.turn == "echo":
            noise = 0.0  # also where nobody answers twice
            if there[0]:
                echo, *others = others
                difference = norm(echo.response - here.response)
                noise = difference if difference > ANSWER_ROUNDING * norm(here.response) else 0.0
        tried = others[: sum(there[: max(plan.trials, plan.leap)])] if there[0] else []
        units = state.space.units
        secants = [
            Secant(
                start=here.at / units,
                end=other.at / units,
                difference=other.response - here.response,
            )
            for other in others
            if np.linalg.norm((other.at - here.at) / units) > SHORTEST_STEP * state.space.diameter
        ]
        n, m = here.at.size, here.response.shape[0]
        landed = min([here, *others], key=lambda each: each.value)  # all of them are in X
        following = replace(
            judge(state, plan, here, tried, noise=noise),
            iteration=state.iteration + 1,
            x=landed.at,
            anchor=landed,
            secants=(*state.secants, *secants)[-kept(3 * n + 10, n + m) :],
            observed=(*state.observed, *found)[-kept(4 * n + 200, n + m) :],
            errors=judged(
                state.errors, plan.forecasts, here, others, pieces=plan.pieces, units=units
            ),
            pieces=plan.pieces or state.pieces,
            everywhere=plan.everywhere or state.everywhere,
            searched=state.iteration if plan.searched else state.searched,
            noise=noise,
            best=landed if state.best is None or landed.value < state.best.value else state.best,
        )
        lowest = min([landed, *flawed], key=lambda each: each.value)
        return replace(go_on(following), move=_moved(state, plan, here, lowest))


def _read(
    state: ForesightState, queries: Points, rows: Responses, answered: NDArray[np.bool_]
) -> tuple[list[bool], list[Anchor], list[Anchor]]:
    """Return which answers can be used, those, and others where only φ itself is finite."""
    there = [False] * len(queries)
    found: list[Anchor] = []
    flawed: list[Anchor] = []
    for index in np.flatnonzero(answered):
        point = owned(queries[index])
        response = frozen(rows[index, ...])
        seen, flaw = _observed(state.problem, point, response)
        if flaw is not None:
            if infinite_rows(response[None, ...]):
                raise EvaluationError(f"The response at x = {point} is not finite.")
            if state.best is None and not found:
                raise flaw
        there[index] = flaw is None
        (found if flaw is None else flawed).extend(seen)
    return there, found, flawed


def _observed(
    problem: Problem, x: Point, response: Response
) -> tuple[list[Anchor], EvaluationError | None]:
    """Return φ and its gradients at an answer, if φ is defined there, and what is wrong if any."""
    try:
        anchor = problem.objective.anchor(x, response)
    except EvaluationError as error:
        return [], error
    for name, gradient in (("grad_x", anchor.grad_x), ("grad_y", anchor.grad_y)):
        if not isfinite(norm(gradient)):
            return [anchor], EvaluationError(
                f"Objective({name}=...) must be finite, but is not at x = {x}."
            )
    return [anchor], None


def _moved(state: ForesightState, plan: Plan, here: Anchor, landed: Anchor) -> Move:
    slope = plan.sensitivity.pull_back(here.grad_y) / state.space.units
    hypergradient = Hypergradient(here.at, here.grad_x + slope)
    feasible_set = state.problem.feasible_set
    vertex, gap = frank_wolfe_gap(feasible_set, here.at, hypergradient.value)
    delta = state.radius * feasible_set.diameter / (state.space.diameter or 1.0)
    return Move(
        at=here.at,
        anchor=here,
        hypergradient=hypergradient,
        vertex=vertex,
        gap_estimate=float(gap),
        step=float(np.linalg.norm(landed.at - here.at)),
        delta=delta,
        queries=len(plan.queries),
        landed=landed,
    )
