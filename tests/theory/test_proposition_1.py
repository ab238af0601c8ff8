"""Proposition 1: the Clarke subdifferential of the hyperobjective is the chain-rule set."""

from __future__ import annotations

import numpy as np

import bizol
from bizol.structure.clarke import clarke_subdifferential
from bizol.structure.hulls import Hull
from bizol.verification.finding import vee
from bizol.verification.geometry import proposition_1


def rows(hull: Hull) -> set[tuple[float, ...]]:
    return {tuple(row) for row in hull.generators.round(12).tolist()}


def test_the_statement_holds() -> None:
    assert proposition_1().holds


def test_the_set_of_a_tilted_absolute_value_by_hand() -> None:
    """φ̃ = |x₁| + |x₂| + 0.3 x₁ − 0.2 x₂."""
    problem = vee().problem
    assert rows(clarke_subdifferential(problem, np.array([0.5, -0.5]))) == {(1.3, -1.2)}
    assert rows(clarke_subdifferential(problem, np.array([0.0, 0.4]))) == {(1.3, 0.8), (-0.7, 0.8)}
    crossing = {(1.3, 0.8), (-0.7, 0.8), (1.3, -1.2), (-0.7, -1.2)}
    assert rows(clarke_subdifferential(problem, np.zeros(2))) == crossing


def test_on_a_smooth_response_the_set_is_the_classical_gradient() -> None:
    follower = bizol.followers.SmoothSaturation([[2.0]], [0.0], [1.0])
    objective = bizol.Objective(
        lambda x, y: float(y[0]), lambda x, y: 0 * x, lambda x, y: np.ones(1)
    )
    problem = bizol.Problem(objective, follower, bizol.Box([-1], [1]))
    hull = clarke_subdifferential(problem, np.array([0.3]))
    assert np.allclose(hull.generators, [[2 * (1 - np.tanh(0.6) ** 2)]])
