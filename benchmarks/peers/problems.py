"""The cases: bilevel problems from public sources, each with a start, a best known value and a half of the suite.

Every response is single-valued, deterministic and solved to about 10⁻¹⁰ or better. The halves alternate within each
family, so that what is tuned on one half meets the same kinds of problems on the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import nan
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

import bizol
from benchmarks.peers.sets import project
from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet
from bizol.followers import BallProjection, BoxProjection, QuadraticProgram, SimplexProjection, SmoothSaturation
from bizol.objectives import Tracking
from bizol.reproduction.instances import BALL, BOX, GRID, tracking_instance

Split: TypeAlias = Literal["tune", "report"]
Residuals: TypeAlias = Callable[[Point, Point], Point]
Response: TypeAlias = Callable[[Point], Point]
REFERENCES = Path(__file__).with_name("references.json")
PAPER = "Z. Jiang and S. Bolognani, Bi-ZOL: Bilevel Zeroth-Order Learning with Nonsmooth Responses"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A problem, where to start, and the best value known.

    Attributes:
        reference: the best known φ(x, y(x)), from `references.json`; NaN where it was never computed.
        split: which half of the suite it belongs to: methods are tuned on one and reported on the other.
        source: where the problem comes from.
        tags: the family, the kind of set and what makes it hard, for selection and for tables.
        residuals: r with φ = ‖r(x, y)‖², where the objective is a sum of squares; None where it is not.

    """

    name: str
    problem: bizol.Problem
    start: Point
    reference: float
    split: Split
    source: str
    tags: frozenset[str]
    residuals: Residuals | None = None

    @property
    def dimension(self) -> int:
        """The n of the decision."""
        return self.problem.feasible_set.dimension

    def value(self, x: Point) -> float:
        """Return φ(x, y(x)), uncounted."""
        response = self.problem.response(x[None])[0] if self.problem.vectorized else self.problem.response(x)
        return float(self.problem.objective.values(x[None], np.asarray(response)[None])[0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The best known value of a case, and a feasible point that attains it."""

    value: float
    x: tuple[float, ...]


@cache
def references() -> dict[str, Reference]:
    """Return what is best known, by the names of the cases."""
    found = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
    return {name: Reference(value=entry["value"], x=tuple(entry["x"])) for name, entry in found.items()}


def _case(
    name: str,
    objective: bizol.Objective,
    response: Response,
    feasible_set: FeasibleSet,
    *,
    split: Split,
    source: str,
    tags: str,
    start: ArrayLike | None = None,
    residuals: Residuals | None = None,
) -> Case:
    kind = type(feasible_set).__name__.lower()
    return Case(
        name=name,
        problem=bizol.Problem(objective, response, feasible_set),
        start=np.array(feasible_set.center if start is None else start, dtype=np.float64),
        reference=references()[name].value if name in references() else nan,
        split=split,
        source=source,
        tags=frozenset([kind, *tags.split(), *(["squares"] if residuals is not None else [])]),
        residuals=residuals,
    )


def _squares(
    residuals: Residuals, by_x: Callable[[Point, Point], Points], by_y: Callable[[Point, Point], Points]
) -> bizol.Objective:
    """Return φ = ‖r(x, y)‖² from r and its two Jacobians."""
    return bizol.Objective(
        value=lambda x, y: float(residuals(x, y) @ residuals(x, y)),
        grad_x=lambda x, y: 2 * by_x(x, y).T @ residuals(x, y),
        grad_y=lambda x, y: 2 * by_y(x, y).T @ residuals(x, y),
    )


# --- The tracking problem ---------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A regime of the tracking problem that the paper's constants are not in."""

    n: int = 20
    m: int = 200
    outputs: int = 40
    effort: float = 0.05
    tracking: float = 5.0
    payment: float = 0.0
    capacity: tuple[float, float] = (0.5, 1.5)
    radius: float = 1.0  # of X = [−radius, radius]ⁿ
    gain: float = 1.0
    inside: float = 0.6  # |x_ref| relative to the radius
    seed: int = 0


def _tracking(
    regime: Regime,
    name: str,
    *,
    split: Split,
    tags: str,
    feasible_set: FeasibleSet | None = None,
    follower: Literal["box", "ball", "smooth", "simplex"] = "box",
) -> Case:
    """Draw a tracking problem; the target is what the follower answers to a hidden decision, plus a little."""
    rng = np.random.default_rng([regime.seed, regime.n, 7])
    n, m, p = regime.n, regime.m, regime.outputs
    matrix = rng.standard_normal((m, n)) * regime.gain / np.sqrt(n)
    offset = 0.3 * rng.standard_normal(m)
    output = rng.standard_normal((p, m)) / np.sqrt(m)
    coupling = rng.standard_normal((n, m)) / np.sqrt(m)
    capacity = rng.uniform(*regime.capacity, m)
    x_ref = regime.inside * regime.radius * rng.uniform(-1.0, 1.0, n)
    hidden = regime.radius * rng.uniform(-1.0, 1.0, n)
    start = regime.radius * rng.uniform(-1.0, 1.0, n)
    responses: dict[str, Response] = {
        "box": BoxProjection(matrix, offset, -capacity, capacity),
        "ball": BallProjection(matrix, offset, float(np.sqrt(m) * capacity.mean() / 2)),
        "smooth": SmoothSaturation(matrix, offset, capacity),
        "simplex": SimplexProjection(matrix, offset, float(m) / 10),
    }
    response = responses[follower]
    y_ref = output @ response(hidden) + 0.1 * rng.standard_normal(p)
    phi = Tracking(
        effort=regime.effort,
        tracking=regime.tracking,
        payment=regime.payment,
        x_ref=x_ref,
        y_ref=y_ref,
        output=output,
        coupling=coupling,
    )

    def residuals(x: Point, y: Point) -> Point:
        parts = np.sqrt(regime.effort / 2) * (x - x_ref), np.sqrt(regime.tracking / 2) * (output @ y - y_ref)
        return np.concatenate(parts)

    objective = bizol.Objective(phi.value, phi.grad_x, phi.grad_y, joint=phi.joint)
    chosen = (
        bizol.Box(-regime.radius * np.ones(n), regime.radius * np.ones(n)) if feasible_set is None else feasible_set
    )
    return _case(
        name,
        objective,
        response,
        chosen,
        split=split,
        source=PAPER,
        tags=f"tracking {tags}",
        start=project(chosen, start),
        residuals=residuals if regime.payment == 0 else None,
    )


def _calibrated(name: str, constants: Any, n: int, m: int, split: Split, tags: str) -> Case:
    instance = tracking_instance(constants, n=n, m=m)
    phi = instance.objective
    objective = bizol.Objective(phi.value, phi.grad_x, phi.grad_y, joint=phi.joint)
    response, chosen = instance.follower, instance.problem.feasible_set
    return _case(
        name, objective, response, chosen, split=split, source=PAPER, tags=f"tracking {tags}", start=instance.start
    )


def tracking_box() -> Case:
    """Tracking as in the paper: individual capacities, the constants that land on Table I."""
    return _calibrated("tracking-box", BOX, 20, 200, "tune", "kinks")


def tracking_ball() -> Case:
    """Tracking as in the paper: one capacity for all, the constants that land on Table II."""
    return _calibrated("tracking-ball", BALL, 20, 200, "report", "kinks")


def tracking_grid_50() -> Case:
    """Tracking as in the paper's grid of dimensions, n = 50."""
    return _calibrated("tracking-grid-50", GRID, 50, 200, "tune", "kinks")


def tracking_grid_100() -> Case:
    """Tracking as in the paper's grid of dimensions, n = 100."""
    return _calibrated("tracking-grid-100", GRID, 100, 200, "report", "kinks")


def tracking_response_a() -> Case:
    """The response term dominates and the solution is inside X."""
    return _tracking(Regime(seed=1), "tracking-response-a", split="tune", tags="kinks")


def tracking_response_b() -> Case:
    """The response term dominates and the solution is inside X: another draw."""
    return _tracking(Regime(seed=2, payment=0.5), "tracking-response-b", split="report", tags="kinks")


def tracking_saturated_a() -> Case:
    """Most agents are at their limits almost everywhere: X = [−2, 2]²⁰, capacities between 0.1 and 0.4."""
    regime = Regime(seed=3, radius=2.0, capacity=(0.1, 0.4), payment=0.2, gain=1.1)
    return _tracking(regime, "tracking-saturated-a", split="tune", tags="kinks multimodal")


def tracking_saturated_b() -> Case:
    """Most agents are at their limits almost everywhere: another draw, a sum of squares."""
    regime = Regime(seed=4, radius=2.0, capacity=(0.1, 0.4), gain=1.1)
    return _tracking(regime, "tracking-saturated-b", split="report", tags="kinks multimodal")


def tracking_n5() -> Case:
    """Tracking with five incentives and thirty agents."""
    return _tracking(Regime(seed=5, n=5, m=30, outputs=10), "tracking-n5", split="tune", tags="kinks")


def tracking_n50() -> Case:
    """Tracking with fifty incentives."""
    return _tracking(Regime(seed=6, n=50, payment=0.3), "tracking-n50", split="report", tags="kinks")


def tracking_n100() -> Case:
    """Tracking with a hundred incentives."""
    return _tracking(Regime(seed=7, n=100, outputs=100), "tracking-n100", split="tune", tags="kinks")


def tracking_n200() -> Case:
    """Tracking with two hundred incentives."""
    regime = Regime(seed=8, n=200, m=300, outputs=150, payment=0.2)
    return _tracking(regime, "tracking-n200", split="report", tags="kinks")


def tracking_smooth_a() -> Case:
    """Agents that tire smoothly."""
    regime = Regime(seed=9, capacity=(0.2, 0.6), payment=0.3)
    return _tracking(regime, "tracking-smooth-a", split="tune", tags="smooth", follower="smooth")


def tracking_smooth_b() -> Case:
    """Agents that tire smoothly: ten incentives, strong saturation, a sum of squares."""
    regime = Regime(seed=10, n=10, m=60, radius=2.0, capacity=(0.1, 0.4))
    return _tracking(regime, "tracking-smooth-b", split="report", tags="smooth multimodal", follower="smooth")


def tracking_over_simplex() -> Case:
    """A budget of incentives to be shared out among fifteen."""
    regime = Regime(seed=11, n=15, m=100, gain=3.0, payment=0.3)
    chosen = bizol.Simplex(15, 3.0)
    return _tracking(regime, "tracking-over-simplex", split="tune", tags="kinks", feasible_set=chosen)


def tracking_over_ball() -> Case:
    """Thirty incentives of limited energy, and a total that the agents share out."""
    regime = Regime(seed=12, n=30, m=100, payment=0.2)
    chosen = bizol.Ball(np.zeros(30), 2.0)
    name = "tracking-over-ball"
    return _tracking(regime, name, split="report", tags="kinks", feasible_set=chosen, follower="simplex")


def tracking_over_small_ball() -> Case:
    """Eight incentives of limited energy, and agents with one capacity for all."""
    regime = Regime(seed=13, n=8, m=40, payment=0.5, capacity=(0.2, 0.6))
    chosen = bizol.Ball(np.zeros(8), 1.5)
    name = "tracking-over-small-ball"
    return _tracking(regime, name, split="tune", tags="kinks", feasible_set=chosen, follower="ball")


# --- Quadratic programs as followers ----------------------------------------------------------------------------------


def _demand_response(name: str, n: int, m: int, c: int, feasible_set: FeasibleSet, split: Split, seed: int) -> Case:
    """Draw a strongly convex quadratic program whose cost and right sides move with the decision.

    The form of multiparametric quadratic programming: A. Bemporad, M. Morari, V. Dua and E. Pistikopoulos, 2002.
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

    by_x, by_y = np.vstack([weight * np.eye(n), np.zeros((m, n))]), np.vstack([np.zeros((n, m)), output])
    return _case(
        name,
        _squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        feasible_set,
        split=split,
        source="A. Bemporad, M. Morari, V. Dua and E. Pistikopoulos, Automatica 38, 2002 (the form; data are drawn)",
        tags="mpqp kinks multimodal",
        residuals=residuals,
    )


def mpqp_box() -> Case:
    """A quadratic program of eight variables that follows six decisions in a box."""
    return _demand_response("mpqp-box", 6, 8, 10, bizol.Box(-2 * np.ones(6), 2 * np.ones(6)), "tune", 1)


def mpqp_polytope() -> Case:
    """A quadratic program of ten variables that follows twelve decisions with two totals to keep."""
    pairs = np.vstack([np.r_[np.ones(6), np.zeros(6)], np.r_[np.zeros(6), np.ones(6)]])
    chosen = bizol.Polytope(A_ub=pairs, b_ub=[3.0, 2.0], lower=-1.5 * np.ones(12), upper=1.5 * np.ones(12))
    return _demand_response("mpqp-polytope", 12, 10, 12, chosen, "report", 2)


# --- Small problems of the literature ---------------------------------------------------------------------------------
# Where the follower has no answer outside of X, it is asked at the nearest point of X.


def bard_1988_1() -> Case:
    """J. F. Bard, Convex two-level optimization, 1988, example 1: φ* = 17 at (1, 0), a second local solution at (5, 2).

    The lower level, (y − 1)² − 1.5 x y with y ≤ 3x − 3, y ≥ 2x − 8, y ≤ 7 − x, y ≥ 0, is solved by clipping; it is
    feasible for 1 ≤ x ≤ 5.
    """

    def follower(x: Point) -> Point:
        at = np.clip(x, 1.0, 5.0)
        return np.clip(1 + 0.75 * at, np.maximum(2 * at - 8, 0.0), np.minimum(3 * at - 3, 7 - at))

    def residuals(x: Point, y: Point) -> Point:
        return np.array([x[0] - 5, 2 * y[0] + 1])

    by_x, by_y = np.array([[1.0], [0.0]]), np.array([[0.0], [2.0]])
    return _case(
        "bard-1988-1",
        _squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        bizol.Box([1], [5]),
        split="tune",
        source="J. F. Bard, Mathematical Programming 40, 1988; BOLIB Bard1988Ex1",
        tags="literature kinks multimodal known",
        start=[3.5],
        residuals=residuals,
    )


def bard_1988_2() -> Case:
    """J. F. Bard, 1988, example 2: two followers, each a quadratic program, share resources; φ* = −6600."""
    bound = np.array([10.0, 5.0, 15.0, 20.0])
    mix = np.array([[0.4, 0.7], [0.6, 0.3]])
    zero = np.zeros((2, 2))
    follower = QuadraticProgram(
        P=2 * np.eye(4),
        q=-2 * np.array([4.0, 13.0, 35.0, 2.0]),
        Q=np.zeros((4, 4)),
        G=np.vstack([np.block([[mix, zero], [zero, mix]]), np.eye(4), -np.eye(4)]),
        h=np.concatenate([np.zeros(4), [20.0, 20.0, 40.0, 40.0], np.zeros(4)]),
        S=np.vstack([np.eye(4), np.zeros((8, 4))]),
    )
    chosen = bizol.Polytope(A_ub=np.ones((1, 4)), b_ub=[40.0], lower=np.zeros(4), upper=bound)

    def slopes(y: Point) -> Point:
        first, second = y[0] + y[2], y[1] + y[3]
        return np.array([2 * first - 200, 2 * second - 160, 2 * first - 200, 2 * second - 160])

    return _case(
        "bard-1988-2",
        bizol.Objective(
            value=lambda x, y: float(-(200 - y[0] - y[2]) * (y[0] + y[2]) - (160 - y[1] - y[3]) * (y[1] + y[3])),
            grad_x=lambda x, y: np.zeros(4),
            grad_y=lambda x, y: slopes(y),
        ),
        lambda x: follower(np.clip(x, 0.0, bound)),
        chosen,
        split="report",
        source="J. F. Bard, Mathematical Programming 40, 1988; BOLIB Bard1988Ex2",
        tags="literature kinks known",
        start=[5.0, 5.0, 15.0, 15.0],
    )


def shimizu_aiyoshi_1981() -> Case:
    """K. Shimizu and E. Aiyoshi, 1981, example 2: φ* = 225 at (20, 5), where y = clip(x, 0, 10) is (10, 5)."""
    chosen = bizol.Polytope(A_ub=[[-1, -2], [1, 1]], b_ub=[-30, 25], lower=[-np.inf, -np.inf], upper=[np.inf, 15])
    return _case(
        "shimizu-aiyoshi-1981",
        bizol.Objective(
            value=lambda x, y: float((x[0] - 30) ** 2 + (x[1] - 20) ** 2 - 20 * y[0] + 20 * y[1]),
            grad_x=lambda x, y: np.array([2 * (x[0] - 30), 2 * (x[1] - 20)]),
            grad_y=lambda x, y: np.array([-20.0, 20.0]),
        ),
        lambda x: np.clip(x, 0.0, 10.0),
        chosen,
        split="tune",
        source="K. Shimizu and E. Aiyoshi, IEEE Transactions on Automatic Control 26, 1981; BOLIB",
        tags="literature kinks multimodal known",
        start=[4.0, 14.0],
    )


def aiyoshi_shimizu_1984() -> Case:
    """E. Aiyoshi and K. Shimizu, 1984, example 2, its joint constraint x₁ + x₂ + y₁ − 2y₂ ≤ 40 as a penalty.

    The follower minimizes (y₁ − x₁ + 20)² + (y₂ − x₂ + 20)² over 2yᵢ ≤ xᵢ − 10 and −10 ≤ yᵢ ≤ 20. φ* = 0 at (0, 0),
    where the penalty is zero, as in the original; its often cited 5 at (25, 30) is a local solution.
    """

    def excess(x: Point, y: Point) -> float:
        return float(max(0.0, x[0] + x[1] + y[0] - 2 * y[1] - 40))

    return _case(
        "aiyoshi-shimizu-1984",
        bizol.Objective(
            value=lambda x, y: float(2 * x.sum() - 3 * y.sum() - 60) + excess(x, y) ** 2,
            grad_x=lambda x, y: 2 + 2 * excess(x, y) * np.ones(2),
            grad_y=lambda x, y: -3 + 2 * excess(x, y) * np.array([1.0, -2.0]),
        ),
        lambda x: np.clip(x - 20, -10.0, np.clip((x - 10) / 2, -10.0, 20.0)),
        bizol.Box([0, 0], [50, 50]),
        split="report",
        source="E. Aiyoshi and K. Shimizu, IEEE Transactions on Automatic Control 29, 1984; BOLIB (penalized)",
        tags="literature kinks multimodal known",
        start=[40.0, 20.0],
    )


def clark_westerberg_1990() -> Case:
    """P. A. Clark and A. W. Westerberg, 1990, example 1: φ* = 5 at (1, 3), a second local solution at x = 5."""

    def follower(x: Point) -> Point:
        at = np.clip(x, 0.0, 6.0)
        return np.asarray(np.clip(5.0, (at + 2) / 2, np.minimum(2 * at + 1, 7 - at / 2)))

    def residuals(x: Point, y: Point) -> Point:
        return np.array([x[0] - 3, y[0] - 2])

    by_x, by_y = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    return _case(
        "clark-westerberg-1990",
        _squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        bizol.Box([0], [6]),
        split="tune",
        source="P. A. Clark and A. W. Westerberg, Computers & Chemical Engineering 14, 1990; BOLIB",
        tags="literature kinks multimodal known",
        start=[3.0],
        residuals=residuals,
    )


def falk_liu_1995() -> Case:
    """J. E. Falk and J. Liu, 1995: the follower copies the leader within [½, 3/2]²; φ* = −2.25 at (¾, ¾).

    BOLIB lists −2.1962, the value at (√3/2, √3/2).
    """
    return _case(
        "falk-liu-1995",
        bizol.Objective(
            value=lambda x, y: float(x @ x - 3 * x.sum() + y @ y),
            grad_x=lambda x, y: 2 * x - 3,
            grad_y=lambda x, y: 2 * y,
        ),
        lambda x: np.clip(x, 0.5, 1.5),
        bizol.Box([0, 0], [2, 2]),
        split="report",
        source="J. E. Falk and J. Liu, Mathematical Programming 70, 1995; BOLIB",
        tags="literature kinks known",
        start=[1.9, 0.1],
    )


def muu_quy_2003_1() -> Case:
    """L. D. Muu and N. V. Quy, 2003, example 1: φ* = −2.0769 at x = 0.8462."""
    follower = QuadraticProgram(
        P=[[2, 1], [1, 1]], q=[1, 1], Q=[[-3], [1]], G=[[2, 1], [-1, 0], [0, -1]], h=[1, 0, 0], S=[[2], [0], [0]]
    )
    return _case(
        "muu-quy-2003-1",
        bizol.Objective(
            value=lambda x, y: float(y @ y + x[0] ** 2 - 4 * x[0]),
            grad_x=lambda x, y: 2 * x - 4,
            grad_y=lambda x, y: 2 * y,
        ),
        lambda x: follower(np.clip(x, 0.0, 2.0)),
        bizol.Box([0], [2]),
        split="tune",
        source="L. D. Muu and N. V. Quy, Vietnam Journal of Mathematics 31, 2003; BOLIB",
        tags="literature kinks known",
        start=[1.9],
    )


def muu_quy_2003_2() -> Case:
    """L. D. Muu and N. V. Quy, 2003, example 2: they report 0.6426 at (0.609, 0.391); φ* is 23/36."""
    follower = QuadraticProgram(
        P=[[2, 1, 0], [1, 1, 0], [0, 0, 1]],
        q=[1, 1, 0],
        Q=[[-3, 0], [0, 1], [0, 0]],
        G=np.vstack([[[2, 1, -1]], -np.eye(3)]),
        h=[-2, 0, 0, 0],
        S=np.vstack([[[-1, 2]], np.zeros((3, 2))]),
    )
    return _case(
        "muu-quy-2003-2",
        bizol.Objective(
            value=lambda x, y: float(y[0] ** 2 + y[2] ** 2 - y[0] * y[2] - 4 * y[1] - 7 * x[0] + 4 * x[1]),
            grad_x=lambda x, y: np.array([-7.0, 4.0]),
            grad_y=lambda x, y: np.array([2 * y[0] - y[2], -4.0, 2 * y[2] - y[0]]),
        ),
        follower,
        bizol.Polytope(A_ub=[[1, 1]], b_ub=[1], lower=[0, 0]),
        split="report",
        source="L. D. Muu and N. V. Quy, Vietnam Journal of Mathematics 31, 2003; BOLIB",
        tags="literature kinks",
        start=[0.1, 0.1],
    )


def visweswaran_1996() -> Case:
    """The quadratic example of V. Visweswaran and others, 1996: φ* = −1.2099 at x = 17/9, y = (8/9, 0)."""
    rows = np.array([[5.0, 4.0], [-5.0, 4.0], [-4.0, 5.0], [4.0, 5.0], [-1.0, 0.0], [0.0, -1.0]])
    follower = QuadraticProgram(
        P=8 * np.eye(2),
        q=[-16, -4],
        Q=[[1], [0]],
        G=rows,
        h=[12, -4, 4, 4, 0, 0],
        S=[[-4], [4], [-4], [4], [0], [0]],
    )
    return _case(
        "visweswaran-1996",
        bizol.Objective(
            value=lambda x, y: float((x[0] - 1) ** 2 + 2 * y[0] - 2 * x[0]),
            grad_x=lambda x, y: 2 * (x - 1) - 2,
            grad_y=lambda x, y: np.array([2.0, 0.0]),
        ),
        lambda x: follower(np.clip(x, 0.0, 17 / 9)),
        bizol.Box([0], [17 / 9]),  # where the follower has an answer
        split="tune",
        source="V. Visweswaran, C. Floudas, M. Ierapetritou and E. Pistikopoulos, State of the Art in Global "
        "Optimization, 1996",
        tags="literature kinks known",
        start=[0.5],
    )


def colson_2002_5() -> Case:
    """B. Colson, BIPA problem 5, 2002: φ* ≈ 2.75 at x = 1.94.

    The follower's cost e^{y₁} + y₁² + 4y₁ + 2y₂² − 6y₂ rises in y₁, and so do its constraints: y₁ = 0, and y₂ is
    clipped below ln(15 − 6x).
    """

    def follower(x: Point) -> Point:
        at = float(np.clip(x[0], 0.0, 7 / 3))
        return np.array([0.0, float(np.clip(1.5, 0.0, min(2.0, np.log(max(15 - 6 * at, 1.0)))))])

    return _case(
        "colson-2002-5",
        bizol.Objective(
            value=lambda x, y: float((x[0] - y[1]) ** 4 + (y[0] - 1) ** 2 + (y[0] - y[1]) ** 2),
            grad_x=lambda x, y: 4 * (x - y[1]) ** 3,
            grad_y=lambda x, y: np.array(
                [2 * (y[0] - 1) + 2 * (y[0] - y[1]), -4 * (x[0] - y[1]) ** 3 - 2 * (y[0] - y[1])]
            ),
        ),
        follower,
        bizol.Box([0], [7 / 3]),
        split="report",
        source="B. Colson, BIPA: technical report, University of Namur, 2002; BOLIB",
        tags="literature kinks multimodal known",
        start=[0.2],
    )


def _outrata(name: str, split: Split, *, bent: bool) -> Case:
    """Return a test problem of J. V. Outrata, 1994: ½(y₁ − 3)² + ½(y₂ − 4)² over 0 ≤ x ≤ 10.

    The follower minimizes ½ yᵀH(x)y − (3 + 1.333x) y₁ − x y₂ over y ≥ 0, y₂ ≤ 0.333 y₁ + 1 − 0.1x and ‖y‖² ≤ 9 + 0.1x:
    a root search for the multiplier of the last constraint.
    """
    from scipy.optimize import brentq

    def at_multiplier(multiplier: float, x: float) -> Point:
        hessian = np.array([1.0, 1.0]) + (bent * x * np.array([0.2, 0.1])) + 2 * multiplier
        wish = np.array([3 + 1.333 * x, x]) / hessian
        edge = 1 - 0.1 * x
        free = np.maximum(wish, 0.0)
        if free[1] <= 0.333 * free[0] + edge:
            return free
        # on the line y₂ = 0.333 y₁ + edge, y₁ ≥ 0 and y₂ ≥ 0
        first = (hessian[0] * wish[0] + 0.333 * hessian[1] * (wish[1] - edge)) / (hessian[0] + 0.333**2 * hessian[1])
        first = max(first, 0.0, -edge / 0.333)
        return np.array([first, 0.333 * first + edge])

    def follower(x: Point) -> Point:
        at = float(np.clip(x[0], 0.0, 10.0))
        limit = 9 + 0.1 * at

        def excess(multiplier: float) -> float:
            y = at_multiplier(multiplier, at)
            return float(y @ y - limit)

        if excess(0.0) <= 0:
            return at_multiplier(0.0, at)
        return at_multiplier(float(brentq(excess, 0.0, 50.0, xtol=1e-15, rtol=1e-14)), at)

    def residuals(x: Point, y: Point) -> Point:
        return np.asarray((y - np.array([3.0, 4.0])) / np.sqrt(2))

    by_y = np.eye(2) / np.sqrt(2)
    return _case(
        name,
        _squares(residuals, lambda x, y: np.zeros((2, 1)), lambda x, y: by_y),
        follower,
        bizol.Box([0], [10]),
        split=split,
        source="J. V. Outrata, SIAM Journal on Optimization 4, 1994; F. Facchinei, H. Jiang and L. Qi, 1999",
        tags="literature kinks known" if bent else "literature kinks",
        start=[0.5],
        residuals=residuals,
    )


def outrata_1994_a() -> Case:
    """J. V. Outrata, 1994, with H(x) = diag(1 + 0.2x, 1 + 0.1x): φ* = 3.2077 at x = 4.0604."""
    return _outrata("outrata-1994-a", "tune", bent=True)


def outrata_1994_b() -> Case:
    """The same with H = I."""
    return _outrata("outrata-1994-b", "report", bent=False)


# --- Hyperparameters --------------------------------------------------------------------------------------------------


def _diabetes() -> tuple[Points, Point, Points, Point]:
    from sklearn.datasets import load_diabetes

    inputs, target = load_diabetes(return_X_y=True, scaled=False)
    return _halved(np.asarray(inputs, dtype=np.float64), np.asarray(target, dtype=np.float64) / 100, 0)


def _halved(inputs: Points, target: Point, seed: int) -> tuple[Points, Point, Points, Point]:
    """Return training and validation halves; inputs are standardized by the training half, the target centered."""
    order = np.random.default_rng(seed).permutation(len(target))
    train, valid = order[: len(order) // 2], order[len(order) // 2 :]
    mean, scale = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    ready = (inputs - mean) / scale
    return ready[train], target[train] - target[train].mean(), ready[valid], target[valid] - target[train].mean()


def _validation(inputs: Points, target: Point, n: int) -> tuple[bizol.Objective, Residuals]:
    """Return the mean squared error on held-out data as the leader's objective."""
    size = np.sqrt(len(target))

    def residuals(x: Point, y: Point) -> Point:
        return np.asarray((inputs @ y - target) / size)

    return _squares(residuals, lambda x, y: np.zeros((len(target), n)), lambda x, y: inputs / size), residuals


def ridge_weights() -> Case:
    """Ridge regression with one penalty for each feature, their logarithms chosen on held-out data.

    Bilevel hyperparameter tuning: J. Kunapuli, K. Bennett, J. Hu and J.-S. Pang, 2008.
    """
    inputs, target, held, answers = _diabetes()
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 10)
    return _case(
        "ridge-weights",
        objective,
        lambda x: np.linalg.solve(gram + np.diag(np.exp(x)), moment),
        bizol.Box(-8 * np.ones(10), 4 * np.ones(10)),
        split="tune",
        source="J. Kunapuli and others, Optimization Methods and Software 23, 2008; scikit-learn's diabetes data",
        tags="hyperparameters smooth multimodal",
        residuals=residuals,
    )


def elastic_net() -> Case:
    """An elastic net: the logarithms of its two penalties, chosen on held-out data."""
    inputs, target, held, answers = _diabetes()
    rng = np.random.default_rng(5)
    inputs = np.hstack([inputs, rng.standard_normal((len(inputs), 20))])  # twenty features that say nothing
    held = np.hstack([held, rng.standard_normal((len(held), 20))])
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 2)
    return _case(
        "elastic-net",
        objective,
        lambda x: _soft_descent(gram, moment, np.full(30, np.exp(x[0])), float(np.exp(x[1]))),
        bizol.Box([-7, -7], [0, 2]),
        split="report",
        source="H. Zou and T. Hastie, J. Royal Statistical Society B 67, 2005; scikit-learn's diabetes data",
        tags="hyperparameters kinks multimodal",
        start=[-6.5, 1.5],
        residuals=residuals,
    )


