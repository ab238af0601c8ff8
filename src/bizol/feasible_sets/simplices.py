"""Shares of a total: the simplex, the simplex with caps, and budgets that may stay unspent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, as_positive, as_size, as_vector
from bizol.feasible_sets.linear_program import LinearConstraints
from bizol.feasible_sets.protocol import slack
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True)
class Simplex:
    """The scaled probability simplex {x ≥ 0 : Σ xᵢ = total}.

    Example:
        >>> Simplex(3).minimize_linear(np.array([0.5, -1.0, 2.0]))
        array([0., 1., 0.])

    """

    dimension: int
    total: float = 1.0

    def __post_init__(self) -> None:
        dimension = as_size(self.dimension, "Simplex", "dimension")
        total = as_positive(self.total, "Simplex", "total")
        assign(self, dimension=dimension, total=total)

    @property
    def diameter(self) -> float:
        """Distance between two vertices."""
        return self.total * sqrt(2) if self.dimension > 1 else 0.0

    @property
    def center(self) -> Point:
        """Equal shares."""
        return np.full(self.dimension, self.total / self.dimension)

    def minimize_linear(self, cost: Point) -> Point:
        """Put everything on the cheapest coordinate."""
        vertex = np.zeros(self.dimension)
        vertex[np.argmin(cost)] = self.total  # ties go to the lowest index
        return vertex

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether no share is negative and together they make the total."""
        allowed = slack(self, tolerance)
        whole = abs(point.sum() - self.total) <= sqrt(point.size) * allowed
        return bool(point.min() >= -allowed and whole)

    @property
    def constraints(self) -> LinearConstraints:
        """Nothing below zero, all together the total."""
        caps = np.full(self.dimension, self.total)
        return _share(caps, self.total)

    def project(self, point: Point) -> Point:
        """Lower every coordinate by the same amount, down to zero at most."""
        return fill_to_level(point, np.full(self.dimension, self.total), self.total)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CappedSimplex:
    """Shares with caps: {0 ≤ x ≤ upper, Σ xᵢ = total}.

    With all caps 1 and an integer total k this is the hypersimplex, whose vertices choose k of n.

    Example:
        >>> CappedSimplex(upper=[1, 1, 1], total=1.5).minimize_linear(np.array([0.5, -1.0, 2.0]))
        array([0.5, 1. , 0. ])

    """

    upper: Point
    total: float = 1.0

    def __init__(self, upper: ArrayLike, total: float = 1.0) -> None:
        wanted = as_positive(total, "CappedSimplex", "total")
        caps = _as_caps(upper, wanted, "CappedSimplex", "upper")
        most = float(caps.sum())
        if most < wanted * (1 - 1e-12):
            raise ArgumentError(
                "CappedSimplex",
                ("upper", "total"),
                f"is empty: the caps add up to {most:g}, less than the total "
                f"{wanted:g}; raise a cap or lower the total.",
            )
        # Where `most` is less than the total, the difference is a rounding error.
        assign(self, upper=caps, total=min(wanted, most))

    @property
    def dimension(self) -> int:
        """The number of shares."""
        return self.upper.size

    @property
    def diameter(self) -> float:
        """An upper bound, attained for equal caps.

        Two points differ by at most 2·min(total, Σ upper − total) in sum.
        """
        return _largest_move(self.upper, 2 * min(self.total, float(self.upper.sum()) - self.total))

    @property
    def center(self) -> Point:
        """Shares in proportion to the caps."""
        return self.upper * (self.total / float(self.upper.sum()))

    def minimize_linear(self, cost: Point) -> Point:
        """Fill the cheapest coordinates to their caps until the total is placed."""
        return _fill_cheapest(cost, self.upper, self.total)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether every share is between zero and its cap and together they make the total."""
        allowed = slack(self, tolerance)
        capped = point.min() >= -allowed and (point - self.upper).max() <= allowed
        return bool(capped and abs(point.sum() - self.total) <= sqrt(point.size) * allowed)

    @property
    def constraints(self) -> LinearConstraints:
        """Between zero and the caps, all together the total."""
        return _share(self.upper, self.total)

    def project(self, point: Point) -> Point:
        """Shift every coordinate by the same amount and clip, so that the total comes out right."""
        return fill_to_level(point, self.upper, self.total)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BudgetSet:
    """Spending with caps: {0 ≤ x ≤ upper, Σ xᵢ ≤ total}.

    Example:
        >>> BudgetSet(upper=[1, 1, 1], total=1.5).minimize_linear(np.array([0.5, -1.0, 2.0]))
        array([0., 1., 0.])

    """

    upper: Point
    total: float = 1.0

    def __init__(self, upper: ArrayLike, total: float = 1.0) -> None:
        budget = as_positive(total, "BudgetSet", "total")
        assign(self, upper=_as_caps(upper, budget, "BudgetSet", "upper"), total=budget)

    @property
    def dimension(self) -> int:
        """The number of items."""
        return self.upper.size

    @property
    def diameter(self) -> float:
        """An upper bound, attained for equal caps: two points differ by at most 2·total in sum."""
        return _largest_move(self.upper, 2 * self.total)

    @property
    def center(self) -> Point:
        """Half of what the caps and the budget allow, in proportion to the caps."""
        return self.upper * (min(1.0, self.total / float(self.upper.sum())) / 2)

    def minimize_linear(self, cost: Point) -> Point:
        """Spend on what pays, best first, and nothing on the rest."""
        return _fill_cheapest(cost, np.where(cost < 0, self.upper, 0.0), self.total)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether every entry is between zero and its cap and the budget is kept."""
        allowed = slack(self, tolerance)
        capped = point.min() >= -allowed and (point - self.upper).max() <= allowed
        return bool(capped and point.sum() - self.total <= sqrt(point.size) * allowed)

    @property
    def constraints(self) -> LinearConstraints:
        """Between zero and the caps, all together at most the total."""
        bounds = LinearConstraints.bounds(np.zeros(self.dimension), self.upper)
        row, total = np.ones((1, self.dimension)), np.array([self.total])
        return replace(bounds, A_ub=row, b_ub=total)

    def project(self, point: Point) -> Point:
        """Clip, and where that overspends, lower everything by the same amount."""
        clipped = np.clip(point, 0.0, self.upper)
        if clipped.sum() <= self.total:
            return clipped
        return fill_to_level(point, self.upper, self.total)


