"""New sets from old ones: side by side, moved, and rescaled.

A composed set offers `project` exactly when its parts do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import hypot, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, as_vector, is_real
from bizol.feasible_sets.protocol import FeasibleSet, projection, slack, widths


@final
@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Sets side by side: {(x₁, ..., x_p) : xᵢ ∈ Xᵢ}, one block of coordinates after the other.

    Example:
        >>> from bizol import Box, Simplex
        >>> Product([Box([0], [9]), Simplex(2)]).minimize_linear(np.array([-1.0, 5.0, 3.0]))
        array([9., 0., 1.])

    """

    factors: tuple[FeasibleSet, ...]

    def __init__(self, factors: Sequence[FeasibleSet]) -> None:
        object.__setattr__(self, "factors", tuple(factors))
        if not self.factors:
            raise ArgumentError("Product", "factors", "needs at least one set.")
        for index, factor in enumerate(self.factors):
            if not isinstance(factor, FeasibleSet):
                what = f"must hold feasible sets, but entry {index} is {factor!r}."
                raise ArgumentError("Product", "factors", what)

    @property
    def dimension(self) -> int:
        """The dimensions of the factors, added up."""
        return sum(factor.dimension for factor in self.factors)

    @property
    def diameter(self) -> float:
        """The diameters of the factors, by Pythagoras."""
        return hypot(*(factor.diameter for factor in self.factors))

    @property
    def center(self) -> Point:
        """The centers of the factors."""
        return np.concatenate([factor.center for factor in self.factors])

    @property
    def widths(self) -> Point:
        """The widths of the factors."""
        return np.concatenate([widths(factor) for factor in self.factors])

    def split(self, point: Point) -> list[Point]:
        """Return the block of each factor."""
        return np.split(point, np.cumsum([factor.dimension for factor in self.factors[:-1]]))

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize block by block."""
        blocks = zip(self.factors, self.split(cost), strict=True)
        return np.concatenate([factor.minimize_linear(block) for factor, block in blocks])

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether every block is in its factor."""
        blocks = zip(self.factors, self.split(point), strict=True)
        return all(factor.contains(block, tolerance) for factor, block in blocks)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project block by block."""
        projections = [_projection(factor) for factor in self.factors]

        def project(point: Point) -> Point:
            blocks = zip(projections, self.split(point), strict=True)
            return np.concatenate([onto(block) for onto, block in blocks])

        return project


@final
@dataclass(frozen=True, slots=True, eq=False)
class Translated:
    """A set moved by a vector: {x + shift : x ∈ X}.

    Example:
        >>> from bizol import Simplex
        >>> Translated(Simplex(2), shift=[10, 20]).minimize_linear(np.array([1.0, 2.0]))
        array([11., 20.])

    """

    original: FeasibleSet
    shift: Point

    def __init__(self, original: FeasibleSet, shift: ArrayLike) -> None:
        object.__setattr__(self, "original", _require_set(original, "Translated", "original"))
        vector = as_vector(shift, "Translated", "shift", size=original.dimension, finite=True)
        object.__setattr__(self, "shift", vector)

    @property
    def dimension(self) -> int:
        """As before."""
        return self.original.dimension

    @property
    def diameter(self) -> float:
        """As before."""
        return self.original.diameter

    @property
    def center(self) -> Point:
        """The center, moved."""
        return self.original.center + self.shift

    @property
    def widths(self) -> Point:
        """As before."""
        return widths(self.original)

    def minimize_linear(self, cost: Point) -> Point:
        """Move the vertex."""
        return self.original.minimize_linear(cost) + self.shift

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point, moved back, is in the original."""
        rounding = slack(self, 0.0) / (
            self.diameter or 1.0
        )  # of the shift, which the original knows nothing of
        return self.original.contains(point - self.shift, tolerance + rounding)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project the point moved back."""
        onto = _projection(self.original)
        return lambda point: onto(point - self.shift) + self.shift


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A set stretched about the origin, and mirrored where the factor is negative: {factor · x : x
    ∈ X}.

    Example:
        >>> from bizol import Simplex
        >>> Scaled(Simplex(2), factor=-3).minimize_linear(np.array([1.0, 2.0]))
        array([-0., -3.])

    """

    original: FeasibleSet
    factor: float

    def __post_init__(self) -> None:
        _require_set(self.original, "Scaled", "original")
        if not is_real(self.factor) or not np.isfinite(self.factor) or self.factor == 0:
            raise ArgumentError(
                "Scaled", "factor", f"must be finite and not zero, got {self.factor!r}."
            )

    @property
    def dimension(self) -> int:
        """As before."""
        return self.original.dimension

    @property
    def diameter(self) -> float:
        """Stretched by the size of the factor."""
        return abs(self.factor) * self.original.diameter

    @property
    def center(self) -> Point:
        """The center, stretched."""
        return self.factor * self.original.center

    @property
    def widths(self) -> Point:
        """Stretched by the size of the factor."""
        return abs(self.factor) * widths(self.original)

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize ⟨factor · cost, x⟩ over the original and stretch the vertex."""
        return self.factor * self.original.minimize_linear(self.factor * cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point, shrunk back, is in the original."""
        return self.original.contains(point / self.factor, tolerance)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project the point shrunk back."""
        onto = _projection(self.original)
        return lambda point: self.factor * onto(point / self.factor)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InUnits:
    """A set in units in which it is about as wide along one coordinate as along another: {x / units
    : x ∈ X}.

    The units are powers of two, so that nothing is rounded on the way there and back.

    Example:
        >>> from bizol import Box
        >>> even = InUnits(Box([0, 0], [1000, 3]))
        >>> even.units, even.minimize_linear(np.array([-1.0, -1.0]))
        (array([1024.,    4.]), array([0.9765625, 0.75     ]))

    """

    original: FeasibleSet
    units: Point = field(init=False)
    diameter: float = field(init=False)

    def __post_init__(self) -> None:
        wide = widths(self.original)
        moving = wide > 1e-9 * np.abs(self.original.center)  # the others are fixed, up to rounding
        even = self.original.diameter / sqrt(wide.size) or 1.0
        units = np.exp2(np.round(np.log2(np.where(moving, wide, even))))
        object.__setattr__(self, "units", units)
        same = bool((units == units[0]).all())
        diameter = self.original.diameter / units[0] if same else np.linalg.norm(wide / units)
        object.__setattr__(self, "diameter", float(diameter))

    @property
    def dimension(self) -> int:
        """As before."""
        return self.original.dimension

    @property
    def center(self) -> Point:
        """The center, in these units."""
        return self.original.center / self.units

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize ⟨cost / units, x⟩ over the original."""
        return self.original.minimize_linear(cost / self.units) / self.units

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point is in the original."""
        return self.original.contains(point * self.units, tolerance)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project onto the original, whose coordinates of unequal width have nothing to do with each other."""
        onto = _projection(self.original)
        return lambda point: onto(point * self.units) / self.units


def _require_set(value: FeasibleSet, owner: str, name: str) -> FeasibleSet:
    if not isinstance(value, FeasibleSet):
        raise ArgumentError(owner, name, f"must be a feasible set, got {value!r}.")
    return value


def _projection(part: FeasibleSet) -> Callable[[Point], Point]:
    onto = projection(part)
    if onto is None:
        raise AttributeError(
            f"{type(part).__name__} offers no projection."
        )  # so hasattr(..., "project") is False
    return onto
