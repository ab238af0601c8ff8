"""What the library costs on top of the arithmetic: time, scaling, memory, import.

The time per iteration is compared with a hand-written loop, for two objectives. On the tracking
problem the limit is a ratio of 1.4; the aim is 1.3. The second objective, ½‖x‖² + ½‖y‖², costs
almost nothing, so that nothing hides what the library itself does in an iteration (checks, records,
the history). Its ratio is what you pay at worst, with a follower that answers in microseconds; it
is printed and has no limit.

Run it with `make measure`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import final

import numpy as np
from rich.console import Console
from rich.table import Table

import bizol
from bizol.arrays import Point
from bizol.objectives import Tracking
from bizol.reproduction.instances import BOX, tracking_instance

ITERATIONS = 476  # 10,000 queries, as in the paper
DELTA, STEP, BATCH = 0.08, 0.1, 10


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """A problem over [−1, 1]ⁿ, the same objective for the hand-written loop, and the start."""

    problem: bizol.Problem
    objective: Tracking | bizol.Objective
    start: Point


def tracking_workload() -> Workload:
    """Return the tracking problem of the paper, with individual capacities."""
    instance = tracking_instance(BOX)
    return Workload(problem=instance.problem, objective=instance.objective, start=instance.start)


def cheap_workload() -> Workload:
    """Return the same agents with φ = ½‖x‖² + ½‖y‖², which costs almost nothing."""
    instance = tracking_instance(BOX)
    phi = bizol.Objective(
        value=lambda x, y: 0.5 * float(x @ x + y @ y),
        grad_x=lambda x, y: x,
        grad_y=lambda x, y: y,
    )
    problem = bizol.Problem(phi, instance.follower, instance.problem.feasible_set, vectorized=True)
    return Workload(problem=problem, objective=phi, start=instance.start)


def by_hand(workload: Workload, *, observe: bool) -> Point:
    """Run Algorithm 1 as one would write it in a script.

    With `observe`, it also keeps the value and the gap of each iteration.
    """
    rng = np.random.default_rng(0)
    phi = workload.objective
    follower = workload.problem.response
    x = workload.start.copy()
    n = x.size
    lower = -np.ones(n)
    upper = np.ones(n)
    history = []
    for _ in range(ITERATIONS):
        w = rng.standard_normal((BATCH, n))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        responses = follower(np.concatenate([x[None], x + DELTA * w, x - DELTA * w]))
        y = responses[0]
        slopes = (responses[1 : BATCH + 1] - responses[BATCH + 1 :]) @ phi.grad_y(x, y)
        gradient = phi.grad_x(x, y) + n / (2 * DELTA * BATCH) * (slopes @ w)
        vertex = np.where(gradient < 0, upper, lower)
        if observe:
            history.append((float(phi.value(x, y)), float(gradient @ (x - vertex))))
        x = x + STEP * (vertex - x)
    return x


def by_bizol(workload: Workload) -> Point:
    """Run the same with `bizol.minimize`."""
    method = bizol.BiZOL(delta=DELTA, step=STEP, batch=BATCH)
    budget = ITERATIONS * (2 * BATCH + 1)
    solution = bizol.minimize(
        workload.problem, workload.start, method=method, budget=budget, seed=0
    )
    return solution.last.x


def side_by_side(
    runs: dict[str, Callable[[], object]],
    rounds: int = 25,
    summary: Callable[[list[float]], float] = median,
) -> dict[str, float]:
    """Return the median time of each; they take turns, so that a slow moment slows all alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = perf_counter()
            run()
            times[name].append(perf_counter() - start)
    return {name: summary(values) for name, values in times.items()}


def overhead(console: Console) -> float:
    """Print the time per iteration by hand and by the library; return their ratio on tracking.

    The hand-written loop it is compared with is the plainest: it keeps neither value nor gap.
    """
    tracking = tracking_workload()
    cheap = cheap_workload()
    times = side_by_side(
        {
            "by hand": lambda: by_hand(tracking, observe=False),
            "by hand, keeping value and gap": lambda: by_hand(tracking, observe=True),
            "bizol.minimize": lambda: by_bizol(tracking),
            "cheap φ, by hand": lambda: by_hand(cheap, observe=False),
            "cheap φ, bizol.minimize": lambda: by_bizol(cheap),
        }
    )
    table = Table("Algorithm 1, n=20, m=200, B=10", "µs per iteration", "ratio to by hand, same φ")
    for name, seconds in times.items():
        plainest = times["cheap φ, by hand" if name.startswith("cheap φ") else "by hand"]
        table.add_row(name, f"{seconds / ITERATIONS * 1e6:.1f}", f"{seconds / plainest:.2f}")
    console.print(table)
    return times["bizol.minimize"] / times["by hand"]


