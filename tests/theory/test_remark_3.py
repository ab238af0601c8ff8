"""Remark 3: the mean gap is that of a uniformly drawn iterate."""

from __future__ import annotations

from bizol.verification.algorithm import remark_3


def test_the_statement_holds() -> None:
    assert remark_3().holds
