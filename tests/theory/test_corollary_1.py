"""Corollary 1: zero bias at δ-regular points of a piecewise affine response."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.structure.clarke import approximate_hypergradient, structural_bias
from bizol.verification.finding import vee
from bizol.verification.geometry import corollary_1


def test_the_statement_holds() -> None:
    assert corollary_1().holds


def test_inside_a_cell_the_direction_is_the_gradient_itself() -> None:
    direction = approximate_hypergradient(vee().problem, np.array([0.5, -0.5]), 0.49).value
    assert direction == pytest.approx([1.3, -1.2], abs=1e-14)


def test_on_the_crossing_of_two_kinks_the_direction_is_the_center_of_the_set() -> None:
    bias = structural_bias(vee().problem, np.zeros(2), 0.3)
    assert bias.hypergradient.value == pytest.approx([0.3, -0.2], abs=1e-14)
    assert bias.distance < 1e-14
    assert bias.regular