def weighted_lasso() -> Case:
    """A lasso with one penalty for each feature, and a little ridge so that the fit is unique."""
    inputs, target, held, answers = _diabetes()
    gram, moment = inputs.T @ inputs / len(target), inputs.T @ target / len(target)
    objective, residuals = _validation(held, answers, 10)
    return _case(
        "weighted-lasso",
        objective,
        lambda x: _soft_descent(gram, moment, np.exp(x), 0.02),
        bizol.Box(-6 * np.ones(10), np.zeros(10)),
        split="tune",
        source="H. Zou, Journal of the American Statistical Association 101, 2006; scikit-learn's diabetes data",
        tags="hyperparameters kinks multimodal",
        start=-np.ones(10),
        residuals=residuals,
    )


def _soft_descent(gram: Points, moment: Point, lasso: Point, ridge: float) -> Point:
    """Minimize ½ yᵀ(gram + ridge I)y − momentᵀy + Σ lassoᵢ|yᵢ| by coordinate descent, and polish on its support."""
    hessian = gram + ridge * np.eye(moment.size)
    y = np.zeros(moment.size)
    for _ in range(2000):
        before = y.copy()
        for i in range(moment.size):
            pull = moment[i] - hessian[i] @ y + hessian[i, i] * y[i]
            y[i] = np.sign(pull) * max(abs(pull) - lasso[i], 0.0) / hessian[i, i]
        if np.abs(y - before).max() <= 1e-8 and ((y == 0) == (before == 0)).all():
            support, signs = y != 0, np.sign(y)
            exact = np.zeros(moment.size)
            exact[support] = np.linalg.solve(hessian[np.ix_(support, support)], (moment - lasso * signs)[support])
            slack = np.abs(moment - hessian @ exact) <= lasso + 1e-12
            if (np.sign(exact) == signs).all() and slack[~support].all():
                return exact
        if np.abs(y - before).max() <= 1e-13:
            break
    return y


