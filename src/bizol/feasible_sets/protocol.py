"""The one question a feasible set must answer, and the few facts it must know about itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from bizol.arrays import Point


@runtime_checkable
class FeasibleSet(Protocol):
    """A convex, compact set X of Rⁿ, known through linear minimization.

    Any object with these members will do; `bizol.testing.check_feasible_set` says whether it keeps their laws.
    """

    @property
    def dimension(self) -> int:
        """The n of X ⊂ Rⁿ."""
        ...

    @property
    def diameter(self) -> float:
        """The largest Euclidean distance between two points of X, or an upper bound on it."""
        ...

    @property
    def center(self) -> Point:
        """A point of X away from its boundary, where a run starts when nobody says where."""
        ...

    def minimize_linear(self, cost: Point) -> Point:
        """Return a point of X that minimizes ⟨cost, x⟩, the same one whenever the cost is the same."""
        ...

    def contains(self, point: Point, tolerance: float = ...) -> bool:
        """Whether the point is in X, up to `tolerance` times the size of the set."""
        ...


class ProjectableSet(FeasibleSet, Protocol):
    """A feasible set onto which projecting is cheap."""

    def project(self, point: Point) -> Point:
        """Return the point of X nearest to the one given."""
        ...


def projection(feasible_set: FeasibleSet) -> Callable[[Point], Point] | None:
    """Return the projection onto the set, or None where it offers none."""
    return getattr(feasible_set, "project", None)


def slack(feasible_set: FeasibleSet, tolerance: float) -> float:
    """Return the distance from X that counts as being in it: relative to its size, and never below rounding."""
    rounding = 16 * float(np.finfo(np.float64).eps) * float(np.linalg.norm(feasible_set.center))
    return tolerance * feasible_set.diameter + rounding
