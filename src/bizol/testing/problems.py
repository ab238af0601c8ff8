"""Look at a problem before a budget is spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import (
    ArgumentError,
    Response,
    as_positive,
    is_real,
    owned,
    to_numpy,
)
from bizol.evaluation import Direct, Ledger
from bizol.feasible_sets.protocol import as_member, widths
from bizol.problem import Problem
from bizol.problem.gradients import compare_gradients
from bizol.randomness import generator

COORDINATES = 200  # of each gradient; in higher dimension a random sample of this size is compared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """What `bizol.check` measured on a problem that passed.

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
            f"grad_x is {self.grad_x_error:.1e} and grad_y {self.grad_y_error:.1e} "
            f"from finite differences (relative)"
        )


def check(
    problem: Problem,
    x: ArrayLike | None = None,
    *,
    delta: float | None = None,
    noise: float = 1e-6,
    seed: int = 0,
) -> ProblemCheck:
    """Verify a problem with three queries, before a budget is spent.

    Looks at the shapes and finiteness of every answer, at whether the follower says the same when
    asked twice, and compares both partial gradients with finite differences of φ (which costs no
    query).

    Args:
        problem: the problem.
        x: where to look; the center of the set by default.
        delta: when given, also ask a little outside of X, at this distance, as methods with this δ
            do (one query).
        noise: the largest difference between two answers to the same question that is accepted,
            relative to the largest entry of the response; what single precision makes of it passes
            by default.
        seed: which second point and, in high dimension, which coordinates are looked at.

    Returns:
        What was measured; printing it says it in words.

    Raises:
        ValueError: naming what is wrong, and where.

    Example:
        >>> import numpy as np, bizol
        >>> problem = bizol.Problem(
        ...     bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        ...     lambda x: np.minimum(x, 0.5),
        ...     bizol.Box([-1, -1], [1, 1]),
        ... )
        >>> check(problem).queries
        3

    """
    feasible_set = problem.feasible_set
    if not is_real(noise) or not 0 <= noise < np.inf:
        raise ArgumentError("check", "noise", f"must be finite and not negative, got {noise!r}.")
    here = as_member(feasible_set.center if x is None else x, feasible_set, "check", "x")
    rng = generator(seed)
    there = feasible_set.minimize_linear(rng.standard_normal(here.size))
    evaluator = Direct(problem, Ledger(examine=problem.objective.examine))
    response = owned(evaluator.ask(np.stack([here, (here + there) / 2]))[0, ...])
    again = evaluator.ask(here[None])[0, ...]
    repeatability = _difference(response, again, noise)
    if delta is not None:
        away = there - here
        outward = away / (float(np.linalg.norm(away)) or 1.0)
        evaluator.ask((there + as_positive(delta, "check", "delta") * outward)[None])
    anchor = problem.objective.anchor(here, response)
    errors = compare_gradients(
        problem.objective, anchor, widths(feasible_set), most=COORDINATES, rng=rng
    )
    return ProblemCheck(
        dimensions=(here.size, int(response.shape[0])),
        repeatability=repeatability,
        grad_x_error=errors[0],
        grad_y_error=errors[1],
        queries=evaluator.queries,
    )


def _difference(first: Response, second: Response, noise: float) -> float:
    before = to_numpy(first)
    apart = np.abs(to_numpy(second) - before)
    relative = float(apart.max() / (np.abs(before).max() or 1.0))
    if relative > max(noise, 1e-12):
        raise ValueError(
            f"The response is not repeatable: asked twice at the same x, coordinate "
            f"{int(apart.argmax())} differs by {apart.max():.3g} ({relative:.1e} of the response). "
            f"If the follower is noisy, say how much with check(noise=...); if it is vectorized, "
            f"see that each row depends on its own x alone."
        )
    return relative
