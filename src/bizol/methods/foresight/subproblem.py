"""The subproblem: φ through a forecast, minimized over X near the decision. It costs no query."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isfinite
from typing import cast, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, norm
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight.descent import descend, slide
from bizol.methods.foresight.forecasts import Everywhere, Forecast, KinkedForecast, Kinks
from bizol.methods.foresight.forecasts.protocol import PullBack
from bizol.methods.foresight.newton import region_around, sharpen
from bizol.methods.foresight.places import anywhere, between
from bizol.methods.foresight.settings import (
    APART_FROM,
    BEGINNINGS,
    COARSE,
    COSTLY,
    DIFFERENCE,
    FEW_ROUNDS,
    LEAP,
    NEWTON_DIMENSION,
    REDRAWN,
    ROUNDS,
    SCATTERED,
    SHARPENING,
    SLIDING,
    SMOOTH_STEPS,
    TEMPERATURES,
)
from bizol.methods.foresight.state import ForesightState
from bizol.problem import Anchor, EvaluationError


def recommend(state: ForesightState, forecast: Forecast, damping: float) -> tuple[Point, float]:
    """Return argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖² near x, and the gain that the forecast promises.

    The decision is in units of the space. Where the forecast has kinks, they are smooth at first
    and become sharp: a descent would stop at the first sharp one, and slides along smooth ones.
    """
    anchor, space, z = state.anchor, state.space, state.z
    assert anchor is not None
    within = state.radius if state.cautious else LEAP * state.radius
    with np.errstate(all="ignore"):
        u, value = _minimize(state, forecast, z, TEMPERATURES, damping=damping, within=within)
    step = u - z
    return u, anchor.value - value + damping / 2 * float(step @ step)


def _minimize(
    state: ForesightState,
    forecast: Forecast,
    begin: Point,
    temperatures: Sequence[float],
    *,
    damping: float = 0.0,
    within: float = inf,
) -> tuple[Point, float]:
    space = state.space
    through = Through(state, forecast, damping)
    region = region_around(space, begin, within) if len(begin) <= NEWTON_DIMENSION else None
    kinked = cast(KinkedForecast, forecast) if forecast.kinked else None
    if region is not None:
        if kinked is None:
            return sharpen([through], begin, region, steps=SMOOTH_STEPS)
        soft = [Through(state, kinked.softened(t), damping) for t in temperatures]
        return sharpen([*soft], begin, region, steps=SHARPENING)
    if kinked is not None:
        smooth = [Through(state, kinked.softened(t), damping) for t in temperatures]
        u, _ = slide(smooth, begin, space, rounds=SLIDING, within=within)
        return u, through(u)[0]
    assert state.anchor is not None
    size = len(begin) + state.anchor.response.shape[0]
    rounds = ROUNDS if forecast.size * size <= COSTLY else FEW_ROUNDS
    return descend(through, begin, space, rounds=rounds, within=within)


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
        ends = [_minimize(state, forecast, points[index], COARSE) for index in begun]
        place, value = min(ends, key=lambda end: end[1])
        for _ in range(2):
            points = _redraw(space, place, rng)
            values = _values(state, forecast, points)
            again = [
                _minimize(state, forecast, points[index], COARSE)
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Through:
    """φ(u, ŷ(u)) + (λ/2) ‖u − x‖², as a function of u."""

    state: ForesightState
    forecast: Forecast
    damping: float

    def __call__(self, u: Point) -> tuple[float, Point]:
        """Return the value and the gradient."""
        step = u - self.state.z
        seen, pull_back = self._seen(u)
        if seen is None:  # φ need not be defined at every forecast; such a u is out of bounds
            return inf, step
        value = seen.value + self.damping / 2 * float(step @ step)
        gradient = seen.grad_x * self.state.space.units + pull_back(seen.grad_y)
        if not isfinite(norm(gradient)):
            return value, np.zeros_like(u)  # no way on from here
        return value, gradient + self.damping * step

    def kinks(self, u: Point) -> Kinks | None:
        """Return the kinks at u, None where there are none."""
        if not self.forecast.kinked:
            return None
        seen, _ = self._seen(u)
        if seen is None:
            return None
        return cast(KinkedForecast, self.forecast).kinks(u - self.state.z, seen.grad_y)

    def hessian(self, u: Point, length: float) -> Points:
        """Return the Hessian where kinks are left out, from differences of gradients."""
        forecast, z = self.forecast, self.state.z
        if forecast.kinked:
            forecast = cast(KinkedForecast, forecast).tangent(u - z)
        smooth = Through(self.state, forecast, self.damping)
        # Toward the center, as φ need not be defined outside X.
        inward = np.where(u > self.state.space.center, -1.0, 1.0) * DIFFERENCE * length
        gradient = smooth(u)[1]
        rows = [
            (smooth(u + inward[i] * axis)[1] - gradient) / inward[i]
            for i, axis in enumerate(np.eye(len(u)))
        ]
        return np.array(rows)

    def _seen(self, u: Point) -> tuple[Anchor | None, PullBack]:
        anchor = self.state.anchor
        assert anchor is not None
        change, pull_back = self.forecast.linearized(u - self.state.z)
        try:
            seen = self.state.problem.objective.anchor(
                u * self.state.space.units, anchor.response + change
            )
        except EvaluationError:
            return None, pull_back
        return seen, pull_back
