"""Several followers who play against each other: the equilibrium of a strongly monotone game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_positive, as_size
from bizol.feasible_sets.protocol import ProjectableSet, projection
from bizol.problem import ResponseError
from bizol.records import assign
from bizol.structure.pieces import is_attainable, subsets

ITERATIONS = 100_000  # of the extragradient method before it gives up
KHOBOTOV = 0.9  # the largest γ‖F(y) − F(z)‖ / ‖y − z‖ with which a step is made
SHORTER = 0.7  # of the longest step that Khobotov's rule would allow, where a step was too long
ROOMY = 0.5  # a ratio below which the next step may be longer ...
LONGER = 1.2  # ... by this factor


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VariationalEquilibrium:
    """The solution of a strongly monotone variational inequality, such as a Nash equilibrium.

        y(x) ∈ Y   with   ⟨F(x, y(x)), z − y(x)⟩ ≥ 0   for all z ∈ Y

    For a game, F stacks the gradient of each player's cost by that player's own strategy. The
    inequality is solved by the extragradient method with an adaptive step, which stops when the
    error is provably below the tolerance: with ⟨F(y) − F(z), y − z⟩ ≥ μ‖y − z‖², a point y and
    z = Π(y − γF(y)) satisfy ‖z − y(x)‖ ≤ (‖y − z‖/γ + ‖F(y) − F(z)‖)/μ.

    Args:
        operator: F, from x (n,) and y (m,) to (m,).
        strategies: Y, a set with `project`; `bizol.Product` for players with strategies of their
            own.
        monotonicity: μ > 0. A pair of points that contradicts it raises an error, as there may then
            be several equilibria.
        tolerance: of the response, relative to its size where that exceeds 1.
        iterations: the most iterations to make.

    Raises:
        ResponseError: when a pair of points contradicts μ, or the tolerance is not reached.

    Example:
        Two firms choose quantities, and the price falls with both (Cournot); the leader taxes each.

        >>> import bizol
        >>> slope = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> market = VariationalEquilibrium(
        ...     operator=lambda x, y: slope @ y - 3 + x, monotonicity=1.0,
        ...     strategies=bizol.Box([0, 0], [5, 5]))
        >>> np.round(market(np.zeros(2)), 6), np.round(market(np.array([0.0, 2.0])), 6)
        (array([1., 1.]), array([1.5, 0. ]))

    """

    operator: Callable[[Point, Point], Any]
    strategies: ProjectableSet
    monotonicity: float
    tolerance: float = 1e-8
    iterations: int = ITERATIONS

    def __post_init__(self) -> None:
        owner = "VariationalEquilibrium"
        if not callable(self.operator):
            raise ArgumentError(owner, "operator", f"must be callable, got {self.operator!r}.")
        if projection(self.strategies) is None:
            what = "must be a set with `project`, as bizol.Box has it."
            raise ArgumentError(owner, "strategies", what)
        as_positive(self.monotonicity, owner, "monotonicity")
        as_positive(self.tolerance, owner, "tolerance")
        as_size(self.iterations, owner, "iterations")

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self(row) for row in x])
        return solve_by_extragradient(
            lambda y: np.asarray(self.operator(x, y), dtype=np.float64),
            self.strategies.project,
            self._start(),
            monotonicity=self.monotonicity,
            tolerance=self.tolerance,
            iterations=self.iterations,
            what=f"VariationalEquilibrium at x = {x}",
        )

    def _start(self) -> Point:
        """Return a point off the center, where symmetry could hide that F is not monotone."""
        center = np.asarray(self.strategies.center)
        return (center + self.strategies.minimize_linear(np.ones(center.size))) / 2


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AggregativeGame:
    """Many players who affect each other through their average only, as buyers through a price.

    Player i chooses yᵢ between its limits and minimizes ½ yᵢᵀDᵢyᵢ + (cᵢ + Kᵢx + C ȳ)ᵀyᵢ, where ȳ is
    the mean of all players' choices, its own included. The response stacks y₁, …, y_N and is
    piecewise affine.

    Args:
        curvature: D, (N, d), positive: the diagonals of the Dᵢ.
        offset: c, (N, d).
        matrix: K, (N, d, n), how the decision moves the costs.
        price: C, (d, d).
        lower, upper: the limits, (N, d).
        tolerance: of the response, relative to its size where that exceeds 1.

    Raises:
        ValueError: when the game is not strongly monotone, so that its equilibrium may not be
            unique.

    Example:
        >>> game = AggregativeGame(
        ...     curvature=np.ones((2, 1)), offset=[[-3.0], [-3.0]], matrix=np.ones((2, 1, 1)),
        ...     price=[[2.0]], lower=np.zeros((2, 1)), upper=np.full((2, 1), 5.0))
        >>> np.round(game(np.zeros(1)), 6)
        array([0.75, 0.75])

    """

    curvature: Points
    offset: Points
    matrix: Any
    price: Points
    lower: Points
    upper: Points
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        owner = "AggregativeGame"
        curvature = as_matrix(self.curvature, owner, "curvature")
        shape = curvature.shape
        for name in ("offset", "lower", "upper"):
            part = as_matrix(getattr(self, name), owner, name)
            if part.shape != shape:
                raise ArgumentError(owner, name, f"must have shape {shape}, got {part.shape}.")
            assign(self, **{name: part})
        matrix = np.array(self.matrix, dtype=np.float64)
        price = as_matrix(self.price, owner, "price", columns=shape[1])
        if matrix.ndim != 3 or matrix.shape[:2] != shape or price.shape[0] != shape[1]:
            raise ArgumentError(
                owner,
                ("matrix", "price"),
                f"must have shapes {(*shape, 'n')} and {(shape[1], shape[1])}, "
                f"got {matrix.shape} and {price.shape}.",
            )
        if (self.lower > self.upper).any():
            player = int(np.argmax((self.lower > self.upper).any(axis=1)))
            what = f"leaves player {player} no choice at all."
            raise ArgumentError(owner, ("lower", "upper"), what)
        assign(self, curvature=curvature, matrix=matrix, price=price)
        as_positive(self.tolerance, owner, "tolerance")
        if self.monotonicity <= 0:
            raise ArgumentError(
                owner,
                ("curvature", "price"),
                f"must be strongly monotone, or the equilibrium may not be "
                f"unique: the least curvature and the price leave {self.monotonicity:.3g}.",
            )

    @property
    def monotonicity(self) -> float:
        """A lower bound on the strong monotonicity μ of the game.

        It comes from the least curvature and the least eigenvalue of the price's symmetric part.
        """
        least = float(np.linalg.eigvalsh((self.price + self.price.T) / 2)[0])
        return float(self.curvature.min()) + min(0.0, least) + least / len(self.curvature)

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self(row) for row in x])
        cost = (self.offset + self.matrix @ x).ravel()
        shape = self.curvature.shape
        low = self.lower.ravel()
        high = self.upper.ravel()

        def marginal_costs(y: Point) -> Point:
            choices = y.reshape(shape)
            shared = choices.mean(axis=0) @ self.price.T
            own = choices @ self.price / shape[0]  # a player moves the average too
            forces = self.curvature * choices + shared + own
            return np.asarray(forces.ravel() + cost)

        return solve_by_extragradient(
            marginal_costs,
            lambda y: np.clip(y, low, high),
            np.clip(np.zeros(cost.size), low, high),
            monotonicity=self.monotonicity,
            tolerance=self.tolerance,
            iterations=ITERATIONS,
            what=f"AggregativeGame at x = {x}",
        )

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-6) -> list[Points]:
        """Return the Jacobians of the pieces around x.

        A piece is described by which choices are at a limit. Choices at a limit without a force are
        undecided: a subset of them gives a piece if some decision near x frees just that subset.
        """
        y = self(x)
        system = self._system()
        moves = self.matrix.reshape(-1, self.matrix.shape[2])
        low = self.lower.ravel()
        high = self.upper.ravel()
        force = system @ y + self.offset.ravel() + moves @ x
        inward = np.where(y - low <= tolerance, 1.0, np.where(high - y <= tolerance, -1.0, 0.0))
        undecided = np.flatnonzero((inward != 0) & (np.abs(force) <= tolerance) & (high > low))
        sure = np.flatnonzero(inward == 0)
        found = []
        for chosen in subsets(undecided):
            free = np.union1d(sure, chosen).astype(np.int64)
            jacobian = np.zeros_like(moves)
            if free.size:
                jacobian[free] = np.linalg.solve(system[np.ix_(free, free)], -moves[free])
            held = np.setdiff1d(undecided, chosen)
            drift = system @ jacobian + moves
            freed = np.isin(np.arange(y.size), chosen)
            rows = inward[:, None] * np.where(freed[:, None], jacobian, drift)
            conditions = rows[np.concatenate([chosen, held]).astype(np.int64)]
            if undecided.size == 0 or is_attainable(conditions):
                found.append(jacobian)
        return found

    def _system(self) -> Points:
        """Return the matrix of the operator: diag D + (1/N)(1 1ᵀ ⊗ C) + I ⊗ Cᵀ/N."""
        players = len(self.curvature)
        mean = np.kron(np.full((players, players), 1 / players), self.price)
        own = np.kron(np.eye(players), self.price.T / players)
        return np.asarray(np.diag(self.curvature.ravel()) + mean + own)


def solve_by_extragradient(
    operator: Callable[[Point], Point],
    project: Callable[[Point], Point],
    start: Point,
    *,
    monotonicity: float,
    tolerance: float,
    iterations: int,
    what: str,
) -> Point:
    """Solve a strongly monotone variational inequality, until the error is below the tolerance.

    An iteration makes a trial step y → z = Π(y − γF(y)) and then the step y → Π(y − γF(z)). The γ
    is such that γ‖F(y) − F(z)‖ stays below 0.9 ‖y − z‖ (Khobotov's rule), and grows a little where
    there is room.

    Args:
        operator: F.
        project: Π, the projection onto the set of strategies.
        start: where to start.
        monotonicity: μ of F.
        tolerance: of the solution, relative to its size where that exceeds 1.
        iterations: the most iterations to make.
        what: what is solved, for the messages of errors.
    """
    y = project(start)
    step = 1.0 / monotonicity
    error = np.inf
    for _ in range(iterations):
        force = operator(y)
        if not np.isfinite(force).all():
            raise ResponseError(f"{what}: the operator is not finite at y = {y}.")
        while True:
            trial = project(y - step * force)
            there = operator(trial)
            apart = float(np.linalg.norm(y - trial))
            turn = float(np.linalg.norm(force - there))
            if step * turn <= KHOBOTOV * apart or apart == 0:
                break
            step = max(SHORTER * apart / turn, step / 10)
        rounding = 1e-12 * np.linalg.norm(force) * apart
        if (force - there) @ (y - trial) < 0.999 * monotonicity * apart**2 - rounding:
            raise ResponseError(
                f"{what}: it is not strongly monotone with μ = {monotonicity:g}, "
                f"between y = {y} and {trial}; there may be several equilibria."
            )
        error = (apart / step + turn) / monotonicity
        if error <= tolerance * max(1.0, float(np.linalg.norm(trial))):
            return trial
        y = project(y - step * there)
        if step * turn < ROOMY * apart:
            step *= LONGER
    raise ResponseError(
        f"{what}: after {iterations} iterations "
        f"its error is {error:.1e}, more than {tolerance:.1e}."
    )
