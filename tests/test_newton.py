"""Newton's method through forecasts: Hessians, quadratic programs over sets, sharp minima."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import brentq

import bizol
from bizol.arrays import Point, Points, Response
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight import settings
from bizol.methods.foresight.forecasts import (
    Everywhere,
    Forecast,
    Kinks,
    Overlaid,
    Straight,
    fit_curved,
    fit_everywhere,
    fit_pieces,
)
from bizol.methods.foresight.forecasts.kernels import bends, rough
from bizol.methods.foresight.newton import Seen, region_around, sharpen
from bizol.problem import Anchor
from bizol.sensitivity import Secant, remember
from tests.test_forecasts import answers

SPACE = InUnits(bizol.Box(-np.ones(3), np.ones(3)))


def bent(x: Point) -> Point:
    return np.asarray(np.clip(np.sin(3 * x[[0, 1, 2, 0]]) + x[[1, 2, 0, 2]] ** 2, -0.6, 0.7))


def observed() -> list[Anchor]:
    rng = np.random.default_rng(0)
    return answers(bent, rng.uniform(-1, 1, (40, 3)))


def forecast(kind: str) -> Forecast:
    known = observed()
    if kind.startswith("everywhere"):
        found = fit_everywhere(known, known[0], SPACE)
        assert found is not None
        return found.drawn(np.random.default_rng(1)) if kind.endswith("drawn") else found
    curved = fit_curved(known, known[0], most=40)
    assert curved is not None
    if kind == "curved":
        return curved
    secants = [
        Secant(start=known[0].at, end=each.at, difference=each.response - known[0].response)
        for each in known[1:]
    ]
    straight = Straight(remember(secants, known[0].at, scale=0.5, most=3))
    if kind == "straight":
        return straight
    pieces = fit_pieces(known, known[0])
    assert pieces is not None
    chosen = np.arange(len(pieces.components)) < 3
    return Overlaid(curved if kind == "over curved" else straight, pieces.restricted(chosen))


@pytest.mark.parametrize("temperature", [0.3, 0.03])
@pytest.mark.parametrize(
    "kind",
    ["straight", "curved", "over straight", "over curved", "everywhere", "everywhere, drawn"],
)
def test_jacobians_and_curvatures_are_those_of_differences(kind: str, temperature: float) -> None:
    rng = np.random.default_rng(2)
    found, step, covector = forecast(kind), np.array([0.05, -0.07, 0.1]), rng.standard_normal(4)
    if found.kinked:
        assert isinstance(found, Overlaid | Everywhere)
        found = found.softened(temperature)
    h = 1e-5
    ahead = [found.linearized(step + h * axis) for axis in np.eye(3)]
    behind = [found.linearized(step - h * axis) for axis in np.eye(3)]
    slopes = np.array([(a - b) / (2 * h) for (a, _), (b, _) in zip(ahead, behind, strict=True)])
    np.testing.assert_allclose(found.jacobian(step), slopes.T, atol=1e-6)
    curvature = found.curvature(step, covector)
    if found.kinked:
        assert isinstance(found, Overlaid | Everywhere)
        kinks = found.kinks(step, covector)
        each = kinks.weights * (kinks.roots**2 - kinks.arguments**2) / kinks.roots**3
        curvature = curvature + (kinks.rows.T * each) @ kinks.rows
    bends = [
        (a(covector) - b(covector)) / (2 * h) for (_, a), (_, b) in zip(ahead, behind, strict=True)
    ]
    np.testing.assert_allclose(curvature, np.array(bends), atol=1e-5 * np.abs(bends).max() + 1e-6)


@pytest.mark.parametrize("family", [0, 1, 2])
def test_every_family_of_kernels_knows_its_second_derivatives(family: int) -> None:
    u, v, h = np.array([0.1, -0.2, 0.3]), np.array([-0.2, 0.1, 0.05]), 1e-5

    def gradient(point: Point) -> Point:
        away = point - v
        return np.asarray(rough(family, 0.4, np.asarray(away @ away))[1] * away)

    slope, bend = bends(family, 0.4, np.asarray((u - v) @ (u - v)))
    expected = [(gradient(u + h * e) - gradient(u - h * e)) / (2 * h) for e in np.eye(3)]
    hessian = slope * np.eye(3) + bend * np.outer(u - v, u - v)
    np.testing.assert_allclose(hessian, np.array(expected), rtol=1e-5, atol=1e-7)


@dataclass(frozen=True)
class Norms:
    """Σ wᵢ |⟨rowᵢ, u⟩ − cᵢ| + ⟨slope, u⟩ + ‖u‖²/20, smooth at a temperature."""

    rows: Points
    levels: Point
    weights: Point
    slope: Point
    temperature: float

    def look(self, u: Point) -> Seen:
        ends = self.rows @ u - self.levels
        roots = np.sqrt(ends**2 + self.temperature**2)
        value = self.weights @ roots + self.slope @ u + u @ u / 20
        gradient = self.rows.T @ (self.weights * ends / roots) + self.slope + u / 10
        return Seen(float(value), gradient, self.weights)

    def kinks(self, u: Point, covector: Response | None) -> Kinks:
        ends = self.rows @ u - self.levels
        return Kinks(self.rows, ends, np.sqrt(ends**2 + self.temperature**2), self.weights)

    def hessian(self, u: Point, length: float) -> Points:
        return np.eye(len(u)) / 10


def sharp(rng: np.random.Generator, n: int, feasible_set: FeasibleSet) -> tuple[Norms, Point]:
    """Draw a sharp function, and return it with its minimizer in the set: all n kinks meet there.

    There 0 is well inside the subdifferential, so that no constraint matters.
    """
    rows, weights = rng.standard_normal((n, n)), rng.uniform(1, 2, n)
    minimizer = feasible_set.center
    multipliers = rng.uniform(-0.7, 0.7, n) * weights
    slope = -rows.T @ multipliers - minimizer / 10
    return Norms(rows, rows @ minimizer, weights, slope, 0.0), minimizer


TEMPERATURES = (3e-2, 1e-3, 1e-5, 1e-7, 3e-9)


@pytest.mark.parametrize("n", [2, 6, 20])
@pytest.mark.parametrize("kind", ["box", "simplex", "polytope", "ball"])
def test_a_corner_of_kinks_is_found_in_a_few_steps(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    sets: dict[str, FeasibleSet] = {
        "box": bizol.Box(-np.ones(n), 2 * np.ones(n)),
        "simplex": bizol.Simplex(n, total=1.0),
        "polytope": bizol.Polytope(
            A_ub=rng.standard_normal((n, n)), b_ub=np.ones(n), lower=-1, upper=1
        ),
        "ball": bizol.Ball(np.zeros(n), 2.0),
    }
    feasible_set = sets[kind]
    for _ in range(5):
        function, minimizer = sharp(rng, n, feasible_set)
        begin = feasible_set.minimize_linear(rng.standard_normal(n))
        begin = begin + 0.5 * (minimizer - begin)
        region = region_around(feasible_set, begin, 10.0)
        assert region is not None
        models = [replace(function, temperature=t) for t in TEMPERATURES]
        u, value = sharpen(models, begin, region, steps=10)
        assert feasible_set.contains(u)
        assert value == models[-1].look(u).value
        assert np.linalg.norm(u - minimizer) < 1e-7


def test_the_steps_of_the_method_are_enough_for_twenty_kinks() -> None:
    """With its temperatures and its few steps at each; without the second variable of the kinks,
    which sees where they are before it is there, none of these ends so near."""
    rng, box = np.random.default_rng(3), bizol.Box(-np.ones(20), 2 * np.ones(20))
    off = []
    for _ in range(10):
        function, minimizer = sharp(rng, 20, box)
        begin = minimizer + 0.5 * (box.minimize_linear(rng.standard_normal(20)) - minimizer)
        region = region_around(box, begin, 10.0)
        assert region is not None
        models = [replace(function, temperature=t) for t in settings.TEMPERATURES]
        u, _ = sharpen(models, begin, region, steps=settings.SHARPENING)
        off.append(float(np.linalg.norm(u - minimizer)))
    assert np.median(off) < 1e-6, sorted(off)


def test_a_round_region_is_cut_where_its_boundary_is() -> None:
    """Where a quadratic is lowest outside of a ball: (H + λ I) u = −g and ‖u‖ = r."""
    rng, n, radius = np.random.default_rng(4), 6, 0.7
    root = rng.standard_normal((n, n))
    hessian, gradient = root @ root.T / n + 0.1 * np.eye(n), 3 * rng.standard_normal(n)

    def there(multiplier: float) -> Point:
        return np.asarray(np.linalg.solve(hessian + multiplier * np.eye(n), -gradient))

    multiplier = brentq(lambda each: float(np.linalg.norm(there(each))) - radius, 0.0, 1e3)
    region = region_around(bizol.Ball(np.zeros(n), radius), np.zeros(n), 10.0)
    assert region is not None
    u = np.zeros(n)
    for _ in range(8):  # tangent planes come closer slowly
        u = region.improve(hessian, gradient, np.zeros(n))
    assert np.linalg.norm(u) == pytest.approx(radius, abs=1e-6)
    np.testing.assert_allclose(u, there(multiplier), atol=2e-3)


def test_the_quadratic_program_of_a_region_is_solved() -> None:
    rng = np.random.default_rng(0)
    n = 8
    root = rng.standard_normal((n, n))
    hessian, gradient = root @ root.T / n + 0.1 * np.eye(n), rng.standard_normal(n)
    for feasible_set in (
        bizol.Box(-np.ones(n), np.ones(n)),
        bizol.Simplex(n),
        bizol.BudgetSet(np.full(n, 0.4), total=1.0),
        bizol.Product([bizol.Simplex(3), bizol.Box(-np.ones(5), np.ones(5))]),
        bizol.Translated(bizol.Scaled(bizol.CappedSimplex(np.full(n, 0.5)), -2.0), np.ones(n)),
        bizol.Ball(np.zeros(n), 0.7),
    ):
        center = feasible_set.center
        within = 0.3 * feasible_set.diameter
        region = region_around(feasible_set, center, within)
        assert region is not None
        for _ in range(4):  # a ball gets more tangent planes every time
            u = region.improve(hessian, gradient, center)
        slope = gradient + hessian @ (u - center)
        assert feasible_set.contains(u, 1e-7)
        assert np.abs(u - center).max() <= region.within * (1 + 1e-7)
        # No point of the region is lower along the slope there: the first-order condition.
        others = [feasible_set.minimize_linear(slope)]
        others += [feasible_set.minimize_linear(cost) for cost in rng.standard_normal((50, n))]
        for other in others:
            reach = np.abs(other - center).max()
            towards = center + min(1.0, region.within / reach) * (other - center)
            assert slope @ (towards - u) > -1e-6


def test_a_point_is_never_made_worse() -> None:
    rng = np.random.default_rng(1)
    box = bizol.Box(-np.ones(3), np.ones(3))
    function, minimizer = sharp(rng, 3, box)
    region = region_around(box, minimizer, 1.0)
    assert region is not None
    u, value = sharpen([replace(function, temperature=1e-9)], minimizer, region, steps=5)
    assert value <= replace(function, temperature=1e-9).look(minimizer).value
    np.testing.assert_allclose(u, minimizer, atol=1e-8)


@dataclass(frozen=True)
class Misleading:
    """‖u‖, which leads away from where it was when it is hot, and nowhere when it is cold."""

    hot: bool

    def look(self, u: Point) -> Seen:
        if self.hot:
            return Seen(-float(u.sum()), -np.ones_like(u), None)
        return Seen(float(np.linalg.norm(u)), np.zeros_like(u), None)

    def kinks(self, u: Point, covector: Response | None) -> None:
        return None

    def hessian(self, u: Point, length: float) -> Points:
        return np.eye(len(u))


def test_where_smooth_functions_led_astray_the_first_point_is_returned() -> None:
    box, begin = bizol.Box(-np.ones(3), np.ones(3)), np.zeros(3)
    region = region_around(box, begin, 1.0)
    assert region is not None
    away, _ = sharpen([Misleading(hot=True)], begin, region, steps=5)
    assert np.linalg.norm(away) > 0.5
    u, value = sharpen([Misleading(hot=True), Misleading(hot=False)], begin, region, steps=5)
    assert value == 0.0
    np.testing.assert_array_equal(u, begin)
