"""What Bi-ZOL and VZO share: probing in random directions, and the Frank–Wolfe step."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Batches, Point, Points, Response, Responses, as_vector, is_real
from bizol.directions import Directions
from bizol.methods.protocol import Move
from bizol.methods.schedules import Schedule
from bizol.problem import EvaluationError, Problem
from bizol.randomness import as_seed, generator
from bizol.sensitivity import Hypergradient


class TwoPoint(Protocol):
    """The parameters of a two-point method; each but `directions` is a number or a function of the iteration."""

    @property
    def delta(self) -> Schedule: ...  # noqa: D102 (read with the class)

    @property
    def step(self) -> Schedule: ...  # noqa: D102

    @property
    def batch(self) -> Schedule: ...  # noqa: D102

    @property
    def directions(self) -> Directions: ...  # noqa: D102


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where a run stands: the decision x_k, and where it will look from there."""

    problem: Problem
    seed: int
    iteration: int  # k
    x: Point
    delta: float  # δ_k
    directions: Points  # W_k (B, n), a function of (seed, k)
    ahead: Batches  # W_{k+1}, W_{k+2}, ... as far as they were drawn together with W_k
    move: Move | None = None


def check_parameters(method: TwoPoint) -> None:
    """Refuse what can never be right; functions of the iteration are checked as they are used."""
    for name in ("delta", "step", "batch"):
        if not callable(value := getattr(method, name)):
            _check(method, name, value)
    label = type(method).__name__
    if not callable(method.batch) and method.batch != int(method.batch):
        raise ValueError(f"{label}(batch=...) must be a whole number, got {method.batch!r}.")
    if not isinstance(method.directions, Directions):
        raise ValueError(
            f"{label}(directions=...) must have a draw method, as bizol.Sphere() has, got {method.directions!r}."
        )


def start_at(method: TwoPoint, problem: Problem, x0: ArrayLike | None, seed: int | None) -> State:
    """Return the first state, at x0 or at the center of the feasible set."""
    feasible_set = problem.feasible_set
    if x0 is None:
        x = np.array(feasible_set.center, dtype=np.float64)
    else:
        x = as_vector(x0, "x0", size=feasible_set.dimension).copy()
        if not feasible_set.contains(x):
            raise ValueError(
                f"x0 must lie in the feasible set, a {type(feasible_set).__name__} of dimension "
                f"{feasible_set.dimension}, but does not; leave it out to start at the center."
            )
    x.setflags(write=False)
    seed = as_seed(seed)
    upcoming = _draw(method, seed, 0, x.size)
    return State(
        problem=problem,
        seed=seed,
        iteration=0,
        x=x,
        delta=_scheduled(method, "delta", 0),
        directions=upcoming[0],
        ahead=upcoming[1:],
    )


def move_on(
    method: TwoPoint,
    state: State,
    hypergradient: Hypergradient,
    *,
    queries: int,
    response: Response = None,
    value: float = np.nan,
) -> State:
    """Step toward the vertex that witnesses the gap: x_{k+1} = x_k + γ (z_k − x_k), Algorithm 1, lines 9 and 10."""
    gradient = hypergradient.value
    if not isfinite(gradient @ gradient) and not np.isfinite(gradient).all():
        index = int(np.argmin(np.isfinite(gradient)))
        raise EvaluationError(
            f"The hypergradient of iteration {state.iteration} is not finite in coordinate {index}: "
            f"look at Objective(grad_x=..., grad_y=...) there."
        )
    vertex = state.problem.feasible_set.minimize_linear(gradient)
    toward = vertex - state.x
    step = _scheduled(method, "step", state.iteration)
    move = Move(
        at=state.x,
        response=response,
        value=value,
        hypergradient=hypergradient,
        vertex=vertex,
        gap_estimate=-float(gradient @ toward),
        step=step,
        delta=state.delta,
        queries=queries,
    )
    x = state.x + step * toward
    x.setflags(write=False)
    iteration = state.iteration + 1
    upcoming = state.ahead if len(state.ahead) else _draw(method, state.seed, iteration, x.size)
    return State(
        problem=state.problem,
        seed=state.seed,
        iteration=iteration,
        x=x,
        delta=_scheduled(method, "delta", iteration),
        directions=upcoming[0],
        ahead=upcoming[1:],
        move=move,
    )


def matched(responses: Responses, asked: int) -> Responses:
    """Return the responses as an array, one row for each query that was asked."""
    rows = responses if hasattr(responses, "shape") else np.asarray(responses, dtype=np.float64)
    if len(rows.shape) != 2:
        raise ValueError(f"tell() needs responses of shape ({asked}, m), got {tuple(rows.shape)}.")
    if rows.shape[0] != asked:
        raise ValueError(f"tell() needs one response per query: asked {asked}, got {rows.shape[0]}.")
    return rows


def _draw(method: TwoPoint, seed: int, iteration: int, dimension: int) -> Batches:
    """Draw the directions of this iteration and, where they are few and short, of the next ones too.

    Seeding a generator costs as much as drawing a thousand numbers, so a small problem does it once in a while.
    """
    count = int(_scheduled(method, "batch", iteration))
    together = 1 if callable(method.batch) else max(1, min(32, 2**14 // (count * dimension)))
    return method.directions.draw(generator(seed, iteration), together, count, dimension)


def _scheduled(method: TwoPoint, name: str, iteration: int) -> float:
    """Return a parameter at an iteration; a constant was checked when the method was made."""
    schedule: Schedule = getattr(method, name)
    if not callable(schedule):
        return schedule
    value = schedule(iteration)
    _check(method, name, value)
    return value


def _check(method: TwoPoint, name: str, value: float) -> None:
    rule = {
        "delta": "be positive and finite",
        "step": "be in (0, 1], so that decisions stay feasible",
        "batch": "be at least 1",
    }[name]
    keeps = is_real(value) and {"delta": 0 < value < inf, "step": 0 < value <= 1, "batch": 1 <= value < inf}[name]
    if not keeps:
        raise ValueError(f"{type(method).__name__}({name}=...) must {rule}, got {value!r}.")