def scaling(console: Console) -> None:
    """Print how the library's own time per iteration grows in B, m and n (1 is linear).

    The follower and φ cost nothing here.
    """

    def per_iteration(n: int, m: int, batch: int) -> float:
        responses = np.random.default_rng(0).standard_normal((2 * batch + 1, m))
        d_x, d_y = np.ones(n), np.ones(m)
        problem = bizol.Problem(
            bizol.Objective(lambda x, y: 0.0, lambda x, y: d_x, lambda x, y: d_y),
            lambda points: responses,
            bizol.Box(-np.ones(n), np.ones(n)),
            vectorized=True,
        )
        method = bizol.BiZOL(delta=DELTA, step=STEP, batch=batch)
        runs = 6
        seconds = side_by_side(
            {
                "run": lambda: bizol.minimize(
                    problem, method=method, budget=runs * (2 * batch + 1), seed=0
                )
            },
            rounds=5,
            summary=min,
        )
        return seconds["run"] / runs

    table = Table("library time per iteration", "from", "to", "ms", "fitted exponent")
    for name, small, large in (
        ("B", (200, 500_000, 10), (200, 500_000, 40)),  # beyond the caches at both ends
        ("m", (200, 500_000, 10), (200, 2_000_000, 10)),
        ("n", (250_000, 200, 10), (1_000_000, 200, 10)),
    ):
        start, end = per_iteration(*small), per_iteration(*large)
        exponent = np.log(end / start) / np.log(4)
        sizes = [f"n={n} m={m} B={batch}" for n, m, batch in (small, large)]
        table.add_row(
            f"in {name}", *sizes, f"{start * 1e3:.2f} → {end * 1e3:.2f}", f"{exponent:.2f}"
        )
    console.print(table)


def memory(console: Console) -> float:
    """Print the peak memory of a large run beyond the follower's own, in a fresh process."""
    n, m, batch = 10_000, 100_000, 10
    script = f"""
import numpy as np, bizol
def peak(): return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024  # MB
n, m, batch = {n}, {m}, {batch}
index = np.arange(m) % n
problem = bizol.Problem(
    bizol.Objective(lambda x, y: float(y @ y), lambda x, y: np.zeros(n), lambda x, y: 2 * y),
    lambda x: np.clip(x[index], -0.5, 0.5),   # a sparse follower: its own memory is one response
    bizol.Box(-np.ones(n), np.ones(n)),
)
problem.response(np.zeros(n)); before = peak()
bizol.minimize(problem, method=bizol.BiZOL(0.08, 0.1, batch), budget=20 * (2 * batch + 1), seed=0)
print(peak() - before)
"""
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    peak = float(run.stdout)
    console.print(f"memory, n={n}, m={m}, B={batch}: {peak:.0f} MB beyond that before the run")
    return peak


def import_time(console: Console) -> float:
    """Print the time `import bizol` takes beyond NumPy and SciPy's optimize.

    The median of fresh interpreters.
    """

    def fresh(statement: str) -> float:
        script = f"from time import perf_counter as t; s = t(); {statement}; print(t() - s)"
        run = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        return float(run.stdout)

    base = "import numpy, scipy.optimize"
    pairs = [(fresh(base), fresh(f"{base}; import bizol")) for _ in range(7)]
    extra = median(both - alone for alone, both in pairs)
    console.print(f"import bizol: {extra:.3f} s beyond `{base}`")
    return extra


def certificate_time(console: Console) -> float:
    """Print the time a certificate takes apart from the follower, n=20, m=200, 200 directions."""
    instance = tracking_instance(BOX)
    points = np.tile(instance.start, (401, 1))
    times = side_by_side(
        {
            "certify": lambda: bizol.certify(instance.problem, instance.start, delta=DELTA, seed=0),
            "follower": lambda: instance.follower(points),
        }
    )
    apart = 1e3 * (times["certify"] - times["follower"])
    console.print(f"certify, 401 queries: {apart:.1f} ms apart from the follower")
    return apart


def main() -> None:
    """Print all figures; fail when the overhead exceeds what is promised."""
    console = Console(width=120)
    console.print(f"NumPy {np.__version__}, {os.cpu_count()} cores, medians of interleaved runs")
    figures = {
        "overhead ratio": (overhead(console), 1.4),
        "memory in MB": (memory(console), 300),
        "import time in s": (import_time(console), 0.35),
        "time of a certificate in ms": (certificate_time(console), 10),
    }
    scaling(console)
    missed = [
        f"{name} {value:.2f} exceeds {limit}"
        for name, (value, limit) in figures.items()
        if value > limit
    ]
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
