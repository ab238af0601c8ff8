"""Populations: stacked as arrays or one by one, the same; and what averaging does to their size."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol.followers import BoxProjection, Population, ProjectionPopulation, QuadraticProgram

N, D, DIM = 7, 3, 4
KINDS: dict[str, dict[str, Any]] = {
    "box": {"lower": np.full((N, D), -0.4), "upper": np.full((N, D), 0.6)},
    "ball": {"radius": np.linspace(0.5, 1.5, N)},
    "simplex": {"total": np.linspace(0.5, 1.5, N)},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def population(kind: str, seed: int = 0) -> ProjectionPopulation:
    rng = np.random.default_rng(seed)
    return ProjectionPopulation(
        rng.standard_normal((N, D, DIM)), rng.standard_normal((N, D)), **KINDS[kind]
    )


def nearest(kind: str, agent: int, wish: Any) -> Any:
    """The projection of one agent as a quadratic program; the ball by its optimality condition."""
    if kind == "ball":
        return wish / max(1.0, np.linalg.norm(wish) / KINDS["ball"]["radius"][agent])
    if kind == "box":
        return QuadraticProgram(
            np.eye(D),
            np.zeros(D),
            -np.eye(D),
            G=np.vstack([np.eye(D), -np.eye(D)]),
            h=[0.6] * D + [0.4] * D,
        )(wish)
    total = KINDS["simplex"]["total"][agent]
    return QuadraticProgram(
        np.eye(D),
        np.zeros(D),
        -np.eye(D),
        G=-np.eye(D),
        h=np.zeros(D),
        A=np.ones((1, D)),
        b=[total],
    )(wish)


@every_kind
@given(seed=st.integers(0, 99))
def test_each_agent_answers_its_own_program(kind: str, seed: int) -> None:
    follower = population(kind, seed)
    x = np.random.default_rng(seed + 1).standard_normal(DIM)
    answers = follower(x).reshape(N, D)
    for agent in range(N):
        wish = follower.matrix[agent] @ x + follower.offset[agent]
        assert answers[agent] == pytest.approx(nearest(kind, agent, wish), abs=1e-9)


@every_kind
def test_as_one_array_or_one_by_one_it_is_the_same(kind: str) -> None:
    follower, points = population(kind), np.random.default_rng(3).standard_normal((5, DIM))
    agents = [follower.agent(index) for index in range(N)]
    stacked = follower(points)
    assert stacked.shape == (5, N * D)
    assert stacked == pytest.approx(np.array([follower(x) for x in points]), abs=1e-14)
    assert stacked == pytest.approx(Population(agents)(points), abs=1e-12)
    assert stacked == pytest.approx(Population(agents, vectorized=True)(points), abs=1e-12)
    with ThreadPoolExecutor(3) as pool:
        assert np.array_equal(Population(agents, pool)(points), Population(agents)(points))


@every_kind
def test_jacobians_are_finite_differences_inside_a_piece(kind: str) -> None:
    follower, x = population(kind, 5), np.random.default_rng(5).standard_normal(DIM)
    (jacobian,) = follower.limiting_jacobians(x)
    differences = [
        (follower(x + 1e-6 * axis) - follower(x - 1e-6 * axis)) / 2e-6 for axis in np.eye(DIM)
    ]
    assert jacobian == pytest.approx(np.array(differences).T, abs=1e-7)
    agents: list[Any] = [follower.agent(index) for index in range(N)]
    assert Population(agents).limiting_jacobians(x)[0] == pytest.approx(jacobian)


def test_one_agent_at_a_kink_has_both_sides_and_two_are_refused() -> None:
    clip = BoxProjection([[1.0]], [0.0], [-1.0], [1.0])
    calm = BoxProjection([[1.0]], [0.0], [-9.0], [9.0])
    found = Population([clip, calm]).limiting_jacobians(np.ones(1))
    assert sorted(matrix.ravel().tolist() for matrix in found) == [[0.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="2 agents are at a kink, 0 and 1 among them"):
        Population([clip, clip]).limiting_jacobians(np.ones(1))


def test_the_agent_that_fails_is_named_and_tolerances_are_passed_on() -> None:
    narrow = QuadraticProgram([[1.0]], [0], [[1]], G=[[1], [-1]], h=[0, 0], S=[[1], [1]])  # |y| ≤ x
    crowd = Population([lambda x: x, narrow])
    assert crowd.tolerance == narrow.tolerance
    assert Population([lambda x: x]).tolerance is None
    assert crowd(np.array([2.0])) == pytest.approx([2.0, -2.0])
    with pytest.raises(bizol.ResponseError, match=r"agent 1 failed at x = \[-1.\]: .*PIQP"):
        crowd(np.array([-1.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population([]), r"Population\(followers=\.\.\.\) must be callables"),
        (
            lambda: ProjectionPopulation(np.ones((2, 3)), np.ones((2, 3)), total=[1, 1]),
            r"must have shapes \(N, d, n\)",
        ),
        (
            lambda: ProjectionPopulation(np.ones((2, 3, 1)), np.ones((2, 3))),
            "lower and upper, or radius, or total",
        ),
        (
            lambda: ProjectionPopulation(np.ones((2, 3, 1)), np.ones((2, 3)), lower=0),
            "lower and upper, or radius",
        ),
        (
            lambda: ProjectionPopulation(np.ones((2, 3, 1)), np.ones((2, 3)), radius=[1, 0]),
            "got 0 for agent 1",
        ),
        (
            lambda: ProjectionPopulation(np.ones((2, 3, 1)), np.ones((2, 3)), lower=1, upper=0),
            "leaves agent 0 no choice",
        ),
    ],
)
def test_populations_of_the_wrong_parts_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
