"""Definition 1: how far the generalized Jacobian moves within δ."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.followers import BoxProjection
from bizol.structure.clarke import set_variation
from bizol.verification.finding import example, vee
from bizol.verification.geometry import definition_1


def test_the_statement_holds() -> None:
    assert definition_1().holds


def test_by_hand_beside_one_kink_and_beside_two() -> None:
    # Kinks at 1/2 and 1/3.
    follower = BoxProjection(np.diag([2.0, 3.0]), np.zeros(2), np.full(2, -9.0), np.ones(2))
    for x, delta, expected in (
        ([0.0, 0.0], 0.2, 0.0),
        ([0.0, 0.0], 0.4, 3.0),  # the second agent saturates at 1/3
        ([0.0, 0.0], 0.55, 3.0),  # each can, not both at once: √(1/4 + 1/9) > 0.55
        ([0.0, 0.0], 0.7, 3.0),  # both at once: diag(2, 3), of norm 3
        ([0.5, 0.0], 0.2, 0.0),  # on the kink: δ-regular
    ):
        assert set_variation(follower, np.array(x), delta).value == pytest.approx(expected)


def test_the_kind_is_told() -> None:
    follower = vee().follower
    assert set_variation(follower, np.array([0.5, 0.5]), 0.1).kind == "exact"
    on_one_beside_another = np.array([0.0, 0.05])
    assert set_variation(follower, on_one_beside_another, 0.1).kind == "upper bound"
    simplex = example("simplex")
    assert set_variation(simplex.follower, np.zeros(3), 0.3).kind == "search"
