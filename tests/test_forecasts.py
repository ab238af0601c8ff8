"""Forecasts of the response: straight, curved, and which of them is believed."""

from __future__ import annotations

from collections.abc import Callable

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bizol.arrays import Point
from bizol.methods.foresight.forecasts import Curved, Errors, Straight, fit_curved, judged
from bizol.problem import Anchor
from bizol.sensitivity import remember


def answer(at: Point, response: Point) -> Anchor:
    return Anchor(
        at=at,
        response=response,
        value=0.0,
        grad_x=np.zeros_like(at),
        grad_y=np.zeros_like(response),
    )


def answers(response: Callable[[Point], Point], points: np.ndarray) -> list[Anchor]:
    return [answer(point, response(point)) for point in points]


def quadratic(rng: np.random.Generator, n: int, m: int) -> Callable[[Point], Point]:
    slope, bend = rng.standard_normal((m, n)), rng.standard_normal((m, n, n))
    return lambda x: slope @ x + np.einsum("mij,i,j->m", bend, x, x) / 2


@given(seed=st.integers(0, 100))
def test_a_quadratic_response_is_forecast_once_there_are_answers_enough(seed: int) -> None:
    """Nine coefficients for n = 3, and thirty answers; what is left unexplained is the ridge's."""
    rng = np.random.default_rng(seed)
    response = quadratic(rng, 3, 4)
    here, *others = answers(response, rng.uniform(-1, 1, (31, 3)))
    forecast = fit_curved(others, here, most=30)
    assert forecast is not None
    step = 0.3 * rng.uniform(-1, 1, 3)
    exact = response(here.at + step) - here.response
    assert forecast.change(step) == pytest.approx(exact, abs=0.02 * (1 + np.abs(exact).max()))
    straight = Straight(remember([], here.at, scale=1.0, most=3))
    assert np.linalg.norm(forecast.change(step) - exact) < np.linalg.norm(
        straight.change(step) - exact
    )


def test_an_affine_response_is_forecast_by_answers_on_both_sides() -> None:
    """On one side alone, a part ρ/2 of the change is taken for curvature."""
    rng = np.random.default_rng(0)
    jacobian = rng.standard_normal((6, 4))
    here, *others = answers(lambda x: jacobian @ x, np.vstack([np.zeros(4), np.eye(4), -np.eye(4)]))
    forecast = fit_curved(others, here, most=10)
    assert forecast is not None
    assert forecast.size == 8
    assert forecast.linearized(np.zeros(4))[1](np.ones(6)) == pytest.approx(
        jacobian.sum(axis=0), rel=1e-3
    )
    one_sided = fit_curved(others[:4], here, most=10)
    assert one_sided is not None
    assert one_sided.linearized(np.zeros(4))[1](np.ones(6)) == pytest.approx(
        jacobian.sum(axis=0) / 1.05, rel=1e-3
    )


def test_the_pullback_is_the_derivative_of_the_change() -> None:
    rng = np.random.default_rng(1)
    here, *others = answers(quadratic(rng, 3, 5), rng.standard_normal((12, 3)))
    forecast = fit_curved(others, here, most=12)
    assert forecast is not None
    step, covector, small = rng.standard_normal(3), rng.standard_normal(5), 1e-5
    numeric = [
        covector
        @ (forecast.change(step + small * axis) - forecast.change(step - small * axis))
        / (2 * small)
        for axis in np.eye(3)
    ]
    assert forecast.linearized(step)[1](covector) == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_near_answers_are_explained_and_far_ones_hardly() -> None:
    """What is beyond the kink of y = |x|, a hundred times farther away, hardly bends a forecast."""
    here, *others = answers(np.abs, np.array([[0.01], [0.02], [0.015], [-1.0], [-2.0]]))
    forecast = fit_curved(others, here, most=10)
    assert forecast is not None
    assert forecast.change(np.array([0.005])) == pytest.approx([0.005], rel=0.05)
    assert forecast.change(np.array([-1.01])) != pytest.approx([0.99], rel=0.5)
    assert fit_curved(others, here, most=2).size == 2  # type: ignore[union-attr]


def test_nothing_is_forecast_from_nothing() -> None:
    here = answer(np.zeros(2), np.zeros(3))
    assert fit_curved([], here, most=5) is None
    assert fit_curved([here, here], here, most=5) is None
    straight = Straight(remember([], here.at, scale=1.0, most=2))
    assert (straight.size, straight.change(np.ones(2))) == (0, 0.0)


def test_responses_stay_in_their_library() -> None:
    points = np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
    here, *others = [answer(point, strict.asarray(3 * point)) for point in points]
    forecast = fit_curved(others, here, most=5)
    assert isinstance(forecast, Curved)
    assert type(forecast.change(np.ones(2))).__module__.startswith("array_api_strict")
    assert forecast.linearized(np.zeros(2))[1](strict.asarray([1.0, 0.0])) == pytest.approx(
        [3, 0], rel=1e-3
    )


def test_the_forecast_that_was_closer_lately_has_the_smaller_error() -> None:
    rng = np.random.default_rng(2)
    response = quadratic(rng, 2, 3)
    here, *others = answers(response, rng.uniform(-1, 1, (20, 2)))
    bent = fit_curved(others[:12], here, most=12)
    assert bent is not None
    ignorant = Straight(remember([], here.at, scale=1.0, most=2))
    errors = judged(Errors(), (ignorant, bent), here, others[12:])
    assert errors.whole[1] < 0.1 * errors.whole[0]
    # No change is forecast: wrong by all of it.
    assert errors.whole[0] == pytest.approx(sum(0.8**age for age in range(7)))
    later = judged(errors, (ignorant, bent), here, [answer(here.at + 1, here.response)])
    assert later.whole[0] == pytest.approx(
        0.8 * errors.whole[0]
    )  # nothing changed, nothing to be wrong about
    # Of another set of forecasts.
    assert judged(Errors((1.0,)), (ignorant, bent), here, []).whole == (0.0, 0.0)
