"""Instances of the tracking problem of Section V.

The paper prints the sizes and the parameters of the methods, but not the constants of its
instances. Those below were found by search, the seed of the draw among them, so that both methods
land on its tables; they are ours, not the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point
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
class TrackingInstance:
    """An incentive-based tracking problem, its parts, and the point all runs start from."""

    problem: Problem
    objective: Tracking
    follower: BoxProjection | BallProjection
    start: Point


def tracking_instance(constants: Constants, *, n: int = 20, m: int = 200) -> TrackingInstance:
    """Draw an instance with n incentives in [−1, 1] and m agents.

    Example:
        >>> instance = tracking_instance(BOX)
        >>> instance.follower(instance.start).shape
        (200,)

    """
    rng = np.random.default_rng(constants.seed)
    matrix = rng.standard_normal((m, n)) * (constants.gain / np.sqrt(n))
    offset = constants.baseline * rng.standard_normal(m)
    output = rng.standard_normal((constants.outputs, m)) / np.sqrt(m)
    coupling = rng.standard_normal((n, m)) / np.sqrt(m)
    capacity = rng.uniform(
        *(constants.capacity or (0.0, 1.0)), m
    )  # also where none is used: the draws after it stay
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
        output=output,
        coupling=coupling,
    )
    follower = (
        BoxProjection(matrix, offset, -capacity, capacity)
        if constants.radius is None
        else BallProjection(matrix, offset, constants.radius)
    )
    problem = Problem(
        objective.objective(), follower, Box(-np.ones(n), np.ones(n)), vectorized=True
    )
    return TrackingInstance(problem=problem, objective=objective, follower=follower, start=start)
