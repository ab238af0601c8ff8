"""Foresight: minimize what is known exactly, through a forecast of the only thing that is not, the response."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, Points, Response, Responses, as_size, infinite_rows, norm, owned
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection
from bizol.methods.descent import descend
from bizol.methods.protocol import Move
from bizol.methods.two_point import first_decision, matched
from bizol.problem import Anchor, EvaluationError, Problem
from bizol.randomness import as_seed, generator
from bizol.sensitivity import Hypergradient, RememberedSensitivity, Secant, remember

Turn: TypeAlias = Literal["look", "try", "explore", "echo"]

SMALLEST = 1e-7  # the smallest radius, relative to the diameter of X
WORK = 2_000_000  # numbers in the factors of a Jacobian, at most


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForesightState:
    """Where a run stands: the decision, what is known there, what is remembered, and what is asked next."""

    problem: Problem
    seed: int
    iteration: int
    x: Point
    move: Move | None = None
    turn: Turn = "look"
    anchor: Anchor | None = None  # φ and its gradients at (x, y(x)); None before the follower was asked there
    secants: tuple[Secant, ...] = ()
    radius: float = 0.0  # how far the forecast is trusted
    damping: float = 0.0  # λ
    stalled: int = 0  # trials in a row that gained next to nothing
    height: float = 0.0  # φ where this descent began
    noise: float | None = None  # ‖y − y'‖ of two answers to one question; None while that was not asked
    _plan: _Plan | None = field(default=None, init=False, repr=False)  # worked out once, although ask and tell need it

    @property
    def remark(self) -> str:
        """What the user should know about how the run went."""
        return "The response is noisy, and the noise limits what can be reached." if self.noise else ""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """What a state asks, and why."""

    queries: Points
    sensitivity: RememberedSensitivity
    trials: int = 0  # the first rows are decisions that the forecast recommends
    gain: float = 0.0  # what the forecast promises for the first of them


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgment:
    """How to go on."""

    radius: float
    damping: float
    stalled: int
    turn: Turn


@final
@dataclass(frozen=True, slots=True)
class Foresight:
    """Minimize φ(u, ŷ(u)) with a forecast ŷ of the response alone, then ask the follower there.

    Around the current decision x the response is forecast by ŷ(u) = y(x) + M (u − x), with a Jacobian M put together
    from all that was answered before (`bizol.sensitivity.remember`). φ is known, so

        u = argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖²   over X

    costs no query at all. One query at u tells how good the forecast was: λ shrinks when it was good and grows when it
    was not. Between trials, a query in a direction that M does not know, or knows from too far away, keeps it honest.
    When a descent gains nothing more, the next one starts elsewhere, and the best decision ever seen is kept. The
    anchored model of the paper is the same forecast with φ linearized too.

    Args:
        workers: how many queries are asked at a time: one trial and one exploration in turn with one worker, several
            trials and explorations together with more.

    Example:
        >>> import bizol
        >>> problem = bizol.Problem(
        ...     bizol.Objective(lambda x, y: (y - 1) @ (y - 1), lambda x, y: 0 * x, lambda x, y: 2 * (y - 1)),
        ...     response=lambda x: np.minimum(x[:2] + 0.5 * x[1:], 2.0),
        ...     feasible_set=bizol.Box(-np.ones(3), np.ones(3)),
        ... )
        >>> bizol.minimize(problem, method=Foresight(), budget=12, seed=0).value < 1e-9
        True

    """

    workers: int = 1

    def __post_init__(self) -> None:
        as_size(self.workers, "Foresight(workers=...)")

    def start(self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None) -> ForesightState:
        """Return the state at x0, or at the center of the set."""
        x = first_decision(problem, x0)
        radius = 0.1 * problem.feasible_set.diameter
        return ForesightState(problem=problem, seed=as_seed(seed), iteration=0, x=x, radius=radius)

    def ask(self, state: ForesightState) -> Points:
        """Query the follower at trials or around the current decision; asking twice changes nothing."""
        return self._planned(state).queries.copy()

    def tell(self, state: ForesightState, responses: Responses) -> ForesightState:
        """Learn from the answers, and go to the best of them."""
        plan = self._planned(state)
        rows = matched(responses, len(plan.queries))
        found = [
            _observed(state.problem, owned(point), owned(rows[index, ...])) for index, point in enumerate(plan.queries)
        ]
        here, others = (found[0], found[1:]) if state.anchor is None else (state.anchor, found)
        noise = state.noise
        if state.turn == "echo":
            noise = norm(others[0].response - here.response)
            others = others[1:]
        secants = [
            Secant(start=here.at, end=other.at, difference=other.response - here.response)
            for other in others
            if (other.at != here.at).any()
        ]
        best = min([here, *others], key=lambda each: each.value)  # all of them are in X
        judged = self._judged(state, plan, here, others, noise)
        memory = (*state.secants, *secants)[-self._memory(state) :]
        following = replace(
            state,
            iteration=state.iteration + 1,
            x=best.at,
            anchor=best,
            secants=memory,
            noise=noise,
            height=here.value if state.anchor is None else state.height,
            radius=judged.radius,
            damping=judged.damping,
            stalled=judged.stalled,
            turn=judged.turn,
        )
        if following.stalled > state.x.size + 10:
            following = self._restarted(following)
        return replace(following, move=self._moved(state, plan, here, landed=best))

    def _judged(
        self, state: ForesightState, plan: _Plan, here: Anchor, others: list[Anchor], noise: float | None
    ) -> _Judgment:
        """Return radius, damping, count of failures and the next turn, given how the trial went."""
        diameter, n = state.problem.feasible_set.diameter, state.x.size
        smallest = max(SMALLEST * diameter, _floor(noise, plan.sensitivity))
        radius, damping, stalled = state.radius, state.damping, state.stalled
        turn: Turn = "try"
        if plan.trials:
            trial = others[0]
            length = float(np.linalg.norm(trial.at - here.at))
            gained = here.value - trial.value
            ratio = gained / plan.gain
            if ratio > 0.75:
                damping = damping / 5 if damping * length**2 > 1e-6 * plan.gain else 0.0
                radius = max(radius, 1.5 * length)
            elif ratio < 0.25:
                damping = max(3 * damping, 0.5 * plan.gain / length**2)
                radius = max(0.5 * length, smallest)
            else:
                radius = length
            best = min(other.value for other in others[: plan.trials])
            progress = here.value - best
            stalled = stalled + 1 if progress <= 1e-3 * max(state.height - best, 0.0) else 0
            turn = "try" if ratio > 0.5 and plan.sensitivity.rank == n else "explore"
        elif state.turn == "try":  # the forecast sees no way down
            stalled, radius = stalled + 1, max(radius / 4, smallest)
        radius = min(max(radius, smallest), 0.5 * diameter) if diameter > 0 else radius
        if noise is None and radius < 1e-3 * diameter:
            turn = "echo"  # before small differences are trusted, see whether the same question has the same answer
        return _Judgment(radius=radius, damping=damping, stalled=stalled, turn=turn)

    def _planned(self, state: ForesightState) -> _Plan:
        """Work out what to ask from this state."""
        if state._plan is None:
            object.__setattr__(state, "_plan", self._plan(state))
        plan = state._plan
        assert plan is not None
        return plan

    def _plan(self, state: ForesightState) -> _Plan:
        n, m = state.x.size, 0 if state.anchor is None else state.anchor.response.shape[0]
        most = min(n, max(60, WORK // (n + m)))
        sensitivity = remember(state.secants, state.x, scale=state.radius or 1.0, most=most)
        explored = self._explorations(state, sensitivity)
        if state.anchor is None or state.turn == "echo":
            return _Plan(queries=np.vstack([state.x[None], explored[: self.workers - 1]]), sensitivity=sensitivity)
        if state.turn == "explore":
            return _Plan(queries=explored, sensitivity=sensitivity)
        trial, gain = self._trial(state, sensitivity, state.damping)
        length = float(np.linalg.norm(trial - state.x))
        rounding = 1e-15 * abs(state.anchor.value)
        if not (gain > rounding and length > 1e-12 * state.problem.feasible_set.diameter):
            return _Plan(queries=explored, sensitivity=sensitivity)
        trials = [trial]
        if self.workers > 2:
            damping = max(5 * state.damping, 0.5 * gain / length**2)
            second = self._trial(state, sensitivity, damping)[0]
            if (second != trial).any() and (second != state.x).any():
                trials.append(second)
        queries = np.vstack([*trials, explored])[: self.workers]
        return _Plan(queries=queries, sensitivity=sensitivity, trials=len(trials), gain=gain)

    def _trial(self, state: ForesightState, forecast: RememberedSensitivity, damping: float) -> tuple[Point, float]:
        """Return the decision that the forecast recommends, and what it promises."""
        anchor, objective = state.anchor, state.problem.objective
        assert anchor is not None

        def value_and_gradient(u: Point) -> tuple[float, Point]:
            step = u - state.x
            response = anchor.response if forecast.slopes is None else anchor.response + forecast.push(step)
            try:
                with np.errstate(all="ignore"):
                    seen = objective.anchor(u, response)
            except EvaluationError:  # φ need not be defined at every forecast; such a u is out of bounds
                return inf, step
            gradient = seen.grad_x + forecast.pull_back(seen.grad_y)
            return seen.value + damping / 2 * float(step @ step), gradient + damping * step

        size = state.x.size + anchor.response.shape[0]
        rounds = 60 if forecast.rank * size <= 100_000 else 15
        u, value = descend(value_and_gradient, state.x, state.problem.feasible_set, rounds=rounds)
        step = u - state.x
        return u, anchor.value - value + damping / 2 * float(step @ step)

    def _explorations(self, state: ForesightState, sensitivity: RememberedSensitivity) -> Points:
        """Return decisions near x, in random directions that are not known or known from far away only."""
        rng, n = generator(state.seed, state.iteration), state.x.size
        feasible_set = state.problem.feasible_set
        known = sensitivity.directions[sensitivity.distances <= 2 * state.radius]
        length = min(0.5 * state.radius, 0.05 * feasible_set.diameter / sqrt(n))
        points: list[Point] = []
        for _ in range(self.workers):
            direction = rng.standard_normal(n)
            if len(known) < n:
                direction -= known.T @ (known @ direction)
            if float(np.linalg.norm(direction)) <= 1e-8:  # all of them are known
                direction = rng.standard_normal(n)
            direction /= np.linalg.norm(direction)
            points.append(_near(feasible_set, state.x, length * direction))
            known = np.vstack([known, direction])[-(n - 1) :] if n > 1 else known
        return np.array(points)

    def _restarted(self, state: ForesightState) -> ForesightState:
        """Begin a new descent at a random decision, with all that is remembered."""
        feasible_set = state.problem.feasible_set
        x = owned(_anywhere(feasible_set, generator(state.seed, state.iteration, 1)))
        radius = 0.1 * feasible_set.diameter
        return replace(state, x=x, anchor=None, turn="look", radius=radius, damping=0.0, stalled=0)

    def _moved(self, state: ForesightState, plan: _Plan, here: Anchor, landed: Anchor) -> Move:
        hypergradient = Hypergradient(here.at, here.grad_x + plan.sensitivity.pull_back(here.grad_y))
        vertex = state.problem.feasible_set.minimize_linear(hypergradient.value)
        return Move(
            at=here.at,
            response=here.response,
            value=here.value,
            hypergradient=hypergradient,
            vertex=vertex,
            gap_estimate=float(hypergradient.value @ (here.at - vertex)),
            step=float(np.linalg.norm(landed.at - here.at)),
            delta=state.radius,
            queries=len(plan.queries),
            landed=landed,
        )

    def _memory(self, state: ForesightState) -> int:
        """How many secants are kept."""
        return 3 * min(state.x.size, 500) + 10


def _observed(problem: Problem, x: Point, response: Response) -> Anchor:
    """Return what φ says of an answer, all of it finite."""
    if infinite_rows(response[None, ...]):
        raise EvaluationError(f"The response at x = {x} is not finite.")
    anchor = problem.objective.anchor(x, response)
    for name, gradient in (("grad_x", anchor.grad_x), ("grad_y", anchor.grad_y)):
        if not isfinite(norm(gradient)):
            raise EvaluationError(f"Objective({name}=...) must be finite, but is not at x = {x}.")
    return anchor


def _floor(noise: float | None, sensitivity: RememberedSensitivity) -> float:
    """Return the radius below which differences of responses are mostly noise."""
    if not noise or sensitivity.slopes is None:
        return 0.0
    slope = norm(sensitivity.slopes) / sqrt(sensitivity.rank)
    return 5 * noise / slope if slope > 0 else 0.0


def _near(feasible_set: FeasibleSet, x: Point, offset: Point) -> Point:
    """Return a decision of X about as far from x as the offset, in its direction or the opposite one if possible."""
    onto, length = projection(feasible_set), float(np.linalg.norm(offset))
    if onto is not None:
        there, back = onto(x + offset), onto(x - offset)
        return there if np.linalg.norm(there - x) >= 0.5 * length else _farther(x, there, back)
    ends = [feasible_set.minimize_linear(-offset), feasible_set.minimize_linear(offset)]
    end = ends[0] if np.linalg.norm(ends[0] - x) >= length else _farther(x, *ends)
    size = float(np.linalg.norm(end - x))
    return x + min(1.0, length / size) * (end - x) if size > 0 else x


def _farther(x: Point, one: Point, other: Point) -> Point:
    return one if np.linalg.norm(one - x) >= np.linalg.norm(other - x) else other


def _anywhere(feasible_set: FeasibleSet, rng: np.random.Generator) -> Point:
    """Return a random decision: anywhere in a cube, between random vertices elsewhere."""
    onto, n = projection(feasible_set), feasible_set.dimension
    if onto is not None:
        half = feasible_set.diameter / (2 * sqrt(n))
        return onto(feasible_set.center + half * rng.uniform(-1, 1, n))
    vertices = np.array([feasible_set.minimize_linear(rng.standard_normal(n)) for _ in range(3)])
    return np.asarray(rng.dirichlet(np.ones(3)) @ vertices)
