"""How many queries the default method needs, and what a query costs.

On the tracking problem, on heavily saturated draws of it, and under noise. Run it with
`make measure`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize as scipy_minimize

import bizol
from bizol.arrays import Point, Responses
from bizol.reproduction.instances import (
    BALL,
    BOX,
    response_dominated_instance,
    tracking_instance,
)
from bizol.reproduction.lockstep import queries_per_iteration, run_together

Instance = tuple[bizol.Problem, Point]
Values = NDArray[np.float64]
# problem, start, budget, seed → the lowest value so far
Run = Callable[[bizol.Problem, Point, int, int], Values]

SEEDS = range(5)
PAPER_BUDGET = 30_000


def reference(problem: bizol.Problem, start: Point, *, starts: int = 14) -> float:
    """Return the best of a multistart with the exact gradient."""
    follower: Any = problem.response
    objective, box = problem.objective, problem.feasible_set
    assert isinstance(box, bizol.Box)

    def value_and_gradient(x: Point) -> tuple[float, Point]:
        y = follower(x)
        (piece, *_) = follower.pieces(x).labels
        gradient = objective.grad_x(x, y) + objective.grad_y(x, y) @ follower.jacobian(piece, x)
        return float(objective.value(x, y)), gradient

    rng, best = np.random.default_rng(1), np.inf
    for begin in [start, *rng.uniform(box.lower, box.upper, (starts, start.size))]:
        bounds = list(zip(box.lower, box.upper, strict=True))
        found = scipy_minimize(
            value_and_gradient, begin, jac=True, method="L-BFGS-B", bounds=bounds
        )
        best = min(best, float(found.fun))
    return best


def watched(
    problem: bizol.Problem, budget: int, noise: float = 0.0
) -> tuple[bizol.Problem, list[float]]:
    """Return the problem and a list in which its follower notes the true value of each query."""
    values: list[float] = []
    rng = np.random.default_rng(3)

    def answer(x: Point) -> Responses:
        y = np.asarray(problem.response(x[None]))
        if len(values) < budget:
            values.append(float(problem.objective.values(x[None], y)[0]))
        return np.asarray(y[0] * (1 + noise * rng.standard_normal(y.shape[1])))

    return replace(problem, response=answer, vectorized=False), values


def by_method(make: Callable[[], Any]) -> Run:
    """Return what runs a method of ours."""

    def run(problem: bizol.Problem, start: Point, budget: int, seed: int) -> Values:
        asked, values = watched(problem, budget)
        bizol.minimize(asked, start, method=make(), budget=budget, seed=seed)
        return np.minimum.accumulate(values)

    return run


def by_finite_differences(problem: bizol.Problem, start: Point, budget: int, seed: int) -> Values:
    """Run SciPy's L-BFGS-B on φ(x, y(x)), again from random decisions until the budget is spent."""
    asked, values = watched(problem, budget)
    box, rng = problem.feasible_set, np.random.default_rng(seed)
    assert isinstance(box, bizol.Box)

    def reduced(x: Point) -> float:
        if len(values) >= budget:
            raise StopIteration
        asked.response(x)
        return values[-1]

    bounds = list(zip(box.lower, box.upper, strict=True))
    try:
        while True:
            scipy_minimize(reduced, start, method="L-BFGS-B", bounds=bounds)
            start = rng.uniform(box.lower, box.upper)
    except StopIteration:
        return np.minimum.accumulate(values)


def gaps(
    run: Run,
    instances: Iterable[Instance],
    budget: int,
    *,
    starts: int = 14,
    seeds: Iterable[int] = SEEDS,
) -> list[Values]:
    """Return the normalized gap after each query, one row per instance and seed."""
    rows = []
    for problem, start in instances:
        best = reference(problem, start, starts=starts)
        first = float(
            problem.objective.values(start[None], np.asarray(problem.response(start[None])))[0]
        )
        rows += [(run(problem, start, budget, seed) - best) / (first - best) for seed in seeds]
    return rows


def paper_queries(problem: bizol.Problem, start: Point, batch: int) -> float:
    """Return the median number of queries Algorithm 1 needs to a gap of 1 %; ∞ over the budget."""
    best = reference(problem, start)
    method = bizol.BiZOL(0.08, 0.1, batch)
    decisions = run_together(problem, method, start, seeds=SEEDS, budget=PAPER_BUDGET)
    flat = decisions.reshape(-1, start.size)
    values = problem.objective.values(flat, np.asarray(problem.response(flat))).reshape(
        decisions.shape[:2]
    )
    reached = (values - best) / (values[0, 0] - best) <= 1e-2
    each = queries_per_iteration(method)
    needed = [int(np.argmax(run)) * each + 1 if run.any() else np.inf for run in reached.T]
    return float(np.median(needed))


def tracking(console: Console) -> None:
    """Print what the tracking problem takes: n=20, m=200."""
    table = Table(
        "tracking", "gap after 100", "after 300", "queries to 1e-2", "Algorithm 1, best B", "factor"
    )
    draws = {
        "box, calibrated": tracking_instance(BOX),
        "ball, calibrated": tracking_instance(BALL),
        "box, dominated": response_dominated_instance("box"),
        "ball, dominated": response_dominated_instance("ball"),
    }
    for kind, instance in draws.items():
        problem, start = instance.problem, instance.start
        rows = np.array(gaps(by_method(bizol.Foresight), [(problem, start)], 300))
        needed = [
            int(np.argmax(row <= 1e-2)) + 1 if (row <= 1e-2).any() else np.inf for row in rows
        ]
        ours = float(np.median(needed))
        paper, batch = min(
            (paper_queries(problem, start, batch), batch) for batch in (1, 5, 10, 20, 50)
        )
        after = [f"{np.median(rows[:, budget - 1]):.1e}" for budget in (100, 300)]
        table.add_row(
            kind, *after, f"{ours:.0f}", f"{paper:.0f} (B={batch})", f"{paper / ours:.0f}"
        )
    console.print(table)


