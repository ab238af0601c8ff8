"""New sets from old ones: side by side, moved, and rescaled.

A composed set offers `project` exactly when its parts do, and `in_units` for the units in which
they have a projection: for one unit all those with `project`, for others those with `in_units`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import hypot, sqrt
from typing import cast, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, Points, as_vector, is_real
from bizol.feasible_sets.linear_program import LinearConstraints
from bizol.feasible_sets.protocol import (
    FeasibleSet,
    as_units,
    polyhedron,
    projection,
    rescale,
    slack,
    widths,
)
from bizol.records import assign

FIXED_WIDTH = 1e-9  # relative to the center: a coordinate that is narrower counts as fixed


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
        assign(self, factors=tuple(factors))
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
    def constraints(self) -> LinearConstraints:
        """The constraints of the factors, block by block."""
        parts = [_require_constraints(factor) for factor in self.factors]
        return LinearConstraints(
            A_ub=_block_diagonal([part.A_ub for part in parts]),
            b_ub=np.concatenate([part.b_ub for part in parts]),
            A_eq=_block_diagonal([part.A_eq for part in parts]),
            b_eq=np.concatenate([part.b_eq for part in parts]),
            lower=np.concatenate([part.lower for part in parts]),
            upper=np.concatenate([part.upper for part in parts]),
        )

    @property
    def project(self) -> Callable[[Point], Point]:
        """Project block by block."""
        projections = [_require_projection(factor) for factor in self.factors]

        def project(point: Point) -> Point:
            blocks = zip(projections, self.split(point), strict=True)
            return np.concatenate([onto(block) for onto, block in blocks])

        return project

    def in_units(self, units: ArrayLike) -> Product:
        """Return {x / units : x ∈ X}, block by block."""
        blocks = zip(self.factors, self.split(as_units(units, self, "Product")), strict=True)
        return Product([_put_in_units(factor, block) for factor, block in blocks])


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
        _require_set(original, "Translated", "original")
        vector = as_vector(shift, "Translated", "shift", size=original.dimension, finite=True)
        assign(self, original=original, shift=vector)

    @property
    def dimension(self) -> int:
        """The dimension of the original."""
        return self.original.dimension

    @property
    def diameter(self) -> float:
        """The diameter of the original."""
        return self.original.diameter

    @property
    def center(self) -> Point:
        """The center of the original, moved by the shift."""
        return self.original.center + self.shift

    @property
    def widths(self) -> Point:
        """The widths of the original."""
        return widths(self.original)

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize over the original and move the vertex by the shift."""
        return self.original.minimize_linear(cost) + self.shift

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point, moved back, is in the original."""
        # Adding the shift rounds; the original does not know about it.
        rounding = slack(self, 0.0) / (self.diameter or 1.0)
        return self.original.contains(point - self.shift, tolerance + rounding)

    @property
    def constraints(self) -> LinearConstraints:
        """The constraints of the original, moved by the shift."""
        return _require_constraints(self.original).moved(self.shift)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Move the point back, project it onto the original and move the result."""
        onto = _require_projection(self.original)
        return lambda point: onto(point - self.shift) + self.shift

    def in_units(self, units: ArrayLike) -> Translated:
        """Return {x / units : x ∈ X}: the original and the shift in these units."""
        lengths = as_units(units, self, "Translated")
        return Translated(_put_in_units(self.original, lengths), self.shift / lengths)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A set scaled about the origin: {factor · x : x ∈ X}; a negative factor also mirrors it.

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
            what = f"must be finite and not zero, got {self.factor!r}."
            raise ArgumentError("Scaled", "factor", what)

    @property
    def dimension(self) -> int:
        """The dimension of the original."""
        return self.original.dimension

    @property
    def diameter(self) -> float:
        """The diameter of the original times |factor|."""
        return abs(self.factor) * self.original.diameter

    @property
    def center(self) -> Point:
        """The center of the original times the factor."""
        return self.factor * self.original.center

    @property
    def widths(self) -> Point:
        """The widths of the original times |factor|."""
        return abs(self.factor) * widths(self.original)

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize ⟨factor · cost, x⟩ over the original and scale the vertex."""
        return self.factor * self.original.minimize_linear(self.factor * cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point divided by the factor is in the original."""
        return self.original.contains(point / self.factor, tolerance)

    @property
    def constraints(self) -> LinearConstraints:
        """The constraints of the original, scaled."""
        return _require_constraints(self.original).scaled(np.full(self.dimension, self.factor))

    @property
    def project(self) -> Callable[[Point], Point]:
        """Divide the point by the factor, project it onto the original and scale the result."""
        onto = _require_projection(self.original)
        return lambda point: self.factor * onto(point / self.factor)

    def in_units(self, units: ArrayLike) -> Scaled:
        """Return {x / units : x ∈ X}: the original in these units, scaled."""
        return Scaled(_put_in_units(self.original, as_units(units, self, "Scaled")), self.factor)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InUnits:
    """A set in units that make it about equally wide along every coordinate: {x / units : x ∈ X}.

    The units are powers of two, so converting to them and back rounds nothing.

    Example:
        >>> from bizol import Box
        >>> even = InUnits(Box([0, 0], [1000, 3]))
        >>> even.units, even.minimize_linear(np.array([-1.0, -1.0]))
        (array([1024.,    4.]), array([0.9765625, 0.75     ]))

    """

    original: FeasibleSet
    units: Point = field(init=False)
    diameter: float = field(init=False)
    _rescaled: FeasibleSet | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        wide = widths(self.original)
        # Narrower coordinates are fixed, up to rounding.
        moving = wide > FIXED_WIDTH * np.abs(self.original.center)
        even = self.original.diameter / sqrt(wide.size) or 1.0
        units = np.exp2(np.round(np.log2(np.where(moving, wide, even))))
        if (units == units[0]).all():
            diameter = self.original.diameter / units[0]
        else:
            diameter = np.linalg.norm(wide / units)  # of a box around it: an upper bound
        assign(self, units=units, diameter=float(diameter))

    @property
    def dimension(self) -> int:
        """The dimension of the original."""
        return self.original.dimension

    @property
    def center(self) -> Point:
        """The center of the original, in these units."""
        return self.original.center / self.units

    def minimize_linear(self, cost: Point) -> Point:
        """Minimize ⟨cost / units, x⟩ over the original and convert the vertex."""
        return self.original.minimize_linear(cost / self.units) / self.units

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether the point, converted back, is in the original."""
        return self.original.contains(point * self.units, tolerance)

    @property
    def constraints(self) -> LinearConstraints:
        """The constraints of the original, in these units."""
        return _require_constraints(self.original).scaled(1 / self.units)

    @property
    def project(self) -> Callable[[Point], Point]:
        """Find the point that is nearest in these units.

        Where all units are the same, so are nearest points: convert the point back, project it onto
        the original and convert the result. Where they are not, the original must offer `in_units`.
        """
        if self._rescaled is None:
            assign(self, _rescaled=_put_in_units(self.original, self.units))
        return _require_projection(cast(FeasibleSet, self._rescaled))


def _put_in_units(part: FeasibleSet, units: Point) -> FeasibleSet:
    """Return {x / units : x ∈ X} with a projection of its own, or raise an `AttributeError`."""
    if (units == units[0]).all():
        _require_projection(part)
        return Scaled(part, 1 / float(units[0]))
    rescaled = rescale(part, units)
    if rescaled is None:
        kind = type(part).__name__
        raise AttributeError(f"{kind} offers no projection in units that differ.")
    return rescaled


def _require_set(value: FeasibleSet, owner: str, name: str) -> None:
    if not isinstance(value, FeasibleSet):
        raise ArgumentError(owner, name, f"must be a feasible set, got {value!r}.")


def _require_constraints(part: FeasibleSet) -> LinearConstraints:
    found = polyhedron(part)
    if found is None:
        raise AttributeError(f"{type(part).__name__} offers no linear constraints.")
    return found


def _block_diagonal(blocks: Sequence[Points]) -> Points:
    whole = np.zeros(tuple(np.sum([block.shape for block in blocks], axis=0)))
    row, column = 0, 0
    for block in blocks:
        rows, columns = block.shape
        whole[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return whole


def _require_projection(part: FeasibleSet) -> Callable[[Point], Point]:
    onto = projection(part)
    if onto is None:
        # An AttributeError, so that hasattr(..., "project") is False.
        raise AttributeError(f"{type(part).__name__} offers no projection.")
    return onto
