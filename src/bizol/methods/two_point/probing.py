"""Two-point methods: their parameters, their state, and the directions of an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Any, Literal, Protocol, final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Batches, Point, Points, is_real
from bizol.directions import Directions
from bizol.evaluation import Slot
from bizol.methods.protocol import Move, first_decision
from bizol.methods.two_point.schedules import AdaptiveStep, Schedule
from bizol.problem import Problem
from bizol.randomness import REDRAW, as_seed, generator
from bizol.records import assign, assign_field, quick

# Seeding a generator costs as much as drawing a thousand numbers, so where directions are few and
# short, those of several iterations are drawn together.
TOGETHER = 32  # iterations, at most
SHORT = 2**14  # numbers drawn together, at most
REMEMBERED = 2**20  # numbers of one draw that are kept for the next iteration, at most

# A radius below this many units in the last place of x would be lost in rounding.
LOST = 64


class Parameters(Protocol):
    """The parameters of a two-point method; each but `directions` may depend on the iteration."""

    @property
    def delta(self) -> Schedule:
        """The smoothing radius δ."""
        ...

    @property
    def step(self) -> Schedule | AdaptiveStep:
        """The step γ."""
        ...

    @property
    def batch(self) -> Schedule:
        """The number B of directions."""
        ...

    @property
    def directions(self) -> Directions:
        """The sampler that draws the directions."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """The state of a run: the decision x_k, and the move that led there."""

    problem: Problem
    seed: int
    iteration: int  # k
    x: Point
    move: Move | None = None
    memory: Any = None  # what is remembered of the response, by methods with memory
    redraw: int = 0  # how often the directions were drawn again, because too few were answered
    # Where a method looks from here, and which one: for ask and tell.
    _probes: tuple[Parameters, Probes] | None = field(default=None, init=False, repr=False)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """The directions W_k (B, n) and the radius δ_k that a method uses in a state."""

    directions: Points
    radius: float
    steps: Points | None = None  # (2B + 1, n), rows −0, δw, −δw, where they were worked out


make_state = quick(State)
make_probes = quick(Probes)


def check_parameters(method: Parameters) -> None:
    """Check the parameters of a new method, and convert numbers to plain floats and ints."""
    if not callable(method.delta):
        assign(method, delta=float(_check(method, "delta", method.delta)))
    if not callable(method.batch):
        assign(method, batch=int(_check(method, "batch", method.batch)))
    if not callable(method.step) and not isinstance(method.step, AdaptiveStep):
        assign(method, step=float(_check(method, "step", method.step)))
    if not isinstance(method.directions, Directions):
        given = method.directions
        what = f"must have a draw method, as bizol.directions.Sphere() has, got {given!r}."
        raise ArgumentError(type(method).__name__, "directions", what)


def start_at(method: Parameters, problem: Problem, x0: ArrayLike | None, seed: int | None) -> State:
    """Return the first state, at x0 or at the center of the set, and check all parameters there."""
    x = first_decision(problem, x0)
    state = State(problem=problem, seed=as_seed(seed), iteration=0, x=x)
    delta = radius_at(method, 0)
    batch_at(method, 0)
    if not isinstance(method.step, AdaptiveStep):
        step_at(method, 0)
    largest = float(np.abs(x).max())
    if delta <= LOST * float(np.spacing(largest)):
        raise ArgumentError(
            type(method).__name__,
            "delta",
            f"must be large enough to move x at all: {delta:g} is lost in the rounding of "
            f"{largest:g}.",
        )
    return state


def radius_at(method: Parameters, iteration: int) -> float:
    """Return δ_k; a constant was checked when the method was made."""
    delta = method.delta
    return float(_check(method, "delta", delta(iteration))) if callable(delta) else delta


def batch_at(method: Parameters, iteration: int) -> int:
    """Return the number B_k of directions."""
    batch = method.batch
    return int(_check(method, "batch", batch(iteration)) if callable(batch) else batch)


def step_at(method: Parameters, iteration: int) -> float:
    """Return γ_k, of methods whose step is a number or a function of the iteration."""
    step = method.step
    assert not isinstance(step, AdaptiveStep)
    return float(_check(method, "step", step(iteration))) if callable(step) else step


def probes_at(method: Parameters, state: State) -> Probes:
    """Return where the method looks from this state; worked out once for ask and tell."""
    known = state._probes
    if known is not None and known[0] is method:
        return known[1]
    probes = _draw_probes(method, state)
    assign_field(state, "_probes", (method, probes))
    return probes


def around(x: Point, where: Probes) -> Points:
    """Return x, then x + δw, then x − δw for every direction, (2B + 1, n)."""
    steps = where.steps
    if steps is None:
        steps = _steps_along(where.directions[None], where.radius)[0]
    return x + steps


def name_pairs(
    state: State, where: Probes, *, anchored: bool = True, sides: int = 2
) -> tuple[Slot, ...]:
    """Return the number and the sign of every query; every redraw has its own numbers.

    The anchor is (0, 0); then come (b, +1) and (b, −1).
    """
    count = len(where.directions)
    return _number_pairs(1 + state.redraw * count, count, sides, anchored)


@lru_cache(maxsize=64)
def _number_pairs(first: int, count: int, sides: int, anchored: bool) -> tuple[Slot, ...]:
    pairs = tuple((first + b, sign) for sign in (1, -1)[:sides] for b in range(count))
    return ((0, 0), *pairs) if anchored else pairs


def draw_directions(method: Parameters, state: State) -> Points:
    """Return the directions W_k (B, n), a function of (seed, k).

    The stream of iteration k is that of the first of the iterations that are drawn together.
    """
    return probes_at(method, state).directions


def _draw_probes(method: Parameters, state: State) -> Probes:
    """Return where the method looks from this state, with the steps if they are remembered."""
    sampler: Any = method.directions
    iteration = state.iteration
    radius = radius_at(method, iteration)
    count = batch_at(method, iteration)
    dimension = state.x.size
    if state.redraw:
        again = generator(state.seed, iteration, REDRAW, state.redraw)
        return Probes(_draw(sampler, again, (1, count, dimension))[0], radius)
    together = iterations_per_draw(method, count, dimension)
    within = iteration % together
    key = (state.seed, iteration - within)
    shape = (together, count, dimension)
    if count * dimension > REMEMBERED:
        return Probes(draw_block(sampler, key, shape)[within], radius)
    constant = None if callable(method.delta) else radius
    try:
        drawn, steps = _remembered(sampler, key, shape, constant)
    except TypeError:  # a sampler that cannot be hashed
        return Probes(draw_block(sampler, key, shape)[within], radius)
    return make_probes(drawn[within], radius, None if steps is None else steps[within])


def iterations_per_draw(method: Parameters, count: int, dimension: int) -> int:
    """Return how many iterations share one stream of directions."""
    if callable(method.batch):
        return 1
    return max(1, min(TOGETHER, SHORT // (count * dimension)))


def draw_block(
    directions: Directions, key: tuple[int, int], shape: tuple[int, int, int]
) -> Batches:
    """Return the directions of iterations k, k + 1, ..., where `key` is (seed, k).

    Their shape is (iterations, B, n).
    """
    return _draw(directions, generator(*key), shape)


def _draw(directions: Directions, rng: Generator, shape: tuple[int, int, int]) -> Batches:
    drawn = directions.draw(rng, *shape)
    if np.shape(drawn) != shape:
        raise ValueError(
            f"{type(directions).__name__}.draw(...) must return shape {shape}, "
            f"(batches, count, dimension), got {np.shape(drawn)}."
        )
    drawn.setflags(write=False)
    return drawn


@lru_cache(maxsize=4)
def _remembered(
    directions: Directions,
    key: tuple[int, int],
    shape: tuple[int, int, int],
    radius: float | None,
) -> tuple[Batches, Batches | None]:
    """Return a block of directions, and the steps along them where all have the same radius."""
    drawn = draw_block(directions, key, shape)
    return drawn, None if radius is None else _steps_along(drawn, radius)


def _steps_along(directions: Batches, radius: float) -> Batches:
    """Return the rows −0, δw, −δw for every direction, (iterations, 2B + 1, n)."""
    iterations, count, dimension = directions.shape
    steps = np.full((iterations, 2 * count + 1, dimension), -0.0)  # x − 0 is x, also where x is −0
    ahead = steps[:, 1 : count + 1]
    np.multiply(radius, directions, out=ahead)
    np.negative(ahead, out=steps[:, count + 1 :])
    return steps


def _check(method: Parameters, name: Literal["delta", "step", "batch"], value: Any) -> Any:
    """Return a parameter that satisfies its rule, and raise an `ArgumentError` otherwise."""
    rules: dict[str, tuple[str, Callable[[], bool]]] = {
        "delta": ("be positive and finite", lambda: 0 < value < inf),
        "step": ("be in (0, 1], so that decisions stay feasible", lambda: 0 < value <= 1),
        "batch": ("be a whole number, at least 1", lambda: 1 <= value < inf and value % 1 == 0),
    }
    rule, satisfies = rules[name]
    if not is_real(value) or not satisfies():
        raise ArgumentError(type(method).__name__, name, f"must {rule}, got {value!r}.")
    return value