def logistic_ridge() -> Case:
    """Logistic regression with one ridge penalty for each of thirty features, on scikit-learn's breast cancer data."""
    from scipy.special import expit
    from sklearn.datasets import load_breast_cancer

    inputs, labels = load_breast_cancer(return_X_y=True)
    train, target, held, answers = _halved(np.asarray(inputs, dtype=np.float64), np.asarray(labels * 2.0 - 1.0), 1)
    signs, held_signs = np.sign(target), np.sign(answers)
    rows, held_rows = train * signs[:, None], held * held_signs[:, None]

    def follower(x: Point) -> Point:
        penalty, y = np.exp(x), np.zeros(30)
        for _ in range(100):
            misses = expit(-rows @ y)
            gradient = penalty * y - rows.T @ misses / len(rows)
            hessian = np.diag(penalty) + (rows * (misses * (1 - misses))[:, None]).T @ rows / len(rows)
            move = np.linalg.solve(hessian, gradient)
            drop, length, cost = float(gradient @ move), 1.0, _logistic(rows, y) + penalty @ y**2 / 2
            while length > 1e-8 and _logistic(rows, y - length * move) + penalty @ (y - length * move) ** 2 / 2 > (
                cost - 1e-4 * length * drop + 1e-14
            ):
                length /= 2
            y = y - length * move
            if np.abs(move).max() <= 1e-11 * max(1.0, float(np.abs(y).max())):
                break
        return y

    return _case(
        "logistic-ridge",
        bizol.Objective(
            value=lambda x, y: _logistic(held_rows, y),
            grad_x=lambda x, y: np.zeros(30),
            grad_y=lambda x, y: -held_rows.T @ expit(-held_rows @ y) / len(held_rows),
        ),
        follower,
        bizol.Box(-8 * np.ones(30), 2 * np.ones(30)),
        split="report",
        source="F. Pedregosa, ICML 2016 (the form); scikit-learn's breast cancer data",
        tags="hyperparameters smooth multimodal",
        start=np.ones(30),
    )


