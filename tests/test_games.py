"""Equilibria: against closed forms, best responses of our own, and quadratic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import bizol
from bizol.followers import AggregativeGame, QuadraticProgram, VariationalEquilibrium
from tests.problems import Array

seeds = st.integers(0, 999)


def game(seed: int, players: int = 6, d: int = 2, n: int = 3, **changes: Any) -> AggregativeGame:
    rng = np.random.default_rng(seed)
    parts: dict[str, Any] = {
        "curvature": rng.uniform(1, 3, (players, d)),
        "offset": rng.standard_normal((players, d)),
        "matrix": rng.standard_normal((players, d, n)),
        "price": rng.standard_normal((d, d)) * 0.4 + np.eye(d),
        "lower": np.full((players, d), -0.5),
        "upper": np.full((players, d), 0.7),
    }
    return AggregativeGame(**(parts | changes))


@given(seed=seeds)
def test_no_player_of_the_aggregative_game_gains_by_deviating(seed: int) -> None:
    """Each player's own problem, the others' choices fixed, by another solver."""
    follower = game(seed)
    x = np.random.default_rng(seed + 1).standard_normal(3)
    choices = follower(x).reshape(6, 2)
    for player in (0, 3):
        others = choices.sum(axis=0) - choices[player]

        def cost(own: Array, player: int = player, others: Array = others) -> float:
            linear = (
                follower.offset[player]
                + follower.matrix[player] @ x
                + follower.price @ (others + own) / 6
            )
            return float(own @ (follower.curvature[player] * own) / 2 + linear @ own)

        best = minimize(
            cost, np.zeros(2), bounds=[(-0.5, 0.7)] * 2, options={"ftol": 1e-15, "gtol": 1e-10}
        )
        assert cost(choices[player]) <= best.fun + 1e-10
        assert choices[player] == pytest.approx(best.x, abs=1e-5)


@given(seed=seeds)
def test_a_symmetric_game_is_a_quadratic_program(seed: int) -> None:
    """With a symmetric price the operator is a gradient, and the equilibrium a minimizer."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((2, 2))
    follower = game(seed, price=root @ root.T)
    system = follower._system()
    assert np.allclose(system, system.T)
    program = QuadraticProgram(
        system,
        follower.offset.ravel(),
        follower.matrix.reshape(12, 3),
        G=np.vstack([np.eye(12), -np.eye(12)]),
        h=np.concatenate([follower.upper.ravel(), -follower.lower.ravel()]),
    )
    x = rng.standard_normal(3)
    assert follower(x) == pytest.approx(program(x), abs=2 * follower.tolerance * 4)


@settings(max_examples=25)
@given(seed=seeds)
def test_jacobians_are_finite_differences_inside_a_piece(seed: int) -> None:
    follower = game(seed)
    x, step = np.random.default_rng(seed + 2).standard_normal(3), 1e-5
    forth = np.array([(follower(x + step * axis) - follower(x)) / step for axis in np.eye(3)]).T
    back = np.array([(follower(x) - follower(x - step * axis)) / step for axis in np.eye(3)]).T
    if np.abs(forth - back).max() > 1e-2:
        return  # a kink is near
    (jacobian,) = follower.limiting_jacobians(x)
    assert jacobian == pytest.approx((forth + back) / 2, abs=2e-3)


def test_at_a_kink_both_sides_are_limits() -> None:
    """One player would like −x and is limited to [0, 1]: at 0 the response turns from −x to 0."""
    parts: dict[str, Any] = {
        "curvature": [[2.0]],
        "offset": [[0.0]],
        "matrix": [[[3.0]]],
        "price": [[0.5]],
    }
    alone = AggregativeGame(**parts, lower=np.zeros((1, 1)), upper=np.ones((1, 1)))
    found = sorted(float(matrix[0, 0]) for matrix in alone.limiting_jacobians(np.zeros(1)))
    assert found == pytest.approx([-1.0, 0.0])
    assert alone(np.array([-0.5])) == pytest.approx([0.5])
    assert alone(np.array([0.5])) == pytest.approx([0.0])


def test_players_who_are_alike_turn_together() -> None:
    """Two players with the same costs are at a limit both or neither."""
    pair = game(
        0,
        players=2,
        d=1,
        n=1,
        curvature=np.ones((2, 1)),
        offset=np.zeros((2, 1)),
        matrix=np.ones((2, 1, 1)),
        price=np.eye(1),
        lower=np.zeros((2, 1)),
        upper=np.ones((2, 1)),
    )
    found = sorted(tuple(matrix.ravel()) for matrix in pair.limiting_jacobians(np.zeros(1)))
    assert np.array(found) == pytest.approx(np.array([[-0.4, -0.4], [0.0, 0.0]]))


