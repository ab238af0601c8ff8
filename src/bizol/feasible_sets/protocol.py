"""What a feasible set must offer: linear minimization and a few facts about itself."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, as_vector
from bizol.feasible_sets.linear_program import LinearConstraints


@runtime_checkable
class FeasibleSet(Protocol):
    """A convex, compact set X of Rⁿ, known through linear minimization.

    Any object with these members will do; `bizol.testing.check_feasible_set` checks that it
    satisfies this protocol.
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
        """A point of X away from its boundary, where a run starts by default."""
        ...

    def minimize_linear(self, cost: Point) -> Point:
        """Return a point of X that minimizes ⟨cost, x⟩.

        The point must be a function of the cost: equal costs get the same point.
        """
        ...

    def contains(self, point: Point, tolerance: float = ...) -> bool:
        """Whether the point is in X, up to `tolerance` times the size of the set."""
        ...


class ProjectableSet(FeasibleSet, Protocol):
    """A feasible set onto which projecting is cheap."""

    def project(self, point: Point) -> Point:
        """Return the point of X nearest to the one given."""
        ...


class MeasuredSet(FeasibleSet, Protocol):
    """A feasible set that knows how far it extends along each coordinate."""

    @property
    def widths(self) -> Point:
        """The largest differences between two points of X, coordinate by coordinate (n,)."""
        ...


class RescalableSet(ProjectableSet, Protocol):
    """A feasible set that has a projection in other units too.

    Where units differ between coordinates, so do lengths, and with them the nearest points.
    """

    def in_units(self, units: Point) -> ProjectableSet:
        """Return the set {x / units : x ∈ X}, with a projection of its own.

        A composed set raises an `AttributeError` where a part has none in these units.
        """
        ...


class PolyhedralSet(FeasibleSet, Protocol):
    """A feasible set that a few linear constraints describe."""

    @property
    def constraints(self) -> LinearConstraints:
        """The rows and bounds.

        A composed set raises an `AttributeError` where a part has none.
        """
        ...


def polyhedron(feasible_set: FeasibleSet) -> LinearConstraints | None:
    """Return the linear constraints that describe the set, or None where it offers none."""
    try:
        return cast(PolyhedralSet, feasible_set).constraints
    except AttributeError:
        return None


def projection(feasible_set: FeasibleSet) -> Callable[[Point], Point] | None:
    """Return the projection onto the set, or None where it offers none.

    A composed set offers one exactly where its parts do, so it is asked for, not looked up.
    """
    try:
        return cast(ProjectableSet, feasible_set).project
    except AttributeError:
        return None


def rescale(feasible_set: FeasibleSet, units: Point) -> ProjectableSet | None:
    """Return the set {x / units : x ∈ X} with its projection, or None where the set offers none."""
    try:
        return cast(RescalableSet, feasible_set).in_units(units)
    except AttributeError:
        return None


def widths(feasible_set: FeasibleSet) -> Point:
    """Return how far the set extends along each coordinate.

    A set that does not know is taken to be equally wide along all of them.
    """
    try:
        return cast(MeasuredSet, feasible_set).widths
    except AttributeError:
        n = feasible_set.dimension
        return np.full(n, feasible_set.diameter / sqrt(n))


def as_units(value: ArrayLike, feasible_set: FeasibleSet, owner: str) -> Point:
    """Return `value` as units of the coordinates of a set: positive, finite numbers."""
    units = as_vector(value, f"{owner}.in_units", "units", size=feasible_set.dimension, finite=True)
    if not (units > 0).all():
        index = int(np.argmin(units))
        what = f"must be positive, got {units[index]:g} at coordinate {index}."
        raise ArgumentError(f"{owner}.in_units", "units", what)
    return units


def as_member(value: ArrayLike, feasible_set: FeasibleSet, owner: str, name: str = "") -> Point:
    """Return `value` as a point of the set, or say what is wrong with it and how far off it is."""
    point = as_vector(value, owner, name, size=feasible_set.dimension, finite=True)
    if feasible_set.contains(point):
        return point
    kind = type(feasible_set).__name__
    where = f"must lie in the feasible set, a {kind} of dimension {point.size}"
    onto = projection(feasible_set)
    if onto is None:
        raise ArgumentError(owner, name, f"{where}, but does not; the set's center does.")
    nearest = onto(point)
    distance = np.linalg.norm(point - nearest)
    index = int(np.argmax(np.abs(point - nearest)))
    raise ArgumentError(
        owner,
        name,
        f"{where}, but is {distance:.3g} away from it: the nearest point has "
        f"{nearest[index]:g} in coordinate {index}, not {point[index]:g}. "
        f"Project it, or take the set's center.",
    )


def slack(feasible_set: FeasibleSet, tolerance: float) -> float:
    """Return the distance from X up to which a point counts as being in it.

    It is relative to the size of X and never below rounding errors.
    """
    rounding = 16 * float(np.finfo(np.float64).eps) * float(np.linalg.norm(feasible_set.center))
    return tolerance * feasible_set.diameter + rounding