def _logistic(rows: Points, y: Point) -> float:
    return float(np.logaddexp(0.0, -rows @ y).mean())


# --- Tolls ------------------------------------------------------------------------------------------------------------


def _equilibrium(paths: Points, demand: Point, group: Points, free: Point, slope: Point, spread: float) -> Response:
    """Return the logit stochastic user equilibrium of C. Fisk, 1980, as a function of link tolls, by damped Newton.

    Costs are affine in the link flows, so that the equilibrium is the unique minimizer of a strictly convex function.
    """
    bend = paths * slope @ paths.T  # how path costs rise with path flows

    def shares(cost: Point) -> tuple[Point, Points]:
        lowest = np.where(group > 0, cost, np.inf).min(axis=1)
        weight = np.exp(-spread * (cost - group.T @ lowest))
        part = weight / (group.T @ (group @ weight))
        flows = (group.T @ demand) * part
        return flows, spread * (np.diag(flows) - (group.T * demand) @ group * np.outer(part, part))

    def follower(tolls: Point) -> Point:
        base = paths @ (free + tolls)
        flows = shares(base)[0]
        for _ in range(200):
            target, gain = shares(base + bend @ flows)
            gap = flows - target
            size = float(np.abs(gap).max())
            if size <= 1e-13 * max(1.0, float(demand.max())):
                break
            move, length = np.linalg.solve(np.eye(flows.size) + gain @ bend, gap), 1.0
            while length > 1e-6:
                trial = flows - length * move
                if np.abs(trial - shares(base + bend @ trial)[0]).max() <= (1 - 0.1 * length) * size:
                    break
                length /= 2
            flows = flows - length * move
        return paths.T @ flows

    return follower


