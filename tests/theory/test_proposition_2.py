"""Proposition 2: the kinks of the anchored model, its smoothed gradient, Goldstein subgradients."""

from __future__ import annotations

import numpy as np
import pytest

from bizol.structure import AnchoredModel
from bizol.structure.clarke import approximate_hypergradient, clarke_subdifferential
from bizol.verification.finding import decisions, example, numerical_gradient, vee
from bizol.verification.geometry import proposition_2


def test_the_statement_holds() -> None:
    assert proposition_2().holds


@pytest.mark.parametrize("kind", ["box", "ball", "smooth", "simplex", "program"])
def test_the_goldstein_set_holds_the_hypergradient_for_every_follower(kind: str) -> None:
    case = example(kind, n=2)
    x = next(decisions(case, 1))
    direction = approximate_hypergradient(case.problem, x, 0.3).value
    error = case.follower.smoothed(x, 0.3).error
    assert AnchoredModel(case.problem, x).goldstein(0.3).distance(direction) < 1e-3 + 20 * error


def test_the_model_agrees_with_the_objective_at_the_anchor_and_keeps_its_clarke_set() -> None:
    case = vee()
    model = AnchoredModel(case.problem, np.zeros(2))
    for x in (np.zeros(2), np.array([0.5, 0.7])):
        here = AnchoredModel(case.problem, x)
        assert here.value(x) == here.anchor.value
    # φ is linear, so Q_x = φ̃.
    assert model.value(np.array([0.5, -0.25])) == pytest.approx(0.75 + 0.15 + 0.05)
    ours = model.subdifferential(np.zeros(2))
    theirs = clarke_subdifferential(case.problem, np.zeros(2))
    assert np.array_equal(ours.generators, theirs.generators)


@pytest.mark.parametrize("kind", ["box", "smooth"])
def test_the_gradient_of_the_smoothed_model_is_the_hypergradient_at_the_anchor_only(
    kind: str,
) -> None:
    case = example(kind)
    x, other = decisions(case, 2)
    model = AnchoredModel(case.problem, x)
    here = approximate_hypergradient(case.problem, x, 0.3).value
    assert model.smoothed_gradient(x, 0.3).value == pytest.approx(here)
    there = numerical_gradient(lambda u: model.smoothed_value(u, 0.3), other, 1e-5)
    assert model.smoothed_gradient(other, 0.3).value == pytest.approx(there, abs=1e-7)


def test_a_vector_outside_of_the_goldstein_set_is_outside() -> None:
    model = AnchoredModel(vee().problem, np.array([0.5, 0.5]))
    assert model.goldstein(0.1).distance(np.array([0.3, -0.2])) == pytest.approx(np.sqrt(2))
