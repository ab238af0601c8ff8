"""The forecast everywhere in X: what it knows, what it leaves open, and leaps through it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import array_api_strict as strict
import numpy as np
import pytest

import bizol
from bizol.arrays import Point, Points
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight import Foresight, planning, settings
from bizol.methods.foresight.forecasts import (
    Errors,
    Everywhere,
    Forecast,
    Overlaid,
    Straight,
    choose,
    everywhere,
    fit_everywhere,
    latent,
)
from bizol.methods.foresight.forecasts.gaussian import Processes
from bizol.methods.foresight.forecasts.kernels import Kernel, Pairs, factorize
from bizol.methods.foresight.policy import go_on
from bizol.methods.foresight.state import ForesightState
from bizol.methods.foresight.subproblem import search
from bizol.sensitivity import remember
from tests.test_forecasts import answer, answers, quadratic

Response = Callable[[Point], Point]


def square(n: int) -> InUnits:
    """Return a box whose coordinates are the method's own."""
    space = InUnits(bizol.Box(np.full(n, -0.5), np.full(n, 0.5)))
    assert (space.units == 1).all()
    return space


def fitted(response: Response, points: Points) -> Everywhere:
    observed = answers(response, points)
    found = fit_everywhere(observed, observed[0], square(points.shape[1]))
    assert found is not None
    return found


def smooth(x: Point) -> Point:
    return np.array([np.sin(6 * x[0]) + 2 * x[1], np.exp(4 * x[0] * x[1])])


def full(x: Point) -> Point:
    planes = np.array([4 * x[0] + 2 * x[1], 2 * x[1] - 2 * x[0]])
    return np.asarray(np.minimum(planes, 0.5))


def test_the_forecast_agrees_with_every_answer() -> None:
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (25, 2))
    found = fitted(smooth, points)
    expected = np.array([smooth(point) for point in points])
    np.testing.assert_allclose(found.responses(points), expected, atol=1e-4)
    steps = [found.change(point - points[0]) for point in points]
    np.testing.assert_allclose(steps + expected[0], expected, atol=1e-4)


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("response", [smooth, full])
def test_the_pullback_is_the_derivative_of_the_change(response: Response, random: bool) -> None:
    rng = np.random.default_rng(1)
    found = fitted(response, rng.uniform(-0.5, 0.5, (15, 2))).softened(0.1)
    if random:
        found = found.drawn(rng)
    step, covector, h = rng.uniform(-0.3, 0.3, 2), rng.standard_normal(2), 1e-6
    slope = [
        covector @ (found.change(step + h * way) - found.change(step - h * way)) / (2 * h)
        for way in np.eye(2)
    ]
    np.testing.assert_allclose(found.linearized(step)[1](covector), slope, rtol=1e-4, atol=1e-5)


def test_a_quadratic_response_is_recognized() -> None:
    """Ten coefficients for n = 3: sixteen answers determine them and show that nothing is left."""
    rng = np.random.default_rng(2)
    response = quadratic(rng, 3, 4)
    points = rng.uniform(-0.5, 0.5, (16, 3))
    found = fitted(response, points)
    assert found.kernel.bend > 0
    others = rng.uniform(-0.5, 0.5, (50, 3))
    expected = np.array([response(point) for point in others])
    off = np.abs(found.responses(others) - expected).max()
    assert off < 1e-3 * np.ptp(expected)


def test_limits_hold_everywhere_and_what_is_beyond_them_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    points, others = rng.uniform(-0.5, 0.5, (20, 2)), rng.uniform(-0.5, 0.5, (200, 2))
    expected = np.array([full(point) for point in others])
    found = fitted(full, points)
    assert found.kinked
    assert (found.ceilings == 0.5).all()
    assert found.responses(others).max() == 0.5
    beyond = found.latent * found.spreads + found.means
    assert beyond.max() > 0.6
    none = np.full(2, np.inf)
    monkeypatch.setattr(latent, "limits", lambda *_: (-none, none))
    blind = fitted(full, points)
    assert not blind.kinked
    off, missed = (np.abs(each.responses(others) - expected).mean() for each in (found, blind))
    assert off < 0.1 * missed


def test_a_random_response_agrees_with_the_answers_and_differs_elsewhere() -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-0.5, 0.5, (8, 2))
    found = fitted(smooth, points)
    one, other = found.drawn(rng), found.drawn(rng)
    np.testing.assert_allclose(one.responses(points), found.responses(points), atol=1e-3)
    away = rng.uniform(-0.5, 0.5, (50, 2))
    assert np.abs(one.responses(away) - other.responses(away)).max() > 0.01