def _toll_objective(free: Point, slope: Point, weight: float) -> bizol.Objective:
    """Return the total travel time, and a small cost of tolling."""
    return bizol.Objective(
        value=lambda x, y: float(y @ (free + slope * y) + weight * x @ x),
        grad_x=lambda x, y: 2 * weight * x,
        grad_y=lambda x, y: free + 2 * slope * y,
    )


def tolls_braess() -> Case:
    """Tolls on the five links of D. Braess's network, 1968, under logit route choice."""
    paths = np.array([[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 1, 0, 1]], dtype=np.float64)
    free, slope = np.array([0.1, 5.0, 0.1, 5.0, 1.0]), np.array([1.0, 0.1, 1.0, 0.1, 0.1])
    follower = _equilibrium(paths, np.array([6.0]), np.ones((1, 3)), free, slope, 1.0)
    return _case(
        "tolls-braess",
        _toll_objective(free, slope, 0.01),
        follower,
        bizol.Box(np.zeros(5), 6 * np.ones(5)),
        split="tune",
        source="D. Braess, Unternehmensforschung 12, 1968; C. Fisk, Transportation Research B 14, 1980",
        tags="tolls smooth",
    )


def tolls_grid() -> Case:
    """Tolls on the twelve links of a grid of nine nodes, two pairs of origin and destination, under a cap on their sum.

    Logit route choice over the paths that never turn back (C. Fisk, 1980).
    """
    names = [f"{r}{c}>{r}{c + 1}" for r in range(3) for c in range(2)]
    names += [f"{r}{c}>{r + 1}{c}" for r in range(2) for c in range(3)]
    routes = [*_monotone((0, 0), (2, 2)), *_monotone((0, 1), (2, 2))]
    paths = np.array([[float(name in route) for name in names] for route in routes])
    group = np.array([[float(route[0].startswith(origin)) for route in routes] for origin in ("00", "01")])
    rng = np.random.default_rng(21)
    free, slope = rng.uniform(1.0, 3.0, 12), rng.uniform(0.05, 1.0, 12)
    follower = _equilibrium(paths, np.array([4.0, 3.0]), group, free, slope, 1.5)
    return _case(
        "tolls-grid",
        _toll_objective(free, slope, 0.005),
        follower,
        bizol.Polytope(A_ub=np.ones((1, 12)), b_ub=[8.0], lower=np.zeros(12), upper=4 * np.ones(12)),
        split="report",
        source="C. Fisk, Transportation Research B 14, 1980 (the equilibrium; the network is ours)",
        tags="tolls smooth",
    )


