"""Many followers who answer independently: their responses stacked, agent after agent."""

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
from bizol.problem.follower import tolerance_of
from bizol.records import assign
from bizol.structure.clarke import limiting_jacobians
from bizol.structure.protocols import KnownJacobians


@final
@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Any followers side by side: y(x) = (y₁(x), …, y_N(x)).

    If each response moves by at most ℓ‖dx‖, the stacked one moves by up to √N ℓ‖dx‖. An averaged
    objective (`objectives.Average`) compensates for this: its ∇₂φ shrinks with 1/√N.

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
            what = f"must be callables, at least one, got {followers!r}."
            raise ArgumentError("Population", "followers", what)
        assign(self, followers=agents, executor=executor, vectorized=bool(vectorized))

    @property
    def tolerance(self) -> float | None:
        """The largest tolerance of the agents; None where no agent has one."""
        stated = map(tolerance_of, self.followers)
        return max((tolerance for tolerance in stated if tolerance is not None), default=None)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2 and not self.vectorized:
            return np.array([self(row) for row in x])
        agents = range(len(self.followers))
        if self.executor is None:
            answers = [self._ask(agent, x) for agent in agents]
        else:
            futures = [self.executor.submit(self._ask, agent, x) for agent in agents]
            answers = [future.result() for future in futures]
        return np.concatenate(answers, axis=-1)

    def limiting_jacobians(self, x: Point, tolerance: float | None = None) -> list[Points]:
        """Return the Jacobians of the pieces around x, if at most one agent is at a kink there.

        By default each agent has a tolerance of its own.
        """
        found: list[list[Points]] = []
        for index, agent in enumerate(self.followers):
            if not isinstance(agent, KnownJacobians):
                raise ValueError(
                    f"Population: agent {index} does not tell its Jacobians (limiting_jacobians), "
                    f"it is a black box. What is possible without: bizol.certify, the Bi-ZOL gap "
                    f"from queries alone."
                )
            found.append(limiting_jacobians(agent, x, tolerance))
        return _stack_jacobians(found)

    def _ask(self, agent: int, x: Point) -> Any:
        try:
            return np.asarray(self.followers[agent](np.array(x)), dtype=np.float64)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ResponseError(f"Population: agent {agent} failed at x = {x}: {said}") from error


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProjectionPopulation:
    """Many agents with capacities, in closed form: yᵢ(x) = Π(dᵢ + Aᵢx) onto Yᵢ.

    Yᵢ is a box (`lower`, `upper`), a ball around 0 (`radius`), or the simplex of the ways to share
    out a total (`total`). All responses are computed as one array.

    Args:
        matrix: A, (N, d, n).
        offset: d, (N, d).
        lower, upper: the boxes, (N, d).
        radius: the radii of the balls, (N,).
        total: the totals of the simplices, (N,).

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
        owner = "ProjectionPopulation"
        maps = np.array(matrix, dtype=np.float64)
        offsets = np.array(offset, dtype=np.float64)
        if maps.ndim != 3 or offsets.shape != maps.shape[:2] or maps.size == 0:
            what = f"must have shapes (N, d, n) and (N, d), got {maps.shape} and {offsets.shape}."
            raise ArgumentError(owner, ("matrix", "offset"), what)
        kinds = sum(part is not None for part in (lower, radius, total))
        if (lower is None) != (upper is None) or kinds != 1:
            choices = "lower and upper, or radius, or total, and nothing else"
            raise ValueError(f"ProjectionPopulation(...) takes {choices}.")
        below = _spread(lower, offsets.shape)
        above = _spread(upper, offsets.shape)
        radii = _as_positive_vector(radius, owner, "radius", agents=len(maps))
        totals = _as_positive_vector(total, owner, "total", agents=len(maps))
        if below is not None and above is not None and (below > above).any():
            agent = int(np.argmax((below > above).any(axis=1)))
            what = f"leaves agent {agent} no choice at all."
            raise ArgumentError(owner, ("lower", "upper"), what)
        assign(self, matrix=maps, offset=offsets)
        assign(self, lower=below, upper=above, radius=radii, total=totals)

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
        """Return one agent as a follower of its own, with known structure."""
        matrix, offset = self.matrix[index], self.offset[index]
        if self.lower is not None and self.upper is not None:
            return BoxProjection(matrix, offset, self.lower[index], self.upper[index])
        if self.radius is not None:
            return BallProjection(matrix, offset, float(self.radius[index]))
        return SimplexProjection(matrix, offset, float(np.asarray(self.total)[index]))

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x.

        Of boxes all, however many agents are at a kink; of balls and totals, if at most one is.
        """
        if self.lower is not None and self.upper is not None:
            matrix = self.matrix.reshape(-1, self.matrix.shape[2])
            limits = self.lower.ravel(), self.upper.ravel()
            together = BoxProjection(matrix, self.offset.ravel(), *limits)
            return together.limiting_jacobians(x, tolerance)
        agents = [self.agent(index) for index in range(len(self.matrix))]
        return _stack_jacobians([agent.limiting_jacobians(x, tolerance) for agent in agents])


def _spread(part: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    if part is None:
        return None
    return np.array(np.broadcast_to(np.asarray(part, float), shape))


def _as_positive_vector(
    part: ArrayLike | None, owner: str, name: str, *, agents: int
) -> Point | None:
    if part is None:
        return None
    value = as_vector(np.broadcast_to(np.asarray(part, float), agents), owner, name)
    if value.min() <= 0:
        agent = int(value.argmin())
        what = f"must be positive, got {value[agent]:g} for agent {agent}."
        raise ArgumentError(owner, name, what)
    return value


def _share_out(agents: NDArray[np.float64], totals: Point) -> None:
    """Project rows (k, N, d) onto {y ≥ 0, Σ y = total}, in place.

    Everyone above a level gets what is above it. The level rises as those below it drop out, in at
    most d rounds (Michelot).
    """
    columns = np.moveaxis(agents, -1, 0).copy()  # (d, k, N), so that sums run over all agents
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


def _stack_jacobians(jacobians: list[list[Points]]) -> list[Points]:
    """Return one stacked Jacobian for every Jacobian of the only agent at a kink."""
    kinked = [agent for agent, found in enumerate(jacobians) if len(found) > 1]
    if len(kinked) > 1:
        raise ValueError(
            f"{len(kinked)} agents are at a kink, {kinked[0]} and {kinked[1]} among them: "
            f"which of their sides go together is not looked into."
        )
    choices = range(len(jacobians[kinked[0]]) if kinked else 1)
    return [
        np.concatenate([found[choice if len(found) > 1 else 0] for found in jacobians])
        for choice in choices
    ]
