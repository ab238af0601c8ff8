"""Definition 5: the Bi-ZOL Frank–Wolfe gap, exact and certified."""

from __future__ import annotations

import pytest

import bizol
from bizol.verification.finding import vee
from bizol.verification.stationarity import definition_5


def test_the_statement_holds() -> None:
    assert definition_5().holds


def test_by_hand_on_a_kink() -> None:
    """At (0, 0.4), δ = 0.3: half of each side, g_δ = (0.3, 0.8)."""
    gap = bizol.bizol_gap(vee().problem, [0.0, 0.4], delta=0.3)
    assert gap.gap == pytest.approx(0.3 * 1 + 0.8 * 1.4)
    certificate = bizol.certify(vee().problem, [0.0, 0.4], delta=0.3, directions=400, seed=0)
    low, high = certificate.interval
    assert low - 1e-12 <= gap.gap <= high + 1e-12  # in the plane, a full block finds it to rounding
    assert high - low < 0.2
