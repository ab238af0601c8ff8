"""Instances of the tracking problem of Section V.

The paper prints the sizes and the parameters of the methods, but not the constants of its
instances. Those below were found by search, the seed of the draw among them, so that both methods
land on its tables; they are ours, not the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from bizol.arrays import Point, Points
from bizol.feasible_sets import Box
from bizol.followers import BallProjection, BoxProjection
from bizol.objectives import Tracking
from bizol.problem import Problem


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What the generator of instances needs to know besides the sizes."""

    effort: float  # μ
    tracking: float  # κ
    payment: float  # β
    gain: float  # scale of A
    baseline: float  # scale of d
    outputs: int  # p
    reference: float  # scale of x_ref
    reference_low: float  # smallest entry of x_ref, relative to its scale
    target: float  # scale of y_ref
    capacity: tuple[float, float] | None = None  # range of the individual capacities
    radius: float | None = None  # or the one capacity that all share
    seed: int = 0  # of the draw


BOX = Constants(
    effort=0.5783,
    tracking=0.9161,
    payment=0.3590,
    gain=1.1236,
    baseline=0.4513,
    outputs=100,
    capacity=(0.2854, 0.4884),
    reference=2.8959,
    reference_low=0.2029,
    target=0.0843,
)
BALL = Constants(  # one capacity for all
    effort=0.9960,
    tracking=0.5201,
    payment=1.7560,
    gain=0.8458,
    baseline=0.0454,
    outputs=20,
    reference=1.7317,
    reference_low=0.99,
    target=0.0215,
    radius=1.2557,
    seed=278,
)
GRID = Constants(  # for the grid of dimensions, individual capacities again
    effort=0.5356,
    tracking=0.7494,
    payment=1.4364,
    gain=1.0525,
    baseline=0.2258,
    outputs=10,
    capacity=(0.2772, 0.5698),
    reference=4.0779,
    reference_low=0.6295,
    target=0.0926,
    seed=88,
)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Agents:
    """A drawn population of m agents: how they react to n incentives and how they are measured."""

    matrix: Points  # A, (m, n)
    offset: Point  # d, (m,)
    output: Points  # H, (p, m)
    coupling: Points  # C, (n, m)
    capacity: Point  # (m,)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrackingInstance:
    """An incentive-based tracking problem, its parts, and the point all runs start from."""

    problem: Problem
    objective: Tracking
    follower: BoxProjection | BallProjection
    start: Point


def draw_agents(
    rng: np.random.Generator,
    *,
    n: int,
    m: int,
    outputs: int,
    gain: float,
    baseline: float,
    capacity: tuple[float, float],
) -> Agents:
    """Draw the agents of a tracking problem; every instance draws them first and in this order.

    Args:
        rng: The generator to draw from.
        n: Number of incentives.
        m: Number of agents.
        outputs: Number of tracked outputs p.
        gain: Scale of A; a row of A has about this norm.
        baseline: Scale of d, the response without incentives.
        capacity: Range of the individual capacities.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> agents = draw_agents(
        ...     rng, n=2, m=5, outputs=3, gain=1.0, baseline=0.3, capacity=(0.3, 1.0)
        ... )
        >>> agents.matrix.shape, agents.output.shape, agents.coupling.shape
        ((5, 2), (3, 5), (2, 5))

    """
    return Agents(  # the arguments are evaluated, and so drawn, from top to bottom
        matrix=rng.standard_normal((m, n)) * (gain / np.sqrt(n)),
        offset=baseline * rng.standard_normal(m),
        output=rng.standard_normal((outputs, m)) / np.sqrt(m),
        coupling=rng.standard_normal((n, m)) / np.sqrt(m),
        capacity=rng.uniform(*capacity, m),
    )


def tracking_instance(constants: Constants, *, n: int = 20, m: int = 200) -> TrackingInstance:
    """Draw an instance with n incentives in [−1, 1] and m agents.

    Example:
        >>> instance = tracking_instance(BOX)
        >>> instance.follower(instance.start).shape
        (200,)

    """
    rng = np.random.default_rng(constants.seed)
    agents = draw_agents(
        rng,
        n=n,
        m=m,
        outputs=constants.outputs,
        gain=constants.gain,
        baseline=constants.baseline,
        # Drawn even where a shared radius makes them unused, so that later draws are the same.
        capacity=constants.capacity or (0.0, 1.0),
    )
    signs = np.sign(rng.standard_normal(n))
    x_ref = constants.reference * signs * rng.uniform(constants.reference_low, 1.0, n)
    y_ref = constants.target * rng.standard_normal(constants.outputs)
    start = rng.uniform(-1.0, 1.0, n)
    objective = Tracking(
        effort=constants.effort,
        tracking=constants.tracking,
        payment=constants.payment,
        x_ref=x_ref,
        y_ref=y_ref,
        output=agents.output,
        coupling=agents.coupling,
    )
    follower = _make_follower(agents, radius=constants.radius)
    return _assemble(objective, follower, start, width=1.0)


def response_dominated_instance(
    response: Literal["box", "ball"] = "box",
    *,
    width: float = 1.0,
    capacity: tuple[float, float] = (0.3, 1.0),
    seed: int = 0,
) -> TrackingInstance:
    """Draw an instance whose objective is dominated by the response: n = 20, m = 200, p = 40.

    The target y_ref is close to the outputs of a hidden decision. In Section V the effort term
    decides; here the tracking term does.

    Args:
        response: Individual capacities ("box") or one shared capacity ("ball").
        width: The feasible set is [−width, width]ⁿ.
        capacity: Range of the individual capacities.
        seed: Seed of the draw.

    Example:
        >>> instance = response_dominated_instance("ball")
        >>> instance.follower(instance.start).shape
        (200,)

    """
    rng = np.random.default_rng(seed)
    n, m, outputs = 20, 200, 40
    agents = draw_agents(rng, n=n, m=m, outputs=outputs, gain=1.0, baseline=0.3, capacity=capacity)
    x_ref = 0.5 * width * rng.uniform(-1, 1, n)
    hidden = 0.7 * width * rng.uniform(-1, 1, n)
    noise = 0.1 * rng.standard_normal(outputs)
    start = width * rng.uniform(-1, 1, n)
    follower = _make_follower(agents, radius=5.0 if response == "ball" else None)
    objective = Tracking(
        effort=0.1,
        tracking=5.0,
        payment=0.1,
        x_ref=x_ref,
        y_ref=agents.output @ follower(hidden) + noise,
        output=agents.output,
        coupling=agents.coupling,
    )
    return _assemble(objective, follower, start, width=width)


def _make_follower(agents: Agents, *, radius: float | None) -> BoxProjection | BallProjection:
    """Return the response of the agents, who share one capacity where a radius is given."""
    if radius is None:
        return BoxProjection(agents.matrix, agents.offset, -agents.capacity, agents.capacity)
    return BallProjection(agents.matrix, agents.offset, radius)


def _assemble(
    objective: Tracking,
    follower: BoxProjection | BallProjection,
    start: Point,
    *,
    width: float,
) -> TrackingInstance:
    """Return the instance whose feasible set is [−width, width]ⁿ."""
    box = Box(-width * np.ones(start.size), width * np.ones(start.size))
    problem = Problem(objective.objective(), follower, box, vectorized=True)
    return TrackingInstance(problem=problem, objective=objective, follower=follower, start=start)
