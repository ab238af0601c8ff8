"""The subproblem: φ through a forecast, minimized over X near the decision. It costs no query."""

from __future__ import annotations

from math import inf, isfinite

import numpy as np

from bizol.arrays import Point, norm
from bizol.methods.foresight.descent import ValueAndGradient, descend, slide
from bizol.methods.foresight.forecasts import Forecast, Overlaid
from bizol.methods.foresight.settings import (
    COSTLY,
    FEW_ROUNDS,
    LEAP,
    ROUNDS,
    SHARPENING,
    TEMPERATURES,
)
from bizol.methods.foresight.state import ForesightState
from bizol.problem import EvaluationError


def recommend(state: ForesightState, forecast: Forecast, damping: float) -> tuple[Point, float]:
    """Return argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖² near x, and the gain that the forecast promises.

    The decision is in units of the space. Where the forecast has kinks, they are smooth at first
    and become sharp: a descent would stop at the first sharp one, and slides along smooth ones.
    """
    anchor, space, z = state.anchor, state.space, state.z
    assert anchor is not None
    size = state.x.size + anchor.response.shape[0]
    rounds = ROUNDS if forecast.size * size <= COSTLY else FEW_ROUNDS
    within = state.radius if state.cautious else LEAP * state.radius
    with np.errstate(all="ignore"):
        if isinstance(forecast, Overlaid):
            smooth = [_through(state, forecast.softened(t), damping) for t in TEMPERATURES]
            u, _ = slide(smooth, z, space, rounds=SHARPENING, within=within)
            value = _through(state, forecast, damping)(u)[0]
        else:
            through = _through(state, forecast, damping)
            u, value = descend(through, z, space, rounds=rounds, within=within)
    step = u - z
    return u, anchor.value - value + damping / 2 * float(step @ step)


def _through(state: ForesightState, forecast: Forecast, damping: float) -> ValueAndGradient:
    """Return φ(u, ŷ(u)) + (λ/2) ‖u − x‖² and its gradient, as a function of u."""
    anchor, objective, z, units = state.anchor, state.problem.objective, state.z, state.space.units
    assert anchor is not None

    def value_and_gradient(u: Point) -> tuple[float, Point]:
        step = u - z
        change, pull_back = forecast.linearized(step)
        try:
            seen = objective.anchor(u * units, anchor.response + change)
        except EvaluationError:
            # φ need not be defined at every forecast; such a u is out of bounds.
            return inf, step
        value = seen.value + damping / 2 * float(step @ step)
        gradient = seen.grad_x * units + pull_back(seen.grad_y)
        if not isfinite(norm(gradient)):
            return value, np.zeros_like(u)  # no way on from here
        return value, gradient + damping * step

    return value_and_gradient
