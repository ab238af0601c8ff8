"""Look at a problem before a budget is spent on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Points, Response, as_positive, as_vector, namespace
from bizol.evaluation import Evaluator
from bizol.problem import Anchor, Problem
from bizol.randomness import generator

COORDINATES = 200  # of each gradient; in higher dimension a random sample of this size is compared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """What `problem.check()` measured on a problem that passed.

    Attributes:
        dimensions: (n, m).
        repeatability: the largest difference between two answers to the same question, relative to the response.
        grad_x_error, grad_y_error: the largest difference from finite differences, relative to the gradient.
        queries: how many responses it took.

    """

    dimensions: tuple[int, int]
    repeatability: float
    grad_x_error: float
    grad_y_error: float
    queries: int

    def __str__(self) -> str:
        n, m = self.dimensions
        return (
            f"n = {n} decisions, m = {m} responses, checked with {self.queries} queries\n"
            f"asked twice, answers differ by {self.repeatability:.1e} (relative)\n"
            f"grad_x is {self.grad_x_error:.1e} and grad_y {self.grad_y_error:.1e} from finite differences (relative)"
        )


def check_problem(
    problem: Problem, x: ArrayLike | None, *, delta: float | None, noise: float, seed: int
) -> ProblemCheck:
    """Carry out `Problem.check`, which documents it."""
    feasible_set = problem.feasible_set
    here = feasible_set.center if x is None else as_vector(x, "check(x=...)", size=feasible_set.dimension)
    if not feasible_set.contains(here):
        raise ValueError("check(x=...) must lie in the feasible set; leave it out to look at the center.")
    rng = generator(seed)
    there = feasible_set.minimize_linear(rng.standard_normal(here.size))
    evaluator = Evaluator(problem)
    response = evaluator.evaluate(np.stack([here, (here + there) / 2]))[0, ...]
    again = evaluator.evaluate(here[None])[0, ...]
    repeatability = _difference(response, again, noise)
    if delta is not None:
        away = there - here
        outside = there + as_positive(delta, "check(delta=...)") * away / max(float(np.linalg.norm(away)), 1e-300)
        evaluator.evaluate(outside[None])
    anchor = problem.objective.anchor(here, response)
    width = feasible_set.diameter / np.sqrt(here.size) or 1.0
    return ProblemCheck(
        dimensions=(here.size, int(response.shape[0])),
        repeatability=repeatability,
        grad_x_error=_gradient_error(problem, anchor, "grad_x", width, rng),
        grad_y_error=_gradient_error(problem, anchor, "grad_y", _typical_size(response), rng),
        queries=evaluator.queries,
    )


def _difference(first: Response, second: Response, noise: float) -> float:
    xp = namespace(first)
    apart = xp.abs(second - first)
    scale = max(float(xp.max(xp.abs(first))), 1e-300)
    relative = float(xp.max(apart)) / scale
    if relative > max(noise, 1e-12):
        raise ValueError(
            f"The response is not repeatable: asked twice at the same x, coordinate {int(xp.argmax(apart))} differs by "
            f"{float(xp.max(apart)):.3g} ({relative:.1e} of the response). If the follower is noisy, say how much with "
            f"check(noise=...); if it is vectorized, see that each row depends on its own x alone."
        )
    return relative


def _gradient_error(problem: Problem, anchor: Anchor, name: str, width: float, rng: np.random.Generator) -> float:
    """Compare a partial gradient with central differences of φ at two widths, coordinate by coordinate."""
    gradient = getattr(anchor, name)
    size = int(gradient.shape[0])
    sampled = np.sort(rng.choice(size, size=min(size, COORDINATES), replace=False))
    slope = _along(problem, anchor, name)
    wide, narrow = 1e-4 * width, 0.5e-4 * width
    largest = max(float(np.abs(np.asarray([float(gradient[i]) for i in sampled])).max()), abs(anchor.value) * 1e-12)
    rounding = 64 * np.finfo(np.float64).eps * abs(anchor.value) / narrow
    worst = 0.0
    for index in sampled:
        axis = np.zeros(size)
        axis[index] = 1.0
        coarse, fine = slope(axis, wide), slope(axis, narrow)
        error = abs(fine - float(gradient[index]))
        if error > 1e-4 * largest + 2 * abs(fine - coarse) + rounding:
            raise ValueError(
                f"Objective({name}=...) is off in coordinate {index}: it says {float(gradient[index]):.6g}, "
                f"finite differences of the value say {fine:.6g}."
            )
        worst = max(worst, error)
    return worst / max(largest, 1e-300)


def _along(problem: Problem, anchor: Anchor, name: str) -> Callable[[Points, float], float]:
    """Return the central difference of φ in x or in y along a direction, with a given width."""

    def shifted(direction: Points, width: float) -> float:
        if name == "grad_x":
            return problem.objective.anchor(anchor.at + width * direction, anchor.response).value
        move: Any = namespace(anchor.response).asarray(width * direction)
        return problem.objective.anchor(anchor.at, anchor.response + move).value

    return lambda direction, width: (shifted(direction, width) - shifted(direction, -width)) / (2 * width)


def _typical_size(response: Response) -> float:
    xp = namespace(response)
    return float(xp.sqrt(xp.mean(response**2))) or 1.0
