"""The partial gradients of φ beside its finite differences at an observed pair: no query is spent.

A gradient that is right lies between the one-sided differences of φ, up to rounding: between both
also where φ has a kink there. One that is wrong does so at no width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from typing import Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Response, like, namespace, to_numpy
from bizol.feasible_sets.protocol import widths
from bizol.problem.errors import EvaluationError
from bizol.problem.objective import Anchor, Objective
from bizol.problem.problem import Problem
from bizol.randomness import generator

Part: TypeAlias = Literal["grad_x", "grad_y"]

COMPARED = 32  # coordinates of each gradient at the first answer of a run
WIDTHS = (1.0, 8.0, 64.0)  # times that at which rounding and curvature are alike
AGREES = 1e-4  # of a slope: differences of it are not told apart
NEGLIGIBLE = 1e-9  # of the steepest coordinate, each over its width
ROUNDING = 16  # times the precision of the response, relative to φ
SHAKEN = (-1.0, -0.71, -0.44, -0.19, 0.0, 0.17, 0.46, 0.69, 1.0)  # places within a width
MARGIN = 4  # times what is left there of φ: what its rounding may be
TYPICAL = 1e-3  # of a typical entry: a smaller one of y is given this width


class GradientError(EvaluationError):
    """A given gradient is not the derivative of the given φ.

    Attributes:
        part: "grad_x" or "grad_y".
        coordinate: where it is farthest off.
        given, differences: the slope there, as it was given and as φ has it.

    """

    def __init__(self, part: Part, coordinate: int, given: float, differences: float) -> None:
        super().__init__(
            f"Objective({part}=...) is off in coordinate {coordinate}: it says {given:.6g}, "
            f"finite differences of the value say {differences:.6g}."
        )
        self.part = part
        self.coordinate = coordinate
        self.given = given
        self.differences = differences


def examine(problem: Problem, x: Point, y: Response) -> None:
    """Evaluate the objective at the first answer, and refuse gradients that are not those of φ.

    Before more is asked. The same coordinates are compared every time.

    Raises:
        GradientError: where one is off.

    """
    anchor = problem.objective.examine(x, y)
    refuse_wrong_gradients(problem, anchor)


def refuse_wrong_gradients(problem: Problem, anchor: Anchor) -> None:
    """Compare some coordinates of the gradients at an observed pair.

    Raises:
        GradientError: where one is off.

    """
    across = widths(problem.feasible_set)
    compare_gradients(problem.objective, anchor, across, most=COMPARED, rng=generator(0))


def compare_gradients(
    objective: Objective, anchor: Anchor, across_x: Point, *, most: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the largest errors of ∇₁φ and ∇₂φ, relative to the gradients.

    Args:
        objective: φ with its gradients.
        anchor: what they say at the pair.
        across_x: how far X extends along each coordinate.
        most: how many coordinates of each gradient are compared: half of them the steepest, the
            others at random.
        rng: which these are.

    Raises:
        GradientError: where one is off.

    """
    size = np.abs(to_numpy(anchor.response))
    typical = float(np.sqrt((size**2).mean())) if size.size else 0.0
    across_y = np.maximum(size, TYPICAL * typical if typical > 0 else 1.0)
    by_x = _Comparison(objective, anchor, "grad_x", np.asarray(across_x, dtype=np.float64))
    by_y = _Comparison(objective, anchor, "grad_y", across_y)
    return by_x.compare(most, rng), by_y.compare(most, rng)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """One partial gradient at an observed pair."""

    objective: Objective
    anchor: Anchor
    part: Part
    widths: Point  # typical lengths, by coordinate

    def compare(self, most: int, rng: np.random.Generator) -> float:
        """Return the largest error relative to the gradient; raise where it is too large.

        Coordinates one by one; where that are not all, also all at once: by their own lengths, and
        all by a typical one. Where these are off, the coordinate is found by halving. Entries that
        are not finite are left to those who use them.
        """
        given = self.anchor.grad_x if self.part == "grad_x" else self.anchor.grad_y
        slopes = np.asarray(to_numpy(given), dtype=np.float64)
        precision = float(namespace(self.anchor.response).finfo(self.anchor.response.dtype).eps)
        steps = np.where(np.isfinite(slopes), precision ** (1 / 3) * self.widths, 0.0)
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        gains = np.abs(slopes) * steps
        tell = partial(
            self._tell,
            rounding=ROUNDING * precision * abs(self.anchor.value)
            + NEGLIGIBLE * float(gains.max(initial=0.0)),
        )
        compared = _chosen(gains, most, rng)
        found = {int(index): tell(slopes, steps, compared[[k]]) for k, index in enumerate(compared)}
        if slopes.size > most:
            signs = rng.choice([-1.0, 1.0], size=slopes.size)
            usual = float(np.sqrt((steps**2).mean()))
            typical = np.where(steps > 0, np.maximum(steps, usual), 0.0)
            for lengths in (signs * steps, signs * typical):
                place = _halve(partial(tell, slopes, lengths), slopes.size)
                if place is not None:
                    found[place] = tell(slopes, lengths, np.array([place]))
        wrong = [(each.off, index) for index, each in found.items() if not each.right]
        if wrong:
            _, index = max(wrong)
            raise GradientError(self.part, index, float(slopes[index]), found[index].slope)
        errors = [each.off for each in found.values()]
        return max(errors, default=0.0) / (float(np.abs(slopes).max(initial=0.0)) or 1.0)

    def _tell(
        self, slopes: Point, steps: Point, some: NDArray[np.intp], *, rounding: float
    ) -> _Verdict:
        """Compare the slope along some coordinates at once with differences of φ.

        For a single one, what is returned is by its unit.
        """
        direction = np.zeros(slopes.size)
        direction[some] = steps[some]
        given, here = float(slopes @ direction), self.anchor.value
        unit = float(direction[some[0]]) if len(some) == 1 else 1.0
        right = _Verdict(True, given / (unit or 1.0), 0.0)
        if not direction.any():
            return right
        first: float | None = None
        for width in WIDTHS:
            ahead = self._value(width * direction)
            behind = self._value(-width * direction)
            if not (isfinite(ahead) and isfinite(behind)):
                break  # φ is not defined there
            sides = sorted(((ahead - here) / width, (here - behind) / width))
            slack = AGREES * abs(given) + rounding / width
            if sides[0] - slack <= given <= sides[1] + slack:
                middle = sum(sides) / 2 if first is None else given
                return _Verdict(True, middle / unit, abs((middle - given) / unit))
            if first is None:  # it is off, or φ is rounder than it seems
                first = sum(sides) / 2
                rounding += self._noise(direction)
        else:
            assert first is not None
            return _Verdict(False, first / unit, abs((first - given) / unit))
        return right

    def _noise(self, direction: Point) -> float:
        """Return by how much φ differs from a parabola within a width, in several steps of it."""
        values = np.array([self._value(place * direction) for place in SHAKEN])
        if not np.isfinite(values).all():
            return inf
        values = values - self.anchor.value  # no digit of a large constant counts below
        fitted = np.polynomial.Polynomial.fit(SHAKEN, values, 2)
        return float(MARGIN * np.abs(values - fitted(np.array(SHAKEN))).max())

    def _value(self, move: Point) -> float:
        """Return φ where x or y is moved; infinite where it is not defined."""
        x, y = self.anchor.at, self.anchor.response
        if self.part == "grad_x":
            x = x + move
        else:
            y = y + like(move, y)
        try:
            return float(self.objective.values(x[None], y[None, ...])[0])
        except EvaluationError:
            return inf


class _Verdict(NamedTuple):
    """A slope as φ has it, and whether the given one agrees with it."""

    right: bool
    slope: float
    off: float


def _halve(tell: Callable[[NDArray[np.intp]], _Verdict], size: int) -> int | None:
    """Return a coordinate that is wrong on its own, given what says whether some are."""
    some = np.arange(size)
    if tell(some).right:
        return None
    while len(some) > 1:
        halves = np.array_split(some, 2)
        found = next((half for half in halves if not tell(half).right), None)
        if found is None:
            return None
        some = found
    return int(some[0])


def _chosen(weights: Point, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the coordinates to compare: all, or the steepest and some at random."""
    if weights.size <= most:
        return np.arange(weights.size)
    order = np.argsort(-weights, kind="stable")
    others = rng.choice(order[most // 2 :], size=most - most // 2, replace=False)
    return np.sort(np.concatenate([order[: most // 2], others]))
