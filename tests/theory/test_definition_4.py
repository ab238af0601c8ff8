"""Definition 4: the Clarke Frank–Wolfe gap, an exact min–max."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import bizol
from bizol.structure.clarke import clarke_subdifferential
from bizol.verification.finding import vee
from bizol.verification.stationarity import definition_4


def test_the_statement_holds() -> None:
    assert definition_4().holds


def test_on_one_kink_by_hand() -> None:
    """At (0, 0.4) g₁ ranges over [−0.7, 1.3], so it is best at 0; g₂ is 0.8."""
    gap = bizol.clarke_gap(vee().problem, [0.0, 0.4])
    assert gap.gap == pytest.approx(0.8 * 1.4)
    assert gap.hypergradient.value == pytest.approx([0, 0.8], abs=1e-8)


def test_on_the_crossing_the_point_is_stationary() -> None:
    assert bizol.clarke_gap(vee().problem, [0.0, 0.0]).gap == pytest.approx(0, abs=1e-9)


SETS: list[Any] = [
    bizol.Box([-1, -1], [1, 2]),
    bizol.Ball([0.1, 0.0], 1.0),
    bizol.L1Ball([0.1, 0.0], 1.0),
    bizol.Polytope(A_ub=[[1, 1], [-1, 2]], b_ub=[1, 1], lower=-1),
    bizol.Translated(bizol.Simplex(2), [-0.5, -0.5]),
]


@pytest.mark.parametrize("feasible_set", SETS, ids=lambda feasible_set: type(feasible_set).__name__)
@pytest.mark.parametrize("x", [[0.0, 0.0], [0.0, 0.3], [0.2, 0.0]])
def test_for_any_set_it_agrees_with_a_grid(feasible_set: Any, x: list[float]) -> None:
    problem = bizol.Problem(vee().problem.objective, vee().follower, feasible_set)
    if not feasible_set.contains(np.array(x)):
        return
    generators = clarke_subdifferential(problem, np.array(x)).generators
    low, high = generators.min(axis=0), generators.max(axis=0)  # the hull is a rectangle here
    grid = np.array(list(product(*np.linspace(low, high, 81).T)))
    gaps = [g @ (np.array(x) - feasible_set.minimize_linear(g)) for g in grid]
    exact = bizol.clarke_gap(problem, x).gap
    assert exact <= min(gaps) + 1e-8
    assert exact == pytest.approx(min(gaps), abs=0.05)
