"""Proposition 5: from the Bi-ZOL gap to the Clarke gap."""

from __future__ import annotations

import numpy as np
import pytest

import bizol
from bizol.verification.finding import decisions, example, vee
from bizol.verification.stationarity import proposition_5


def test_the_statement_holds() -> None:
    assert proposition_5().holds


def test_at_a_regular_point_nothing_is_added() -> None:
    certificate = bizol.certify(vee().problem, [0.0, 0.5], delta=0.3, seed=0)
    bound = bizol.transfer(certificate, vee().problem)
    assert bound.epsilon == certificate.epsilon
    assert bound.variation.kind == "exact"
    assert bizol.clarke_gap(vee().problem, [0.0, 0.5]).gap <= bound.epsilon


def test_elsewhere_the_bound_still_holds() -> None:
    case = example("box")
    for seed, x in enumerate(decisions(case, 10)):
        bound = bizol.transfer(bizol.certify(case.problem, x, delta=0.3, seed=seed), case.problem)
        assert bizol.clarke_gap(case.problem, x).gap <= bound.epsilon


def test_the_last_claim_delta_against_epsilon() -> None:
    """With ω ≤ L δ and δ = ε / (3 D ‖d_y‖ L) exactly ε/3 is added."""
    certificate = bizol.certify(example("ball").problem, np.zeros(3), delta=0.1, seed=0)
    lipschitz, epsilon = 0.7, 0.9
    radius = epsilon / (3 * certificate.diameter * certificate.response_gradient * lipschitz)
    added = bizol.transfer(certificate, variation=lipschitz * radius).epsilon - certificate.epsilon
    assert added == pytest.approx(epsilon / 3)
