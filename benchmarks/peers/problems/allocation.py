"""Shares of a budget."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Split, make_case
from bizol.arrays import Point


def allocation_case(name: str, n: int, split: Split, seed: int, *, kinked: bool) -> Case:
    """Return a budget shared out among markets whose answers rise in an S and saturate.

    After J. Little, 1979. Neighbors take a little of each other's customers. With `kinked`, the
    answer is a ramp between two thresholds.
    """
    rng = np.random.default_rng([seed, n, 81])
    top, threshold = rng.uniform(0.5, 1.5, n), rng.uniform(0.3, 1.0, n) / n * 2
    spill = 0.15 * rng.uniform(0.0, 1.0, (n, n)) / n
    worth = rng.uniform(0.5, 1.5, n)

    def follower(x: Point) -> Point:
        effort = np.maximum(x, 0.0) + spill @ np.maximum(x, 0.0)
        if kinked:
            return top * np.clip((effort - 0.4 * threshold) / threshold, 0.0, 1.0)
        return np.asarray(top * effort**2 / (threshold**2 + effort**2))

    return make_case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-worth @ np.sqrt(y + 0.05) + 0.2 * x @ x),
            grad_x=lambda x, y: 0.4 * x,
            grad_y=lambda x, y: -worth / (2 * np.sqrt(y + 0.05)),
        ),
        follower,
        bizol.Simplex(n),
        split=split,
        start=2 * np.arange(1, n + 1) / (n * (n + 1)),
        source="J. D. C. Little, Operations Research 27, 1979 (response functions; data are drawn)",
        tags=f"allocation multimodal {'kinks' if kinked else 'smooth'}",
    )


def allocation_a() -> Case:
    """A budget for six markets, with smooth S-shaped answers."""
    return allocation_case("allocation-a", 6, "tune", 1, kinked=False)


def allocation_b() -> Case:
    """A budget for ten markets, with ramps."""
    return allocation_case("allocation-b", 10, "report", 2, kinked=True)


def allocation_c() -> Case:
    """A budget for thirty markets, with ramps."""
    return allocation_case("allocation-c", 30, "tune", 3, kinked=True)


def allocation_d() -> Case:
    """A budget for twenty markets, with smooth S-shaped answers."""
    return allocation_case("allocation-d", 20, "report", 4, kinked=False)
