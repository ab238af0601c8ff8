"""Local solvers that see values alone, restarted."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bizol
from benchmarks.peers.sets import bounds, project, rows, sample
from benchmarks.peers.solvers.oracle import Oracle
from bizol.arrays import Point, Points


def _restarted(
    oracle: Oracle, seed: int, once: Callable[[Point, Callable[[Point], float]], object]
) -> None:
    """Run a local solver from the start, then from random feasible points, within the budget.

    The solver sees values divided by |φ(start)|, so that its tolerances mean the same everywhere;
    its own question about the start is answered from memory.
    """
    rng = np.random.default_rng(seed)
    first = oracle.value(oracle.start)
    scale = abs(first) if abs(first) > 1e-8 else 1.0
    known = {oracle.start.tobytes(): first / scale}

    def value(x: Point) -> float:
        at = np.array(x, dtype=np.float64)
        remembered = known.pop(at.tobytes(), None)
        return oracle.value(at) / scale if remembered is None else remembered

    begin = oracle.start
    while True:
        before = oracle.queries
        once(begin, value)
        if oracle.queries == before:
            oracle.value(begin)  # a solver that asks nothing would never end
        begin = sample(oracle.feasible_set, rng)


def l_bfgs_b(oracle: Oracle, seed: int) -> None:
    """SciPy's L-BFGS-B with forward differences, restarted."""
    from scipy.optimize import minimize

    lower, upper = bounds(oracle.feasible_set)
    boxed = isinstance(oracle.feasible_set, bizol.Box)

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        minimize(
            value if boxed else lambda z: value(project(oracle.feasible_set, z)),
            np.clip(begin, lower, upper),
            method="L-BFGS-B",
            bounds=np.column_stack([lower, upper]),
            options={
                "eps": _difference(oracle),
                "ftol": 1e-11,
                "gtol": 1e-9,
                "maxfun": 10**6,
                "maxiter": 10**5,
            },
        )

    _restarted(oracle, seed, once)


def slsqp(oracle: Oracle, seed: int) -> None:
    """SciPy's SLSQP with forward differences and the set as constraints, restarted."""
    from scipy.optimize import minimize

    lower, upper = bounds(oracle.feasible_set)
    A_ub, b_ub, A_eq, b_eq = rows(oracle.feasible_set)
    constraints: list[dict[str, Any]] = []
    if len(b_ub):
        constraints.append(
            {"type": "ineq", "fun": lambda x: b_ub - A_ub @ x, "jac": lambda x: -A_ub}
        )
    if len(b_eq):
        constraints.append({"type": "eq", "fun": lambda x: b_eq - A_eq @ x, "jac": lambda x: -A_eq})
    if isinstance(oracle.feasible_set, bizol.Ball):
        room, slope = _ball(oracle.feasible_set)
        constraints.append({"type": "ineq", "fun": room, "jac": slope})

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        minimize(
            _brought_back(oracle, value),
            np.clip(begin, lower, upper),
            method="SLSQP",
            bounds=np.column_stack([lower, upper]),
            constraints=constraints,
            options={"eps": _difference(oracle), "ftol": 1e-11, "maxiter": 10**4},
        )

    _restarted(oracle, seed, once)


def cobyqa(oracle: Oracle, seed: int) -> None:
    """SciPy's COBYQA with the set as constraints, restarted."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

    lower, upper = bounds(oracle.feasible_set)
    A_ub, b_ub, A_eq, b_eq = rows(oracle.feasible_set)
    constraints: list[Any] = []
    if len(b_ub):
        constraints.append(LinearConstraint(A_ub, -np.inf, b_ub))
    if len(b_eq):
        constraints.append(LinearConstraint(A_eq, b_eq, b_eq))
    if isinstance(oracle.feasible_set, bizol.Ball):
        constraints.append(NonlinearConstraint(_ball(oracle.feasible_set)[0], 0.0, np.inf))
    width = float(np.min((upper - lower)[upper > lower], initial=np.inf))

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        options = {
            "initial_tr_radius": 0.25 * width,
            "final_tr_radius": 1e-7 * width,
            "maxfev": 10**6,
        }
        at = np.clip(begin, lower, upper)
        limits = np.column_stack([lower, upper])
        asked = _brought_back(oracle, value)
        minimize(
            asked, at, method="COBYQA", bounds=limits, constraints=constraints, options=options
        )

    _restarted(oracle, seed, once)


def _difference(oracle: Oracle) -> float:
    """Return the step of forward differences: 10⁻⁷ of the typical width."""
    return 1e-7 * oracle.feasible_set.diameter / sqrt(oracle.dimension)


def _brought_back(oracle: Oracle, value: Callable[[Point], float]) -> Callable[[Point], float]:
    """Return the function that projects points outside of a ball before it asks.

    A point is outside when it is further away than a step of differences could take it. Solvers
    that linearize a curved constraint come to it from outside, where no value counts.
    """
    if not isinstance(oracle.feasible_set, bizol.Ball):
        return value
    room = 10 * _difference(oracle)

    def brought_back(x: Point) -> float:
        inside = project(oracle.feasible_set, x)
        return value(inside if float(np.linalg.norm(inside - x)) > room else x)

    return brought_back


def _ball(
    ball: bizol.Ball,
) -> tuple[Callable[[Point], NDArray[np.float64]], Callable[[Point], Points]]:
    """Return r² − ‖x − c‖², positive inside and a hair smaller than the truth, and its gradient."""
    radius = ball.diameter / 2 * (1 - 1e-10)
    return (
        lambda x: np.array([radius**2 - (x - ball.center) @ (x - ball.center)]),
        lambda x: -2 * (x - ball.center)[None],
    )
