"""Lemma 3: ∇φ̄_δ and g_δ differ by at most C_bias δ."""

from __future__ import annotations

import numpy as np

from bizol.structure import AncillaryFunction
from bizol.structure.clarke import approximate_hypergradient
from bizol.verification.algorithm import lemma_3
from bizol.verification.finding import vee


def test_the_statement_holds() -> None:
    assert lemma_3().holds


def test_for_an_objective_that_is_linear_in_the_response_they_are_the_same() -> None:
    case = vee()
    x = np.array([0.05, -0.02])
    direction = approximate_hypergradient(case.problem, x, 0.2).value
    assert np.allclose(AncillaryFunction(case.problem, 0.2).gradient(x), direction, atol=1e-14)
