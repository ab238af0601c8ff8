"""How a broken law is told."""

from __future__ import annotations

import numpy as np

from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet


def require(holds: bool, law: str) -> None:
    """Raise an `AssertionError` that names the law, where it is broken."""
    if not holds:
        raise AssertionError(f"Broken law: {law}.")


def require_member(feasible_set: FeasibleSet, point: Point, what: str) -> None:
    """Require that something is a point of the set."""
    shape = np.shape(point)
    n = feasible_set.dimension
    require(shape == (n,), f"{what} has shape ({n},), got {shape}")
    require(bool(np.isfinite(point).all()), f"{what} is finite, got {point}")
    require(feasible_set.contains(point, 1e-7), f"{what} is contained, got {point}")


def unit(vector: Point) -> Point:
    """Return the direction of a vector."""
    return vector / np.linalg.norm(vector)
