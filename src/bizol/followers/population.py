"""Many followers who answer on their own: their responses stacked, agent after agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, as_vector
from bizol.followers.projections import BallProjection, BoxProjection, SimplexProjection
from bizol.problem import ResponseError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Any followers side by side: y(x) = (y₁(x), …, y_N(x)).

    Where each answer moves by at most ℓ‖dx‖, the stacked one moves by up to √N ℓ‖dx‖. An averaged
    objective (`objectives.Average`) makes up for it: its ∇₂φ shrinks with 1/√N.

    Args:
        followers: from x (n,) to the response of one agent, a vector; sizes may differ.
        executor: anything with `submit`, to ask the agents in parallel.
        vectorized: with True, every follower also takes k decisions at once.

    Raises:
        ResponseError: when an agent fails; it names the agent.

    Example:
        >>> shy = lambda x: np.minimum(x, 0.5)
        >>> Population([shy, lambda x: 2 * x])(np.array([0.4, 0.9]))
        array([0.4, 0.5, 0.8, 1.8])

    """

    followers: tuple[Callable[[Any], Any], ...]
    executor: Executor | None = None
    vectorized: bool = False

    def __init__(
        self,
        followers: Sequence[Callable[[Any], Any]],
        executor: Executor | None = None,
        vectorized: bool = False,
    ) -> None:
        agents = tuple(followers)
        if not agents or not all(callable(agent) for agent in agents):
            raise ArgumentError(
                "Population", "followers", f"must be callables, at least one, got {followers!r}."
            )
        object.__setattr__(self, "followers", agents)
        object.__setattr__(self, "executor", executor)
        object.__setattr__(self, "vectorized", bool(vectorized))

    @property
    def tolerance(self) -> float | None:
        """The largest that an agent states; None where none does."""
        stated = (getattr(agent, "tolerance", None) for agent in self.followers)
        return max((tolerance for tolerance in stated if tolerance is not None), default=None)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2 and not self.vectorized:
            return np.array([self(row) for row in x])
        if self.executor is None:
            answers = [self._ask(agent, x) for agent in range(len(self.followers))]
        else:
            futures = [
                self.executor.submit(self._ask, agent, x) for agent in range(len(self.followers))
            ]
            answers = [future.result() for future in futures]
        return np.concatenate(answers, axis=-1)

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x, where no more than one agent is at a kink."""
        return _stacked([agent.limiting_jacobians(x, tolerance) for agent in self.followers])  # type: ignore[attr-defined]

    def _ask(self, agent: int, x: Point) -> Any:
        try:
            return np.asarray(self.followers[agent](np.array(x)), dtype=np.float64)
        except Exception as error:
            raise ResponseError(
                f"Population: agent {agent} failed at x = {x}: {type(error).__name__}: {error}"
            ) from error


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProjectionPopulation:
    """Many small agents with capacities, in closed form: yᵢ(x) = Π(dᵢ + Aᵢx) onto Yᵢ, all computed
    as one array.

    Yᵢ is a box (`lower`, `upper`), a ball around 0 (`radius`), or the ways to share out a total
    (`total`).

    Args:
        matrix: A, (N, d, n).
        offset: d, (N, d).
        lower, upper: (N, d).
        radius: (N,).
        total: (N,).

    Example:
        >>> follower = ProjectionPopulation(np.ones((2, 3, 1)), np.zeros((2, 3)), total=[3.0, 6.0])
        >>> follower(np.array([5.0]))
        array([1., 1., 1., 2., 2., 2.])

    """

    matrix: NDArray[np.float64]
    offset: Points
    lower: Points | None = None
    upper: Points | None = None
    radius: Point | None = None
    total: Point | None = None

    def __init__(
        self,
        matrix: ArrayLike,
        offset: ArrayLike,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        radius: ArrayLike | None = None,
        total: ArrayLike | None = None,
    ) -> None:
        maps, offsets = np.array(matrix, dtype=np.float64), np.array(offset, dtype=np.float64)
        if maps.ndim != 3 or offsets.shape != maps.shape[:2] or maps.size == 0:
            raise ArgumentError(
                "ProjectionPopulation",
                ("matrix", "offset"),
                f"must have shapes (N, d, n) and (N, d), got {maps.shape} and {offsets.shape}.",
            )
        if ((lower is None) != (upper is None)) or sum(
            part is not None for part in (lower, radius, total)
        ) != 1:
            raise ValueError(
                "ProjectionPopulation(...) takes lower and upper, or radius, or total, and nothing else."
            )
        object.__setattr__(self, "matrix", maps)
        object.__setattr__(self, "offset", offsets)
        for name, part in {"lower": lower, "upper": upper}.items():
            value = (
                None
                if part is None
                else np.array(np.broadcast_to(np.asarray(part, float), offsets.shape))
            )
            object.__setattr__(self, name, value)
        for name, part in {"radius": radius, "total": total}.items():
            owner = "ProjectionPopulation"
            value = (
                None
                if part is None
                else as_vector(np.broadcast_to(np.asarray(part, float), len(maps)), owner, name)
            )
            if value is not None and value.min() <= 0:
                agent = int(value.argmin())
                what = f"must be positive, got {value[agent]:g} for agent {agent}."
                raise ArgumentError(owner, name, what)
            object.__setattr__(self, name, value)
        if self.lower is not None and self.upper is not None and (self.lower > self.upper).any():
            agent = int(np.argmax((self.lower > self.upper).any(axis=1)))
            raise ArgumentError(
                "ProjectionPopulation",
                ("lower", "upper"),
                f"leaves agent {agent} no choice at all.",
            )

    def __call__(self, x: Point) -> Point:
        """Return y(x), (N d,), or (k, N d) for k decisions."""
        count, size, n = self.matrix.shape
        wish = x @ self.matrix.reshape(-1, n).T + self.offset.ravel()
        if self.lower is not None and self.upper is not None:
            return np.clip(wish, self.lower.ravel(), self.upper.ravel(), out=wish)
        agents = wish.reshape(-1, count, size)
        if self.radius is not None:
            length = np.sqrt(np.vecdot(agents, agents))
            agents *= (self.radius / np.maximum(length, self.radius))[..., None]
        else:
            _share_out(agents, np.asarray(self.total))
        return agents.reshape(wish.shape)

    def agent(self, index: int) -> BoxProjection | BallProjection | SimplexProjection:
        """Return one of them as a follower of its own, which can be looked into."""
        matrix, offset = self.matrix[index], self.offset[index]
        if self.lower is not None and self.upper is not None:
            return BoxProjection(matrix, offset, self.lower[index], self.upper[index])
        if self.radius is not None:
            return BallProjection(matrix, offset, float(self.radius[index]))
        return SimplexProjection(matrix, offset, float(np.asarray(self.total)[index]))

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x, where no more than one agent is at a kink."""
        return _stacked(
            [
                self.agent(index).limiting_jacobians(x, tolerance)
                for index in range(len(self.matrix))
            ]
        )


