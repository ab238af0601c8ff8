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
    gap = bizol.smooth_gap(
        vee().problem, [0.5, -0.5]
    )  # gradient (1.3, −1.2) over [−1, 1] × [−1, 2]
    assert gap.gap == pytest.approx(1.3 * 1.5 + 1.2 * 2.5)
    assert gap.vertex.tolist() == [-1, 2]
    assert gap.kind == "smooth"


def test_at_a_kink_there_is_none() -> None:
    with pytest.raises(ValueError, match=r"kink at this x .2 pieces meet.*clarke_gap"):
        bizol.smooth_gap(vee().problem, [0.0, 0.4])


def test_a_minimizer_has_gap_zero() -> None:
    case = example("smooth")
    solution = bizol.minimize(case.problem, budget=300, seed=0)
    assert (
        bizol.smooth_gap(case.problem, solution.x).gap
        < 1e-4 * bizol.smooth_gap(case.problem, np.zeros(3)).gap
    )