def _monotone(origin: tuple[int, int], end: tuple[int, int]) -> list[tuple[str, ...]]:
    if origin == end:
        return [()]
    found = []
    for step in ((0, 1), (1, 0)):
        after = (origin[0] + step[0], origin[1] + step[1])
        if after[0] <= end[0] and after[1] <= end[1]:
            link = f"{origin[0]}{origin[1]}>{after[0]}{after[1]}"
            found += [(link, *rest) for rest in _monotone(after, end)]
    return found


def _parallel(name: str, n: int, free_links: int, split: Split, seed: int) -> Case:
    """Return toll revenue on parallel links in Wardrop equilibrium, some of them free of toll.

    With costs aᵢ + xᵢ + bᵢ yᵢ the flows are max(0, (λ − aᵢ − xᵢ)/bᵢ), λ found exactly by sorting.
    """
    rng = np.random.default_rng([seed, n, 31])
    total = n + free_links
    base, slope = rng.uniform(1.0, 4.0, total), rng.uniform(0.2, 1.0, total)
    base[n:] += 2.5  # the free ones are slow
    demand = float(total)

    def follower(x: Point) -> Point:
        cost = base + np.append(x, np.zeros(free_links))
        order = np.argsort(cost)
        inverse, weighted = np.cumsum(1 / slope[order]), np.cumsum(cost[order] / slope[order])
        levels = (demand + weighted) / inverse  # the level if the first k links are used
        count = int(np.flatnonzero(levels > cost[order])[-1])
        return np.asarray(np.maximum(0.0, (levels[count] - cost) / slope))

    return _case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-x @ y[:n]),
            grad_x=lambda x, y: -y[:n],
            grad_y=lambda x, y: np.append(-x, np.zeros(free_links)),
        ),
        follower,
        bizol.Box(np.zeros(n), 8 * np.ones(n)),
        split=split,
        source="M. Labbé, P. Marcotte and G. Savard, Management Science 44, 1998; J. G. Wardrop, 1952",
        tags="tolls kinks multimodal",
        start=np.full(n, 3.0),
    )


def tolls_parallel_a() -> Case:
    """Toll revenue on four of six parallel links."""
    return _parallel("tolls-parallel-a", 4, 2, "tune", 1)


def tolls_parallel_b() -> Case:
    """Toll revenue on ten of thirteen parallel links."""
    return _parallel("tolls-parallel-b", 10, 3, "report", 2)


# --- Prices -----------------------------------------------------------------------------------------------------------


