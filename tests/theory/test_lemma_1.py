"""Lemma 1: the estimator is unbiased for g_δ, with variance at most σ²/B."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.structure.clarke import approximate_hypergradient
from bizol.verification.algorithm import DELTA, estimates, lemma_1
from bizol.verification.finding import decisions, example


def test_the_statement_holds() -> None:
    assert lemma_1().holds


def test_the_variance_falls_as_one_over_b() -> None:
    """The relative standard error of the ratio is about 5 %, so 25 % is five of them."""
    case = example("box")
    x = next(decisions(case, 1))
    spread = [estimates(case, x, batch=batch, count=3000).var(axis=0).sum() for batch in (1, 8)]
    assert spread[0] / spread[1] == pytest.approx(8, rel=0.25)


def test_in_one_dimension_every_estimate_is_the_truth() -> None:
    case = example("box", n=1)
    x = next(decisions(case, 1))
    truth = approximate_hypergradient(case.problem, x, DELTA).value
    assert np.allclose(estimates(case, x, batch=1, count=5), truth, atol=1e-12)
