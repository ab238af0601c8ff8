"""Many runs of Algorithm 1 or VZO in lockstep, with one call of the follower per iteration.

A run here is the run that `bizol.iterate` makes with the same seed, up to rounding; the tests
compare them. Ten runs in lockstep cost little more than one, because at these sizes most of an
iteration is the overhead of a dozen small calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bizol.arrays import Batches, Point, Points
from bizol.evaluation import Direct, Ledger
from bizol.methods import VZO, BiZOL
from bizol.methods.two_point.probing import draw_block, iterations_per_draw
from bizol.problem import Problem
from bizol.sensitivity import average_slopes

# Called with the responses at x + δw and at x − δw, (B, runs, m) each.
Watch = Callable[[Batches, Batches], object]


def queries_per_iteration(method: BiZOL | VZO) -> int:
    """Return 2B + 1 for Bi-ZOL, which also asks at x, and 2B for VZO."""
    batch = int(method.batch)  # type: ignore[arg-type]  # a number, not a schedule
    return 2 * batch + 1 if isinstance(method, BiZOL) else 2 * batch


def run_together(
    problem: Problem,
    method: BiZOL | VZO,
    start: Point,
    *,
    seeds: Sequence[int],
    budget: int,
    watch: Watch | None = None,
) -> Batches:
    """Return the decisions x_0, x_1, ... of one run per seed, (iterations + 1, runs, n).

    Args:
        problem: The problem, with a vectorized follower and objective, and a `Box` as feasible set.
        method: The method, with constant parameters.
        start: The start x_0 of every run.
        seeds: One seed per run.
        budget: The queries each run may spend; only whole iterations are made.
        watch: Called with the responses of every ± pair, for diagnosis.

    """
    delta = float(method.delta)  # type: ignore[arg-type]  # numbers, not schedules
    step = float(method.step)  # type: ignore[arg-type]
    batch = int(method.batch)  # type: ignore[arg-type]
    cost = queries_per_iteration(method)
    evaluator = Direct(problem, Ledger(budget=len(seeds) * budget))
    estimate = _estimate_bizol if isinstance(method, BiZOL) else _estimate_vzo
    together = iterations_per_draw(method, batch, start.size)
    x = np.tile(start, (len(seeds), 1))
    decisions = [x]
    for iteration in range(budget // cost):
        within = iteration % together
        if within == 0:
            shape = (together, batch, start.size)
            blocks = [draw_block(method.directions, (seed, iteration), shape) for seed in seeds]
            directions = np.stack(blocks, axis=2)  # (together, B, runs, n)
        block = directions[within]
        gradients = estimate(problem, evaluator, x, block, delta=delta, watch=watch)
        x = x + step * (problem.feasible_set.minimize_linear(gradients) - x)
        decisions.append(x)
    return np.array(decisions)


def _estimate_bizol(
    problem: Problem,
    evaluator: Direct,
    x: Points,
    directions: Batches,
    *,
    delta: float,
    watch: Watch | None,
) -> Points:
    """Return ĝ = d_x + (n / 2δB) Σ ⟨d_y, y(x + δw) − y(x − δw)⟩ w of every run, eqs. (28), (29)."""
    offsets = delta * directions
    responses = _ask(evaluator, np.concatenate([x[None], x + offsets, x - offsets]))
    grad_y = problem.objective.grad_y(x, responses[0])
    plus, minus = np.split(responses[1:], 2)
    if watch is not None:
        watch(plus, minus)
    slopes = np.vecdot(plus, grad_y) - np.vecdot(minus, grad_y)  # (B, runs)
    known: Points = problem.objective.grad_x(x, responses[0])
    return known + _pull_back(slopes, directions, delta)


def _estimate_vzo(
    problem: Problem,
    evaluator: Direct,
    x: Points,
    directions: Batches,
    *,
    delta: float,
    watch: Watch | None,
) -> Points:
    """Return ĝ = (n / 2δB) Σ (φ̃(x + δw) − φ̃(x − δw)) w of every run."""
    offsets = delta * directions
    points = np.concatenate([x + offsets, x - offsets])
    responses = _ask(evaluator, points)
    if watch is not None:
        watch(*np.split(responses, 2))
    plus, minus = np.split(np.asarray(problem.objective.value(points, responses)), 2)
    return _pull_back(plus - minus, directions, delta)


def _ask(evaluator: Direct, points: Batches) -> Batches:
    flat = evaluator.ask(points.reshape(-1, points.shape[-1]))
    return np.asarray(flat.reshape(*points.shape[:-1], -1))


def _pull_back(slopes: Points, directions: Batches, delta: float) -> Points:
    """Return one estimate per run, from slopes (B, runs) along directions (B, runs, n)."""
    return average_slopes(slopes.T, directions.swapaxes(0, 1), spacing=2 * delta)
