"""The cases: bilevel problems from public sources, one file per family.

Each has a start, a best known value and belongs to one half of the suite. Every response is
single-valued, deterministic and solved to about 10⁻¹⁰ or better. The halves alternate within each
family, so that what is tuned on one half meets the same kinds of problems on the other.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.peers.problems import (
    allocation,
    composite,
    games,
    hyperparameters,
    literature,
    prices,
    programs,
    shelves,
    tolls,
    tracking,
)
from benchmarks.peers.problems.case import REFERENCES, Case, Reference, references
from benchmarks.peers.problems.draws import DRAWS

__all__ = ["DRAWS", "REFERENCES", "SUITE", "Case", "Reference", "build", "names", "references"]

SUITE: tuple[Callable[[], Case], ...] = (
    tracking.tracking_box,
    tracking.tracking_ball,
    tracking.tracking_grid_50,
    tracking.tracking_grid_100,
    tracking.tracking_response_a,
    tracking.tracking_response_b,
    tracking.tracking_saturated_a,
    tracking.tracking_saturated_b,
    tracking.tracking_n5,
    tracking.tracking_n50,
    tracking.tracking_n100,
    tracking.tracking_n200,
    tracking.tracking_smooth_a,
    tracking.tracking_smooth_b,
    tracking.tracking_over_simplex,
    tracking.tracking_over_ball,
    tracking.tracking_over_small_ball,
    programs.mpqp_box,
    programs.mpqp_polytope,
    literature.bard_1988_1,
    literature.bard_1988_2,
    literature.shimizu_aiyoshi_1981,
    literature.aiyoshi_shimizu_1984,
    literature.clark_westerberg_1990,
    literature.falk_liu_1995,
    literature.muu_quy_2003_1,
    literature.muu_quy_2003_2,
    literature.visweswaran_1996,
    literature.colson_2002_5,
    literature.outrata_1994_a,
    literature.outrata_1994_b,
    hyperparameters.ridge_weights,
    hyperparameters.elastic_net,
    hyperparameters.weighted_lasso,
    hyperparameters.logistic_ridge,
    tolls.tolls_braess,
    tolls.tolls_grid,
    tolls.tolls_parallel_a,
    tolls.tolls_parallel_b,
    prices.consumers_box,
    prices.consumers_polytope,
    prices.logit_pricing_a,
    prices.logit_pricing_b,
    games.cournot_box,
    games.cournot_ball,
    games.cournot_small_ball,
    games.charging,
    allocation.allocation_a,
    allocation.allocation_b,
    allocation.allocation_c,
    allocation.allocation_d,
    shelves.retailers_full_a,
    shelves.retailers_full_b,
    shelves.shelves_all_2,
    shelves.shelves_some_2,
    shelves.shelves_sums_2,
    shelves.shelves_all_6,
    shelves.shelves_some_6,
    shelves.shelves_sums_6,
    shelves.shelves_all_20,
    shelves.shelves_some_20,
    shelves.shelves_sums_20,
    shelves.shelves_all_50,
    shelves.shelves_some_50,
    shelves.shelves_sums_50,
    composite.af_gp_1,
    composite.af_gp_2,
    composite.af_langermann,
    composite.af_rosenbrock,
    composite.af_environment,
)


def build(name: str) -> Case:
    """Return the case of this name."""
    return DRAWS[name]() if name in DRAWS else _builders()[name]()


def names() -> tuple[str, ...]:
    """Return the names of all cases of the suite, in order; `DRAWS` has more."""
    return tuple(_builders())


def _builders() -> dict[str, Callable[[], Case]]:
    return {builder.__name__.replace("_", "-"): builder for builder in SUITE}
