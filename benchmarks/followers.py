"""How fast the followers answer, and which solver of quadratic programs is the fastest.

make measure
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # As in a run whose workers share the machine; this must be set before NumPy is imported.
    os.environ.setdefault(name, "1")

import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bizol.arrays import Point, Points
from bizol.followers import (
    AggregativeGame,
    PredictiveControl,
    ProjectionPopulation,
    QuadraticProgram,
    TrafficEquilibrium,
)


def quadratic_program(m: int, n: int = 20, seed: int = 0) -> QuadraticProgram:
    """Draw a program with m variables, m rows and bounds on each variable."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((m, m)) / np.sqrt(m)
    return QuadraticProgram(
        P=factor @ factor.T + 0.3 * np.eye(m),
        q=0.3 * rng.standard_normal(m),
        Q=1.5 * rng.standard_normal((m, n)) / np.sqrt(n),
        G=np.vstack([rng.standard_normal((m, m)) / np.sqrt(m), np.eye(m), -np.eye(m)]),
        h=np.concatenate([rng.uniform(0.2, 0.8, m), np.ones(2 * m)]),
    )


def around(n: int, radius: float, count: int, seed: int = 1) -> Points:
    """Return points on a sphere around a random one, as a batch of queries has them."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((count, n))
    points: Points = rng.uniform(-1, 1, n) + radius * directions / np.linalg.norm(
        directions, axis=1, keepdims=True
    )
    return points


def grid(
    rows: int = 4, columns: int = 6, pairs: int = 528, level: float = 0.6, seed: int = 0
) -> dict[str, Any]:
    """Return a grid of two-way streets with random times, capacities and demand.

    By default 24 nodes and 76 links.
    """
    rng = np.random.default_rng(seed)
    node = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    along = np.column_stack([node[:-1].ravel(), node[1:].ravel()])
    one_way = np.concatenate([across, along])
    links = np.concatenate([one_way, one_way[:, ::-1]])
    demand = level * rng.uniform(0.5, 1.5, (node.size, node.size))
    np.fill_diagonal(demand, 0.0)
    wanted = np.argwhere(demand > 0)
    for row, column in wanted[rng.permutation(len(wanted))[pairs:]]:
        demand[row, column] = 0.0
    free_time, capacity = rng.uniform(2, 6, len(links)), rng.uniform(5, 15, len(links))
    return {"links": links, "free_time": free_time, "capacity": capacity, "demand": demand}


def times(run: Callable[[Point], object], points: Points) -> list[float]:
    """Return the milliseconds of each."""
    found = []
    for point in points:
        start = perf_counter()
        run(point)
        found.append(1e3 * (perf_counter() - start))
    return found


def solvers(follower: QuadraticProgram) -> Iterator[tuple[str, Callable[[Point], Any]]]:
    """Yield ways to solve the same program, each kept between queries as well as it allows."""
    from scipy.sparse import csc_matrix

    P, q, Q, G, h = follower.P, follower.q, follower.Q, follower.G, follower.h
    yield "this library", follower
    try:
        import piqp

        dense = piqp.DenseSolver()
        dense.settings.eps_abs = dense.settings.eps_rel = 1e-10
        dense.setup(P, q, None, None, G, None, h, None, None)

        def by_piqp(x: Point) -> Any:
            dense.update(c=q + Q @ x)
            dense.solve()
            return dense.result.x

        yield "PIQP, to 1e-10", by_piqp
    except ImportError:
        pass
    try:
        import osqp

        for name, given in (
            ("OSQP, to 1e-4, polished", {"eps": 1e-4, "polish": True}),
            ("OSQP, to 1e-9", {"eps": 1e-9, "polish": False}),
        ):
            program = osqp.OSQP()
            program.setup(
                csc_matrix(np.triu(P)),
                q,
                csc_matrix(G),
                np.full(len(h), -np.inf),
                h,
                verbose=False,
                eps_abs=given["eps"],
                eps_rel=given["eps"],
                polishing=given["polish"],
                max_iter=50_000,
            )

            def by_osqp(x: Point, program: Any = program) -> Any:
                program.update(q=q + Q @ x)
                return program.solve().x

            yield f"{name}, warm", by_osqp
    except ImportError:
        pass
    try:
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        cones = [clarabel.NonnegativeConeT(len(h))]
        cone = clarabel.DefaultSolver(csc_matrix(np.triu(P)), q, csc_matrix(G), h, cones, settings)

        def by_clarabel(x: Point) -> Any:
            cone.update(q=q + Q @ x)
            return cone.solve().x

        yield "Clarabel, to 1e-8", by_clarabel
    except ImportError:
        pass


def compare_solvers(console: Console) -> None:
    """Print the time per query of each solver and its largest error.

    For small moves and for moves across the set.
    """
    table = Table(
        "quadratic program",
        "m",
        "ms per query, moves of 0.05",
        "ms, across the set",
        "largest error",
    )
    for m in (10, 50, 150):
        follower = quadratic_program(m)
        near, far = around(20, 0.05, 60), np.random.default_rng(2).uniform(-1, 1, (60, 20))
        exact = follower(far)
        for name, solve in solvers(follower):
            solve(near[0])
            small, large = median(times(solve, near)), median(times(solve, far))
            error = max(
                float(np.abs(np.asarray(solve(x)) - y).max())
                for x, y in zip(far, exact, strict=True)
            )
            table.add_row(name, str(m), f"{small:.3f}", f"{large:.3f}", f"{error:.0e}")
    console.print(table)


def program_time(console: Console) -> float:
    """Print the time of a query of the program with m = 50, when warm and the first time."""
    follower = quadratic_program(50)
    walk = around(20, 0.05, 42)
    follower(walk)
    warm = median(times(follower, np.concatenate([walk] * 5)))
    fresh = cycle([quadratic_program(50) for _ in range(20)])
    cold = median(times(lambda x: next(fresh)(x), walk[:20]))
    new = median(times(follower, np.random.default_rng(5).uniform(-1, 1, (100, 20))))
    console.print(
        f"QuadraticProgram, m=50: {warm:.3f} ms warm, {new:.3f} ms on a new piece, "
        f"{cold:.3f} ms the first time"
    )
    return warm


def population_time(console: Console) -> float:
    """Print the time of a batch of 21 queries of 10,000 agents with three variables each.

    Return that of the slowest kind.
    """
    rng = np.random.default_rng(0)
    matrix, offset = rng.standard_normal((10_000, 3, 20)), rng.standard_normal((10_000, 3))
    kinds: dict[str, dict[str, Any]] = {
        "boxes": {"lower": -1.0, "upper": 1.0},
        "balls": {"radius": 1.0},
        "simplices": {"total": 1.0},
    }
    found = {}
    for name, given in kinds.items():
        follower = ProjectionPopulation(matrix, offset, **given)
        batches = np.array([around(20, 0.1, 21, seed) for seed in range(15)])
        found[name] = median(times(follower, batches))
    told = ", ".join(f"{value:.1f} ms {name}" for name, value in found.items())
    console.print(f"ProjectionPopulation, 10,000 agents of 3, batch of 21: {told}")
    return max(found.values())


def traffic_time(console: Console) -> float:
    """Print the time of an equilibrium at three levels of congestion.

    At relative gap 1e-6 and at the default; return the slowest at 1e-6.
    """
    slowest = 0.0
    for level in (0.3, 0.6, 1.0):
        for gap in (1e-6, 1e-12):
            parts = grid(level=level)
            fresh = iter([TrafficEquilibrium(**parts, relative_gap=gap) for _ in range(7)])
            first = median(times(lambda x, fresh=fresh: next(fresh)(x), np.zeros((7, 76))))  # type: ignore[misc]
            follower = TrafficEquilibrium(**parts, relative_gap=gap)
            tolls = np.random.default_rng(1).uniform(0, 3, (15, 76))
            later = times(follower, tolls)
            worst = max(follower.gap(follower(x), x) for x in tolls[:3])
            pairs = int((parts["demand"] > 0).sum())
            console.print(
                f"TrafficEquilibrium, 24 nodes, 76 links, {pairs} pairs, demand × {level}, "
                f"gap {gap:.0e}: {first:.0f} ms at first, then {median(later):.0f} ms "
                f"(slowest {max(later):.0f}); gap reached {worst:.0e}"
            )
            slowest = max(slowest, first, median(later)) if gap == 1e-6 else slowest
    return slowest


def other_times(console: Console) -> None:
    """Print the time of games and of a closed loop."""
    rng = np.random.default_rng(0)
    game = AggregativeGame(
        curvature=rng.uniform(1, 3, (100, 4)),
        offset=rng.standard_normal((100, 4)),
        price=np.eye(4),
        matrix=rng.standard_normal((100, 4, 5)),
        lower=np.full((100, 4), -0.5),
        upper=np.full((100, 4), 0.7),
    )
    each = median(times(game, rng.uniform(-1, 1, (20, 5))))
    console.print(f"AggregativeGame, 100 players of 4: {each:.1f} ms")
    loop = PredictiveControl(
        A=np.array([[1.0, 0.1], [0.0, 1.0]]),
        B=np.array([[0.005], [0.1]]),
        initial=np.array([1.0, 0.0]),
        steps=30,
        lower=np.array([-1.0]),
        upper=np.array([1.0]),
    )
    each = median(times(loop, rng.uniform(-2, 2, (20, 3))))
    console.print(f"PredictiveControl, 30 steps, horizon 10: {each:.1f} ms")


def main() -> None:
    """Print all figures; fail when one exceeds its target."""
    console = Console(width=140)
    console.print(f"NumPy {np.__version__}, {os.cpu_count()} cores, medians")
    figures = {
        "ms of a program with m = 50": (program_time(console), 1.0),
        "ms of 10,000 agents, batch of 21": (population_time(console), 100.0),
        "ms of a traffic equilibrium": (traffic_time(console), 200.0),
    }
    other_times(console)
    compare_solvers(console)
    missed = [
        f"{name}: {value:.2f} exceeds {limit}"
        for name, (value, limit) in figures.items()
        if value > limit
    ]
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
