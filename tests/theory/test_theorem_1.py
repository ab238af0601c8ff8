"""Theorem 1: the mean gap of a run is at most the bound."""

from __future__ import annotations

from math import pi

import pytest

from bizol.theory import Constants, theorem_1
from bizol.verification.algorithm import theorem_1 as statement

SIMPLE = Constants(
    dimension=4, diameter=2, L1x=1, L1y=2, L2x=3, L2y=4, M_x=1, M_y=5, L_y=6, kind="computed"
)


def test_the_statement_holds() -> None:
    assert statement().holds


def test_the_right_side_by_hand() -> None:
    bound = theorem_1(SIMPLE, delta=0.5, batch=9, step=0.1, horizon=20, initial_gap=7)
    assert bound.descent == pytest.approx(7 / 2)
    bend = 2 * (3 * pi / 4) ** -1 * 2 / 2  # c(4), roughly
    smoothness = 1 + 2 * 6 + 6 * (3 + 4 * 6) + bend * 5 * 6 * 2 / 0.5
    assert bound.curvature == pytest.approx(SIMPLE.smoothness(0.5) * 4 * 0.1 / 2)
    assert SIMPLE.smoothness(0.5) == pytest.approx(smoothness, rel=0.05)
    assert bound.bias == pytest.approx(2 * (2 + 6 * 4) * 6 * 0.5)
    assert bound.variance == pytest.approx(2 * (16 * (2 * pi) ** 0.5 * 4) ** 0.5 * 5 * 6 / 3)
    parts = (bound.descent, bound.curvature, bound.bias, bound.variance)
    assert bound.total == pytest.approx(sum(parts))
