"""Quadratic programs as followers."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Split, make_case, squares
from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet
from bizol.followers import QuadraticProgram


def demand_response_case(
    name: str, n: int, m: int, c: int, feasible_set: FeasibleSet, split: Split, seed: int
) -> Case:
    """Draw a strongly convex quadratic program whose cost and right sides move with the decision.

    The form of multiparametric quadratic programming: A. Bemporad, M. Morari, V. Dua and E.
    Pistikopoulos, 2002.
    """
    rng = np.random.default_rng([seed, n, 11])
    factor = rng.standard_normal((m, m)) / np.sqrt(m)
    follower = QuadraticProgram(
        P=factor @ factor.T + 0.3 * np.eye(m),
        q=0.3 * rng.standard_normal(m),
        Q=rng.standard_normal((m, n)) / np.sqrt(n) * 1.5,
        G=np.vstack([rng.standard_normal((c, m)) / np.sqrt(m), np.eye(m), -np.eye(m)]),
        h=np.concatenate([rng.uniform(0.2, 0.8, c), np.ones(2 * m)]),
        S=np.vstack([rng.uniform(-0.1, 0.1, (c, n)) / np.sqrt(n), np.zeros((2 * m, n))]),
    )
    output, wanted = rng.standard_normal((m, m)) / np.sqrt(m), 0.7 * rng.standard_normal(m)
    weight = 0.15

    def residuals(x: Point, y: Point) -> Point:
        return np.concatenate([weight * x, output @ y - wanted])

    by_x = np.vstack([weight * np.eye(n), np.zeros((m, n))])
    by_y = np.vstack([np.zeros((n, m)), output])
    return make_case(
        name,
        squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        feasible_set,
        split=split,
        source="A. Bemporad, M. Morari, V. Dua and E. Pistikopoulos, Automatica 38, 2002 "
        "(the form; data are drawn)",
        tags="mpqp kinks multimodal",
        residuals=residuals,
    )


def mpqp_box() -> Case:
    """A quadratic program of eight variables that follows six decisions in a box."""
    return demand_response_case(
        "mpqp-box", 6, 8, 10, bizol.Box(-2 * np.ones(6), 2 * np.ones(6)), "tune", 1
    )


def mpqp_polytope() -> Case:
    """A quadratic program of ten variables that follows twelve decisions with two totals."""
    pairs = np.vstack([np.r_[np.ones(6), np.zeros(6)], np.r_[np.zeros(6), np.ones(6)]])
    chosen = bizol.Polytope(
        A_ub=pairs, b_ub=[3.0, 2.0], lower=-1.5 * np.ones(12), upper=1.5 * np.ones(12)
    )
    return demand_response_case("mpqp-polytope", 12, 10, 12, chosen, "report", 2)