def test_it_is_seen_from_where_the_run_is() -> None:
    points = np.random.default_rng(5).uniform(-0.5, 0.5, (12, 2))
    found = fitted(smooth, points)
    moved = found.seen_from(points[3], smooth(points[3]))
    step = points[7] - points[3]
    np.testing.assert_allclose(moved.change(step), smooth(points[7]) - smooth(points[3]), atol=1e-4)


def test_a_forecast_is_freed_when_nobody_holds_it() -> None:
    """Not when Python next looks for cycles: forecasts are large, and one is made every query."""
    found = fitted(full, np.random.default_rng(15).uniform(-0.5, 0.5, (12, 2)))
    found.linearized(np.zeros(2))[1](np.ones(2))
    found.softened(0.1).kinks(np.zeros(2), np.ones(2))
    gc.collect()
    gc.disable()
    try:
        size = len([each for each in gc.get_objects() if type(each) is Everywhere])
        del found
        left = len([each for each in gc.get_objects() if type(each) is Everywhere])
    finally:
        gc.enable()
    assert left == size - 1


def test_there_is_none_where_it_could_say_nothing() -> None:
    points = np.random.default_rng(6).uniform(-0.5, 0.5, (5, 2))
    observed = answers(smooth, points)
    assert fit_everywhere(observed[:2], observed[0], square(2)) is None
    foreign = [answer(each.at, strict.asarray(each.response)) for each in observed]
    assert fit_everywhere(foreign, foreign[0], square(2)) is None
    one = InUnits(bizol.Box(np.ones(2), np.ones(2)))
    assert fit_everywhere(observed, observed[0], one) is None
    n = settings.EVERYWHERE_DIMENSION + 1
    many = answers(lambda x: x[:1], np.random.default_rng(7).uniform(-0.5, 0.5, (5, n)))
    assert fit_everywhere(many, many[0], square(n)) is None
    m = settings.EVERYWHERE_WORK
    long = answers(lambda x: np.full(m, x[0]), points)
    assert fit_everywhere(long, long[0], square(2)) is None