def _consumers(name: str, goods: int, count: int, feasible_set: FeasibleSet, split: Split, seed: int) -> Case:
    """Return the profit from consumers with quadratic utility and a limited budget.

    Consumer i maximizes uᵢᵀy − ½ yᵀDᵢy − xᵀy subject to xᵀy ≤ wᵢ and 0 ≤ y ≤ cᵢ: y = clip((u − (1 + λ)x)/d, 0, c),
    with the multiplier λ of the budget found exactly among its kinks.
    """
    rng = np.random.default_rng([seed, goods, 41])
    utility, bend = rng.uniform(0.5, 3.0, (count, goods)), rng.uniform(0.5, 2.0, (count, goods))
    cap, wealth = rng.uniform(0.3, 1.2, (count, goods)), rng.uniform(0.3, 2.0, count)
    expense = rng.uniform(0.2, 0.8, goods)

    def bundle(multiplier: Point, prices: Point) -> Points:
        return np.clip((utility - (1 + multiplier[:, None]) * prices) / bend, 0.0, cap)

    everyone = np.arange(count)

    def follower(x: Point) -> Point:
        prices = np.maximum(x, 1e-3)
        # spending falls with λ, linearly between kinks: where a good leaves its cap, and where it drops out
        kinks = np.hstack([utility / prices - 1, (utility - bend * cap) / prices - 1, np.zeros((count, 1))])
        kinks = np.sort(np.maximum(kinks, 0.0), axis=1)  # (count, 2 goods + 1)
        spent = np.clip((utility - (1 + kinks.T[..., None]) * prices) / bend, 0.0, cap) @ prices  # (2 goods + 1, count)
        after = np.argmax(spent <= wealth[None], axis=0)  # the first kink where the budget suffices
        before = np.maximum(after - 1, 0)
        drop = spent[before, everyone] - spent[after, everyone]
        part = np.divide(spent[before, everyone] - wealth, drop, out=np.ones(count), where=drop > 0)
        multiplier = kinks[everyone, before] + part * (kinks[everyone, after] - kinks[everyone, before])
        return bundle(np.where(after == 0, 0.0, multiplier), prices).ravel()

    def sold(y: Point) -> Point:
        return np.asarray(y.reshape(count, goods).sum(axis=0))

    return _case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-(x - expense) @ sold(y)),
            grad_x=lambda x, y: -sold(y),
            grad_y=lambda x, y: np.tile(expense - x, count),
        ),
        follower,
        feasible_set,
        split=split,
        source="B. Colson, P. Marcotte and G. Savard, Annals of Operations Research 153, 2007 (the form)",
        tags="prices kinks multimodal",
    )


def consumers_box() -> Case:
    """Prices of five goods for twenty consumers."""
    return _consumers("consumers-box", 5, 20, bizol.Box(0.2 * np.ones(5), 3 * np.ones(5)), "tune", 1)


def consumers_polytope() -> Case:
    """Prices of eight goods for thirty consumers, the mean price capped and neighbors kept close."""
    close = np.vstack([sign * (np.eye(8)[:-1] - np.eye(8)[1:]) for sign in (1, -1)])
    chosen = bizol.Polytope(
        A_ub=np.vstack([np.ones((1, 8)), close]),
        b_ub=np.append(10.0, np.full(14, 0.4)),
        lower=0.2 * np.ones(8),
        upper=3 * np.ones(8),
    )
    return _consumers("consumers-polytope", 8, 30, chosen, "report", 2)


def _logit(name: str, products: int, segments: int, feasible_set: FeasibleSet, split: Split, seed: int) -> Case:
    """Return revenue under a mixture of logit demands, which has several peaks: W. Hanson and K. Martin, 1996."""
    rng = np.random.default_rng([seed, products, 51])
    appeal = rng.uniform(0.0, 6.0, (segments, products))
    sensitivity, weight = np.exp(rng.uniform(-1.0, 1.5, segments)), rng.dirichlet(2 * np.ones(segments))
    expense = rng.uniform(0.1, 0.5, products)

    def follower(x: Point) -> Point:
        wish = np.hstack([appeal - sensitivity[:, None] * x, np.zeros((segments, 1))])  # the last buys nothing
        share = np.exp(wish - wish.max(axis=1, keepdims=True))
        return np.asarray(weight @ (share / share.sum(axis=1, keepdims=True))[:, :-1])

    return _case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-(x - expense) @ y), grad_x=lambda x, y: -y, grad_y=lambda x, y: expense - x
        ),
        follower,
        feasible_set,
        split=split,
        source="W. Hanson and K. Martin, Management Science 42, 1996 (the form; data are drawn)",
        tags="prices smooth multimodal",
    )


def logit_pricing_a() -> Case:
    """Prices of three products for four segments."""
    return _logit("logit-pricing-a", 3, 4, bizol.Box(np.zeros(3), 12 * np.ones(3)), "tune", 1)


def logit_pricing_b() -> Case:
    """Prices of ten products for six segments."""
    return _logit("logit-pricing-b", 10, 6, bizol.Box(np.zeros(10), 12 * np.ones(10)), "report", 2)


# --- Games ------------------------------------------------------------------------------------------------------------


def _cournot(name: str, firms: int, feasible_set: FeasibleSet, split: Split, seed: int) -> Case:
    """Return taxes on firms that compete in quantities, with capacities, against damage from what they make.

    Firm i answers yᵢ = clip((a − bY − cᵢ − xᵢ)/(b + dᵢ), 0, capᵢ) to the total Y; the one Y that agrees with its sum is
    found exactly among the kinks (an aggregative game: R. Cornes and R. Hartley, 2012).
    """
    rng = np.random.default_rng([seed, firms, 61])
    height, steep = 10.0, 6.0 / firms
    cost, bend = rng.uniform(0.5, 4.0, firms), rng.uniform(0.1, 0.6, firms)
    cap, damage = rng.uniform(0.4, 1.6, firms), rng.uniform(0.0, 3.0, firms)
    dirt = rng.uniform(0.0, 1.0, (3, firms))

    def follower(x: Point) -> Point:
        # Σ yᵢ(Y) falls with Y, linearly between kinks: where a firm leaves its capacity, and where it leaves the market
        room = height - cost - x
        kinks = np.sort(np.concatenate([room, room - cap * (steep + bend), [0.0, steep * cap.sum()]]) / steep)
        wanted = np.clip((room - steep * kinks[:, None]) / (steep + bend), 0.0, cap).sum(axis=1)
        total = np.interp(0.0, kinks - wanted, kinks)
        return np.asarray(np.clip((room - steep * total) / (steep + bend), 0.0, cap))

    def value(x: Point, y: Point) -> float:
        total, left = float(y.sum()), dirt @ y
        surplus = height * total - steep * total**2 / 2 - cost @ y - bend @ y**2 / 2
        return float(damage @ y + left @ left / firms + 0.02 * x @ x - surplus)

    def grad_y(x: Point, y: Point) -> Point:
        return np.asarray(damage + 2 * dirt.T @ (dirt @ y) / firms - (height - steep * y.sum() - cost - bend * y))

    return _case(
        name,
        bizol.Objective(value=value, grad_x=lambda x, y: 0.04 * x, grad_y=grad_y),
        follower,
        feasible_set,
        split=split,
        source="R. Cornes and R. Hartley, Economic Theory 51, 2012 (aggregative games; data are drawn)",
        tags="game kinks multimodal",
    )


def cournot_box() -> Case:
    """Taxes and subsidies for eight firms."""
    return _cournot("cournot-box", 8, bizol.Box(-3 * np.ones(8), 6 * np.ones(8)), "tune", 1)


def cournot_ball() -> Case:
    """Taxes and subsidies for twenty-five firms, limited in their root mean square."""
    return _cournot("cournot-ball", 25, bizol.Ball(np.zeros(25), 8.0), "report", 2)


