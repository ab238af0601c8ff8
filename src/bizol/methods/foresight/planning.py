"""What a state asks next, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bizol.arrays import Point
from bizol.methods.foresight.forecasts import Forecast, Straight, choose, fit_curved, fit_pieces
from bizol.methods.foresight.places import explore
from bizol.methods.foresight.settings import FITTED, SHORTEST_STEP, VALUE_ROUNDING, kept
from bizol.methods.foresight.state import ForesightState, Plan
from bizol.methods.foresight.subproblem import recommend
from bizol.records import assign
from bizol.sensitivity import remember


def planned(state: ForesightState, workers: int) -> Plan:
    """Return what to ask from this state, worked out once."""
    plan = state._plan
    if plan is None or plan.workers != workers:
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
    exploring = replace(exploring, forecasts=forecasts, pieces=pieces)
    if state.turn == "echo":
        queries = np.vstack([state.x[None], exploring.queries[: workers - 1]])
        return replace(exploring, queries=queries)
    return _with_trials(state, exploring) if state.turn == "try" else exploring


def _with_trials(state: ForesightState, exploring: Plan) -> Plan:
    """Return the plan with trials first, where a forecast sees a way down."""
    forecasts, workers = exploring.forecasts, exploring.workers
    forecast = choose(state.errors, forecasts, exploring.pieces)
    found = _first_trial(state, forecast)
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
