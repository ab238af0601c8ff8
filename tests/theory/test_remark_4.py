"""Remark 4: how the constants scale with the number of agents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bizol.theory import exponent, tracking_constants
from bizol.verification.algorithm import remark_4
from bizol.verification.finding import example


def test_the_statement_holds() -> None:
    assert remark_4().holds


def test_the_lipschitz_constant_of_a_random_population_grows_as_the_root_of_its_size() -> None:
    sizes = np.array([50, 200, 800])
    cases = [example("box", m=int(m)) for m in sizes]
    slopes = [tracking_constants(case.objective, case.follower, case.box).L_y for case in cases]
    assert exponent(sizes, np.array(slopes)) == pytest.approx(0.5, abs=0.1)


def test_with_coupling_as_the_root_of_m_the_complexity_grows_as_m_to_five_halves() -> None:
    base = tracking_constants(example("box").objective, example("box").follower, example("box").box)
    sizes = np.array([1e6, 1e8, 1e10])
    costs = [replace(base, L_y=float(np.sqrt(m)), M_y=1.0).queries_scale(1.0) for m in sizes]
    assert exponent(sizes, np.array(costs)) == pytest.approx(2.5, abs=0.01)