def cournot_small_ball() -> Case:
    """Taxes and subsidies for four firms, limited in their root mean square."""
    return _cournot("cournot-small-ball", 4, bizol.Ball(np.zeros(4), 3.0), "tune", 3)


def charging() -> Case:
    """Prices of eight hours for four fleets that charge: a congestion game, by best responses until they stand still.

    Fleet i minimizes ½d‖y‖² + (x + base + s Σ_j y_j)ᵀy over 0 ≤ y ≤ cap with a fixed sum (the game of Z. Ma,
    D. Callaway and I. Hiskens, 2013). Prices keep their mean.
    """
    rng = np.random.default_rng(71)
    hours, fleets = 8, 4
    base = 1.0 + np.cos(np.arange(hours) / hours * 2 * np.pi) + 0.2 * rng.standard_normal(hours)
    need, caps = rng.uniform(1.5, 3.0, fleets), rng.uniform(0.7, 1.2, fleets)
    steep, bend = 0.3, 0.6
    wanted = 0.8 * rng.uniform(0.5, 1.5, hours)

    def follower(x: Point) -> Point:
        y = np.tile(need[:, None] / hours, (1, hours))
        for _ in range(400):
            before = y.copy()
            for i in range(fleets):
                others = y.sum(axis=0) - y[i]
                # ½(d + 2s)‖y‖² + (x + base + s·others)ᵀy: the nearest point to the wish, as all hours bend alike
                wish = -(x + base + steep * others) / (bend + 2 * steep)
                y[i] = _share_out(wish, caps[i], need[i])
            if np.abs(y - before).max() <= 1e-13:
                break
        return y.ravel()

    def load(y: Point) -> Point:
        return np.asarray(y.reshape(fleets, hours).sum(axis=0)) - wanted

    chosen = bizol.Polytope(
        A_eq=np.ones((1, hours)), b_eq=[8.0], lower=np.zeros(hours), upper=3 * np.ones(hours)
    )  # the mean price is one
    by_y = np.tile(np.eye(hours), (1, fleets))

    def residuals(x: Point, y: Point) -> Point:
        return np.concatenate([load(y), 0.1 * (x - 1)])

    return _case(
        "charging",
        _squares(
            residuals,
            lambda x, y: np.vstack([np.zeros((hours, hours)), 0.1 * np.eye(hours)]),
            lambda x, y: np.vstack([by_y, np.zeros((hours, hours * fleets))]),
        ),
        follower,
        chosen,
        split="report",
        source="Z. Ma, D. Callaway and I. Hiskens, IEEE Transactions on Control Systems Technology 21, 2013",
        tags="game kinks",
        start=np.array([3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        residuals=residuals,
    )


def _share_out(wish: Point, cap: float, total: float) -> Point:
    """Return the point of {0 ≤ y ≤ cap, Σ y = total} nearest to the wish: clip(wish + level), its level exact.

    The sum rises with the level, linearly between kinks at −wish and cap − wish.
    """
    kinks = np.sort(np.concatenate([-wish, cap - wish]))
    sums = np.clip(wish + kinks[:, None], 0.0, cap).sum(axis=1)
    level = np.interp(total, sums, kinks)
    return np.asarray(np.clip(wish + level, 0.0, cap))


# --- Shares of a budget -----------------------------------------------------------------------------------------------


def _allocation(name: str, n: int, split: Split, seed: int, *, kinked: bool) -> Case:
    """Return a budget shared out among markets whose answers rise in an S and saturate: J. Little, 1979.

    Neighbors take a little of each other's customers. With `kinked`, the answer is a ramp between two thresholds.
    """
    rng = np.random.default_rng([seed, n, 81])
    top, threshold = rng.uniform(0.5, 1.5, n), rng.uniform(0.3, 1.0, n) / n * 2
    spill = 0.15 * rng.uniform(0.0, 1.0, (n, n)) / n
    worth = rng.uniform(0.5, 1.5, n)

    def follower(x: Point) -> Point:
        effort = np.maximum(x, 0.0) + spill @ np.maximum(x, 0.0)
        if kinked:
            return top * np.clip((effort - 0.4 * threshold) / threshold, 0.0, 1.0)
        return np.asarray(top * effort**2 / (threshold**2 + effort**2))

    return _case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-worth @ np.sqrt(y + 0.05) + 0.2 * x @ x),
            grad_x=lambda x, y: 0.4 * x,
            grad_y=lambda x, y: -worth / (2 * np.sqrt(y + 0.05)),
        ),
        follower,
        bizol.Simplex(n),
        split=split,
        start=2 * np.arange(1, n + 1) / (n * (n + 1)),
        source="J. D. C. Little, Operations Research 27, 1979 (response functions; data are drawn)",
        tags=f"allocation multimodal {'kinks' if kinked else 'smooth'}",
    )


def allocation_a() -> Case:
    """A budget for six markets, with smooth S-shaped answers."""
    return _allocation("allocation-a", 6, "tune", 1, kinked=False)


def allocation_b() -> Case:
    """A budget for ten markets, with ramps."""
    return _allocation("allocation-b", 10, "report", 2, kinked=True)


def allocation_c() -> Case:
    """A budget for thirty markets, with ramps."""
    return _allocation("allocation-c", 30, "tune", 3, kinked=True)


def allocation_d() -> Case:
    """A budget for twenty markets, with smooth S-shaped answers."""
    return _allocation("allocation-d", 20, "report", 4, kinked=False)


SUITE: tuple[Callable[[], Case], ...] = (
    tracking_box,
    tracking_ball,
    tracking_grid_50,
    tracking_grid_100,
    tracking_response_a,
    tracking_response_b,
    tracking_saturated_a,
    tracking_saturated_b,
    tracking_n5,
    tracking_n50,
    tracking_n100,
    tracking_n200,
    tracking_smooth_a,
    tracking_smooth_b,
    tracking_over_simplex,
    tracking_over_ball,
    tracking_over_small_ball,
    mpqp_box,
    mpqp_polytope,
    bard_1988_1,
    bard_1988_2,
    shimizu_aiyoshi_1981,
    aiyoshi_shimizu_1984,
    clark_westerberg_1990,
    falk_liu_1995,
    muu_quy_2003_1,
    muu_quy_2003_2,
    visweswaran_1996,
    colson_2002_5,
    outrata_1994_a,
    outrata_1994_b,
    ridge_weights,
    elastic_net,
    weighted_lasso,
    logistic_ridge,
    tolls_braess,
    tolls_grid,
    tolls_parallel_a,
    tolls_parallel_b,
    consumers_box,
    consumers_polytope,
    logit_pricing_a,
    logit_pricing_b,
    cournot_box,
    cournot_ball,
    cournot_small_ball,
    charging,
    allocation_a,
    allocation_b,
    allocation_c,
    allocation_d,
)


def build(name: str) -> Case:
    """Return the case of this name."""
    return _builders()[name]()


def names() -> tuple[str, ...]:
    """Return the names of all cases, in order."""
    return tuple(_builders())


def _builders() -> dict[str, Callable[[], Case]]:
    return {builder.__name__.replace("_", "-"): builder for builder in SUITE}
