"""Look at a problem before a budget is spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import (
    ArgumentError,
    Point,
    Response,
    as_positive,
    is_real,
    namespace,
    owned,
    to_numpy,
)
from bizol.evaluation import Evaluator
from bizol.feasible_sets.protocol import as_member
from bizol.problem import Anchor, Problem
from bizol.randomness import generator

SHARE = 0.1  # of a typical slope: the error of an estimate that is still silently accepted
COORDINATES = 200  # of each gradient; in higher dimension a random sample of this size is compared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """What `problem.check()` measured on a problem that passed.

    Attributes:
        dimensions: (n, m).
        repeatability: the largest difference between two answers to the same question, relative to
            the response.
        grad_x_error, grad_y_error: the largest difference from finite differences, relative to the
            gradient.
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


def too_fine(problem: Problem, delta: float) -> str:
    """Say that a radius is too small for the tolerance the follower states; nothing where it states
    none.

    Answers that are off by τ‖y‖ change an estimate of the Jacobian by about nτ‖y‖/δ. A typical
    slope is ‖y‖ over the
    diameter of the set: the response changes by its own size from one end to the other.
    """
    tolerance: Any = getattr(problem.response, "tolerance", None)
    if not is_real(tolerance) or not is_real(delta) or delta <= 0:
        return ""
    needed = (
        problem.feasible_set.dimension * float(tolerance) * problem.feasible_set.diameter / SHARE
    )
    if delta >= needed:
        return ""
    return (
        f"The radius δ = {delta:g} is small for a follower whose answers are accurate to {tolerance:g} of their size: "
        f"estimates of its Jacobian may be off by {SHARE * needed / delta:.0%} of a typical slope. "
        f"Take δ ≥ {needed:.1g}, or give the follower a smaller tolerance."
    )


def check_problem(
    problem: Problem, x: ArrayLike | None, *, delta: float | None, noise: float, seed: int
) -> ProblemCheck:
    """Carry out `Problem.check`, which documents it."""
    feasible_set = problem.feasible_set
    if not is_real(noise) or not 0 <= noise < np.inf:
        raise ArgumentError("check", "noise", f"must be finite and not negative, got {noise!r}.")
    here = as_member(feasible_set.center if x is None else x, feasible_set, "check", "x")
    rng = generator(seed)
    there = feasible_set.minimize_linear(rng.standard_normal(here.size))
    evaluator = Evaluator(problem, first=problem.objective.anchor)
    response = owned(evaluator.evaluate(np.stack([here, (here + there) / 2]))[0, ...])
    again = evaluator.evaluate(here[None])[0, ...]
    repeatability = _difference(response, again, noise)
    if delta is not None:
        away = there - here
        outside = there + as_positive(delta, "check", "delta") * away / (
            float(np.linalg.norm(away)) or 1.0
        )
        evaluator.evaluate(outside[None])
    anchor = problem.objective.anchor(here, response)
    size = np.abs(to_numpy(response))
    typical = float(np.sqrt((size**2).mean())) or 1.0
    return ProblemCheck(
        dimensions=(here.size, size.size),
        repeatability=repeatability,
        grad_x_error=_gradient_error(
            problem,
            anchor,
            "grad_x",
            np.full(here.size, feasible_set.diameter / np.sqrt(here.size) or 1.0),
            rng,
        ),
        grad_y_error=_gradient_error(
            problem, anchor, "grad_y", np.maximum(size, 1e-3 * typical), rng
        ),
        queries=evaluator.queries,
    )


def _difference(first: Response, second: Response, noise: float) -> float:
    before, apart = to_numpy(first), np.abs(to_numpy(second) - to_numpy(first))
    relative = float(apart.max() / (np.abs(before).max() or 1.0))
    if relative > max(noise, 1e-12):
        raise ValueError(
            f"The response is not repeatable: asked twice at the same x, coordinate {int(apart.argmax())} differs by "
            f"{apart.max():.3g} ({relative:.1e} of the response). If the follower is noisy, say how much with "
            f"check(noise=...); if it is vectorized, see that each row depends on its own x alone."
        )
    return relative


def _gradient_error(
    problem: Problem, anchor: Anchor, name: str, sizes: Point, rng: np.random.Generator
) -> float:
    """Compare a partial gradient with central differences of φ at two widths, coordinate by
    coordinate.

    A coordinate may be off by 10⁻⁴ of itself, by what the two widths differ, and by the rounding of
    φ.
    """
    gradient = to_numpy(getattr(anchor, name))
    precision = _precision(anchor.response)
    worst = 0.0
    for index in np.sort(
        rng.choice(gradient.size, size=min(gradient.size, COORDINATES), replace=False)
    ):
        wide = precision ** (1 / 3) * sizes[index]
        coarse, fine = (_slope(problem, anchor, name, index, width) for width in (wide, wide / 2))
        error = abs(fine - gradient[index])
        rounding = 64 * precision * abs(anchor.value) / wide
        if error > 1e-4 * abs(gradient[index]) + 3 * abs(fine - coarse) + rounding:
            raise ArgumentError(
                "Objective",
                name,
                f"is off in coordinate {index}: it says {gradient[index]:.6g}, "
                f"finite differences of the value say {fine:.6g}.",
            )
        worst = max(worst, error)
    return float(worst / (np.abs(gradient).max() or 1.0))


def _slope(problem: Problem, anchor: Anchor, name: str, index: int, width: float) -> float:
    """Return the central difference of φ in one coordinate of x or of y."""
    values = []
    for step in (width, -width):
        x, y = anchor.at, anchor.response
        axis = np.zeros(x.size if name == "grad_x" else int(y.shape[0]))
        axis[index] = step
        if name == "grad_x":
            x = x + axis
        else:
            y = y + namespace(y).asarray(axis, dtype=y.dtype, device=y.device)
        values.append(float(problem.objective.values(x[None], y[None, ...])[0]))
    return (values[0] - values[1]) / (2 * width)


def _precision(response: Response) -> float:
    return float(namespace(response).finfo(response.dtype).eps)
