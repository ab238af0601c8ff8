"""What checking a statement yields, and the small problems statements are checked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement, what was checked of it, and how it came out."""

    statement: str
    checked: str
    on: str
    measured: float
    relation: Literal["≤", "≥"]
    bound: float
    note: str = ""
    also: bool = True  # whether what the note tells came out as well

    @property
    def holds(self) -> bool:
        """Whether the measured value keeps its bound, and the rest of the statement came out too."""
        kept = self.measured <= self.bound if self.relation == "≤" else self.measured >= self.bound
        return bool(kept) and self.also


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
    matrix, offset = rng.standard_normal((m, n)), 0.3 * rng.standard_normal(m)
    objective = Tracking(
        effort=0.8,
        tracking=0.6,
        payment=0.4,
        x_ref=1.5 * rng.standard_normal(n),
        y_ref=rng.standard_normal(4),
        output=rng.standard_normal((4, m)) / np.sqrt(m),
        coupling=rng.standard_normal((n, m)) / np.sqrt(m),
    )
    root = rng.standard_normal((m, m)) / np.sqrt(m)
    makers: dict[str, Callable[[], Any]] = {
        "box": lambda: BoxProjection(matrix, offset, np.full(m, -0.7), np.full(m, 0.7)),
        "ball": lambda: BallProjection(matrix, offset, 1.3),
        "simplex": lambda: SimplexProjection(matrix, offset, 1.0),
        "program": lambda: QuadraticProgram(
            root @ root.T + np.eye(m), offset, -matrix, rng.standard_normal((m, m)), np.full(m, 0.5)
        ),
        "smooth": lambda: SmoothSaturation(matrix, offset, np.full(m, 0.7)),
    }
    follower = makers[kind]()
    box = Box(-np.ones(n), np.ones(n))
    return Example(
        name=f"{kind} response, n={n}, m={m}",
        problem=Problem(objective.objective(), follower, box),
        objective=objective,
        follower=follower,
        box=box,
    )


def vee() -> Example:
    """Return the problem |x₁| + |x₂| + a tilt, as a box response: at 0 two kinks cross and the Clarke gap is zero."""
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
    yield from np.random.default_rng(seed).uniform(
        case.box.lower, case.box.upper, (count, case.box.dimension)
    )


def on_kinks(case: Example, kinks: int, seed: int = 1) -> Point:
    """Return a decision exactly on the upper kinks of the first agents of a box response."""
    follower: BoxProjection = case.follower
    x = next(decisions(case, 1, seed))
    rows, wanted = follower.matrix[:kinks], follower.upper[:kinks] - follower.offset[:kinks]
    return np.asarray(x + np.linalg.pinv(rows) @ (wanted - rows @ x))


def on_boundary(case: Example, seed: int = 1) -> Point:
    """Return a decision at which a ball response is exactly at its capacity."""
    from scipy.optimize import brentq

    follower: BallProjection = case.follower
    inside = np.linalg.lstsq(follower.matrix, -follower.offset, rcond=None)[0]
    direction = next(decisions(case, 1, seed))

    def excess(step: float) -> float:
        return (
            float(np.linalg.norm(follower.matrix @ (inside + step * direction) + follower.offset))
            - follower.radius
        )

    return np.asarray(inside + brentq(excess, 0.0, 1e3, xtol=1e-15) * direction)


def numerical_gradient(function: Any, x: Point, width: float = 1e-6) -> Point:
    """Return central differences of a function of x."""
    return np.array(
        [
            (function(x + width * axis) - function(x - width * axis)) / (2 * width)
            for axis in np.eye(x.size)
        ]
    )
