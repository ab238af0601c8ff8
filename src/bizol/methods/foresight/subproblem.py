"""The subproblem: φ through a forecast, minimized over X near the decision. It costs no query."""

from __future__ import annotations

from contextlib import suppress
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, norm
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight.descent import ValueAndGradient, descend, slide
from bizol.methods.foresight.forecasts import Everywhere, Forecast, Overlaid
from bizol.methods.foresight.places import anywhere, between
from bizol.methods.foresight.settings import (
    APART_FROM,
    BEGINNINGS,
    COARSE,
    COSTLY,
    FEW_ROUNDS,
    LEAP,
    REDRAWN,
    ROUNDS,
    SCATTERED,
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
        if isinstance(forecast, Overlaid | Everywhere) and forecast.kinked:
            smooth = [_through(state, forecast.softened(t), damping) for t in TEMPERATURES]
            u, _ = slide(smooth, z, space, rounds=SHARPENING, within=within)
            value = _through(state, forecast, damping)(u)[0]
        else:
            through = _through(state, forecast, damping)
            u, value = descend(through, z, space, rounds=rounds, within=within)
    step = u - z
    return u, anchor.value - value + damping / 2 * float(step @ step)


def search(
    state: ForesightState, forecast: Everywhere, rng: np.random.Generator
) -> tuple[Point, float]:
    """Return a decision where φ(u, ŷ(u)) is about as low as anywhere in X, and that value.

    Descents from the best of many decisions; then from the best one found with one coordinate
    drawn anew, as long as that gains something: several local solutions often differ in one.
    """
    space = state.space
    best = sorted(state.observed, key=lambda each: each.value)[:BEGINNINGS]
    places = [anywhere(space, rng) for _ in range(SCATTERED)]
    found = [each.at / space.units for each in best] + places
    points = np.array(found)
    with np.errstate(all="ignore"):
        values = _values(state, forecast, points)
        begun: list[int] = []
        for index in np.argsort(values, kind="stable"):
            if all(
                np.linalg.norm(points[index] - points[other]) > APART_FROM * space.diameter
                for other in begun
            ):
                begun.append(int(index))
            if len(begun) == BEGINNINGS:
                break
        ends = [_descend_through(state, forecast, points[index]) for index in begun]
        place, value = min(ends, key=lambda end: end[1])
        for _ in range(2):
            points = _redraw(space, place, rng)
            values = _values(state, forecast, points)
            again = [
                _descend_through(state, forecast, points[index])
                for index in np.argsort(values, kind="stable")[:2]
            ]
            best_end = min(again, key=lambda end: end[1])
            if not best_end[1] < value:
                break
            place, value = best_end
    return place, value


def _redraw(space: InUnits, place: Point, rng: np.random.Generator) -> Points:
    onto = projection(space)
    points = []
    for coordinate in range(len(place)):
        for _ in range(REDRAWN):
            other = anywhere(space, rng)
            point = place.copy()
            point[coordinate] = other[coordinate]
            points.append(between(place, other, 0.5) if onto is None else onto(point))
    return np.array(points)


def _values(state: ForesightState, forecast: Everywhere, points: Points) -> NDArray[np.float64]:
    """Return φ(u, ŷ(u)) at many decisions; infinite where it is not defined."""
    objective, units = state.problem.objective, state.space.units
    responses = forecast.responses(points)
    try:
        return objective.values(points * units, responses)
    except EvaluationError:
        values = np.full(len(points), inf)
        for row, point in enumerate(points):
            with suppress(EvaluationError):
                values[row] = objective.values((point * units)[None], responses[row : row + 1])[0]
        return values


def _descend_through(
    state: ForesightState, forecast: Everywhere, place: Point
) -> tuple[Point, float]:
    through = _through(state, forecast, 0.0)
    if forecast.kinked:
        smooth = [_through(state, forecast.softened(t), 0.0) for t in COARSE]
        u, _ = slide(smooth, place, state.space, rounds=SHARPENING)
        return u, through(u)[0]
    return descend(through, place, state.space, rounds=ROUNDS)


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
