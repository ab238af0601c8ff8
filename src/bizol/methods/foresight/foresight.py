"""Foresight: minimize the objective through a forecast of the response.

The objective is known exactly; the response is the only thing that is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import (
    Point,
    Points,
    Response,
    Responses,
    as_size,
    frozen,
    infinite_rows,
    norm,
    owned,
)
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight.descent import descend
from bizol.methods.foresight.forecasts import Forecast, Straight, curved, judged
from bizol.methods.protocol import Move, as_rows, first_decision
from bizol.problem import Anchor, EvaluationError, Problem, UnansweredError
from bizol.randomness import as_seed, generator
from bizol.records import assign
from bizol.sensitivity import (
    Hypergradient,
    RememberedSensitivity,
    Secant,
    frank_wolfe_gap,
    remember,
)

Turn: TypeAlias = Literal["look", "try", "explore", "echo"]

SMALLEST = 1e-7  # the smallest radius, relative to the diameter of X
SHORTEST = 1e-11  # the shortest secant, relative to the diameter of X
ROUNDING = 1e-12  # of answers, relative to their size
LEAP = 20  # radii that a trial goes, at most, while no trial has failed that knew every direction
WIDTH = 0.1  # how far explorations go at first, relative to the widths of X
FITTED = 150  # answers that a curved forecast is fitted to, at most
WORK = 2_000_000  # numbers in the factors of a forecast, at most, but sixty vectors are always kept


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForesightState:
    """The state of a run: the decision, what is known and remembered, and what is asked next."""

    problem: Problem
    seed: int
    iteration: int
    x: Point
    # X in units in which it is about as wide along every coordinate; lengths below are in these.
    space: InUnits
    move: Move | None = None
    turn: Turn = "look"
    # φ and its gradients at (x, y(x)); None before the follower was asked there.
    anchor: Anchor | None = None
    secants: tuple[Secant, ...] = ()
    radius: float = 0.0  # how far the forecast is trusted
    damping: float = 0.0  # λ
    cautious: bool = False  # whether trials stay within the radius
    learning: bool = False  # whether the next trial waits until every direction is known
    stalled: int = 0  # trials in a row that gained next to nothing
    # φ where this descent began, or the last one that began elsewhere than at the best.
    height: float = 0.0
    descents: int = 0  # how many were begun before this one
    # The iteration at which the progress of this descent was last checked, and φ there.
    milestone: tuple[int, float] = (0, inf)
    best: Anchor | None = None  # the best of all that was observed
    observed: tuple[Anchor, ...] = ()  # the latest answers, the oldest first
    errors: tuple[float, ...] = ()  # of the forecasts, lately
    # ‖y − y'‖ of two answers to one query; None while no query was repeated.
    noise: float | None = None
    undefined: int = 0  # answers that φ or its gradients are not defined at
    # Computed once, for ask and tell.
    _plan: _Plan | None = field(default=None, init=False, repr=False)

    @property
    def remark(self) -> str:
        """What the user should know about how the run went."""
        noisy = ""
        if self.noise:
            noisy = "The response is noisy, and the noise limits what can be reached."
        times = f"{self.undefined} time{'s' if self.undefined > 1 else ''}"
        what = "The objective or its gradients were not defined at what the follower answered"
        undefined = f"{what} {times}." if self.undefined else ""
        return " ".join(filter(None, (noisy, undefined)))

    @property
    def z(self) -> Point:
        """The decision in units of the space."""
        return self.x / self.space.units

    @property
    def asked(self) -> Points:
        """Where the latest answers were, in units of the space."""
        points = np.array([each.at for each in self.observed]).reshape(-1, self.x.size)
        return points / self.space.units


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """What a state asks, and why."""

    method: Foresight
    queries: Points
    length: float = 0.0  # of the first trial
    sensitivity: RememberedSensitivity
    most: int  # directions that are kept
    forecasts: tuple[Forecast, ...] = ()
    # Whether the forecast knows every direction that X has, or as many as are kept.
    complete: bool = False
    trials: int = 0  # the first rows are decisions that the forecast recommends
    gain: float = 0.0  # what the forecast promises for the first of them


@final
@dataclass(frozen=True, slots=True)
class Foresight:
    """Minimize φ(u, ŷ(u)) with a forecast ŷ of the response alone, then ask the follower there.

    Around the current decision x the response is forecast in two ways from all that was answered
    before: straight, ŷ(u) = y(x) + M (u − x) with a Jacobian M put together from secants
    (`bizol.sensitivity.remember`), and curved, by the quadratic that explains the nearest answers
    with the least curvature (`bizol.methods.foresight.forecasts`). The one that was closer to the
    latest answers is followed. φ is known, so

        u = argmin φ(u, ŷ(u)) + (λ/2) ‖u − x‖²   over X

    costs no query at all. One query at u tells how good the forecast was: λ shrinks when it was
    good and grows when it was not. Between trials, a query in a direction that M does not know, or
    knows from too far away, keeps it honest. When a trial fails, all directions are learned before
    the next one; when one fails that knew them all, λ gives way to a trust region, in which
    explorations are as wide as trials, and which shrinks only when all is known within it. When a
    descent gains nothing more, or falls too far behind, the next one starts far from all that was
    asked, every third one at the best decision again, with a wider view. The best decision ever
    seen is kept. The anchored model of the paper is the straight forecast with φ linearized too.

    Args:
        workers: how many queries are asked at a time: one trial and one exploration in turn with
            one worker, several trials and explorations together with more.

    Example:
        >>> import bizol
        >>> problem = bizol.Problem(
        ...     bizol.Objective(
        ...         lambda x, y: (y - 1) @ (y - 1), lambda x, y: 0 * x, lambda x, y: 2 * (y - 1)
        ...     ),
        ...     response=lambda x: np.minimum(x[:2] + 0.5 * x[1:], 2.0),
        ...     feasible_set=bizol.Box(-np.ones(3), np.ones(3)),
        ... )
        >>> bizol.minimize(problem, method=Foresight(), budget=12, seed=0).value < 1e-9
        True

    """

    workers: int = 1

    def __post_init__(self) -> None:
        as_size(self.workers, "Foresight", "workers")

    def start(
        self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None
    ) -> ForesightState:
        """Return the state at x0, or at the center of the set."""
        x, space = first_decision(problem, x0), InUnits(problem.feasible_set)
        return ForesightState(
            problem=problem,
            seed=as_seed(seed),
            iteration=0,
            x=x,
            space=space,
            radius=0.1 * space.diameter,
        )

    def ask(self, state: ForesightState) -> Points:
        """Query the follower at trials or around the decision; asking twice changes nothing."""
        return self._planned(state).queries.copy()

    def tell(self, state: ForesightState, responses: Responses) -> ForesightState:
        """Learn from the answers, and go to the best of them.

        Answers that φ or its gradients are not defined at count as missing after the first, but
        the best decision seen may be such a one.
        """
        return self.tell_some(state, responses, np.ones(len(self._planned(state).queries), bool))

    def tell_some(
        self, state: ForesightState, responses: Responses, answered: NDArray[np.bool_]
    ) -> ForesightState:
        """Learn from the answers that came.

        A trial without an answer is rejected, a descent that would have begun at one begins at
        another of those asked with it or elsewhere, and a failed exploration is skipped.
        """
        plan = self._planned(state)
        rows = as_rows(responses, len(plan.queries))
        came = answered
        there, found, flawed = self._read(state, plan.queries, rows, came)
        state = replace(state, undefined=state.undefined + int(came.sum()) - len(found))
        here, others, noise = state.anchor, found, state.noise
        if here is None:
            if not found:
                return self._begun_elsewhere(state)
            here, *others = found
        elif state.turn == "echo":
            noise = 0.0  # also where nobody answers twice
            if there[0]:
                echo, *others = others
                difference = norm(echo.response - here.response)
                noise = difference if difference > ROUNDING * norm(here.response) else 0.0
        tried = others[: sum(there[: plan.trials])] if there[0] else []
        units = state.space.units
        secants = [
            Secant(
                start=here.at / units,
                end=other.at / units,
                difference=other.response - here.response,
            )
            for other in others
            if np.linalg.norm((other.at - here.at) / units) > SHORTEST * state.space.diameter
        ]
        n, m = here.at.size, here.response.shape[0]
        landed = min([here, *others], key=lambda each: each.value)  # all of them are in X
        following = replace(
            self._judged(state, plan, here, tried, noise=noise),
            iteration=state.iteration + 1,
            x=landed.at,
            anchor=landed,
            secants=(*state.secants, *secants)[-_kept(3 * n + 10, n + m) :],
            observed=(*state.observed, *found)[-_kept(4 * n + 200, n + m) :],
            errors=judged(state.errors, plan.forecasts, here, others, units=units),
            noise=noise,
            best=landed if state.best is None or landed.value < state.best.value else state.best,
        )
        lowest = min([landed, *flawed], key=lambda each: each.value)
        return replace(self._continued(following), move=self._moved(state, plan, here, lowest))

    def _read(
        self, state: ForesightState, queries: Points, rows: Responses, came: NDArray[np.bool_]
    ) -> tuple[list[bool], list[Anchor], list[Anchor]]:
        """Return which answers can be used, those, and others where only φ itself is finite."""
        there = [False] * len(queries)
        found: list[Anchor] = []
        flawed: list[Anchor] = []
        for index in np.flatnonzero(came):
            point = owned(queries[index])
            response = frozen(rows[index, ...])
            seen, flaw = _observed(state.problem, point, response)
            if flaw is not None:
                if infinite_rows(response[None, ...]):
                    raise EvaluationError(f"The response at x = {point} is not finite.")
                if state.best is None and not found:
                    raise flaw
            there[index] = flaw is None
            (found if flaw is None else flawed).extend(seen)
        return there, found, flawed

    def _judged(
        self,
        state: ForesightState,
        plan: _Plan,
        here: Anchor,
        tried: list[Anchor],
        *,
        noise: float | None,
    ) -> ForesightState:
        """Return the state with radius, damping, failures and next turn after the trials."""
        diameter = state.space.diameter
        smallest = max(SMALLEST * diameter, _floor(noise, plan.sensitivity))
        stalled, height = state.stalled, state.height
        turn: Turn = "try"
        if state.anchor is None:
            height = here.value
        if plan.trials:
            ratio = (here.value - tried[0].value) / plan.gain if tried else -inf
            if state.cautious:  # a trust region has replaced the damping
                state = self._region(state, plan, ratio)
            else:
                state = self._damped(state, plan, ratio)
            best = min((trial.value for trial in tried), default=here.value)
            stalled = stalled + 1 if here.value - best <= 1e-3 * max(height - best, 0.0) else 0
            turn = "try" if ratio > 0.25 and plan.complete else "explore"
        elif state.turn == "try":
            # The forecast sees no way down, which says more where every direction is known.
            stalled += 2 if plan.complete else 1
            state = replace(state, radius=state.radius / 4)
        elif state.turn == "echo":
            stalled += 1  # nothing can be gained where the answer is known
        elif state.turn == "explore" and state.learning:
            learning = not plan.complete and plan.sensitivity.rank + self.workers < plan.most
            turn, state = "explore" if learning else "try", replace(state, learning=learning)
        radius = min(max(state.radius, smallest), 0.5 * diameter) if diameter > 0 else state.radius
        if noise is None and radius < 1e-3 * diameter:
            # Before small differences are trusted, see whether a repeated query repeats its answer.
            turn = "echo"
        return replace(state, radius=radius, stalled=stalled, height=height, turn=turn)

    def _damped(self, state: ForesightState, plan: _Plan, ratio: float) -> ForesightState:
        """Return the state with less or more damping, given the share of the gain that came true.

        Where every direction was known and the trial still failed, a region replaces the damping.
        """
        radius, damping, length = state.radius, state.damping, plan.length
        if ratio > 0.75:
            damping = damping / 5 if damping * length**2 > 1e-6 * plan.gain else 0.0
            return replace(state, damping=damping, radius=max(radius, 1.5 * length))
        if ratio >= 0.25:
            return replace(state, radius=length)
        if plan.complete:
            return replace(state, damping=0.0, radius=0.5 * length, cautious=True)
        damping = max(3 * damping, 0.5 * plan.gain / length**2)
        return replace(state, damping=damping, radius=max(0.5 * length, radius / 4), learning=True)

    def _region(self, state: ForesightState, plan: _Plan, ratio: float) -> ForesightState:
        """Return the state with a resized region, given the share of the gain that came true.

        A failure says that the region is too large only where every direction is known from within
        it or near it.
        """
        radius, length = state.radius, plan.length
        if ratio < 0.25:
            known = plan.complete and (plan.sensitivity.distances <= 2 * radius).all()
            return replace(state, radius=min(0.5 * radius, length)) if known else state
        if 4 * length < radius:
            radius *= 0.5
        return replace(state, radius=max(radius, 2 * length) if ratio > 0.75 else radius)

    def _continued(self, state: ForesightState) -> ForesightState:
        """Return the state, or the start of another descent when this one is over or hopeless."""
        assert state.anchor is not None
        assert state.best is not None
        value, lowest, patience = state.anchor.value, state.best.value, state.x.size + 3
        now, (since, height) = (state.iteration, value), state.milestone
        hopeless = False
        if height == inf:  # it has just begun
            state = replace(state, milestone=now)
        elif state.iteration - since >= patience:  # at this pace, will it ever catch up?
            hopeless = value - lowest > 2 * (height - value)
            state = replace(state, milestone=now)
        if state.stalled == patience - 1 and state.noise is None:
            # Trials that fail one after another may fail because of noise.
            return replace(state, turn="echo")
        return self._restarted(state) if hopeless or state.stalled >= patience else state

    def _planned(self, state: ForesightState) -> _Plan:
        """Work out what to ask from this state."""
        plan = state._plan
        if plan is None or plan.method != self:
            plan = self._plan(state)
            assign(state, _plan=plan)
        return plan

    def _plan(self, state: ForesightState) -> _Plan:
        n = state.x.size
        m = 0 if state.anchor is None else state.anchor.response.shape[0]
        units = state.space.units
        most = _kept(n, n + m)
        sensitivity = remember(state.secants, state.z, scale=state.radius or 1.0, most=most)
        asked = state.asked
        explored, lacking = self._explorations(state, sensitivity, asked)
        complete = not lacking or sensitivity.rank == most
        if state.anchor is None:
            queries = np.vstack([state.x[None], explored[: self.workers - 1] * units])
            return _Plan(method=self, queries=queries, sensitivity=sensitivity, most=most)
        bent = curved(
            state.observed, state.anchor, units=units, most=_kept(min(2 * n + 10, FITTED), n + m)
        )
        forecasts: tuple[Forecast, ...] = (Straight(sensitivity),)
        if bent is not None:  # there are other answers to fit it to
            forecasts = (*forecasts, bent)
        if state.turn == "echo":
            explored = np.vstack([state.z[None], explored[: self.workers - 1]])
        exploring = _Plan(
            method=self,
            queries=explored * units,
            sensitivity=sensitivity,
            most=most,
            forecasts=forecasts,
            complete=complete,
        )
        if state.turn != "try":
            return exploring
        best = int(np.argmin(state.errors)) if len(state.errors) == len(forecasts) else 0
        damping = state.damping
        shortest = SHORTEST * state.space.diameter
        rounding = 1e-15 * abs(state.anchor.value)
        for _ in range(2):
            trial, gain = self._trial(state, forecasts[best], damping)
            length = float(np.linalg.norm(trial - state.z))
            if not (gain > rounding and length > shortest):
                return exploring
            if np.linalg.norm(asked - trial, axis=1).min() > shortest:
                break
            damping = max(5 * damping, 0.5 * gain / length**2)  # its answer is known: go less far
        else:
            return exploring
        trials = [trial]
        if self.workers > 2:
            damping = max(5 * damping, 0.5 * gain / length**2)
            second = self._trial(state, forecasts[best], damping)[0]
            if (second != trial).any() and (second != state.z).any():
                trials.append(second)
        queries = np.vstack([*trials, explored])[: self.workers]
        return replace(
            exploring, queries=queries * units, trials=len(trials), gain=gain, length=length
        )

    def _trial(
        self, state: ForesightState, forecast: Forecast, damping: float
    ) -> tuple[Point, float]:
        """Return the decision that the forecast recommends, and the gain that it promises.

        The decision is in units of the space.
        """
        anchor = state.anchor
        objective = state.problem.objective
        z = state.z
        units = state.space.units
        assert anchor is not None

        def value_and_gradient(u: Point) -> tuple[float, Point]:
            step = u - z
            response = anchor.response + forecast.change(step)
            try:
                seen = objective.anchor(u * units, response)
            except EvaluationError:
                # φ need not be defined at every forecast; such a u is out of bounds.
                return inf, step
            value = seen.value + damping / 2 * float(step @ step)
            gradient = seen.grad_x * units + forecast.pull_back(step, seen.grad_y)
            if not isfinite(norm(gradient)):
                return value, np.zeros_like(u)  # no way on from here
            return value, gradient + damping * step

        size = state.x.size + anchor.response.shape[0]
        rounds = 60 if forecast.size * size <= 100_000 else 15
        within = state.radius if state.cautious else LEAP * state.radius
        with np.errstate(all="ignore"):
            u, value = descend(value_and_gradient, z, state.space, rounds=rounds, within=within)
        step = u - z
        return u, anchor.value - value + damping / 2 * float(step @ step)

    def _explorations(
        self, state: ForesightState, sensitivity: RememberedSensitivity, asked: Points
    ) -> tuple[Points, bool]:
        """Return decisions near x, in random directions that are unknown or known only from afar.

        And whether the set has a direction that is not known at all: it may lie in a subspace.
        """
        rng, n, z = generator(state.seed, state.iteration), state.x.size, state.z
        known = sensitivity.directions[sensitivity.distances <= 2 * state.radius]
        length = min(0.5 * state.radius, WIDTH * state.space.diameter / sqrt(n))
        if state.cautious:
            length = 0.7 * state.radius
        lacking = sensitivity.rank < n
        points: list[Point] = []
        for _ in range(self.workers):
            direction = rng.standard_normal(n)
            if len(known) < n:
                direction -= known.T @ (known @ direction)
            direction /= np.linalg.norm(direction)
            point = _unasked(state.space, z, length * direction, asked)
            if np.linalg.norm(point - z) <= 1e-3 * length:  # the set has no such direction
                lacking = lacking and bool(points)
                direction = rng.standard_normal(n)
                direction /= np.linalg.norm(direction)
                point = _unasked(state.space, z, length * direction, asked)
            points.append(point)
            asked = np.vstack([asked, point])
            known = np.vstack([known, direction])[-(n - 1) :] if n > 1 else known
        return np.array(points), lacking

    def _begun_elsewhere(self, state: ForesightState) -> ForesightState:
        """Begin at another decision than the unanswered one, if anything was ever answered."""
        if state.best is None:
            raise UnansweredError("The follower did not answer at the first decision.")
        return self._restarted(replace(state, iteration=state.iteration + 1, move=None))

    def _restarted(self, state: ForesightState) -> ForesightState:
        """Begin a new descent, keeping the memory.

        It begins far from what was asked, or at the best decision with a wide view.
        """
        space = state.space
        begun = replace(
            state,
            descents=state.descents + 1,
            radius=0.2 * space.diameter,
            damping=0.0,
            cautious=True,
            learning=False,
            stalled=0,
            milestone=(state.iteration, inf),
            turn="explore",
        )
        if begun.descents % 3 == 0:
            assert state.best is not None
            return replace(begun, x=state.best.at, anchor=state.best)
        rng = generator(state.seed, state.iteration, 1)
        points = np.array([_anywhere(space, rng) for _ in range(20)])
        asked = state.asked
        nearest = [np.linalg.norm(asked - point, axis=1).min() for point in points]
        x = owned(points[int(np.argmax(nearest))] * space.units)
        return replace(begun, x=x, anchor=None, turn="look")

    def _moved(self, state: ForesightState, plan: _Plan, here: Anchor, landed: Anchor) -> Move:
        slope = plan.sensitivity.pull_back(here.grad_y) / state.space.units
        hypergradient = Hypergradient(here.at, here.grad_x + slope)
        feasible_set = state.problem.feasible_set
        vertex, gap = frank_wolfe_gap(feasible_set, here.at, hypergradient.value)
        delta = state.radius * feasible_set.diameter / (state.space.diameter or 1.0)
        return Move(
            at=here.at,
            anchor=here,
            hypergradient=hypergradient,
            vertex=vertex,
            gap_estimate=float(gap),
            step=float(np.linalg.norm(landed.at - here.at)),
            delta=delta,
            queries=len(plan.queries),
            landed=landed,
        )


def _observed(
    problem: Problem, x: Point, response: Response
) -> tuple[list[Anchor], EvaluationError | None]:
    """Return φ and its gradients at an answer, if φ is defined there, and what is wrong if any."""
    try:
        anchor = problem.objective.anchor(x, response)
    except EvaluationError as error:
        return [], error
    for name, gradient in (("grad_x", anchor.grad_x), ("grad_y", anchor.grad_y)):
        if not isfinite(norm(gradient)):
            return [anchor], EvaluationError(
                f"Objective({name}=...) must be finite, but is not at x = {x}."
            )
    return [anchor], None


def _kept(wanted: int, size: int) -> int:
    """Return how many vectors of this size are kept, of those that would be good to have."""
    return min(wanted, max(60, WORK // size))


def _floor(noise: float | None, sensitivity: RememberedSensitivity) -> float:
    """Return the radius below which differences of responses are mostly noise."""
    slope = sensitivity.slope
    return 5 * noise / slope if noise and slope > 0 else 0.0


def _unasked(feasible_set: FeasibleSet, x: Point, offset: Point, asked: Points) -> Point:
    """Return a decision of X along the offset that is not next to one that was asked.

    If need be, it is closer to x than the offset.
    """
    for _ in range(12):
        point = _near(feasible_set, x, offset)
        spacing = 0.1 * np.linalg.norm(offset)
        if not len(asked) or np.linalg.norm(asked - point, axis=1).min() > spacing:
            break
        offset = 0.6 * offset
    return point


def _near(feasible_set: FeasibleSet, x: Point, offset: Point) -> Point:
    """Return a decision of X about as far from x as the offset.

    In the direction of the offset or in the opposite one, if possible.
    """
    onto, length = projection(feasible_set), float(np.linalg.norm(offset))
    if onto is not None:
        there, back = onto(x + offset), onto(x - offset)
        return there if np.linalg.norm(there - x) >= 0.5 * length else _farther(x, there, back)
    ends = [feasible_set.minimize_linear(-offset), feasible_set.minimize_linear(offset)]
    end = ends[0] if np.linalg.norm(ends[0] - x) >= length else _farther(x, *ends)
    size = float(np.linalg.norm(end - x))
    return _between(x, end, min(1.0, length / size)) if size > 0 else x


def _between(one: Point, other: Point, share: float) -> Point:
    """Return the decision at this share of the way, between both whatever is rounded."""
    return np.clip(one + share * (other - one), np.minimum(one, other), np.maximum(one, other))


def _farther(x: Point, one: Point, other: Point) -> Point:
    return one if np.linalg.norm(one - x) >= np.linalg.norm(other - x) else other


def _anywhere(feasible_set: FeasibleSet, rng: np.random.Generator) -> Point:
    """Return a random decision: anywhere in a cube, between random vertices elsewhere."""
    onto, n = projection(feasible_set), feasible_set.dimension
    if onto is not None:
        half = feasible_set.diameter / (2 * sqrt(n))
        return onto(feasible_set.center + half * rng.uniform(-1, 1, n))
    one, other, third = (feasible_set.minimize_linear(rng.standard_normal(n)) for _ in range(3))
    first, second, _ = rng.dirichlet(np.ones(3))
    return _between(third, _between(one, other, second / (first + second)), first + second)
