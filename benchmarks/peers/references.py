"""Best known values of the cases and points that attain them, written to `references.json`.

Each case gets a time: local solvers with gradients from many feasible points and from kicked best
points, CMA-ES over the whole set with small and large populations, and CMA-ES in ever smaller
neighborhoods of the best point, which gets along with kinks; where a formula gives a solution, it
is among the points, and where responses are affine on cells, `cells.py` goes from cell to cell. The
search starts from what is known, and the best of everything counts.

    python -m benchmarks.peers.references [--seconds 20] [--seed 0] [--jobs 2]
        [--cases NAME ...] [--runs FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from math import inf
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console

import bizol
from benchmarks.peers.cells import clipped_form, search_cells
from benchmarks.peers.problems import DRAWS, REFERENCES, Case, Reference, build, names, references
from benchmarks.peers.runs import read_runs
from benchmarks.peers.sets import FEASIBLE, bounds, project, rows, sample
from bizol.arrays import Point
from bizol.structure.protocols import KnownStructure


class OutOfTime(BaseException):
    """The time for a case is up."""


class Best:
    """The best feasible point of a case, with a clock."""

    def __init__(self, case: Case, seconds: float) -> None:
        self.case = case
        self.end = perf_counter() + seconds
        self.value = inf
        self.x = case.start.copy()
        self.ask(case.start)
        if case.solution is not None:
            self.ask(case.solution)
        if case.name in references():
            self.ask(np.array(references()[case.name].x))

    def ask(self, x: Point) -> float:
        """Return φ(x, y(x)) and keep the point if it is the best."""
        if perf_counter() > self.end:
            raise OutOfTime
        value = self.case.value(np.array(x))
        if value < self.value and self.case.problem.feasible_set.contains(x, FEASIBLE / 10):
            self.value, self.x = value, np.array(x)
        return value

    def slope(self, x: Point) -> Point:
        """Return the gradient of φ(x, y(x)).

        It is exact where the follower's structure is known, else by central differences.
        """
        problem = self.case.problem
        follower = problem.response
        if isinstance(follower, KnownStructure) and not follower.searched:
            piece = next(iter(follower.pieces(x, 0.0, 0.0).labels))
            anchor = problem.objective.anchor(x, follower(x))
            return np.asarray(anchor.grad_x + follower.jacobian(piece, x).T @ anchor.grad_y)
        step = 1e-6 * problem.feasible_set.diameter / np.sqrt(x.size)
        return np.array(
            [(self.ask(x + h) - self.ask(x - h)) / (2 * step) for h in step * np.eye(x.size)]
        )


def descend(best: Best, begin: Point) -> None:
    """Run a local solver from a point: SLSQP, and L-BFGS-B where a box is large."""
    from scipy.optimize import minimize

    feasible_set = best.case.problem.feasible_set
    limits = np.column_stack(bounds(feasible_set))
    if isinstance(feasible_set, bizol.Box):
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000}
        minimize(best.ask, begin, jac=best.slope, method="L-BFGS-B", bounds=limits, options=options)
        if begin.size > 60:
            return
    A_ub, b_ub, A_eq, b_eq = rows(feasible_set)
    constraints = [
        {"type": "ineq", "fun": lambda x: b_ub - A_ub @ x, "jac": lambda x: -A_ub},
        {"type": "eq", "fun": lambda x: b_eq - A_eq @ x, "jac": lambda x: -A_eq},
    ]
    kept = [
        constraint
        for constraint, size in zip(constraints, (len(b_ub), len(b_eq)), strict=True)
        if size
    ]
    if isinstance(feasible_set, bizol.Ball):
        radius, center = feasible_set.diameter / 2, feasible_set.center
        kept.append({"type": "ineq", "fun": lambda x: radius**2 - (x - center) @ (x - center)})
    options = {"ftol": 1e-14, "maxiter": 500}
    minimize(
        best.ask,
        begin,
        jac=best.slope,
        method="SLSQP",
        bounds=limits,
        constraints=kept,
        options=options,
    )
    best.ask(project(feasible_set, best.x))


def evolve(best: Best, begin: Point, spread: float, seed: int, factor: int = 1) -> None:
    """Run CMA-ES over the box around the set, with projection."""
    import cma

    feasible_set = best.case.problem.feasible_set
    lower, upper = bounds(feasible_set)
    width = np.where(upper > lower, upper - lower, 1.0)
    n = begin.size
    at = np.full(max(n, 2), 0.5)
    at[:n] = np.clip((begin - lower) / width, 0.0, 1.0)
    popsize = factor * (4 + int(3 * np.log(at.size)))
    options = {
        "bounds": [0, 1],
        "seed": seed + 1,
        "verbose": -9,
        "popsize": popsize,
        "tolfun": 1e-13,
        "tolx": 1e-12,
    }
    search = cma.CMAEvolutionStrategy(at, spread, options)
    while not search.stop():
        proposals = search.ask()
        points = [np.clip(lower + width * z[:n], lower, upper) for z in proposals]
        away = [float(np.sum(((p - project(feasible_set, p)) / width) ** 2)) for p in points]
        values = [best.ask(project(feasible_set, p)) for p in points]
        search.tell(proposals, [v + 1e-3 * abs(v) * a for v, a in zip(values, away, strict=True)])


def hop(best: Best, rng: np.random.Generator) -> None:
    """Descend from the best point with a few of its coordinates drawn anew."""
    feasible_set = best.case.problem.feasible_set
    kicked, other = best.x.copy(), sample(feasible_set, rng)
    chosen = rng.choice(kicked.size, size=min(kicked.size, int(rng.integers(1, 4))), replace=False)
    kicked[chosen] = other[chosen] * rng.choice([0.0, 1.0, 2.0])
    begin = project(feasible_set, kicked)
    best.ask(begin)
    descend(best, begin)


def cross_cells(best: Best, rng: np.random.Generator) -> None:
    """Descend from cell to cell: from the best point, from it moved or kicked, and from elsewhere.

    Only where the response is affine on cells of a box and φ is quadratic on them.
    """
    problem = best.case.problem
    if clipped_form(problem.response) is None or not isinstance(problem.feasible_set, bizol.Box):
        return
    other = sample(problem.feasible_set, rng)
    few = rng.permutation(other.size) < rng.integers(1, 5)
    part = 10 ** rng.uniform(-2.0, -0.3)
    near = (1 - part) * best.x + part * other
    for begin in (best.x, np.where(few, other, best.x), near, other):
        search_cells(best.ask, problem, begin, rng)


def search(name: str, seconds: float, seed: int) -> tuple[str, Reference]:
    """Return the best that was found for a case within the time."""
    case = build(name)
    best = Best(case, seconds)
    rng = np.random.default_rng(seed)
    stages: list[Callable[[], None]] = [
        *(lambda: cross_cells(best, rng) for _ in range(100)),
        lambda: descend(best, case.start),
        lambda: evolve(best, case.start, 0.3, seed),
        lambda: descend(best, best.x),
        lambda: evolve(best, case.problem.feasible_set.center, 0.3, seed + 4, factor=6),
        lambda: descend(best, best.x),
        *(lambda: hop(best, rng) for _ in range(15)),
        *(lambda: descend(best, sample(case.problem.feasible_set, rng)) for _ in range(8)),
        lambda: evolve(best, best.x, 0.02, seed + 1),
        lambda: evolve(best, sample(case.problem.feasible_set, rng), 0.3, seed + 2, factor=4),
        lambda: evolve(best, best.x, 1e-3, seed + 3),
        lambda: descend(best, best.x),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for round_ in range(1000):
                for stage in stages:
                    stage()
                evolve(best, best.x, 0.1 / (1 + round_), seed + 10 + round_, factor=2)
        except OutOfTime:
            pass
    return name, Reference(value=best.value, x=tuple(best.x.tolist()))


def keep(found: dict[str, Reference]) -> dict[str, tuple[float, float]]:
    """Write what is better than what is known; return what changed, as (old, new)."""
    known = dict(references())
    before = {name: known[name].value if name in known else inf for name in found}
    better = {name: entry for name, entry in found.items() if entry.value < before[name]}
    known.update(better)
    ordered = {name: asdict(known[name]) for name in (*names(), *DRAWS) if name in known}
    lines = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in ordered.items()]
    REFERENCES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    references.cache_clear()
    return {name: (before[name], entry.value) for name, entry in better.items()}


def from_runs(path: Path) -> dict[str, Reference]:
    """Return the lowest value of each case in a file of runs, and where it was."""
    lowest: dict[str, Reference] = {}
    for run in read_runs(path):
        if run.value is not None and run.x is not None:
            entry = Reference(value=run.value, x=tuple(run.x))
            lowest[run.case] = min(
                lowest.get(run.case, entry), entry, key=lambda known: known.value
            )
    return lowest


def main() -> None:
    """Search, and say what was improved."""
    parser = argparse.ArgumentParser(description="Search for the best known values.")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each case")
    parser.add_argument(
        "--seed", type=int, default=0, help="another seed searches elsewhere, from what is known"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=[*names(), *DRAWS])
    parser.add_argument(
        "--runs", type=Path, help="only take over better values from this file of runs"
    )
    options = parser.parse_args()
    console = Console()
    if options.runs is not None:
        found = from_runs(options.runs)
        for name, (old, new) in keep(found).items():
            console.print(f"{name}: {old:.12g} -> {new:.12g}")
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        again = [options.seconds] * len(options.cases), [options.seed] * len(options.cases)
        for name, entry in pool.map(search, options.cases, *again):
            changed = keep({name: entry})
            before = f"  (was {changed[name][0]:.12g})" if changed else ""
            console.print(f"{name}: {entry.value:.12g}{before}")


if __name__ == "__main__":
    main()