def test_of_many_answers_the_nearest_are_used_and_some_of_all_others() -> None:
    rng = np.random.default_rng(8)
    points = rng.uniform(-0.5, 0.5, (3 * settings.EVERYWHERE_ANSWERS, 2))
    found = fitted(smooth, points)
    assert found.size == settings.EVERYWHERE_ANSWERS
    used = {point.tobytes() for point in np.round(found.points * np.sqrt(2), 9)}
    distances = np.linalg.norm(points - points[0], axis=1)
    for index in np.argsort(distances)[: settings.EVERYWHERE_ANSWERS // 2]:
        assert np.round(points[index], 9).tobytes() in used
    repeated = answers(smooth, points[[0, 0, 0, 1, 2, 3]])
    again = fit_everywhere(repeated, repeated[0], square(2))
    assert again is not None
    assert again.size == 4


def test_noise_is_not_taken_for_the_response() -> None:
    """Forty answers with σ = 0.05 to a plane: its forecast is off by less than one answer is."""
    rng = np.random.default_rng(9)
    points = rng.uniform(-0.5, 0.5, (40, 2))
    found = fitted(lambda x: 2 * x[:1] + 0.05 * rng.standard_normal(1), points)
    others = rng.uniform(-0.5, 0.5, (100, 2))
    assert np.abs(found.responses(others)[:, 0] - 2 * others[:, 0]).mean() < 0.04
    assert settings.NOISES[found.kernel.noise] >= 1e-5


def test_the_forecast_everywhere_is_followed_only_where_clearly_closer() -> None:
    points = np.random.default_rng(10).uniform(-0.5, 0.5, (8, 2))
    forecasts: tuple[Forecast, ...] = (
        Straight(remember((), np.zeros(2), scale=1.0, most=2)),
        fitted(smooth, points),
    )
    near, everywhere = forecasts
    doubtful, reliable = 1.0, 0.1 * settings.RELIABLE
    assert choose(Errors(whole=(1.0, 0.6)), forecasts, None, miss=doubtful) is near
    assert choose(Errors(whole=(1.0, 0.4)), forecasts, None, miss=doubtful) is everywhere
    assert choose(Errors(whole=(1.0, 4.0)), forecasts, None, miss=reliable) is everywhere


# --- kernels of single components


def sparse(x: Point) -> Point:
    """One component depends on the first coordinate, one on the others, one on nothing."""
    return np.array([np.sin(5 * x[0]), np.cos(3 * x[1] + 4 * x[2]), 1.0])


def test_coordinates_that_a_component_does_not_depend_on_do_not_count() -> None:
    rng = np.random.default_rng(12)
    points, others = rng.uniform(-0.5, 0.5, (24, 4)), rng.uniform(-0.5, 0.5, (200, 4))
    found = fitted(sparse, points)
    halvings = {component: kernel.halvings for component, kernel in found.own.items()}
    assert halvings[0][0] < min(halvings[0][1:])
    assert max(halvings[1][1:3]) < min(halvings[1][0], halvings[1][3])
    expected = np.array([sparse(point) for point in others])
    off = np.abs(found.responses(others) - expected).mean(axis=0)
    assert (off[:2] < 0.1).all()


def test_a_coordinate_halved_often_enough_does_not_count_at_all() -> None:
    kernel = Kernel(halvings=(0, 2, settings.IRRELEVANT))
    assert kernel.relevances(3).tolist() == [1.0, 0.25, 0.0]
    assert Kernel().relevances(2).tolist() == [1.0, 1.0]


def test_random_functions_vary_as_their_processes_do() -> None:
    """The same answers, once a hundredth as large: so are 200 random functions, within 25 % (the
    error of each standard deviation is 5 %)."""
    rng = np.random.default_rng(14)
    points, latent = rng.uniform(-0.5, 0.5, (12, 2)), rng.standard_normal((12, 1))
    factor = factorize(Kernel().matrix(Pairs(points)))
    assert factor is not None
    both = Processes.fit((Kernel(),), points, [factor], np.hstack([latent, 0.01 * latent]))
    away = np.array([[0.31, -0.17]])
    draws = np.array([both.drawn(rng).values(away)[0] for _ in range(200)])
    assert draws[:, 1].std() / draws[:, 0].std() == pytest.approx(0.01, rel=0.25)


def test_without_kernels_of_their_own_the_same_components_are_hardly_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same answers as in the test before, with one kernel for all components."""
    monkeypatch.setattr(everywhere, "OWN_DIMENSION", 0)
    rng = np.random.default_rng(12)
    points, others = rng.uniform(-0.5, 0.5, (24, 4)), rng.uniform(-0.5, 0.5, (200, 4))
    found = fitted(sparse, points)
    assert not found.own
    expected = np.array([sparse(point) for point in others])
    assert np.abs(found.responses(others) - expected).mean(axis=0).max() > 0.1


def test_components_with_their_own_kernels_agree_with_answers_and_with_their_slopes() -> None:
    """By value, by many values at once, by slope and by curvature."""
    rng = np.random.default_rng(13)
    points = rng.uniform(-0.5, 0.5, (20, 4))
    fresh = fitted(sparse, points)
    assert fresh.own
    for found in (fresh, fresh.drawn(rng)):
        expected = np.array([sparse(point) for point in points])
        np.testing.assert_allclose(found.responses(points), expected, atol=1e-3)
        step, covector, h = rng.uniform(-0.3, 0.3, 4), rng.standard_normal(3), 1e-4
        whole = found.responses((points[0] + step)[None])[0]
        np.testing.assert_allclose(found.change(step) + expected[0], whole, atol=1e-9)
        _, pull_back = found.linearized(step)
        rows = found.jacobian(step)
        np.testing.assert_allclose(pull_back(covector), covector @ rows, atol=1e-9)
        for way, row in zip(np.eye(4), found.curvature(step, covector), strict=True):
            ends = [found.linearized(step + sign * h * way)[1](covector) for sign in (1, -1)]
            np.testing.assert_allclose(row, (ends[0] - ends[1]) / (2 * h), rtol=1e-3, atol=1e-3)


# --- leaps


def basins() -> bizol.Problem:
    """φ has many local solutions, and the response is a quadratic: the lowest is at (0.5, −0.5)."""

    def value(x: Point, y: Point) -> float:
        off = y - np.array([0.5, -0.5])
        return float(off @ off + 0.5 * (1 - np.cos(16 * off)).sum())

    def grad_y(x: Point, y: Point) -> Point:
        off = y - np.array([0.5, -0.5])
        return np.asarray(2 * off + 8 * np.sin(16 * off))

    return bizol.Problem(
        bizol.Objective(value, lambda x, y: 0 * x, grad_y),
        response=lambda x: x + 0.2 * x * x[::-1] + 0.1 * np.array([-0.5, 0.5]),
        feasible_set=bizol.Box(-np.ones(2), np.ones(2)),
    )


def states(problem: bizol.Problem, start: list[float], count: int) -> list[ForesightState]:
    return list(islice(bizol.iterate(problem, Foresight(), np.array(start), seed=0), count))


def test_the_search_finds_the_lowest_of_several_solutions() -> None:
    problem = basins()
    points = np.random.default_rng(11).uniform(-1, 1, (15, 2))
    observed = tuple(problem.objective.anchor(point, problem.response(point)) for point in points)
    state = replace(
        Foresight().start(problem, points[0], seed=0), anchor=observed[0], observed=observed
    )
    forecast = fit_everywhere(observed, observed[0], state.space)
    assert forecast is not None
    found = 0
    for seed in range(20):
        place, value = search(state, forecast, np.random.default_rng(seed))
        x = place * state.space.units
        truth = problem.objective.anchor(x, problem.response(x)).value
        assert truth == pytest.approx(value, abs=1e-2)
        found += truth < 1e-2
    assert found >= 12  # of twenty, where one descent alone finds it once


def test_leaps_lead_out_of_a_basin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, descents begin at random, and no more than one of three seeds gets there."""
    budget = 30
    found = [bizol.minimize(basins(), [-0.9, 0.9], budget=budget, seed=s).value for s in range(3)]
    assert max(found) < 1e-6
    monkeypatch.setattr(planning, "fit_everywhere", lambda *_, **__: None)
    found = [bizol.minimize(basins(), [-0.9, 0.9], budget=budget, seed=s).value for s in range(3)]
    assert sum(value < 1e-6 for value in found) <= 1


def leaping(state: ForesightState, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a leap from this state goes through a random response."""
    seen: list[bool] = []

    def note(
        state: ForesightState, forecast: Everywhere | Overlaid, rng: object
    ) -> tuple[Point, float]:
        through = forecast.base if isinstance(forecast, Overlaid) else forecast
        assert isinstance(through, Everywhere)
        seen.append(through.parts[0].processes.draw is not None)
        return state.z, 0.0

    plan = planning.planned(state, 1)
    monkeypatch.setattr(planning, "search", note)
    planning._leap(state, plan)
    return seen[0]


@pytest.mark.parametrize(("miss", "random"), [(0.5, True), (0.01, False)])
def test_leaps_go_through_a_random_response_where_the_forecast_is_unsure(
    miss: float, random: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = replace(states(basins(), [-0.9, 0.9], 12)[-1], turn="try", leaps=0)
    monkeypatch.setattr(planning, "_miss", lambda *_: miss)
    assert leaping(state, monkeypatch) is random


def test_after_a_leap_that_failed_the_next_one_goes_through_a_random_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = replace(states(basins(), [-0.9, 0.9], 12)[-1], turn="try", leaps=1)
    monkeypatch.setattr(planning, "_miss", lambda *_: 0.01)
    assert leaping(state, monkeypatch)


def test_the_wait_for_a_leap_doubles_with_every_one_that_failed() -> None:
    state = replace(states(basins(), [-0.9, 0.9], 12)[-1], iteration=50, searched=40)
    due = [planning._due(replace(state, leaps=leaps)) for leaps in range(6)]
    assert due == [True, True, True, True, False, False]  # ten queries since the last search
    assert not planning._due(replace(state, searched=49))
    assert not planning._due(replace(state, iteration=10_050, searched=10_000))


def test_a_descent_that_is_over_leaps_before_it_begins_elsewhere() -> None:
    state = states(basins(), [-0.9, 0.9], 12)[-1]
    over = replace(state, stalled=50, noise=0.0, leaps=0)
    leaping = go_on(over)
    assert leaping.turn == "leap"
    assert leaping.anchor is state.best
    assert leaping.descents == state.descents
    elsewhere = go_on(replace(over, leaps=settings.LEAPS))
    assert elsewhere.descents == state.descents + 1
    assert elsewhere.leaps == 0
    assert go_on(replace(over, everywhere=None)).descents == state.descents + 1


def test_where_nothing_better_is_seen_anywhere_another_descent_begins() -> None:
    """One variable, the best decision at an end of X and its answers exactly affine."""
    problem = bizol.Problem(
        bizol.Objective(lambda x, y: float(y[0]), lambda x, y: 0 * x, lambda x, y: np.ones(1)),
        response=lambda x: 2 * x,
        feasible_set=bizol.Box([-1.0], [1.0]),
    )
    seen = states(problem, [0.0], 25)
    assert "leap" in [state.turn for state in seen]
    assert seen[-1].descents > 1
    assert all(state.leaps <= settings.LEAPS for state in seen)
