"""Small problems the tests share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bizol
from bizol.arrays import Batches, Point
from bizol.followers import AggregativeGame, TrafficEquilibrium

Array = NDArray[np.float64]


def quadratic(target: float = 0.5) -> bizol.Objective:
    """φ(x, y) = ½‖x‖² + ½‖y − target‖²."""
    return bizol.Objective(
        value=lambda x, y: (x @ x + (y - target) @ (y - target)) / 2,
        grad_x=lambda x, y: x,
        grad_y=lambda x, y: y - target,
    )


def saturated(n: int = 3, *, vectorized: bool = False, **changes: Any) -> bizol.Problem:
    """A follower that does what it is told, up to its capacity; the arithmetic is the same row by
    row or at once."""
    parts: dict[str, Any] = {
        "objective": quadratic(),
        "response": lambda x: np.clip(2 * x + 0.25, -1.0, 1.0),
        "feasible_set": bizol.Box(-np.ones(n), np.ones(n)),
        "vectorized": vectorized,
    }
    return bizol.Problem(**(parts | changes))


def affine(jacobian: Array, offset: Array | None = None, **changes: Any) -> bizol.Problem:
    """A follower that answers J x + b."""
    m, n = jacobian.shape
    shift = np.zeros(m) if offset is None else offset
    parts: dict[str, Any] = {
        "objective": quadratic(),
        "response": lambda x: jacobian @ x + shift,
        "feasible_set": bizol.Box(-np.ones(n), np.ones(n)),
    }
    return bizol.Problem(**(parts | changes))


@dataclass(frozen=True, eq=False)
class Given:
    """Directions made by hand, one batch per iteration, from the beginning again when they are used
    up."""

    batches: Any

    def draw(self, rng: np.random.Generator, batches: int, count: int, dimension: int) -> Batches:
        """Return what was given."""
        return np.resize(np.array(self.batches, dtype=np.float64), (batches, count, dimension))


@dataclass
class Counting:
    """A follower that keeps every question it was asked."""

    answer: Any
    asked: list[Point] = field(default_factory=list)

    def __call__(self, x: Point) -> Any:
        self.asked.extend(np.atleast_2d(x).copy())
        return self.answer(x)


def cournot() -> AggregativeGame:
    """Three firms with a capacity each that meet in a price."""
    return AggregativeGame(
        curvature=np.ones((3, 1)),
        offset=np.array([[-3.0], [-2.0], [-1.0]]),
        matrix=np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]]),
        price=np.array([[2.0]]),
        lower=np.zeros((3, 1)),
        upper=np.full((3, 1), 0.9),
    )


def braess() -> TrafficEquilibrium:
    """Two roads and a bridge between them, which is tolled, and so is one of the roads."""
    demand = np.zeros((4, 4))
    demand[0, 3] = 6
    return TrafficEquilibrium(
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)],
        [1, 50, 10, 50, 1],
        [1, 1, 1, 1, 1],
        demand,
        tolled=[2, 0],
        alpha=[10, 0.02, 0.1, 0.02, 10],
        power=1,
    )
