"""Remark 1: strong convexity and Lipschitz data make the response Lipschitz."""

from __future__ import annotations

import numpy as np

from bizol.followers import QuadraticProgram
from bizol.verification.geometry import remark_1


def test_the_statement_holds() -> None:
    assert remark_1().holds


def test_the_constant_is_attained_without_constraints() -> None:
    """min ½μy² − x y has y = x/μ: the ratio L/μ exactly."""
    follower = QuadraticProgram(P=[[4.0]], q=[0.0], Q=[[-2.0]], G=[[1.0]], h=[100.0])
    assert np.isclose(follower(np.array([1.0])) - follower(np.array([0.0])), 2 / 4)
