"""Look at a problem before a budget is spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import (
    ArgumentError,
    Point,
    Response,
    as_positive,
    is_real,
    like,
    namespace,
    owned,
    to_numpy,
)
from bizol.evaluation import Direct, Ledger
from bizol.feasible_sets.protocol import as_member
from bizol.problem import Anchor, Problem
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
    size = np.abs(to_numpy(response))
    typical = float(np.sqrt((size**2).mean())) or 1.0
    width = feasible_set.diameter / np.sqrt(here.size) or 1.0
    compare = _Comparison(problem, anchor, rng)
    return ProblemCheck(
        dimensions=(here.size, size.size),
        repeatability=repeatability,
        grad_x_error=compare.gradient("grad_x", np.full(here.size, width)),
        grad_y_error=compare.gradient("grad_y", np.maximum(size, 1e-3 * typical)),
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """The partial gradients at an observed pair, beside finite differences of φ."""

    problem: Problem
    anchor: Anchor
    rng: np.random.Generator

    def gradient(self, name: Literal["grad_x", "grad_y"], sizes: Point) -> float:
        """Compare a gradient with central differences at two widths, coordinate by coordinate.

        A coordinate may be off by 10⁻⁴ of itself, by what the two widths differ, and by the
        rounding of φ.
        """
        gradient = to_numpy(self.anchor.grad_x if name == "grad_x" else self.anchor.grad_y)
        precision = _precision(self.anchor.response)
        count = min(gradient.size, COORDINATES)
        worst = 0.0
        for index in np.sort(self.rng.choice(gradient.size, size=count, replace=False)):
            wide = precision ** (1 / 3) * sizes[index]
            coarse = self._slope(name, index, wide)
            fine = self._slope(name, index, wide / 2)
            error = abs(fine - gradient[index])
            rounding = 64 * precision * abs(self.anchor.value) / wide
            if error > 1e-4 * abs(gradient[index]) + 3 * abs(fine - coarse) + rounding:
                raise ValueError(
                    f"Objective({name}=...) is off in coordinate {index}: it says "
                    f"{gradient[index]:.6g}, finite differences of the value say {fine:.6g}."
                )
            worst = max(worst, error)
        return float(worst / (np.abs(gradient).max() or 1.0))

    def _slope(self, name: Literal["grad_x", "grad_y"], index: int, width: float) -> float:
        """Return the central difference of φ in one coordinate of x or of y."""
        values = []
        for step in (width, -width):
            x = self.anchor.at
            y = self.anchor.response
            axis = np.zeros(x.size if name == "grad_x" else int(y.shape[0]))
            axis[index] = step
            if name == "grad_x":
                x = x + axis
            else:
                y = y + like(axis, y)
            values.append(float(self.problem.objective.values(x[None], y[None, ...])[0]))
        return (values[0] - values[1]) / (2 * width)


def _precision(response: Response) -> float:
    return float(namespace(response).finfo(response.dtype).eps)