@given(seed=seeds)
def test_an_equilibrium_of_a_rotating_operator_is_what_linear_algebra_says(seed: int) -> None:
    """Strongly monotone, far from symmetric, curved: no potential exists. Inside Y, F vanishes."""
    rng = np.random.default_rng(seed)
    turn = rng.standard_normal((4, 4)) * 3
    linear = np.eye(4) + turn - turn.T
    target = rng.uniform(-0.5, 0.5, 4)
    follower = VariationalEquilibrium(
        operator=lambda x, y: linear @ (y - target) + (y - target) ** 3 + 0 * x.sum(),
        strategies=bizol.Box(-np.ones(4), np.ones(4)),
        monotonicity=1.0,
    )
    assert np.linalg.norm(follower(np.zeros(1)) - target) <= follower.tolerance * max(
        1.0, float(np.linalg.norm(target))
    )


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_the_stated_tolerance_is_kept_on_the_boundary_too(tolerance: float) -> None:
    rng = np.random.default_rng(1)
    turn = rng.standard_normal((5, 5))
    linear, ball = 0.3 * np.eye(5) + turn - turn.T, bizol.Ball(np.zeros(5), 1.0)

    def follower(tolerance: float) -> VariationalEquilibrium:
        return VariationalEquilibrium(
            operator=lambda x, y: linear @ y - x,
            strategies=ball,
            monotonicity=0.3,
            tolerance=tolerance,
        )

    for x in rng.standard_normal((5, 5)) * 5:
        exact = follower(1e-12)(x)
        force = linear @ exact - x
        # The force points straight outward.
        assert exact == pytest.approx(-force / np.linalg.norm(force), abs=1e-9)
        assert np.linalg.norm(follower(tolerance)(x) - exact) <= tolerance


def test_many_decisions_at_once_give_the_same() -> None:
    points = np.random.default_rng(0).standard_normal((3, 3))
    assert np.array_equal(game(0)(points), np.array([game(0)(x) for x in points]))
    market = VariationalEquilibrium(
        operator=lambda x, y: y - x, strategies=bizol.Box(-np.ones(3), np.ones(3)), monotonicity=1.0
    )
    assert market(points) == pytest.approx(np.clip(points, -1, 1), abs=1e-8)


def market(**changes: Any) -> VariationalEquilibrium:
    parts: dict[str, Any] = {
        "operator": lambda x, y: y - x,
        "strategies": bizol.Box([-1, -1], [1, 1]),
        "monotonicity": 1.0,
    }
    return VariationalEquilibrium(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"operator": lambda x, y: -y},
            "not strongly monotone with μ = 1, between .* several equilibria",
        ),
        # A game like a linear program.
        ({"operator": lambda x, y: np.array([1.0, -1.0]) + 0 * y}, "not strongly monotone"),
        ({"operator": lambda x, y: y + np.nan}, "the operator is not finite at y"),
        (
            {"operator": lambda x, y: np.diag([1, 50]) @ (y - 0.3), "iterations": 3},
            "after 3 iterations its error is",
        ),
    ],
)
def test_games_without_an_answer_say_where(changes: Any, message: str) -> None:
    with pytest.raises(
        bizol.ResponseError, match=r"VariationalEquilibrium at x = \[0.1 0.2\]: .*" + message
    ):
        market(**changes)(np.array([0.1, 0.2]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: market(operator=1), r"\(operator=\.\.\.\) must be callable"),
        (
            lambda: market(strategies=object()),
            r"\(strategies=\.\.\.\) must be a set with `project`",
        ),
        (lambda: market(monotonicity=0), r"\(monotonicity=\.\.\.\) must be a positive"),
        (lambda: game(0, offset=np.zeros((5, 2))), r"\(offset=\.\.\.\) must have shape \(6, 2\)"),
        (
            lambda: game(0, price=np.zeros((3, 2))),
            r"\(matrix=\.\.\., price=\.\.\.\) must have shapes",
        ),
        (lambda: game(0, lower=np.ones((6, 2))), "leaves player 0 no choice"),
        (
            lambda: game(0, price=-3 * np.eye(2)),
            "must be strongly monotone, or the equilibrium may not be unique",
        ),
    ],
)
def test_games_of_the_wrong_parts_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
