"""What Bi-ZOL and VZO share: probing in random directions, and the Frank–Wolfe step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, isfinite
from typing import Any, Protocol, final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import (
    Batches,
    Point,
    Points,
    Response,
    Responses,
    as_response,
    infinite_rows,
    is_real,
    stack,
)
from bizol.directions import Directions
from bizol.feasible_sets.protocol import as_member
from bizol.methods.protocol import Move
from bizol.methods.two_point.schedules import AdaptiveStep, Schedule
from bizol.problem import EvaluationError, Problem, UnansweredError
from bizol.randomness import REDRAW, as_seed, generator
from bizol.sensitivity import Hypergradient


class Parameters(Protocol):
    """The parameters of a two-point method; each but `directions` is a number or a function of the iteration."""

    @property
    def delta(self) -> Schedule: ...  # noqa: D102 (read with the class)

    @property
    def step(self) -> Schedule | AdaptiveStep: ...  # noqa: D102

    @property
    def batch(self) -> Schedule: ...  # noqa: D102

    @property
    def directions(self) -> Directions: ...  # noqa: D102


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where a run stands: the decision x_k, and the move that led there."""

    problem: Problem
    seed: int
    iteration: int  # k
    x: Point
    move: Move | None = None
    memory: Any = None  # what is remembered of the response; nothing, by methods that forget
    redraw: int = 0  # how often the directions of this iteration were drawn again, as too few of them were answered
    _probes: Probes | None = field(
        default=None, init=False, repr=False
    )  # remembered between ask and tell


@final
@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """Where a method looks from a state: W_k (B, n) and δ_k."""

    method: Parameters
    directions: Points
    radius: float


def settle(method: Parameters) -> None:
    """Refuse parameters that can never be right, and keep the others as plain numbers."""
    label = type(method).__name__
    for name in ("delta", "step", "batch"):
        value = getattr(method, name)
        if not callable(value) and not isinstance(value, AdaptiveStep):
            _check(method, name, value)
            object.__setattr__(method, name, int(value) if name == "batch" else float(value))
    if not isinstance(method.directions, Directions):
        raise ValueError(
            f"{label}(directions=...) must have a draw method, as bizol.Sphere() has, got {method.directions!r}."
        )


def start_at(method: Parameters, problem: Problem, x0: ArrayLike | None, seed: int | None) -> State:
    """Return the first state, at x0 or at the center of the feasible set; look at all parameters once."""
    x = first_decision(problem, x0)
    state = State(problem=problem, seed=as_seed(seed), iteration=0, x=x)
    delta, _ = (parameter(method, name, 0) for name in ("delta", "batch"))
    if not isinstance(method.step, AdaptiveStep):
        parameter(method, "step", 0)
    if delta <= 64 * float(np.spacing(np.abs(x).max())):
        raise ValueError(
            f"{type(method).__name__}(delta=...) must be large enough to move x at all: {delta:g} is lost in the "
            f"rounding of {np.abs(x).max():g}."
        )
    return state


def first_decision(problem: Problem, x0: ArrayLike | None) -> Point:
    """Return x0, or the center of the feasible set, as a decision of the set."""
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be a bizol.Problem, got {problem!r}.")
    given, name = (problem.feasible_set.center, "feasible_set.center") if x0 is None else (x0, "x0")
    return as_member(given, problem.feasible_set, name)


def probes(method: Parameters, state: State) -> Probes:
    """Return where the method looks from this state; worked out once, although ask and tell both need it."""
    known = state._probes
    if known is None or known.method is not method:
        known = Probes(method, look(method, state), parameter(method, "delta", state.iteration))
        object.__setattr__(state, "_probes", known)
    return known


def around(x: Point, where: Probes) -> Points:
    """Return x, then x + δw, then x − δw for every direction, (2B + 1, n)."""
    count = len(where.directions)
    points = np.empty((2 * count + 1, x.size))
    points[0] = x
    offsets = where.radius * where.directions
    np.add(x, offsets, out=points[1 : count + 1])
    np.subtract(x, offsets, out=points[count + 1 :])
    return points


def look(method: Parameters, state: State) -> Points:
    """Return the directions W_k (B, n), a function of (seed, k).

    Seeding a generator costs as much as drawing a thousand numbers. So where directions are few and
    short, those of up to 32 iterations come from one stream, drawn together and remembered; the
    stream of iteration k is that of the first of them.
    """
    count, dimension = int(parameter(method, "batch", state.iteration)), state.x.size
    if state.redraw:
        again = generator(state.seed, state.iteration, REDRAW, state.redraw)
        return np.asarray(_drawn(method.directions, again, 1, count, dimension)[0])
    together = drawn_together(method, count, dimension)
    first = state.iteration - state.iteration % together
    key = method.directions, state.seed, first, together, count, dimension
    if count * dimension > 2**20:  # do not hold on to large ones
        return np.asarray(draw_block(*key)[0])
    try:
        drawn = _remembered(*key)
    except TypeError:  # a sampler that cannot be hashed
        drawn = draw_block(*key)
    return np.asarray(drawn[state.iteration - first])


