"""The tracking problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

import bizol
from benchmarks.peers.problems.case import PAPER, Case, Response, Split, make_case
from benchmarks.peers.sets import project
from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet
from bizol.followers import BallProjection, BoxProjection, SimplexProjection, SmoothSaturation
from bizol.objectives import Tracking
from bizol.reproduction.instances import BALL, BOX, GRID, draw_agents, tracking_instance


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


def tracking_case(
    regime: Regime,
    name: str,
    *,
    split: Split,
    tags: str,
    feasible_set: FeasibleSet | None = None,
    follower: Literal["box", "ball", "smooth", "simplex"] = "box",
) -> Case:
    """Draw a tracking problem.

    The target is what the follower answers to a hidden decision, plus a little.
    """
    rng = np.random.default_rng([regime.seed, regime.n, 7])
    n, m = regime.n, regime.m
    agents = draw_agents(
        rng,
        n=n,
        m=m,
        outputs=regime.outputs,
        gain=regime.gain,
        baseline=0.3,
        capacity=regime.capacity,
    )
    matrix, offset, capacity = agents.matrix, agents.offset, agents.capacity
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
    y_ref = agents.output @ response(hidden) + 0.1 * rng.standard_normal(regime.outputs)
    phi = Tracking(
        effort=regime.effort,
        tracking=regime.tracking,
        payment=regime.payment,
        x_ref=x_ref,
        y_ref=y_ref,
        output=agents.output,
        coupling=agents.coupling,
    )

    def residuals(x: Point, y: Point) -> Point:
        effort = np.sqrt(regime.effort / 2) * (x - x_ref)
        miss = np.sqrt(regime.tracking / 2) * (agents.output @ y - y_ref)
        return np.concatenate([effort, miss])

    objective = bizol.Objective(phi.value, phi.grad_x, phi.grad_y, joint=phi.joint)
    box = bizol.Box(-regime.radius * np.ones(n), regime.radius * np.ones(n))
    chosen = box if feasible_set is None else feasible_set
    return make_case(
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
    return make_case(
        name,
        objective,
        response,
        chosen,
        split=split,
        source=PAPER,
        tags=f"tracking {tags}",
        start=instance.start,
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
    return tracking_case(Regime(seed=1), "tracking-response-a", split="tune", tags="kinks")


def tracking_response_b() -> Case:
    """The response term dominates and the solution is inside X: another draw."""
    return tracking_case(
        Regime(seed=2, payment=0.5), "tracking-response-b", split="report", tags="kinks"
    )


def tracking_saturated_a() -> Case:
    """Most agents are at their limits almost everywhere.

    X = [−2, 2]²⁰, capacities between 0.1 and 0.4.
    """
    regime = Regime(seed=3, radius=2.0, capacity=(0.1, 0.4), payment=0.2, gain=1.1)
    return tracking_case(regime, "tracking-saturated-a", split="tune", tags="kinks multimodal")


def tracking_saturated_b() -> Case:
    """Most agents are at their limits almost everywhere: another draw, a sum of squares."""
    regime = Regime(seed=4, radius=2.0, capacity=(0.1, 0.4), gain=1.1)
    return tracking_case(regime, "tracking-saturated-b", split="report", tags="kinks multimodal")


def tracking_n5() -> Case:
    """Tracking with five incentives and thirty agents."""
    return tracking_case(
        Regime(seed=5, n=5, m=30, outputs=10), "tracking-n5", split="tune", tags="kinks"
    )


def tracking_n50() -> Case:
    """Tracking with fifty incentives."""
    return tracking_case(
        Regime(seed=6, n=50, payment=0.3), "tracking-n50", split="report", tags="kinks"
    )


def tracking_n100() -> Case:
    """Tracking with a hundred incentives."""
    return tracking_case(
        Regime(seed=7, n=100, outputs=100), "tracking-n100", split="tune", tags="kinks"
    )


def tracking_n200() -> Case:
    """Tracking with two hundred incentives."""
    regime = Regime(seed=8, n=200, m=300, outputs=150, payment=0.2)
    return tracking_case(regime, "tracking-n200", split="report", tags="kinks")


def tracking_smooth_a() -> Case:
    """Agents that tire smoothly."""
    regime = Regime(seed=9, capacity=(0.2, 0.6), payment=0.3)
    return tracking_case(
        regime, "tracking-smooth-a", split="tune", tags="smooth", follower="smooth"
    )


def tracking_smooth_b() -> Case:
    """Agents that tire smoothly: ten incentives, strong saturation, a sum of squares."""
    regime = Regime(seed=10, n=10, m=60, radius=2.0, capacity=(0.1, 0.4))
    return tracking_case(
        regime, "tracking-smooth-b", split="report", tags="smooth multimodal", follower="smooth"
    )


def tracking_over_simplex() -> Case:
    """A budget of incentives to be shared out among fifteen."""
    regime = Regime(seed=11, n=15, m=100, gain=3.0, payment=0.3)
    chosen = bizol.Simplex(15, 3.0)
    return tracking_case(
        regime, "tracking-over-simplex", split="tune", tags="kinks", feasible_set=chosen
    )


def tracking_over_ball() -> Case:
    """Thirty incentives of limited energy, and a total that the agents share out."""
    regime = Regime(seed=12, n=30, m=100, payment=0.2)
    chosen = bizol.Ball(np.zeros(30), 2.0)
    name = "tracking-over-ball"
    return tracking_case(
        regime, name, split="report", tags="kinks", feasible_set=chosen, follower="simplex"
    )


def tracking_over_small_ball() -> Case:
    """Eight incentives of limited energy, and agents with one capacity for all."""
    regime = Regime(seed=13, n=8, m=40, payment=0.5, capacity=(0.2, 0.6))
    chosen = bizol.Ball(np.zeros(8), 1.5)
    name = "tracking-over-small-ball"
    return tracking_case(
        regime, name, split="tune", tags="kinks", feasible_set=chosen, follower="ball"
    )
