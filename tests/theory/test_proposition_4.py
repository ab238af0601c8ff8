"""Proposition 4: on curved pieces the bias is of order δ at δ-regular points."""

from __future__ import annotations

import numpy as np

from bizol.followers import BallProjection
from bizol.verification.geometry import proposition_4


def test_the_statement_holds() -> None:
    finding = proposition_4()
    assert finding.holds
    assert finding.measured > 0.5  # the constant is not idle: it is nearly attained


def test_the_curvature_is_the_norm_of_the_second_derivative() -> None:
    """At ‖z‖ = r the Jacobian of r z/‖z‖ changes by 2/(√3 r) at most, found over directions."""
    follower = BallProjection(np.eye(3), np.zeros(3), 2.0)
    step = 1e-5
    best = 0.0
    x = np.array([2.0, 0.0, 0.0])
    for angle in np.linspace(0, np.pi, 400):
        v = np.array([np.cos(angle), np.sin(angle), 0.0])
        change = follower.jacobian("outside", x + step * v) - follower.jacobian("outside", x)
        best = max(best, float(np.linalg.norm(change, 2)) / step)
    assert np.isclose(best, follower.curvature, rtol=1e-3)
