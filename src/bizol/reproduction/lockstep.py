"""Many runs at once: Algorithm 1 and VZO for all seeds in lockstep, with one call of the follower
per iteration.

A run here is the run that `bizol.iterate` makes with the same seed, up to rounding; the tests
compare them. Ten runs in lockstep cost little more than one, because at these sizes most of an
iteration is the overhead of a dozen small calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bizol.arrays import Batches, Point, Points
from bizol.evaluation import Evaluator
from bizol.methods import VZO, BiZOL
from bizol.methods.two_point.two_point import draw_block, drawn_together
from bizol.problem import Problem

Watch = Callable[
    [Batches, Batches], object
]  # given the responses at x + δw and at x − δw, (B, runs, m) each


def queries_per_iteration(method: BiZOL | VZO) -> int:
    """Return 2B + 1 for Bi-ZOL, which also asks at x, and 2B for VZO."""
    return 2 * int(method.batch) + isinstance(method, BiZOL)  # type: ignore[arg-type]  # a number, not a schedule


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
        problem: with a vectorized follower, a vectorized objective, and a `Box` to choose from.
        method: with constant parameters.
        start: x_0 of every run.
        seeds: one per run.
        budget: the queries each run may spend; whole iterations only.
        watch: shown the responses of every ± pair, for diagnosis.

    """
    delta, step, batch = float(method.delta), float(method.step), int(method.batch)  # type: ignore[arg-type]
    cost = queries_per_iteration(method)
    evaluator = Evaluator(problem, budget=len(seeds) * budget)
    hypergradients = _bizol if isinstance(method, BiZOL) else _vzo
    together = drawn_together(method, batch, start.size)
    x = np.tile(start, (len(seeds), 1))
    decisions = [x]
    for iteration in range(budget // cost):
        within = iteration % together
        if within == 0:
            blocks = [
                draw_block(method.directions, seed, iteration, together, batch, x.shape[1])
                for seed in seeds
            ]
            directions = np.stack(blocks, axis=2)  # (together, B, runs, n)
        gradients = hypergradients(problem, evaluator, x, directions[within], delta, watch)
        x = x + step * (problem.feasible_set.minimize_linear(gradients) - x)
        decisions.append(x)
    return np.array(decisions)


def _bizol(
    problem: Problem,
    evaluator: Evaluator,
    x: Points,
    directions: Batches,
    delta: float,
    watch: Watch | None,
) -> Points:
    """Eqs. (28) and (29) for every run: ĝ = d_x + (n / 2δB) Σ ⟨d_y, y(x + δw) − y(x − δw)⟩ w."""
    offsets = delta * directions
    responses = _ask(evaluator, np.concatenate([x[None], x + offsets, x - offsets]))
    grad_y = problem.objective.grad_y(x, responses[0])
    plus, minus = np.split(responses[1:], 2)
    if watch is not None:
        watch(plus, minus)
    slopes = np.vecdot(plus, grad_y) - np.vecdot(minus, grad_y)  # (B, runs)
    known: Points = problem.objective.grad_x(x, responses[0])
    return known + _pull_back(slopes, directions, delta)


def _vzo(
    problem: Problem,
    evaluator: Evaluator,
    x: Points,
    directions: Batches,
    delta: float,
    watch: Watch | None,
) -> Points:
    """The same estimate of the whole hyperobjective: ĝ = (n / 2δB) Σ (φ̃(x + δw) − φ̃(x − δw)) w."""
    offsets = delta * directions
    points = np.concatenate([x + offsets, x - offsets])
    responses = _ask(evaluator, points)
    if watch is not None:
        watch(*np.split(responses, 2))
    plus, minus = np.split(np.asarray(problem.objective.value(points, responses)), 2)
    return _pull_back(plus - minus, directions, delta)


def _ask(evaluator: Evaluator, points: Batches) -> Batches:
    flat = evaluator.evaluate(points.reshape(-1, points.shape[-1]))
    return np.asarray(flat.reshape(*points.shape[:-1], -1))


def _pull_back(slopes: Points, directions: Batches, delta: float) -> Points:
    batch, _, n = directions.shape
    return np.asarray(n / (2 * delta * batch) * np.einsum("br,brn->rn", slopes, directions))
