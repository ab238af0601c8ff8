"""What a case is, and the best known values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import nan
from pathlib import Path
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

import bizol
from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet

Split: TypeAlias = Literal["tune", "report", "draw"]
Residuals: TypeAlias = Callable[[Point, Point], Point]
Response: TypeAlias = Callable[[Point], Point]
REFERENCES = Path(__file__).parents[1] / "references.json"
PAPER = "Z. Jiang and S. Bolognani, Bi-ZOL: Bilevel Zeroth-Order Learning with Nonsmooth Responses"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A problem, where to start, and the best value known.

    Attributes:
        reference: the best known φ(x, y(x)), from `references.json`; NaN where it was never
            computed.
        split: which half of the suite it belongs to: methods are tuned on one and reported on the
            other. Draws are in neither, and are tuned on.
        source: where the problem comes from.
        tags: the family, the kind of set and what makes it hard, for selection and for tables.
        residuals: r with φ = ‖r(x, y)‖², where the objective is a sum of squares; None where it is
            not.
        solution: a decision that attains the optimum, where a formula gives one; None where not.

    """

    name: str
    problem: bizol.Problem
    start: Point
    reference: float
    split: Split
    source: str
    tags: frozenset[str]
    residuals: Residuals | None = None
    solution: Point | None = None

    @property
    def dimension(self) -> int:
        """The n of the decision."""
        return self.problem.feasible_set.dimension

    def value(self, x: Point) -> float:
        """Return φ(x, y(x)), uncounted."""
        response = (
            self.problem.response(x[None])[0]
            if self.problem.vectorized
            else self.problem.response(x)
        )
        return float(self.problem.objective.values(x[None], np.asarray(response)[None])[0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The best known value of a case, and a feasible point that attains it."""

    value: float
    x: tuple[float, ...]


@cache
def references() -> dict[str, Reference]:
    """Return what is best known, by the names of the cases."""
    found = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
    return {
        name: Reference(value=entry["value"], x=tuple(entry["x"])) for name, entry in found.items()
    }


def make_case(
    name: str,
    objective: bizol.Objective,
    response: Response,
    feasible_set: FeasibleSet,
    *,
    split: Split,
    source: str,
    tags: str,
    start: ArrayLike | None = None,
    residuals: Residuals | None = None,
    solution: Point | None = None,
) -> Case:
    """Return a case with the best known value of its name."""
    kind = type(feasible_set).__name__.lower()
    return Case(
        name=name,
        problem=bizol.Problem(objective, response, feasible_set),
        start=np.array(feasible_set.center if start is None else start, dtype=np.float64),
        reference=references()[name].value if name in references() else nan,
        split=split,
        source=source,
        tags=frozenset([kind, *tags.split(), *(["squares"] if residuals is not None else [])]),
        residuals=residuals,
        solution=solution,
    )


def squares(
    residuals: Residuals,
    by_x: Callable[[Point, Point], Points],
    by_y: Callable[[Point, Point], Points],
) -> bizol.Objective:
    """Return φ = ‖r(x, y)‖² from r and its two Jacobians."""
    return bizol.Objective(
        value=lambda x, y: float(residuals(x, y) @ residuals(x, y)),
        grad_x=lambda x, y: 2 * by_x(x, y).T @ residuals(x, y),
        grad_y=lambda x, y: 2 * by_y(x, y).T @ residuals(x, y),
    )
