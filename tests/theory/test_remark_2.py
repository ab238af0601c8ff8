"""Remark 2: full smoothing averages what is known exactly, and pays for it."""

from __future__ import annotations

import numpy as np

import bizol
from bizol.verification.geometry import remark_2


def test_the_statement_holds() -> None:
    assert remark_2().holds


def test_when_the_response_never_moves_bizol_has_no_noise_at_all() -> None:
    problem = bizol.Problem(
        bizol.Objective(lambda x, y: float(x @ x), lambda x, y: 2 * x, lambda x, y: np.ones(1)),
        lambda x: np.zeros(1),
        bizol.Box(-np.ones(3), np.ones(3)),
    )
    x0 = np.array([0.5, -0.2, 0.1])
    for method, exact in ((bizol.BiZOL(0.1, 0.1, 1), True), (bizol.VZO(0.1, 0.1, 1), False)):
        state = method.start(problem, x0, seed=0)
        after = method.tell(state, np.zeros((len(method.ask(state)), 1)))
        assert after.move is not None
        assert np.array_equal(after.move.hypergradient.value, 2 * x0) is exact
