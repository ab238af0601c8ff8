"""Proposition 6: for smooth responses the Bi-ZOL gap is the smooth gap up to O(δ)."""

from __future__ import annotations

import numpy as np
import pytest

import bizol
from bizol.structure.clarke import approximate_hypergradient
from bizol.theory import exponent
from bizol.verification.finding import decisions, example
from bizol.verification.stationarity import proposition_6


def test_the_statement_holds() -> None:
    assert proposition_6().holds


def test_the_direction_tends_to_the_gradient_quadratically_by_symmetry() -> None:
    """The bound is O(δ); with two derivatives the odd term cancels, and it is O(δ²)."""
    case = example("smooth")
    x = next(decisions(case, 1))
    gradient = bizol.smooth_gap(case.problem, x).hypergradient.value
    radii = np.array([0.02, 0.01, 0.005])
    misses = [
        np.linalg.norm(approximate_hypergradient(case.problem, x, delta).value - gradient)
        for delta in radii
    ]
    assert exponent(radii, np.array(misses)) == pytest.approx(2, abs=0.1)
