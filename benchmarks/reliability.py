"""What durable and parallel evaluation promises, measured.

Speed-up, the cost of isolation and of commits, damaged journals and killed coordinators.

    python -m benchmarks.reliability [--kills 1000] [--damage 10000]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import bizol
from bizol.arrays import Point
from bizol.evaluation import Event
from bizol.evaluation.isolation import ask_child, dismiss, pack
from bizol.evaluation.question import Question
from tests.chaos import damage, leave_behind, storm
from tests.misbehaving import saturate
from tests.problems import saturated

SLEEP = 0.05  # seconds a query takes
BATCH = 10  # 21 queries an iteration


def sleepy(x: Point) -> Point:
    """Answer after a while."""
    time.sleep(SLEEP)
    return saturate(x)


def per_query(iterations: int, **options: Any) -> float:
    """Return the seconds a query takes in a run of whole iterations."""
    method = bizol.BiZOL(delta=0.1, step=0.1, batch=BATCH)
    start = time.perf_counter()
    solution = bizol.minimize(
        saturated(response=sleepy),
        method=method,
        budget=iterations * (2 * BATCH + 1),
        seed=0,
        **options,
    )
    return (time.perf_counter() - start) / solution.queries


def speed_up(console: Console) -> float:
    """Print the speed-up on 8 threads and on 2 Dask workers with 4 threads each.

    Return that of the threads as a share of the best possible.
    """
    from distributed import Client, LocalCluster

    rounds = ceil((2 * BATCH + 1) / 8)
    best = (2 * BATCH + 1) / rounds
    alone = per_query(1)
    table = Table(
        f"queries of {SLEEP * 1e3:.0f} ms in batches of 21, 8 workers",
        "speed-up",
        "of the best possible",
    )
    figures = {"threads": alone / per_query(10, workers=8)}
    figures["threads, with a journal"] = _with_a_journal(
        lambda path: alone / per_query(10, workers=8, journal=path)
    )
    figures["threads, isolated, starting 8 processes included"] = alone / per_query(
        30, workers=8, isolate=True
    )
    with (
        LocalCluster(n_workers=2, threads_per_worker=4, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        executor: Executor = client.get_executor(pure=False)
        per_query(1, executor=executor, workers=8)
        figures["2 Dask workers × 4 threads"] = alone / per_query(10, executor=executor, workers=8)
        figures["the same, workers=12"] = alone / per_query(10, executor=executor, workers=12)
    for name, figure in figures.items():
        table.add_row(name, f"{figure:.2f}", f"{figure / best:.2f}")
    table.caption = (
        f"21 queries on 8 workers take {rounds} rounds, so that {best:.2f} is the best possible"
    )
    console.print(table)
    return figures["threads"] / best


def _with_a_journal(measure: Callable[[Path], float]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder) / "run.bizol")


def isolation(console: Console) -> float:
    """Print what a process of its own costs a query, in ms, when it is there already."""
    packed, x = pack(Question(saturate, vectorized=False, seeded=False)), np.zeros(20)
    ask_child(packed, x, None, timeout=None)
    times = []
    for _ in range(2000):
        start = time.perf_counter()
        ask_child(packed, x, None, timeout=10.0)
        times.append(time.perf_counter() - start)
    dismiss(packed)
    cost = 1e3 * median(times)
    slow = 1e3 * float(np.quantile(times, 0.99))
    console.print(f"isolation: {cost:.2f} ms a query (median; 99 %: {slow:.2f})")
    return cost


def commits(console: Console) -> float:
    """Print what a commit costs, in ms: an answer of 200 numbers and the next query."""
    times = []
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        bizol.Journal.own(Path(folder) / "j", create=True) as journal,
    ):
        journal.identify({})
        for row in range(300):
            events = (
                Event("ok", (0, row, 0, 0), y=b"\0" * 1600, x=b"\0" * 160),
                Event("ask", (0, row + 1, 0, 0)),
            )
            start = time.perf_counter()
            journal.append(*events)
            times.append(time.perf_counter() - start)
    cost = 1e3 * median(times)
    slow = 1e3 * float(np.quantile(times, 0.99))
    console.print(f"commit: {cost:.1f} ms (median; 99 %: {slow:.1f})")
    return cost


def chaos(console: Console, kills: int) -> float:
    """Kill the coordinator again and again; print and return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        figures = storm(Path(folder), kills=kills, seed=1)
    each = figures["restarted"] / figures["kills"]
    console.print(f"kill -9: {figures}; {each:.2f} queries restarted per kill, of 4")
    wrong = (
        "lost",
        "answered twice",
        "asked after the answer",
        "executions unaccounted for",
        "different",
    )
    too_many = figures["restarted"] > 4 * figures["kills"]
    return float(sum(figures[name] for name in wrong) + too_many)


def cuts(console: Console, rounds: int) -> float:
    """Cut and flip journals; print what became of them and return how many were silently wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "original").mkdir()
        leave_behind(folder / "original")
        found = damage(folder / "original", folder, rounds=rounds, seed=1)
    console.print(f"cut or flipped journals: {dict(found)}")
    return float(found["silently wrong"])


def main() -> None:
    """Print all figures; fail when one is worse than promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--damage", type=int, default=1000)
    arguments = parser.parse_args()
    console = Console(width=120)
    console.print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    figures = {
        "missing share of the best possible speed-up": (1 - speed_up(console), 0.1),
        "isolation in ms": (isolation(console), 1.0),
        "commit in ms": (commits(console), 10.0),
        "journals silently wrong": (cuts(console, arguments.damage), 0),
        "things wrong after kills": (chaos(console, arguments.kills), 0),
    }
    missed = [
        f"{name} {value:.2f} exceeds {limit}"
        for name, (value, limit) in figures.items()
        if value > limit
    ]
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
