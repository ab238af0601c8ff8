"""The conformance checks catch what they are there to catch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL, Box
from bizol.testing import check_feasible_set, check_follower, check_method
from tests.problems import Array, saturated


class Interval:
    """A correct set that each test breaks in one way."""

    dimension: Any = 2
    diameter: Any = np.sqrt(8.0)
    center: Any = np.zeros(2)

    def minimize_linear(self, cost: Any) -> Any:
        return np.where(cost < 0, 1.0, -1.0)

    def contains(self, point: Any, tolerance: float = 1e-9) -> bool:
        return bool(np.abs(point).max() <= 1 + tolerance)

    def project(self, point: Any) -> Any:
        return np.clip(point, -1, 1)


def test_a_correct_set_passes() -> None:
    check_feasible_set(Interval())


def counting_minimizer() -> Any:
    calls = iter(range(10**6))

    def minimize_linear(cost: Any) -> Any:
        return np.where(cost < 0, 1.0, -1.0) * (1 - 1e-9 * next(calls))

    return minimize_linear


def spoiling_minimizer(cost: Any) -> Any:
    vertex = np.where(cost < 0, 1.0, -1.0)
    cost[0] = 0.0
    return vertex


SHARED = np.ones(2)


def sharing_minimizer(cost: Any) -> Any:
    SHARED[...] = np.where(np.isnan(SHARED), SHARED, np.where(cost < 0, 1.0, -1.0))
    return SHARED


@pytest.mark.parametrize(
    ("breaks", "law"),
    [
        ({"dimension": 2.0}, "dimension is a positive integer, got 2.0"),
        ({"diameter": np.inf}, "diameter is finite"),
        ({"diameter": 1.0}, "apart, as the diameter is 1"),
        ({"center": np.zeros(3)}, r"center has shape \(2,\), got \(3,\)"),
        ({"center": np.array([np.nan, 0])}, "center is finite"),
        ({"center": np.array([2.0, 0])}, "center is contained"),
        (
            {"minimize_linear": lambda cost: np.where(cost < 0, -1.0, 1.0)},
            "no known point beats minimize_linear",
        ),
        (
            {"minimize_linear": lambda cost: np.where(cost < 0, 2.0, -2.0)},
            r"minimize_linear\(.*\) is contained",
        ),
        ({"minimize_linear": counting_minimizer()}, "the same cost gives the same vertex"),
        ({"minimize_linear": spoiling_minimizer}, "leaves the cost it was given alone"),
        ({"minimize_linear": sharing_minimizer}, "the same cost gives the same vertex"),
        (
            {
                "minimize_linear": lambda cost: (
                    -cost / np.abs(cost).max() if cost.any() else cost + np.nan
                )
            },
            "is finite",
        ),
        (
            {"contains": lambda point, tolerance=0: True},
            "farther away than its diameter is not contained",
        ),
        ({"contains": lambda point, tolerance=0: np.abs(point).max() in (0, 1)}, "is it convex"),
        ({"project": lambda point: np.clip(point, -0.5, 0.5)}, "no point is nearer"),
        ({"project": lambda point: point}, r"project\(.*\) is contained"),
        ({"project": lambda point: np.zeros(3)}, r"project\(.*\) has the shape of the point"),
    ],
)
def test_a_broken_set_is_caught_and_the_law_named(breaks: Any, law: str) -> None:
    broken = Interval()
    broken.__dict__.update(breaks)
    with pytest.raises(AssertionError, match=law):
        check_feasible_set(broken)


class Triangle:
    """{x ≥ 0 : x₁ + x₂ ≤ 1}, with projections in all units; each test breaks one of them."""

    dimension, diameter, center = 2, float(np.sqrt(2)), np.full(2, 0.25)
    inner = bizol.Polytope([[1, 1]], [1], lower=0)
    minimize_linear, contains, project = inner.minimize_linear, inner.contains, inner.project
    in_units: Any = inner.in_units


def scale_what_is_nearest(units: Any) -> Any:
    """Return the triangle in other units with the projection of the triangle in its own."""

    class Wrong(Triangle):
        diameter = Triangle.inner.in_units(units).diameter

        def contains(self, point: Any, tolerance: float = 1e-9) -> bool:
            return Triangle.inner.contains(point * units, tolerance)

        def project(self, point: Any) -> Any:
            return Triangle.inner.project(point * units) / units

    return Wrong()


def test_a_set_with_projections_in_all_units_passes() -> None:
    check_feasible_set(Triangle())


@pytest.mark.parametrize(
    ("in_units", "law"),
    [
        (scale_what_is_nearest, r"no point is nearer to .* than in_units\(.*\)\.project says"),
        (lambda units: Triangle.inner, r"in_units\(.*\)\.project\(.*\) is contained"),
        (lambda units: Triangle.inner.in_units(1 / units), r"in_units\(.*\)\.project"),
        (lambda units: bizol.LpBall([0, 0], p=3), r"in_units\(.*\) has a projection"),
    ],
)
def test_a_wrong_projection_in_other_units_is_caught(in_units: Any, law: str) -> None:
    broken = Triangle()
    broken.in_units = in_units
    with pytest.raises(AssertionError, match=law):
        check_feasible_set(broken)


def test_a_set_may_return_what_cannot_be_written_on() -> None:
    class Frozen(Interval):
        def minimize_linear(self, cost: Any) -> Any:
            vertex = super().minimize_linear(cost)
            vertex.setflags(write=False)
            return vertex

    check_feasible_set(Frozen())
    with pytest.raises(
        ValueError, match=r"check_feasible_set\(trials=\.\.\.\) must be a positive integer"
    ):
        check_feasible_set(Frozen(), trials=0)


def test_something_else_entirely_is_not_a_set() -> None:
    with pytest.raises(AssertionError, match="it has dimension, diameter, center"):
        check_feasible_set([])  # type: ignore[arg-type]


@dataclass
class Wrapped:
    """Bi-ZOL with one member replaced."""

    changes: Any
    inner: Any = BiZOL(0.1, 0.1, 2)

    def __getattr__(self, name: str) -> Any:
        if name in self.changes:
            return lambda *given, **more: self.changes[name](self.inner, *given, **more)
        return getattr(self.inner, name)


def spoil_x(method: Any, state: Any, responses: Any) -> Any:
    after = method.tell(state, responses)
    state.x.setflags(write=True)
    state.x[0] += 1e-3
    return after


@pytest.mark.parametrize(
    ("changes", "law"),
    [
        (
            {
                "start": lambda method, *given, **more: replace(
                    method.start(*given, **more), iteration=1
                )
            },
            "a run starts at iteration 0",
        ),
        ({"ask": lambda method, state: method.ask(state)[0]}, r"ask returns \(q, n\)"),
        (
            {"ask": lambda method, state: method.ask(state) + np.random.default_rng().random()},
            "asking twice",
        ),
        (
            {
                "tell": lambda m, s, r: replace(
                    m.tell(s, r), x=m.tell(s, r).x * np.random.default_rng().random()
                )
            },
            "telling twice gives the same next state",
        ),
        ({"tell": spoil_x}, "telling leaves the state it was given alone"),
        (
            {"tell": lambda m, s, r: replace(m.tell(s, r), iteration=7)},
            "telling goes one iteration on",
        ),
        (
            {"tell": lambda m, s, r: replace(m.tell(s, r), move=None)},
            "the move is reported at the decision it left",
        ),
        (
            {
                "tell": lambda m, s, r: replace(
                    m.tell(s, r), move=replace(m.tell(s, r).move, queries=1)
                )
            },
            "the move reports as many queries as were asked",
        ),
        (
            {"tell": lambda m, s, r: replace(m.tell(s, r), x=m.tell(s, r).x + 9)},
            "the decision of iteration 1 is contained",
        ),
    ],
)
def test_a_broken_method_is_caught_and_the_law_named(changes: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_method(Wrapped(changes), saturated(feasible_set=Box(-np.ones(3), np.ones(3))))


def test_every_kind_of_follower_passes_and_is_measured() -> None:
    box = Box(-np.ones(2), np.ones(2))
    follower = bizol.followers.QuadraticProgram(
        np.eye(3), np.zeros(3), np.ones((3, 2)), G=np.vstack([np.eye(3), -np.eye(3)]), h=np.ones(6)
    )
    for vectorized in (False, True):
        check = check_follower(follower, box, delta=0.1, vectorized=vectorized)
        assert check.dimensions == (2, 3)
        assert check.repeatability == 0
        assert 0.5 < check.lipschitz <= np.sqrt(6) * 1.001
        assert check.scatter < 1e-9
    assert "n = 2 decisions, m = 3 responses" in str(check)
    check_follower(bizol.followers.BallProjection(np.eye(2), [0, 0], 1.0), box, delta=0.3)
    check_follower(lambda x: np.sqrt(np.abs(x)) * 0 + 3, box, delta=0.3)  # it need not react at all


class Approximate:
    """A follower whose answers are off by a little, the same at the same x."""

    def __init__(self, error: float, tolerance: float | None) -> None:
        self.error = error
        if tolerance is not None:
            self.tolerance = tolerance

    def __call__(self, x: Any) -> Any:
        return x + self.error * np.sin(1e9 * x)


def lp_like(x: Any) -> Any:
    """The cheaper of two goods is bought: a linear program."""
    return np.array([1.0, 0.0]) if x[0] < 0.1 else np.array([0.0, 1.0])


class Wandering:
    """Several optimal responses, and which one is shown depends on what was asked before."""

    def __init__(self) -> None:
        self.last = 0.5

    def __call__(self, x: Any) -> Any:
        self.last = (self.last + x[0]) / 2 % 1.0
        return np.array([self.last, 1 - self.last])


def inside_only(x: Any) -> Any:
    if np.abs(x).max() > 1:
        raise ValueError("there is no price like that")
    return x


@pytest.mark.parametrize(
    ("follower", "law"),
    [
        (
            lp_like,
            "the response does not jump: between x = .* several optimal responses, or a linear",
        ),
        (Wandering(), "the same question has the same answer"),
        (inside_only, "it answers at a point within δ = 0.1 of the set: .*no price like that"),
        (lambda x: np.full(2, np.nan), "it answers at a point of the set: .*not finite"),
        (lambda x: x[None], "must be a vector"),
        (Approximate(1e-4, None), "a follower that scatters states how much"),
        (
            Approximate(1e-4, 1e-8),
            "answers are as accurate as the stated tolerance, 1e-08; close by they scatter by",
        ),
    ],
)
def test_a_broken_follower_is_caught_and_the_law_named(follower: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_follower(follower, Box(-np.ones(2), np.ones(2)), delta=0.1)


def test_a_tolerance_that_is_stated_is_accepted() -> None:
    check = check_follower(Approximate(1e-4, 1e-3), Box(-np.ones(2), np.ones(2)), delta=0.1)
    assert 1e-6 < check.scatter < 1e-3


def test_a_batch_whose_rows_mix_is_caught() -> None:
    with pytest.raises(
        AssertionError, match=r"asked one by one it says the same|same question has the same answer"
    ):
        check_follower(
            lambda x: x + x.mean(), Box(-np.ones(2), np.ones(2)), delta=0.1, vectorized=True
        )


def test_a_set_that_is_wrong_about_its_widths_is_caught() -> None:
    class Narrow:
        dimension, diameter, center = 2, 3.0, np.zeros(2)
        widths = np.array([2.0, 0.01])

        def minimize_linear(self, cost: Array) -> Array:
            return np.where(cost < 0, 1.0, -1.0)

        def contains(self, point: Array, tolerance: float = 1e-9) -> bool:
            return bool((np.abs(point) <= 1 + tolerance).all())

    with pytest.raises(AssertionError, match="along coordinate 1 two points are 2 apart"):
        check_feasible_set(Narrow())
