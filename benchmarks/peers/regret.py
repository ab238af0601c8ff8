"""Regret φ − φ* on the five problems of Astudillo and Frazier, as their paper reports it.

    python -m benchmarks.peers.regret --out peers [--solvers NAME ...] [--seeds 10] [--jobs 2]

Medians over the seeds, which differ in where they start: a random point of the box, the same for
all solvers. Resumes if interrupted; the runs are in the same file as those of `run`.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Sequence
from math import inf
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.peers.problems import names, references
from benchmarks.peers.record import COUNTS, read_record
from benchmarks.peers.run import carry_out_all
from benchmarks.peers.runs import Job, Run, latest, read_runs
from benchmarks.peers.solvers import PEERS

CASES = tuple(name for name in names() if name.startswith("af-"))


def regret(run: Run, count: int) -> float:
    """Return φ − φ* of the best decision of the first `count` queries; inf where there is none."""
    reached = [value for query, value in run.trace if query <= count]
    return max(0.0, reached[-1] - references()[run.case].value) if reached else inf


def table(runs: Sequence[Run]) -> str:
    """Return the median regrets as a Markdown table, and how many runs ran out of time."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.case, run.solver].append(run)
    head = "".join(f" after {count} |" for count in COUNTS)
    lines = [
        f"| median regret | solver | seeds | late |{head}",
        "|---|---|" + "---:|" * (2 + len(COUNTS)),
    ]
    for (case, solver), group in sorted(
        groups.items(), key=lambda item: (CASES.index(item[0][0]), list(PEERS).index(item[0][1]))
    ):
        late = sum(run.status == "late" for run in group)
        cells = [f"{median(regret(run, count) for run in group):.1e}" for count in COUNTS]
        lines.append(f"| {case} | {solver} | {len(group)} | {late} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and write the table."""
    parser = argparse.ArgumentParser(description="Regret on composite test problems.")
    parser.add_argument("--out", type=Path, default=Path("peers"))
    parser.add_argument(
        "--solvers",
        nargs="+",
        choices=tuple(PEERS),
        metavar="SOLVER",
        default=["bizol", "composite-bo"],
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel processes")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds for a run")
    parser.add_argument("--no-record", action="store_true", help="ignore the runs that are kept")
    options = parser.parse_args(arguments)
    jobs = [
        Job(case=case, solver=solver, seed=seed, budget=max(COUNTS), begin="random")
        for case in CASES
        for solver in options.solvers
        for seed in range(options.seeds)
    ]
    path, console = options.out / "runs.jsonl", Console()
    kept = [] if options.no_record else read_record()
    carry_out_all(jobs, path, workers=options.jobs, limit=options.limit, console=console, kept=kept)
    wanted = set(jobs)
    text = table([run for run in latest(kept, read_runs(path)) if run.job in wanted])
    (options.out / "regret.md").write_text(text)
    console.print(text, soft_wrap=True, markup=False)


if __name__ == "__main__":
    main()
