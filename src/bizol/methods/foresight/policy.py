"""What an outcome does to the radius, the damping, the turn, and the descent.

A trial is judged by the share of the promised gain that came true. Trials are damped at first, as
in the method of Levenberg and Marquardt; where one fails that knew every direction, a trust region
takes over.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from bizol.methods.foresight.restarts import restart
from bizol.methods.foresight.settings import (
    CATCHING_UP,
    ECHO_RADIUS,
    FIRST_RADIUS,
    GOOD,
    KNOWN_WITHIN,
    LARGEST_RADIUS,
    LEAPS,
    LESS_DAMPING,
    MORE_DAMPING,
    NEGLIGIBLE_DAMPING,
    NEXT_TO_NOTHING,
    NOISE_MARGIN,
    PATIENCE,
    POOR,
    SMALLEST_RADIUS,
)
from bizol.methods.foresight.state import ForesightState, Plan, Turn
from bizol.problem import Anchor


def judge(
    state: ForesightState, plan: Plan, here: Anchor, tried: list[Anchor], *, noise: float | None
) -> ForesightState:
    """Return the state with radius, damping, failures and next turn after the trials."""
    diameter = state.space.diameter
    smallest = max(SMALLEST_RADIUS * diameter, _floor(noise, plan))
    stalled, height = state.stalled, state.height
    turn: Turn = "try"
    if state.anchor is None:
        height = here.value
    if plan.leap:
        return _land(state, here, tried)
    if state.turn == "leap":  # the forecast sees nothing better anywhere
        return replace(state, leaps=LEAPS, turn="try")
    if plan.trials:
        ratio = (here.value - tried[0].value) / plan.gain if tried else -inf
        respond = _resize if state.cautious else _damp
        state = respond(state, plan, ratio)
        best = min((trial.value for trial in tried), default=here.value)
        nothing = NEXT_TO_NOTHING * max(height - best, 0.0)
        stalled = stalled + 1 if here.value - best <= nothing else 0
        turn = "try" if ratio > POOR and plan.complete else "explore"
    elif state.turn == "try":
        # The forecast sees no way down, which says more where every direction is known.
        stalled += 2 if plan.complete else 1
        state = replace(state, radius=state.radius / 4)
    elif state.turn == "echo":
        stalled += 1  # nothing can be gained where the answer is known
    elif state.turn == "explore" and state.learning:
        learning = not plan.complete and plan.sensitivity.rank + plan.workers < plan.most
        turn, state = "explore" if learning else "try", replace(state, learning=learning)
    radius = state.radius
    if diameter > 0:
        radius = min(max(radius, smallest), LARGEST_RADIUS * diameter)
    if noise is None and radius < ECHO_RADIUS * diameter:
        # Before small differences are trusted, see whether a repeated query repeats its answer.
        turn = "echo"
    return replace(state, radius=radius, stalled=stalled, height=height, turn=turn)


def _land(state: ForesightState, here: Anchor, tried: list[Anchor]) -> ForesightState:
    """Return the state after a leap: a descent begins where it ended, if that is better."""
    gained = here.value - min((trial.value for trial in tried), default=here.value)
    if gained <= NEXT_TO_NOTHING * max(state.height - here.value, 0.0):
        return replace(state, leaps=state.leaps + 1, turn="try")
    return replace(
        state,
        leaps=0,
        stalled=0,
        radius=FIRST_RADIUS * state.space.diameter,
        damping=0.0,
        cautious=True,
        milestone=(state.iteration, inf),
        turn="try",
    )


def _damp(state: ForesightState, plan: Plan, ratio: float) -> ForesightState:
    """Return the state with less or more damping, given the share of the gain that came true.

    Where every direction was known and the trial still failed, a region replaces the damping.
    """
    radius, damping, length = state.radius, state.damping, plan.length
    if ratio > GOOD:
        negligible = damping * length**2 <= NEGLIGIBLE_DAMPING * plan.gain
        damping = 0.0 if negligible else damping / LESS_DAMPING
        return replace(state, damping=damping, radius=max(radius, 1.5 * length))
    if ratio >= POOR:
        return replace(state, radius=length)
    if plan.complete:
        return replace(state, damping=0.0, radius=0.5 * length, cautious=True)
    damping = max(MORE_DAMPING * damping, 0.5 * plan.gain / length**2)
    return replace(state, damping=damping, radius=max(0.5 * length, radius / 4), learning=True)


def _resize(state: ForesightState, plan: Plan, ratio: float) -> ForesightState:
    """Return the state with a resized region, given the share of the gain that came true.

    A failure says that the region is too large only where every direction is known from within it
    or near it.
    """
    radius, length = state.radius, plan.length
    if ratio < POOR:
        known = plan.complete and (plan.sensitivity.distances <= KNOWN_WITHIN * radius).all()
        return replace(state, radius=min(0.5 * radius, length)) if known else state
    if 4 * length < radius:
        radius *= 0.5
    return replace(state, radius=max(radius, 2 * length) if ratio > GOOD else radius)


def go_on(state: ForesightState) -> ForesightState:
    """Return the state, or the start of another descent when this one is over or hopeless."""
    assert state.anchor is not None
    assert state.best is not None
    value, lowest, patience = state.anchor.value, state.best.value, state.x.size + PATIENCE
    now, (since, height) = (state.iteration, value), state.milestone
    hopeless = False
    if height == inf:  # it has just begun
        state = replace(state, milestone=now)
    elif state.iteration - since >= patience:  # at this pace, will it ever catch up?
        hopeless = value - lowest > CATCHING_UP * (height - value)
        state = replace(state, milestone=now)
    if state.stalled == patience - 1 and state.noise is None:
        # Trials that fail one after another may fail because of noise.
        return replace(state, turn="echo")
    if not (hopeless or state.stalled >= patience):
        return state
    best = state.best
    if state.everywhere is None or state.leaps >= LEAPS:
        return restart(replace(state, leaps=0))
    assert best is not None
    return replace(state, x=best.at, anchor=best, stalled=patience, turn="leap")


def _floor(noise: float | None, plan: Plan) -> float:
    """Return the radius below which differences of responses are mostly noise."""
    slope = plan.sensitivity.slope
    return NOISE_MARGIN * noise / slope if noise and slope > 0 else 0.0
