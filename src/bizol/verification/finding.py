"""The result of checking a statement, and the small problems that statements are checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from bizol.arrays import Point
from bizol.feasible_sets import Box
from bizol.followers import (
    BallProjection,
    BoxProjection,
    QuadraticProgram,
    SimplexProjection,
    SmoothSaturation,
)
from bizol.objectives import Tracking
from bizol.problem import Objective, Problem
from bizol.reproduction.instances import Agents, draw_agents


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement, what was checked of it, and the result."""

    statement: str
    checked: str
    on: str
    measured: float
    relation: Literal["≤", "≥"]
    bound: float
    note: str = ""
    also: bool = True  # whether what the note says holds as well

    @property
    def holds(self) -> bool:
        """Whether the measured value satisfies its bound, and the rest of the statement holds."""
        if self.relation == "≤":
            satisfied = self.measured <= self.bound
        else:
            satisfied = self.measured >= self.bound
        return bool(satisfied) and self.also


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """A small tracking problem with a follower of known structure."""

    name: str
    problem: Problem
    objective: Any  # a Tracking, where constants are wanted
    follower: Any
    box: Box


def example(kind: str, *, n: int = 3, m: int = 6, seed: int = 0) -> Example:
    """Return a small problem with a "box", "ball", "simplex", "program" or "smooth" response."""
    rng = np.random.default_rng(seed)
    agents = draw_agents(
        rng,
        n=n,
        m=m,
        outputs=4,
        gain=float(np.sqrt(n)),  # entries of A ~ N(0, 1)
        baseline=0.3,
        capacity=(0.7, 0.7),
    )
    objective = Tracking(
        effort=0.8,
        tracking=0.6,
        payment=0.4,
        x_ref=1.5 * rng.standard_normal(n),
        y_ref=rng.standard_normal(4),
        output=agents.output,
        coupling=agents.coupling,
    )
    follower = _make_follower(kind, agents, rng)
    box = Box(-np.ones(n), np.ones(n))
    return Example(
        name=f"{kind} response, n={n}, m={m}",
        problem=Problem(objective.objective(), follower, box),
        objective=objective,
        follower=follower,
        box=box,
    )


def _make_follower(kind: str, agents: Agents, rng: np.random.Generator) -> Any:
    """Return the response of the agents; a program's Hessian and constraints are drawn as well."""
    matrix = agents.matrix
    offset = agents.offset
    if kind == "box":
        return BoxProjection(matrix, offset, -agents.capacity, agents.capacity)
    if kind == "ball":
        return BallProjection(matrix, offset, 1.3)
    if kind == "simplex":
        return SimplexProjection(matrix, offset, 1.0)
    if kind == "smooth":
        return SmoothSaturation(matrix, offset, agents.capacity)
    if kind == "program":
        m = offset.size
        root = rng.standard_normal((m, m)) / np.sqrt(m)
        hessian = root @ root.T + np.eye(m)
        constraints = rng.standard_normal((m, m))
        return QuadraticProgram(hessian, offset, -matrix, G=constraints, h=np.full(m, 0.5))
    raise ValueError(f"example(kind=...) does not know {kind!r}.")


def vee() -> Example:
    """Return the problem |x₁| + |x₂| + a tilt, as a box response.

    At 0 two kinks cross and the Clarke gap is zero.
    """
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    follower = BoxProjection(rows, np.zeros(4), np.zeros(4), np.full(4, 9.0))
    objective = Objective(
        value=lambda x, y: float(y.sum() + 0.3 * x[0] - 0.2 * x[1]),
        grad_x=lambda x, y: np.array([0.3, -0.2]),
        grad_y=lambda x, y: np.ones(4),
    )
    box = Box([-1, -1], [1, 2])
    return Example(
        name="|x₁| + |x₂|, tilted",
        problem=Problem(objective, follower, box),
        follower=follower,
        box=box,
        objective=None,
    )


def decisions(case: Example, count: int, seed: int = 1) -> Iterator[Point]:
    """Yield random decisions of the box."""
    rng = np.random.default_rng(seed)
    yield from rng.uniform(case.box.lower, case.box.upper, (count, case.box.dimension))


def on_kinks(case: Example, kinks: int, seed: int = 1) -> Point:
    """Return a decision exactly on the upper kinks of the first agents of a box response."""
    follower: BoxProjection = case.follower
    x = next(decisions(case, 1, seed))
    rows = follower.matrix[:kinks]
    wanted = follower.upper[:kinks] - follower.offset[:kinks]
    return np.asarray(x + np.linalg.pinv(rows) @ (wanted - rows @ x))


def on_boundary(case: Example, seed: int = 1) -> Point:
    """Return a decision at which a ball response is exactly at its capacity."""
    from scipy.optimize import brentq

    follower: BallProjection = case.follower
    inside = np.linalg.lstsq(follower.matrix, -follower.offset, rcond=None)[0]
    direction = next(decisions(case, 1, seed))

    def excess(step: float) -> float:
        wish = follower.matrix @ (inside + step * direction) + follower.offset
        return float(np.linalg.norm(wish)) - follower.radius

    return np.asarray(inside + brentq(excess, 0.0, 1e3, xtol=1e-15) * direction)


def numerical_gradient(function: Any, x: Point, width: float = 1e-6) -> Point:
    """Return central differences of a function of x."""
    steps = width * np.eye(x.size)
    return np.array([(function(x + step) - function(x - step)) / (2 * width) for step in steps])