def _share(caps: Point, total: float) -> LinearConstraints:
    bounds = LinearConstraints.bounds(np.zeros(caps.size), caps)
    return replace(bounds, A_eq=np.ones((1, caps.size)), b_eq=np.array([total]))


def fill_to_level(point: Point, upper: Point, total: float) -> Point:
    """Return clip(point − τ, 0, upper) with the τ for which it sums to `total`.

    This needs Σ upper ≥ total. The sum falls as τ rises, linearly between the breakpoints pᵢ and
    pᵢ − uᵢ: walk down them until it reaches `total`.
    """
    point = point - point.max()  # a shift of τ, without effect except on rounding
    levels = np.concatenate([point, point - upper])
    change = np.concatenate([np.ones_like(point), -np.ones_like(point)])
    order = np.argsort(-levels, kind="stable")
    levels = levels[order]
    moving = np.cumsum(change[order])  # the number of entries that move just below each level
    # The sum at each level; `total` lies between the level `last` and the next.
    sums = np.concatenate([[0.0], np.cumsum(moving[:-1] * -np.diff(levels))])
    last = int(np.searchsorted(sums, total, side="left")) - 1
    level = float(levels[last])
    if moving[last] > 0:
        level = float(levels[last] - (total - sums[last]) / moving[last])
    filled = np.clip(point - level, 0.0, upper)
    if abs(float(filled.sum()) - total) <= 1e-9 * total:
        return filled
    # The point is so far out that the level is lost in rounding: the limit is a vertex.
    return _fill_cheapest(-point, upper, total)


def _fill_cheapest(cost: Point, upper: Point, total: float) -> Point:
    order = np.argsort(cost, kind="stable")  # ties go to the lowest index
    caps = upper[order]
    vertex = np.empty_like(upper)
    vertex[order] = np.clip(total - (np.cumsum(caps) - caps), 0.0, caps)
    return vertex


def _largest_move(upper: Point, mass: float) -> float:
    caps = -np.sort(-upper)  # max ‖d‖ over |dᵢ| ≤ uᵢ, Σ|dᵢ| ≤ mass: largest caps first
    return float(np.linalg.norm(np.clip(mass - (np.cumsum(caps) - caps), 0.0, caps)))


def _as_caps(upper: ArrayLike, total: float, owner: str, name: str) -> Point:
    caps = as_vector(upper, owner, name)
    if not (caps > 0).all():
        index = int(np.argmin(caps))
        what = f"must be positive, got {caps[index]:g} at coordinate {index}; leave it out."
        raise ArgumentError(owner, name, what)
    caps = np.minimum(caps, total)  # a cap above the total never binds
    caps.setflags(write=False)
    return caps