def drawn_together(method: Parameters, count: int, dimension: int) -> int:
    """Return how many iterations share one stream of directions."""
    return 1 if callable(method.batch) else max(1, min(32, 2**14 // (count * dimension)))


def move_on(
    method: Parameters,
    state: State,
    hypergradient: Hypergradient,
    *,
    where: Probes,
    rows: Responses,
    response: Response = None,
    value: float = np.nan,
    step: float | None = None,
    memory: Any = None,
) -> State:
    """Step toward the vertex that witnesses the gap: x_{k+1} = x_k + γ (z_k − x_k), Algorithm 1, lines 9 and 10."""
    gradient = hypergradient.value
    try:
        vertex = state.problem.feasible_set.minimize_linear(gradient)
    except Exception:
        _refuse_infinite(hypergradient, rows, state.iteration)  # the set is not to blame for a NaN
        raise
    toward = vertex - state.x
    gap_estimate = -float(gradient @ toward)
    if not isfinite(gap_estimate):
        _refuse_infinite(hypergradient, rows, state.iteration)
    step = parameter(method, "step", state.iteration) if step is None else step
    move = Move(
        at=state.x,
        response=response,
        value=value,
        hypergradient=hypergradient,
        vertex=vertex,
        gap_estimate=gap_estimate,
        step=step,
        delta=where.radius,
        queries=rows.shape[0],
    )
    x = state.x + step * toward
    x.setflags(write=False)
    return State(
        problem=state.problem,
        seed=state.seed,
        iteration=state.iteration + 1,
        x=x,
        move=move,
        memory=memory,
    )


def numbered(
    state: State, where: Probes, *, anchored: bool = True, sides: int = 2
) -> list[tuple[int, int]]:
    """Return slot and sign of every query: the anchor (0, 0), then (b, +1) and (b, −1), other slots at every redraw."""
    count = len(where.directions)
    first = 1 + state.redraw * count
    pairs = [(first + b, sign) for sign in (1, -1)[:sides] for b in range(count)]
    return [(0, 0), *pairs] if anchored else pairs


def answered_part(
    where: Probes,
    rows: Responses,
    answered: NDArray[np.bool_] | None,
    *,
    anchored: bool = True,
    sides: int = 2,
) -> tuple[Probes, Responses] | None:
    """Return the directions whose queries were all answered, with their rows; None where they are
    too few.

    An estimate is a mean over directions, so leaving some out keeps it unbiased, as long as what
    fails does not depend on the direction. Half of them have to be left, or the iteration is drawn
    again.
    """
    if answered is None or answered.all():
        return where, rows
    if anchored and not answered[0]:
        raise UnansweredError("The follower did not answer at the current decision.")
    count, first = len(where.directions), int(anchored)
    kept = np.flatnonzero(np.reshape(answered[first:], (sides, count)).all(axis=0))
    if len(kept) == 0 or 2 * len(kept) < count:
        return None
    chosen = [
        *range(first),
        *(first + side * count + int(b) for side in range(sides) for b in kept),
    ]
    return replace(where, directions=where.directions[kept]), stack(
        [rows[row, ...] for row in chosen]
    )


def drawn_again(state: State) -> State:
    """Return the state with other directions to look along."""
    return replace(state, redraw=state.redraw + 1)


def matched(responses: Responses, asked: int) -> Responses:
    """Return the responses as an array, one row for each query that was asked."""
    if isinstance(responses, (list, tuple)) and responses and hasattr(responses[0], "shape"):
        responses = stack([as_response(row) for row in responses])
    responses = as_response(responses)
    if len(responses.shape) != 2:
        raise ValueError(
            f"tell() needs responses of shape ({asked}, m), got {tuple(responses.shape)}."
        )
    if responses.shape[0] != asked:
        raise ValueError(
            f"tell() needs one response per query: asked {asked}, got {responses.shape[0]}."
        )
    return responses


def _refuse_infinite(hypergradient: Hypergradient, responses: Responses, iteration: int) -> None:
    """Say who is to blame for a direction that is not finite: a response or the objective."""
    if np.isfinite(hypergradient.value).all():
        return
    rows = infinite_rows(responses)
    if rows:
        count = responses.shape[0]
        raise EvaluationError(
            f"The response to query {rows[0]} is not finite ({len(rows)} of {count} are not)."
        )
    index = int(np.argmin(np.isfinite(hypergradient.value)))
    raise EvaluationError(
        f"The hypergradient of iteration {iteration} is not finite in coordinate {index}: "
        f"look at Objective(grad_x=..., grad_y=...) there."
    )


def parameter(method: Parameters, name: str, iteration: int) -> float:
    """Return a parameter at an iteration; a constant was checked when the method was made."""
    schedule: Schedule = getattr(method, name)
    if not callable(schedule):
        return schedule
    value = schedule(iteration)
    _check(method, name, value)
    return float(value)


def draw_block(
    directions: Directions, seed: int, first: int, together: int, count: int, dimension: int
) -> Batches:
    """Return the directions of iterations `first`, `first` + 1, ..., (together, count, dimension)."""
    return _drawn(directions, generator(seed, first), together, count, dimension)


def _drawn(
    directions: Directions, rng: Generator, together: int, count: int, dimension: int
) -> Batches:
    drawn = directions.draw(rng, together, count, dimension)
    if np.shape(drawn) != (together, count, dimension):
        raise ValueError(
            f"{type(directions).__name__}.draw(...) must return shape {(together, count, dimension)}, "
            f"(batches, count, dimension), got {np.shape(drawn)}."
        )
    drawn.setflags(write=False)
    return drawn


_remembered: Callable[..., Batches] = lru_cache(maxsize=4)(draw_block)


def _check(method: Parameters, name: str, value: float) -> None:
    rule = {
        "delta": "be positive and finite",
        "step": "be in (0, 1], so that decisions stay feasible",
        "batch": "be a whole number, at least 1",
    }[name]
    keeps = (
        is_real(value)
        and {
            "delta": 0 < value < inf,
            "step": 0 < value <= 1,
            "batch": 1 <= value < inf and value % 1 == 0,
        }[name]
    )
    if not keeps:
        raise ValueError(f"{type(method).__name__}({name}=...) must {rule}, got {value!r}.")