def saturated(console: Console) -> None:
    """Print how heavily saturated draws end: X = [−2, 2]²⁰, capacities between 0.1 and 0.4."""
    instances = [
        response_dominated_instance(width=2.0, capacity=(0.1, 0.4), seed=seed) for seed in range(4)
    ]
    draws = [(instance.problem, instance.start) for instance in instances]
    runs: dict[str, Run] = {
        "Foresight": by_method(bizol.Foresight),
        "MemoryBiZOL, adaptive steps": by_method(lambda: bizol.MemoryBiZOL(delta=0.2)),
        "MemoryBiZOL, 2/(k+2)": by_method(
            lambda: bizol.MemoryBiZOL(delta=0.2, step=bizol.methods.open_loop(), one_sided=True)
        ),
        "L-BFGS-B, restarted": by_finite_differences,
    }
    table = Table(
        "heavily saturated, median of 4 draws × 10 seeds", "after 60", "100", "300", "1000"
    )
    for name, run in runs.items():
        rows = gaps(run, draws, 1000, starts=200, seeds=range(10))  # single runs end far apart
        table.add_row(
            name,
            *(
                f"{np.median([r[min(q, len(r)) - 1] for r in rows]):.1e}"
                for q in (60, 100, 300, 1000)
            ),
        )
    console.print(table)


def noisy(console: Console) -> None:
    """Print the true gap at the decision that is returned, when responses are noisy."""
    instance = response_dominated_instance()
    problem, start = instance.problem, instance.start
    best = reference(problem, start)
    first = float(
        problem.objective.values(start[None], np.asarray(problem.response(start[None])))[0]
    )
    table = Table("relative noise", "true gap after 100", "300", "1000", "said")
    for noise in (1e-4, 1e-2):
        row, said = [], []
        for budget in (100, 300, 1000):
            true = []
            for seed in SEEDS:
                asked, _ = watched(problem, budget, noise)
                solution = bizol.minimize(asked, start, budget=budget, seed=seed)
                value = problem.objective.values(
                    solution.x[None], np.asarray(problem.response(solution.x[None]))
                )[0]
                true.append((float(value) - best) / (first - best))
                said.append("noise limits" in solution.message)
            row.append(f"{np.median(true):.1e}")
        table.add_row(f"{noise:g}", *row, f"{sum(said)} of {len(said)}")
    console.print(table)


def cost(n: int, m: int, budget: int, kind: str = "box") -> None:
    """Print the milliseconds per query without the follower, of the last fifth, and megabytes.

    The megabytes are those at the peak, beyond the problem's own.
    """
    rng = np.random.default_rng(0)
    matrix, wanted = rng.standard_normal((m, n)) / np.sqrt(n), rng.standard_normal(m)
    asking, asked, late = 0.0, 0, (0.0, 0.0)

    def follower(x: Point) -> Point:
        nonlocal asking, asked, late
        begun = process_time()
        y = np.asarray(np.clip(matrix @ x, -0.8, 0.8))
        asking, asked = asking + process_time() - begun, asked + 1
        if asked == budget - budget // 5:
            late = begun, asking
        return y

    lower, upper = -np.ones(n), np.ones(n)
    rows = rng.standard_normal((20, n))
    sets: dict[str, bizol.FeasibleSet] = {
        "box": bizol.Box(lower, upper),
        "polytope, 20 rows": bizol.Polytope(
            A_ub=rows, b_ub=np.linalg.norm(rows, axis=1) / 2, lower=lower, upper=upper
        ),
    }
    problem = bizol.Problem(
        bizol.Objective(
            lambda x, y: float((y - wanted) @ (y - wanted) / 2 + x @ x / 20),
            lambda x, y: x / 10,
            lambda x, y: y - wanted,
        ),
        follower,
        sets[kind],
    )
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, process_time()
    bizol.minimize(problem, budget=budget, seed=0)
    end = process_time()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    whole = (end - begun - asking) / budget
    last = (end - late[0] - (asking - late[1])) / (budget // 5)
    print(f"{1e3 * whole:.1f} {1e3 * last:.1f} {grown:.0f}")


def costs(console: Console) -> None:
    """Print what a query costs in a fresh process on one thread, for small and large problems."""
    table = Table(
        "X",
        "n, m",
        "queries",
        "ms per query (CPU, without the follower)",
        "of the last fifth",
        "MB at the peak, beyond the problem",
    )
    for kind, n, m, budget in (
        ("box", 3, 10, 20_000),
        ("box", 20, 200, 1000),
        ("polytope, 20 rows", 20, 200, 1000),
        ("box", 100, 1000, 1000),
        ("box", 1000, 10_000, 1200),
        ("box", 1000, 10, 2000),
    ):
        code = f"from benchmarks.queries import cost; cost({n}, {m}, {budget}, {kind!r})"
        # On one thread: those that wait would count as work.
        one = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=one
        )
        table.add_row(kind, f"{n}, {m}", f"{budget}", *out.stdout.split())
    console.print(table)


if __name__ == "__main__":
    wide = Console(width=110)
    costs(wide)  # first: a process inherits the peak of its parent
    tracking(wide)
    saturated(wide)
    noisy(wide)
