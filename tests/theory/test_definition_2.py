"""Definition 2: δ-regularity, and that only attainable pieces count."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.followers import BallProjection, BoxProjection, QuadraticProgram, SimplexProjection
from bizol.structure.clarke import is_delta_regular
from bizol.verification.geometry import definition_2


def test_the_statement_holds() -> None:
    assert definition_2().holds


def box(rows: list[list[float]]) -> BoxProjection:
    """Return a follower whose kinks all pass through 0."""
    m = len(rows)
    return BoxProjection(rows, np.zeros(m), np.full(m, -9.0), np.zeros(m))


def test_three_lines_through_a_point_make_six_pieces_not_eight() -> None:
    assert len(box([[1, 0], [0, 1], [1, 1]]).pieces(np.zeros(2)).labels) == 6


def test_two_agents_with_the_same_kink_make_two_pieces_not_four() -> None:
    follower = box([[1, 2], [2, 4]])
    assert follower.pieces(np.zeros(2)).labels == {(0, 0), (1, 1)}
    opposite = box([[1, 2], [-1, -2]])
    assert opposite.pieces(np.zeros(2)).labels == {(0, 1), (1, 0)}


def test_independent_kinks_make_all_pieces() -> None:
    assert len(box([[1, 0, 0], [0, 1, 0], [1, 1, 1]]).pieces(np.zeros(3)).labels) == 8


def test_an_agent_may_reach_both_of_its_capacities_within_the_ball() -> None:
    narrow = BoxProjection([[1.0]], [0.0], [-0.1], [0.1])
    assert narrow.pieces(np.zeros(1), 0.05).labels == {(0,)}
    assert narrow.pieces(np.zeros(1), 0.2).labels == {(-1,), (0,), (1,)}
    assert narrow.pieces(np.array([0.15]), 0.1).labels == {(0,), (1,)}
    assert narrow.pieces(np.array([0.15]), 0.3).labels == {(-1,), (0,), (1,)}


def test_regular_means_no_kink_within_delta_but_at_the_point() -> None:
    follower = BoxProjection(np.eye(2), np.zeros(2), np.full(2, -9.0), np.ones(2))
    assert is_delta_regular(follower, np.array([1.0, 0.0]), 0.9)
    assert not is_delta_regular(follower, np.array([1.0, 0.2]), 0.9)
    assert not is_delta_regular(follower, np.array([0.95, 0.0]), 0.1)


def test_a_ball_response_is_regular_on_its_boundary_and_away_from_it() -> None:
    follower = BallProjection(np.eye(2), np.zeros(2), 1.0)
    assert is_delta_regular(follower, np.array([0.6, 0.8]), 5.0)
    assert is_delta_regular(follower, np.array([0.5, 0.0]), 0.49)
    assert not is_delta_regular(follower, np.array([0.5, 0.0]), 0.51)
    assert is_delta_regular(follower, np.array([0.0, 1.5]), 0.49)
    assert not is_delta_regular(follower, np.array([0.0, 1.5]), 0.51)


def test_the_farthest_point_is_found_where_the_gradient_vanishes() -> None:
    """At the center every direction is as good: the hard case of the trust-region problem."""
    follower = BallProjection(np.diag([1.0, 3.0]), np.zeros(2), 1.0)
    assert follower.pieces(np.zeros(2), 0.33).labels == {"inside"}
    assert follower.pieces(np.zeros(2), 0.34).labels == {"inside", "outside"}
    tilted = BallProjection(np.diag([1.0, 3.0]), np.array([0.5, 0.0]), 1.0)
    # The largest ‖(0.5 + v₁, 3 v₂)‖ over ‖v‖ ≤ r has v₁ = 1/16, and r² from 1 = (9/16)² + 9 v₂².
    edge = np.sqrt((1 / 16) ** 2 + (1 - (9 / 16) ** 2) / 9)
    assert edge == pytest.approx(0.2795, abs=5e-3)
    assert tilted.pieces(np.zeros(2), edge * 0.999).labels == {"inside"}
    assert tilted.pieces(np.zeros(2), edge * 1.001).labels == {"inside", "outside"}


def test_sharers_of_a_simplex_that_tie() -> None:
    follower = SimplexProjection(np.eye(3), np.zeros(3), 1.0)
    assert follower.pieces(np.array([1.0, 0.0, -1.0])).labels == {(0,), (0, 1)}
    assert follower.pieces(np.array([0.2, 0.1, 0.0])).labels == {(0, 1, 2)}
    # The last two tie, and move as one.
    twins = SimplexProjection([[0.0], [1.0], [1.0]], [1.0, 0.0, 0.0], 1.0)
    assert twins.pieces(np.zeros(1)).labels == {(0,), (0, 1, 2)}


def test_constraints_of_a_program_that_are_just_active() -> None:
    follower = QuadraticProgram(P=np.eye(2), q=[0, 0], Q=-np.eye(2), G=np.eye(2), h=[1, 1])
    assert follower.pieces(np.array([1.0, 0.0])).labels == {(), (0,)}
    assert follower.pieces(np.array([1.0, 1.0])).labels == {(), (0,), (1,), (0, 1)}
    assert follower.pieces(np.array([2.0, 0.0])).labels == {(0,)}
    assert not follower.is_regular(np.array([0.9, 0.0]), 0.2)
    assert follower.is_regular(np.array([1.0, 0.0]), 0.2)


def test_too_many_pieces_are_not_listed() -> None:
    crowd = box(np.random.default_rng(0).standard_normal((40, 12)).tolist())
    with pytest.raises(ValueError, match="More than 1024 pieces of the response meet here"):
        crowd.pieces(np.zeros(12))
