"""The subproblem: φ through a forecast, minimized over X near the decision. It costs no query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isfinite
from typing import cast, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, Response, norm
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight.descent import descend, slide
from bizol.methods.foresight.forecasts import Everywhere, Forecast, KinkedForecast, Kinks, Overlaid
from bizol.methods.foresight.newton import Seen, region_around, sharpen
from bizol.methods.foresight.places import anywhere, between
from bizol.methods.foresight.settings import (
    APART_FROM,
    BEGINNINGS,
    COARSE,
    COSTLY,
    DIFFERENCE,
    ENOUGH_ENDS,
    FEW_ROUNDS,
    LEAP,
    NEWTON_DIMENSION,
    REDRAWN,
    REDRAWS,
    ROUNDS,
    SCATTERED,
    SEARCHING,
    SHARPENING,
    SLIDING,
    SMOOTH_STEPS,
    TEMPERATURES,
)
from bizol.methods.foresight.state import ForesightState
from bizol.problem import EvaluationError


def recommend(state: ForesightState, forecast: Forecast, damping: float) -> tuple[Point, float]:
    """Return argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖² near x, and the gain that the forecast promises.

    The decision is in units of the space. Where the forecast has kinks, they are smooth at first
    and become sharp: a descent would stop at the first sharp one, and slides along smooth ones.
    """
    anchor, z = state.anchor, state.z
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
    steps: int = SHARPENING,
) -> tuple[Point, float]:
    space = state.space
    through = Through(state, forecast, damping)
    assert state.anchor is not None
    region = None
    if len(begin) <= NEWTON_DIMENSION and isinstance(state.anchor.response, np.ndarray):
        region = region_around(space, begin, within)
    kinked = cast(KinkedForecast, forecast) if forecast.kinked else None
    if region is not None:
        if kinked is None:
            return sharpen([through], begin, region, steps=SMOOTH_STEPS)
        soft = [Through(state, kinked.softened(t), damping) for t in temperatures]
        u, _ = sharpen([*soft], begin, region, steps=steps)
        value, start = through(u)[0], through(begin)[0]
        return (u, value) if value < start else (begin, start)
    if kinked is not None:
        smooth = [Through(state, kinked.softened(t), damping) for t in temperatures]
        u, _ = slide(smooth, begin, space, rounds=SLIDING, within=within)
        return u, through(u)[0]
    size = len(begin) + state.anchor.response.shape[0]
    rounds = ROUNDS if forecast.size * size <= COSTLY else FEW_ROUNDS
    return descend(through, begin, space, rounds=rounds, within=within)


def search(
    state: ForesightState, forecast: Everywhere | Overlaid, rng: np.random.Generator
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
        ends: list[tuple[Point, float]] = []
        for first in _apart(space, points[np.argsort(values, kind="stable")]):
            ends.append(_minimize(state, forecast, first, COARSE, steps=SEARCHING))
            if len(ends) >= ENOUGH_ENDS[0] + ENOUGH_ENDS[1] * _distinct(space, ends):
                break
        place, value = min(ends, key=lambda end: end[1])
        for _ in range(REDRAWS):
            points = _redraw(space, place, rng)
            first = points[np.argmin(_values(state, forecast, points))]
            again = _minimize(state, forecast, first, COARSE, steps=SEARCHING)
            if not again[1] < value:
                break
            place, value = again
        return _minimize(state, forecast, place, TEMPERATURES)


def _apart(space: InUnits, points: Points) -> Iterator[Point]:
    """Yield the first points, but those next to one before."""
    found = points[:0]
    for point in points:
        if (np.linalg.norm(found - point, axis=1) > APART_FROM * space.diameter).all():
            found = np.vstack([found, point])
            yield point
        if len(found) == BEGINNINGS:
            return


def _distinct(space: InUnits, ends: list[tuple[Point, float]]) -> int:
    """Return how many of the ends of descents are not next to one before."""
    return len(list(_apart(space, np.array([place for place, _ in ends]))))


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


def _values(
    state: ForesightState, forecast: Everywhere | Overlaid, points: Points
) -> NDArray[np.float64]:
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
        return self.look(u)[:2]

    def look(self, u: Point) -> Seen:
        """Return the function at a decision; infinite where φ is not defined at the forecast."""
        anchor, step, units = self.state.anchor, u - self.state.z, self.state.space.units
        assert anchor is not None
        change, pull_back = self.forecast.linearized(step)
        try:
            seen = self.state.problem.objective.anchor(u * units, anchor.response + change)
        except EvaluationError:
            return Seen(inf, step, None)
        value = seen.value + self.damping / 2 * float(step @ step)
        gradient = seen.grad_x * units + pull_back(seen.grad_y)
        if not isfinite(norm(gradient)):
            return Seen(value, np.zeros_like(u), None)  # no way on from here
        return Seen(value, gradient + self.damping * step, seen.grad_y)

    def kinks(self, u: Point, covector: Response | None) -> Kinks | None:
        """Return the kinks at u, None where there are none."""
        if covector is None or not self.forecast.kinked:
            return None
        return cast(KinkedForecast, self.forecast).kinks(u - self.state.z, covector)

    def hessian(self, u: Point, length: float) -> Points:
        """Return the Hessian without that of kinks: differences of gradients of φ, and curvature.

        H = (I, Jᵀ) ∇²φ (I, Jᵀ)ᵀ + Σ_j ∂φ/∂y_j ∇²ŷ_j + λ I, where J is the forecast's Jacobian.
        """
        anchor, step, space = self.state.anchor, u - self.state.z, self.state.space
        assert anchor is not None
        objective, units = self.state.problem.objective, space.units
        shape = anchor.response.shape[0], len(u)
        jacobian = np.broadcast_to(self.forecast.jacobian(step), shape)
        response = anchor.response + self.forecast.change(step)
        # Toward the center, as φ need not be defined outside X.
        lengths = np.where(u > space.center, -1.0, 1.0) * DIFFERENCE * length
        try:
            here = objective.anchor(u * units, response)
            there = [
                objective.anchor((u + each * axis) * units, response + each * jacobian[:, i])
                for i, (each, axis) in enumerate(zip(lengths, np.eye(len(u)), strict=True))
            ]
        except EvaluationError:
            return np.eye(len(u))
        by_x = np.array([each.grad_x - here.grad_x for each in there]) * units
        by_y = np.array([each.grad_y - here.grad_y for each in there])
        bent = (by_x + by_y @ jacobian) / lengths[:, None]
        bent += self.forecast.curvature(step, here.grad_y)
        return np.asarray(bent + self.damping * np.eye(len(u)))