def _share_out(agents: NDArray[np.float64], totals: Point) -> None:
    """Project rows (k, N, d) onto {y ≥ 0, Σ y = total}, in place: everyone above a level gets what
    is above it.

    The level rises as those below it drop out, in at most d rounds (Michelot).
    """
    columns = np.moveaxis(
        agents, -1, 0
    ).copy()  # (d, k, N): what is done for each agent is done for all at once
    level = (columns.sum(axis=0) - totals) / len(columns)
    for _ in range(len(columns)):
        above = columns > level
        count = above.sum(axis=0)
        higher = (np.where(above, columns, 0.0).sum(axis=0) - totals) / count
        if np.array_equal(higher, level):
            break
        level = higher
    columns -= level
    np.maximum(columns, 0.0, out=columns)
    agents[...] = np.moveaxis(columns, 0, -1)


def _stacked(jacobians: list[list[Points]]) -> list[Points]:
    kinked = [agent for agent, found in enumerate(jacobians) if len(found) > 1]
    if len(kinked) > 1:
        raise ValueError(
            f"{len(kinked)} agents are at a kink, {kinked[0]} and {kinked[1]} among them: which of their sides go "
            f"together is not looked into."
        )
    choices = range(len(jacobians[kinked[0]]) if kinked else 1)
    return [
        np.concatenate([found[choice if len(found) > 1 else 0] for found in jacobians])
        for choice in choices
    ]
