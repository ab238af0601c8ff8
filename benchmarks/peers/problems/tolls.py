"""Tolls."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Response, Split, make_case
from bizol.arrays import Point, Points


def _equilibrium(
    paths: Points, demand: Point, group: Points, free: Point, slope: Point, spread: float
) -> Response:
    """Return the logit stochastic user equilibrium of C. Fisk, 1980, as a function of link tolls.

    By damped Newton steps. Costs are affine in the link flows, so that the equilibrium is the
    unique minimizer of a strictly convex function.
    """
    bend = paths * slope @ paths.T  # how path costs rise with path flows

    def shares(cost: Point) -> tuple[Point, Points]:
        lowest = np.where(group > 0, cost, np.inf).min(axis=1)
        weight = np.exp(-spread * (cost - group.T @ lowest))
        part = weight / (group.T @ (group @ weight))
        flows = (group.T @ demand) * part
        return flows, spread * (np.diag(flows) - (group.T * demand) @ group * np.outer(part, part))

    def follower(tolls: Point) -> Point:
        base = paths @ (free + tolls)
        flows = shares(base)[0]
        for _ in range(200):
            target, gain = shares(base + bend @ flows)
            gap = flows - target
            size = float(np.abs(gap).max())
            if size <= 1e-13 * max(1.0, float(demand.max())):
                break
            move, length = np.linalg.solve(np.eye(flows.size) + gain @ bend, gap), 1.0
            while length > 1e-6:
                trial = flows - length * move
                left = np.abs(trial - shares(base + bend @ trial)[0]).max()
                if left <= (1 - 0.1 * length) * size:
                    break
                length /= 2
            flows = flows - length * move
        return paths.T @ flows

    return follower


def _toll_objective(free: Point, slope: Point, weight: float) -> bizol.Objective:
    """Return the total travel time, and a small cost of tolling."""
    return bizol.Objective(
        value=lambda x, y: float(y @ (free + slope * y) + weight * x @ x),
        grad_x=lambda x, y: 2 * weight * x,
        grad_y=lambda x, y: free + 2 * slope * y,
    )


def tolls_braess() -> Case:
    """Tolls on the five links of D. Braess's network, 1968, under logit route choice."""
    paths = np.array([[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 1, 0, 1]], dtype=np.float64)
    free, slope = np.array([0.1, 5.0, 0.1, 5.0, 1.0]), np.array([1.0, 0.1, 1.0, 0.1, 0.1])
    follower = _equilibrium(paths, np.array([6.0]), np.ones((1, 3)), free, slope, 1.0)
    return make_case(
        "tolls-braess",
        _toll_objective(free, slope, 0.01),
        follower,
        bizol.Box(np.zeros(5), 6 * np.ones(5)),
        split="tune",
        source="D. Braess, Unternehmensforschung 12, 1968; "
        "C. Fisk, Transportation Research B 14, 1980",
        tags="tolls smooth",
    )


def tolls_grid() -> Case:
    """Tolls on the twelve links of a grid of nine nodes, under a cap on their sum.

    Two pairs of origin and destination. Logit route choice over the paths that never turn back (C.
    Fisk, 1980).
    """
    names = [f"{r}{c}>{r}{c + 1}" for r in range(3) for c in range(2)]
    names += [f"{r}{c}>{r + 1}{c}" for r in range(2) for c in range(3)]
    routes = [*_monotone((0, 0), (2, 2)), *_monotone((0, 1), (2, 2))]
    paths = np.array([[float(name in route) for name in names] for route in routes])
    group = np.array(
        [[float(route[0].startswith(origin)) for route in routes] for origin in ("00", "01")]
    )
    rng = np.random.default_rng(21)
    free, slope = rng.uniform(1.0, 3.0, 12), rng.uniform(0.05, 1.0, 12)
    follower = _equilibrium(paths, np.array([4.0, 3.0]), group, free, slope, 1.5)
    return make_case(
        "tolls-grid",
        _toll_objective(free, slope, 0.005),
        follower,
        bizol.Polytope(
            A_ub=np.ones((1, 12)), b_ub=[8.0], lower=np.zeros(12), upper=4 * np.ones(12)
        ),
        split="report",
        source="C. Fisk, Transportation Research B 14, 1980 (the equilibrium; the network is ours)",
        tags="tolls smooth",
    )


def _monotone(origin: tuple[int, int], end: tuple[int, int]) -> list[tuple[str, ...]]:
    if origin == end:
        return [()]
    found = []
    for step in ((0, 1), (1, 0)):
        after = (origin[0] + step[0], origin[1] + step[1])
        if after[0] <= end[0] and after[1] <= end[1]:
            link = f"{origin[0]}{origin[1]}>{after[0]}{after[1]}"
            found += [(link, *rest) for rest in _monotone(after, end)]
    return found


def parallel_case(name: str, n: int, free_links: int, split: Split, seed: int) -> Case:
    """Return toll revenue on parallel links in Wardrop equilibrium, some of them free of toll.

    With costs aᵢ + xᵢ + bᵢ yᵢ the flows are max(0, (λ − aᵢ − xᵢ)/bᵢ), λ found exactly by sorting.
    """
    rng = np.random.default_rng([seed, n, 31])
    total = n + free_links
    base, slope = rng.uniform(1.0, 4.0, total), rng.uniform(0.2, 1.0, total)
    base[n:] += 2.5  # the free ones are slow
    demand = float(total)

    def follower(x: Point) -> Point:
        cost = base + np.append(x, np.zeros(free_links))
        order = np.argsort(cost)
        inverse, weighted = np.cumsum(1 / slope[order]), np.cumsum(cost[order] / slope[order])
        levels = (demand + weighted) / inverse  # the level if the first k links are used
        count = int(np.flatnonzero(levels > cost[order])[-1])
        return np.asarray(np.maximum(0.0, (levels[count] - cost) / slope))

    return make_case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-x @ y[:n]),
            grad_x=lambda x, y: -y[:n],
            grad_y=lambda x, y: np.append(-x, np.zeros(free_links)),
        ),
        follower,
        bizol.Box(np.zeros(n), 8 * np.ones(n)),
        split=split,
        source="M. Labbé, P. Marcotte and G. Savard, Management Science 44, 1998; "
        "J. G. Wardrop, 1952",
        tags="tolls kinks multimodal",
        start=np.full(n, 3.0),
    )


def tolls_parallel_a() -> Case:
    """Toll revenue on four of six parallel links."""
    return parallel_case("tolls-parallel-a", 4, 2, "tune", 1)


def tolls_parallel_b() -> Case:
    """Toll revenue on ten of thirteen parallel links."""
    return parallel_case("tolls-parallel-b", 10, 3, "report", 2)
