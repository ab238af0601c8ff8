"""Every follower that docs/followers.md lists with Jacobians works in `clarke_gap`.

The reference is independent of the Jacobians told: central differences of φ(x, y(x)), and all
corners of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol.followers import (
    BallProjection,
    BoxProjection,
    Population,
    ProjectionPopulation,
    QuadraticProgram,
    SimplexProjection,
    SmoothSaturation,
)
from bizol.structure import KnownJacobians, KnownStructure, clarke_subdifferential
from tests.problems import Array, braess, cournot, quadratic

MATRIX = np.random.default_rng(4).standard_normal((4, 2))
BOX = bizol.Box([-1.0, -1.0], [1.0, 1.0])
HERE = np.array([0.21, -0.34])


FOLLOWERS: dict[str, Callable[[], Any]] = {
    "QuadraticProgram": lambda: QuadraticProgram(
        2 * np.eye(4), np.zeros(4), -MATRIX, np.eye(4), h=np.full(4, 0.2)
    ),
    "BoxProjection": lambda: BoxProjection(MATRIX, np.zeros(4), np.full(4, -0.3), np.full(4, 0.3)),
    "BallProjection": lambda: BallProjection(MATRIX, np.zeros(4), 0.4),
    "SimplexProjection": lambda: SimplexProjection(MATRIX, np.zeros(4), 1.0),
    "SmoothSaturation": lambda: SmoothSaturation(MATRIX, np.zeros(4), np.full(4, 0.5)),
    "ProjectionPopulation": lambda: ProjectionPopulation(
        MATRIX.reshape(2, 2, 2), np.zeros((2, 2)), radius=[0.3, 0.5]
    ),
    "Population": lambda: Population(
        [BallProjection(MATRIX, np.zeros(4), 0.4), SmoothSaturation(MATRIX, np.ones(4), np.ones(4))]
    ),
    "AggregativeGame": cournot,
    "TrafficEquilibrium": braess,
}


def problem_of(name: str) -> bizol.Problem:
    chosen = bizol.Box([0.0, 0.0], [40.0, 20.0]) if name == "TrafficEquilibrium" else BOX
    target = 3.0 if name == "TrafficEquilibrium" else 0.5
    return bizol.Problem(quadratic(target), FOLLOWERS[name](), chosen)


def slope_of_hyperobjective(problem: bizol.Problem, x: Array, width: float) -> Array:
    """Return the gradient of φ(x, y(x)) by central differences of answers."""

    def value(u: Array) -> float:
        return float(problem.objective.value(u, problem.response(u)))

    steps = width * np.eye(x.size)
    return np.array([(value(x + step) - value(x - step)) / (2 * width) for step in steps])


def gap_at_corners(problem: bizol.Problem, x: Array, gradient: Array) -> float:
    box: Any = problem.feasible_set
    corners = product(*zip(box.lower, box.upper, strict=True))
    return max(float(gradient @ (x - np.array(corner))) for corner in corners)


@pytest.mark.parametrize("name", FOLLOWERS)
def test_away_from_kinks_the_gap_is_that_of_the_gradient(name: str) -> None:
    problem = problem_of(name)
    x = np.array([3.0, 2.0]) if name == "TrafficEquilibrium" else HERE
    gradient = slope_of_hyperobjective(problem, x, 1e-4 if name == "TrafficEquilibrium" else 1e-6)
    expected = gap_at_corners(problem, x, gradient)
    assert bizol.clarke_gap(problem, x).gap == pytest.approx(expected, rel=1e-4)
    assert bizol.smooth_gap(problem, x).gap == pytest.approx(expected, rel=1e-4)


def test_the_page_promises_jacobians_of_followers_that_are_tested_here_alone() -> None:
    page = Path(__file__).parents[1] / "docs" / "followers.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| `")]
    promised = set()
    for row in rows:
        if len(row) > 5 and ("Jacobians" in row[4] or "full" in row[4]):
            promised |= {part.strip(" `") for part in row[1].split(",")}
    assert promised == set(FOLLOWERS)
    assert all(isinstance(make(), KnownJacobians) for make in FOLLOWERS.values())


def test_jacobians_alone_are_not_the_full_structure_and_the_error_says_so() -> None:
    problem = problem_of("AggregativeGame")
    assert not isinstance(problem.response, KnownStructure)
    with pytest.raises(ValueError, match="AggregativeGame tells its Jacobians and no more"):
        bizol.bizol_gap(problem, HERE, delta=0.1)
    assert np.isnan(bizol.certify(problem, HERE, delta=0.1, directions=16).parts.smoothing)


class TestKinks:
    """At a kink there is a Jacobian for each side, and the gap is the least over their hull."""

    def check(self, problem: bizol.Problem, x: Array, step: Array, width: float) -> None:
        hull = clarke_subdifferential(problem, x)
        assert len(hull.generators) == 2
        sides = [slope_of_hyperobjective(problem, x + side * step, width) for side in (1, -1)]
        for side in sides:
            apart = np.linalg.norm(hull.generators - side, axis=1).min()
            assert apart <= 2e-3 * (1 + np.linalg.norm(side))
        gap = bizol.clarke_gap(problem, x).gap
        weights = np.linspace(0, 1, 2001)
        mixtures = [w * hull.generators[0] + (1 - w) * hull.generators[1] for w in weights]
        least = min(gap_at_corners(problem, x, mixture) for mixture in mixtures)
        assert gap == pytest.approx(least, rel=1e-3, abs=1e-3)

    def test_a_player_reaches_its_capacity(self) -> None:
        """Alone, player 1 wants 3 − x₀ − 2ȳ...; the others are free there."""
        problem = problem_of("AggregativeGame")
        follower: Any = problem.response
        below, above = np.array([-1.0, 0.0]), np.array([3.0, 0.0])
        for _ in range(60):  # where the first player leaves its capacity
            middle = (below + above) / 2
            free = follower(middle)[0] < 0.9 - 1e-9
            below, above = (below, middle) if free else (middle, above)
        wide = bizol.Problem(problem.objective, follower, bizol.Box([-4, -4], [4, 4]))
        self.check(wide, (below + above) / 2, np.array([1e-3, 0.0]), 1e-5)

    def test_an_agent_of_a_population_reaches_its_capacity(self) -> None:
        population = ProjectionPopulation(
            np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.zeros((2, 1)), lower=-0.5, upper=0.5
        )
        problem = bizol.Problem(quadratic(0.7), population, BOX)
        self.check(problem, np.array([0.5, 0.1]), np.array([1e-3, 0.0]), 1e-6)
        agents = Population([population.agent(0), population.agent(1)])
        side_by_side = bizol.Problem(quadratic(0.7), agents, BOX)
        self.check(side_by_side, np.array([0.5, 0.1]), np.array([1e-3, 0.0]), 1e-6)

    def test_boxes_list_all_jacobians_where_several_agents_are_at_a_kink(self) -> None:
        population = ProjectionPopulation(
            np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.zeros((2, 1)), lower=-0.5, upper=0.5
        )
        assert len(population.limiting_jacobians(np.array([0.5, 0.5]))) == 4
        agents = Population([population.agent(0), population.agent(1)])
        with pytest.raises(ValueError, match="2 agents are at a kink, 0 and 1 among them"):
            agents.limiting_jacobians(np.array([0.5, 0.5]))

    def test_drivers_are_about_to_leave_the_bridge(self) -> None:
        problem = problem_of("TrafficEquilibrium")
        follower: Any = problem.response
        low, high = 0.0, 40.0
        for _ in range(60):  # the toll at which the last driver leaves
            middle = (low + high) / 2
            crossed = follower(np.array([middle, 2.0]))[2] > 1e-9
            low, high = (middle, high) if crossed else (low, middle)
        kink = np.array([(low + high) / 2, 2.0])
        self.check(problem, kink, np.array([0.01, 0.0]), 2e-3)
        (inside,) = follower.limiting_jacobians(kink - np.array([2.0, 0.0]))
        (outside,) = follower.limiting_jacobians(kink + np.array([2.0, 0.0]))
        assert np.abs(inside[2]).max() > 0.01
        assert np.abs(outside[2]).max() < 1e-9


def test_a_population_with_a_black_box_says_who_it_is() -> None:
    population = Population([BallProjection(MATRIX, np.zeros(4), 0.4), lambda x: x])
    problem = bizol.Problem(quadratic(), population, BOX)
    with pytest.raises(ValueError, match=r"agent 1 does not tell its Jacobians .*bizol.certify"):
        bizol.clarke_gap(problem, HERE)


def test_how_near_a_kink_counts_as_on_it_is_the_followers_own_unless_it_is_given() -> None:
    asked: list[float] = []

    class Telling:
        def __call__(self, x: Array) -> Array:
            return np.minimum(x, 0.5)

        def limiting_jacobians(self, x: Array, tolerance: float = 0.125) -> list[Array]:
            asked.append(tolerance)
            return [np.eye(2)]

    problem = bizol.Problem(quadratic(), Telling(), BOX)
    bizol.clarke_gap(problem, HERE)
    bizol.smooth_gap(problem, HERE)
    bizol.clarke_gap(problem, HERE, tolerance=0.25)
    assert asked == [0.125, 0.125, 0.25]
