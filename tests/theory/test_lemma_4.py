"""Lemma 4: scalar randomized smoothing."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.theory import smoothing_constant
from bizol.verification.algorithm import lemma_4


def test_the_statement_holds() -> None:
    finding = lemma_4()
    assert finding.holds
    assert finding.measured == pytest.approx(1, abs=1e-4)  # a ridge attains the constant c(n)


def test_the_constant_against_the_volumes_of_balls() -> None:
    volumes = {0: 1.0, 1: 2.0, 2: np.pi, 3: 4 * np.pi / 3, 4: np.pi**2 / 2}
    for n in (1, 2, 3, 4):
        expected = 2 * volumes[n - 1] / (volumes[n] * np.sqrt(n))
        assert smoothing_constant(n) == pytest.approx(expected)
    assert smoothing_constant(10**6) == pytest.approx(np.sqrt(2 / np.pi), rel=1e-6)
