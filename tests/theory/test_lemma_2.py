"""Lemma 2: the ancillary function is smooth with constant L_{φ̄,δ}."""

from __future__ import annotations

import pytest

from bizol.structure import AncillaryFunction
from bizol.verification.algorithm import lemma_2
from bizol.verification.finding import decisions, example, numerical_gradient


def test_the_statement_holds() -> None:
    assert lemma_2().holds


@pytest.mark.parametrize("kind", ["box", "smooth"])
def test_the_gradient_of_the_ancillary_function_agrees_with_differences(kind: str) -> None:
    case = example(kind)
    ancillary = AncillaryFunction(case.problem, 0.3)
    for x in decisions(case, 3):
        expected = numerical_gradient(ancillary.value, x, 1e-5)
        assert ancillary.gradient(x) == pytest.approx(expected, abs=1e-7)
