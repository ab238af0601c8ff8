"""What a state asks next, and why."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from math import inf

import numpy as np

from bizol.arrays import Point
from bizol.methods.foresight.forecasts import (
    Everywhere,
    Forecast,
    Overlaid,
    Straight,
    choose,
    fit_curved,
    fit_everywhere,
    fit_pieces,
)
from bizol.methods.foresight.places import explore
from bizol.methods.foresight.settings import (
    CERTAIN,
    FARTHER,
    FITTED,
    FREQUENT,
    GROWTH,
    NEARBY,
    NEXT_TO_NOTHING,
    ONE_THREAD,
    REFIT,
    SHORTEST_STEP,
    TRUSTED,
    VALUE_ROUNDING,
    kept,
)
from bizol.methods.foresight.state import ForesightState, Plan
from bizol.methods.foresight.subproblem import recommend, search
from bizol.processes import one_thread
from bizol.randomness import generator
from bizol.records import assign
from bizol.sensitivity import remember


def planned(state: ForesightState, workers: int) -> Plan:
    """Return what to ask from this state, worked out once."""
    plan = state._plan
    if plan is None or plan.workers != workers:
        size = state.x.size + (0 if state.anchor is None else state.anchor.response.shape[0])
        with one_thread() if size <= ONE_THREAD else nullcontext():
            plan = _plan(state, workers)
        assign(state, _plan=plan)
    return plan


def _plan(state: ForesightState, workers: int) -> Plan:
    n = state.x.size
    m = 0 if state.anchor is None else state.anchor.response.shape[0]
    units, most = state.space.units, kept(n, n + m)
    sensitivity = remember(state.secants, state.z, scale=state.radius or 1.0, most=most)
    explored, lacking = explore(state, sensitivity, count=workers)
    exploring = Plan(
        workers=workers,
        queries=explored * units,
        sensitivity=sensitivity,
        most=most,
        complete=not lacking or sensitivity.rank == most,
    )
    if state.anchor is None:
        queries = np.vstack([state.x[None], exploring.queries[: workers - 1]])
        return replace(exploring, queries=queries, complete=False)
    forecasts: tuple[Forecast, ...] = (Straight(sensitivity),)
    fitted = kept(min(2 * n + 10, FITTED), n + m)
    curved = fit_curved(state.observed, state.anchor, units=units, most=fitted)
    if curved is not None:  # there are other answers to fit it to
        forecasts = (*forecasts, curved)
    if state.turn == "try" or state.pieces is None:
        pieces = fit_pieces(
            state.observed, state.anchor, units=units, before=state.pieces, shift=state.iteration
        )
    else:  # they are not followed now, only judged
        pieces = state.pieces.seen_from(state.z, state.anchor.response)
    everywhere = _everywhere(state)
    if everywhere is not None:
        forecasts = (*forecasts, everywhere)
    exploring = replace(exploring, forecasts=forecasts, pieces=pieces, everywhere=everywhere)
    if state.turn == "echo":
        queries = np.vstack([state.x[None], exploring.queries[: workers - 1]])
        return replace(exploring, queries=queries)
    if state.turn == "leap":
        return _leap(state, exploring)
    return _with_trials(state, exploring) if state.turn == "try" else exploring


def _due(state: ForesightState) -> bool:
    """Return whether it is time to look for a leap, the later the more have just failed."""
    wait = 2**state.leaps * max(1.0, state.x.size / FREQUENT)
    since = state.iteration - state.searched
    return since >= wait and state.iteration >= GROWTH * state.searched


def _everywhere(state: ForesightState) -> Everywhere | None:
    assert state.anchor is not None
    before, here = state.everywhere, state.anchor
    if before is not None:
        whole = state.errors.whole
        leads = len(whole) > 0 and whole[-1] == min(whole)
        old = state.iteration >= REFIT * before.fitted
        if not (state.turn == "leap" or (state.turn == "try" and (leads or old))):
            return before.seen_from(state.z, here.response)
    return fit_everywhere(state.observed, here, state.space, before=before, age=state.iteration)


def _miss(state: ForesightState, plan: Plan) -> float:
    """Return how far the forecast everywhere would have been off at the answers so far."""
    everywhere, anchor = plan.everywhere, state.anchor
    if everywhere is None or anchor is None:
        return inf
    return everywhere.miss(np.abs(anchor.grad_y) * everywhere.spreads)


def _worth(state: ForesightState) -> float:
    """Return the gain that would lead below the best decision by more than next to nothing."""
    assert state.anchor is not None
    assert state.best is not None
    behind, lowest = state.anchor.value - state.best.value, state.best.value
    return behind + NEXT_TO_NOTHING * max(state.height - lowest, 0.0)


def _leap(state: ForesightState, exploring: Plan) -> Plan:
    """Return the plan with a decision first where φ may be lowest in all of X.

    Through the forecast everywhere where that promises to be worth it; or through random responses
    of those that the answers leave possible, where that leads far enough away.
    """
    everywhere, anchor = exploring.everywhere, state.anchor
    assert anchor is not None
    if everywhere is None:
        return exploring
    rng = generator(state.seed, state.iteration, 2)
    asked, shortest = state.asked, SHORTEST_STEP * state.space.diameter
    assert state.best is not None
    nearby, worth = NEARBY * state.space.diameter, _worth(state)
    unsure = state.leaps > 0 or _miss(state, exploring) > CERTAIN
    ways = [False, True] if state.turn == "leap" and not unsure else [unsure]
    for at_random in ways:
        forecast = _with_proven(
            state, everywhere.drawn(rng) if at_random else everywhere, exploring
        )
        place, value = search(state, forecast, rng)
        if np.linalg.norm(asked - place, axis=1).min() <= shortest:
            continue
        far = np.linalg.norm(place - state.best.at / state.space.units) > nearby
        if far if at_random else anchor.value - value > worth:
            queries = np.vstack([place * state.space.units, exploring.queries])
            queries = queries[: exploring.workers]
            gain = anchor.value - value
            return replace(exploring, queries=queries, leap=True, searched=True, gain=gain)
    return replace(exploring, searched=True)


def _with_proven(
    state: ForesightState, everywhere: Everywhere, plan: Plan
) -> Everywhere | Overlaid:
    """Return the forecast with pieces for the components of which they explain every answer."""
    pieces = plan.pieces
    if pieces is None:
        return everywhere
    answers = np.array([each.response for each in state.observed])
    proven = pieces.proven(state.asked - state.z, answers)
    return Overlaid(everywhere, pieces.restricted(proven)) if proven.any() else everywhere


def _with_trials(state: ForesightState, exploring: Plan) -> Plan:
    """Return the plan with trials first, where a forecast sees a way down."""
    forecasts, workers = exploring.forecasts, exploring.workers
    miss = _miss(state, exploring)
    forecast = choose(state.errors, forecasts, exploring.pieces, miss=miss)
    found = _first_trial(state, forecast)
    if _due(state) and miss <= TRUSTED:
        leap = _leap(state, exploring)
        least = 0.0 if found is None else FARTHER * found[1]
        if leap.leap and leap.gain > max(least, _worth(state)):
            return leap
        exploring = replace(exploring, searched=leap.searched)
    if found is None:
        return exploring
    trial, gain, damping = found
    length = float(np.linalg.norm(trial - state.z))
    trials = [trial]
    if workers > 2:
        damping = max(5 * damping, 0.5 * gain / length**2)
        second = recommend(state, forecast, damping)[0]
        if (second != trial).any() and (second != state.z).any():
            trials.append(second)
    units = state.space.units
    queries = np.vstack([np.array(trials) * units, exploring.queries])[:workers]
    return replace(exploring, queries=queries, trials=len(trials), gain=gain, length=length)


def _first_trial(state: ForesightState, forecast: Forecast) -> tuple[Point, float, float] | None:
    """Return a trial, the gain promised and its λ; None where none is promised or none is new."""
    assert state.anchor is not None
    damping, asked = state.damping, state.asked
    shortest = SHORTEST_STEP * state.space.diameter
    rounding = VALUE_ROUNDING * abs(state.anchor.value)
    for _ in range(2):
        trial, gain = recommend(state, forecast, damping)
        length = float(np.linalg.norm(trial - state.z))
        if not (gain > rounding and length > shortest):
            return None
        if np.linalg.norm(asked - trial, axis=1).min() > shortest:
            return trial, gain, damping
        damping = max(5 * damping, 0.5 * gain / length**2)  # its answer is known: go less far
    return None
