"""Further draws of the suite's families, for tuning and for choosing between variants.

They are in neither half: a variant that is better on the tuning half alone may fit its data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

import bizol
from benchmarks.peers.problems import (
    allocation,
    composite,
    games,
    prices,
    programs,
    shelves,
    tolls,
    tracking,
)
from benchmarks.peers.problems.case import Case
from benchmarks.peers.problems.tracking import Regime
from bizol.feasible_sets import FeasibleSet

Builders: TypeAlias = dict[str, Callable[[], Case]]


def _cube(n: int, lower: float, upper: float) -> bizol.Box:
    return bizol.Box(np.full(n, lower), np.full(n, upper))


def _ranges(n: int) -> bizol.Polytope:
    """Return prices between 0.2 and 3 whose mean is at most 1.3, with close neighbors."""
    close = np.eye(n)[:-1] - np.eye(n)[1:]
    return bizol.Polytope(
        A_ub=np.vstack([np.ones((1, n)), close, -close]),
        b_ub=np.append(1.3 * n, np.full(2 * (n - 1), 0.4)),
        lower=np.full(n, 0.2),
        upper=np.full(n, 3.0),
    )


def _games() -> Builders:
    sets: dict[str, FeasibleSet] = {
        "a": _cube(5, -3, 6),
        "b": _cube(7, -3, 6),
        "c": bizol.Ball(np.zeros(12), 6.0),
    }
    return {
        f"draw-cournot-{key}": partial(
            games.cournot_case, f"draw-cournot-{key}", chosen.dimension, chosen, "draw", 101
        )
        for key, chosen in sets.items()
    }


def _tolls() -> Builders:
    found: Builders = {}
    for key, n, free, seed in (("a", 3, 2, 101), ("b", 4, 2, 102), ("c", 6, 2, 103)):
        name = f"draw-tolls-{key}"
        found[name] = partial(tolls.parallel_case, name, n, free, "draw", seed)
    return found


def _prices() -> Builders:
    found: Builders = {}
    for key, count, chosen in (("a", 12, _cube(3, 0.2, 3)), ("b", 20, _cube(6, 0.2, 3))):
        name = f"draw-consumers-{key}"
        n = chosen.dimension
        found[name] = partial(prices.consumers_case, name, n, count, chosen, "draw", 101)
    name = "draw-consumers-c"
    found[name] = partial(prices.consumers_case, name, 6, 25, _ranges(6), "draw", 102)
    for key, n, segments in (("a", 4, 3), ("b", 6, 5)):
        name = f"draw-logit-{key}"
        found[name] = partial(prices.logit_case, name, n, segments, _cube(n, 0, 12), "draw", 101)
    return found


def _programs() -> Builders:
    found: Builders = {}
    for key, n, m, rows in (("a", 4, 6, 8), ("b", 10, 12, 14)):
        name = f"draw-mpqp-{key}"
        box = _cube(n, -2, 2)
        found[name] = partial(programs.demand_response_case, name, n, m, rows, box, "draw", 101)
    return found


def _allocations() -> Builders:
    found: Builders = {}
    for key, n, kinked in (("a", 8, False), ("b", 6, True), ("c", 15, True)):
        name = f"draw-allocation-{key}"
        found[name] = partial(allocation.allocation_case, name, n, "draw", 101, kinked=kinked)
    return found


def _shelves() -> Builders:
    found: Builders = {}
    for n in (4, 12):
        for kind in ("all", "some"):
            name = f"draw-shelves-{kind}-{n}"
            found[name] = partial(
                shelves.retailers_case, name, n, kind, "draw", crossed=kind == "all"
            )
    for n in (4, 10):
        name = f"draw-shelves-sums-{n}"
        found[name] = partial(shelves.sums_case, name, n, "draw")
    return found


def _tracking() -> Builders:
    saturated = Regime(radius=2.0, capacity=(0.1, 0.4), gain=1.1)
    regimes = {
        "saturated-a": replace(saturated, seed=101),
        "saturated-b": replace(saturated, seed=102, payment=0.2),
        "saturated-c": replace(saturated, seed=103, n=8, m=60, outputs=20),
        "response": Regime(seed=104, n=12, m=80, payment=0.3),
    }
    found: Builders = {
        f"draw-{key}": partial(
            tracking.tracking_case, regime, f"draw-{key}", split="draw", tags="kinks"
        )
        for key, regime in regimes.items()
    }
    smooth = Regime(seed=105, n=8, m=40, radius=2.0, capacity=(0.1, 0.4))
    found["draw-smooth"] = partial(
        tracking.tracking_case,
        smooth,
        "draw-smooth",
        split="draw",
        tags="smooth",
        follower="smooth",
    )
    return found


def _composite() -> Builders:
    found: Builders = {}
    for key, n, m, points in (("a", 4, 5, 6), ("b", 3, 4, 8), ("c", 2, 4, 10), ("d", 5, 6, 4)):
        name = f"draw-gp-{key}"
        found[name] = partial(_drawn_process, name, n, m, points)
    return found


def _drawn_process(name: str, n: int, m: int, points: int) -> Case:
    """Return the distance of drawn functions to what they are at a point, which is drawn too."""
    rng = np.random.default_rng([n, m, 101])
    return composite.least_squares_case(
        name,
        composite.gaussian_process(n, m, points, 101),
        _cube(n, 0, 1),
        solution=rng.uniform(0.1, 0.9, n),
        split="draw",
        tags="multimodal",
    )


DRAWS: Builders = {
    **_games(),
    **_tolls(),
    **_prices(),
    **_programs(),
    **_allocations(),
    **_shelves(),
    **_tracking(),
    **_composite(),
}
