"""Definition 3: the smooth Frank–Wolfe gap."""

from __future__ import annotations

import numpy as np
import pytest

import bizol
from bizol.verification.finding import example, vee
from bizol.verification.stationarity import definition_3


def test_the_statement_holds() -> None:
    assert definition_3().holds


def test_by_hand() -> None:
    """The gradient is (1.3, −1.2), the set [−1, 1] × [−1, 2]."""
    gap = bizol.smooth_gap(vee().problem, [0.5, -0.5])
    assert gap.gap == pytest.approx(1.3 * 1.5 + 1.2 * 2.5)
    assert gap.vertex.tolist() == [-1, 2]
    assert gap.kind == "smooth"


def test_at_a_kink_there_is_none() -> None:
    with pytest.raises(ValueError, match=r"kink at this x .2 pieces meet.*clarke_gap"):
        bizol.smooth_gap(vee().problem, [0.0, 0.4])


def test_a_minimizer_has_gap_zero() -> None:
    case = example("smooth")
    solution = bizol.minimize(case.problem, budget=300, seed=0)
    before, after = (bizol.smooth_gap(case.problem, x).gap for x in (np.zeros(3), solution.x))
    assert after < 1e-4 * before
