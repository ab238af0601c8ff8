"""Data profiles of the runs: the share of problems solved against queries, as figures and a table.

    python -m benchmarks.peers.profiles --runs peers/runs.jsonl --out peers
        [--split report] [--tag TAG] [--cases NAME ...] [--solvers NAME ...] [--no-record]

A run solves its problem to τ when (best − reference)/(φ(x₀) − reference) ≤ τ (J. Moré and S. Wild,
2009), also where it was cut or failed afterwards. Cases that a solver does not take or was not run
on count as unsolved.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.peers.problems import references
from benchmarks.peers.record import read_record
from benchmarks.peers.runs import Run, latest, read_runs
from benchmarks.peers.solvers import SOLVERS
from bizol.arrays import Point
from bizol.report.figures import OURS, canvas, save

TOLERANCES = (1e-1, 1e-2, 1e-3)
MULTIPLES = (2, 5, 10, 30, 100)
COLORS = ("#d1731c", "#6a3d9a", "#c62828", "#2e7d32", "#555555", "#1b9e9e", "#a6761d")
LINES = ("-", "--", ":", "-.")


def solved_at(run: Run, tolerance: float) -> float:
    """Return after how many queries a run had solved its problem; inf if never.

    How the run ended makes no difference.
    """
    reference = _reference(run)
    wanted = reference + tolerance * (run.start - reference)
    return next((float(query) for query, value in run.trace if value <= wanted), inf)


def _reference(run: Run) -> float:
    """Return the best value known by now."""
    return references()[run.case].value if run.case in references() else run.reference


def share(runs: Sequence[Run], tolerance: float, multiple: float, *, cases: int) -> float:
    """Return the share of problems solved within `multiple` times n + 1 queries.

    A problem counts with the mean over its seeds.
    """
    return float(sum(map(np.mean, _outcomes(runs, tolerance, multiple).values())) / cases)


def share_error(runs: Sequence[Run], tolerance: float, multiple: float, *, cases: int) -> float:
    """Return the standard error of the share that comes from the seeds.

    It is nan where a case was run with one seed only.
    """
    outcomes = _outcomes(runs, tolerance, multiple).values()
    if min(map(len, outcomes)) < 2:
        return nan
    return float(np.sqrt(sum(np.var(solved, ddof=1) / len(solved) for solved in outcomes)) / cases)


def _outcomes(runs: Sequence[Run], tolerance: float, multiple: float) -> dict[str, list[bool]]:
    """Return of each case which of its runs were solved."""
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for run in runs:
        outcomes[run.case].append(solved_at(run, tolerance) <= multiple * (run.n + 1))
    return outcomes


def curve(runs: Sequence[Run], tolerance: float, *, cases: int) -> tuple[Point, Point]:
    """Return the queries, in units of n + 1, at which the share rises, and what it rises to."""
    ends = np.array([solved_at(run, tolerance) / (run.n + 1) for run in runs])
    seeds = Counter(run.case for run in runs)
    rises = np.array([1 / (cases * seeds[run.case]) for run in runs])
    order = np.argsort(ends)[: np.isfinite(ends).sum()]
    return ends[order], np.cumsum(rises[order])


def longest(runs: Sequence[Run]) -> list[Run]:
    """Return the run with the largest budget of each solver, case and seed."""
    found: dict[tuple[str, str, int], Run] = {}
    for run in sorted(runs, key=lambda run: run.budget):
        found[run.solver, run.case, run.seed] = run
    return list(found.values())


def by_solver(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of each solver, in the order of the solvers."""
    found: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        found[run.solver].append(run)
    return {solver: found[solver] for solver in SOLVERS if solver in found}


def table(runs: Sequence[Run]) -> str:
    """Return the shares as a Markdown table, the best of each column in bold.

    The column ± is the largest standard error of the row.
    """
    groups = by_solver(runs)
    columns = [(tolerance, multiple) for tolerance in TOLERANCES[1:] for multiple in MULTIPLES]
    cases = len({run.case for run in runs})
    shares = {
        solver: [share(group, *column, cases=cases) for column in columns]
        for solver, group in groups.items()
    }
    best = np.max(list(shares.values()), axis=0)
    head = "".join(f" {_power(tolerance)}, {multiple}(n+1) |" for tolerance, multiple in columns)
    lines = [
        f"| % solved to, within | runs | failed | not taken |{head} ± |",
        "|---|" + "---:|" * (4 + len(columns)),
    ]
    for solver, group in groups.items():
        failed = sum(run.status == "failed" for run in group)
        skipped = sum(run.status == "skipped" for run in group)
        cells = [
            f"**{100 * s:.0f}**" if s == top else f"{100 * s:.0f}"
            for s, top in zip(shares[solver], best, strict=True)
        ]
        errors = [share_error(group, *column, cases=cases) for column in columns]
        error = 100 * float(np.max(errors))
        cells.append("–" if isnan(error) else f"{error:.1f}")
        shown = " | ".join(cells)
        lines.append(f"| {solver} | {len(group)} | {failed} | {skipped} | {shown} |")
    return "\n".join(lines) + "\n"


def draw(runs: Sequence[Run], folder: Path, name: str) -> list[Path]:
    """Draw the data profiles, one panel for each tolerance."""
    groups, cases = by_solver(runs), len({run.case for run in runs})
    others = [solver for solver in groups if solver != "bizol"]
    with canvas() as pyplot:
        figure, axes = pyplot.subplots(
            1, len(TOLERANCES), figsize=(11, 4), sharey=True, layout="constrained"
        )
        for axis, tolerance in zip(axes, TOLERANCES, strict=True):
            for solver, group in groups.items():
                at, rising = curve(group, tolerance, cases=cases)
                x = np.concatenate([[0.1], at, [100.0]])
                y = np.concatenate([[0.0], rising, rising[-1:] if rising.size else [0.0]])
                look = _look(others.index(solver) if solver in others else None)
                axis.step(x, y, where="post", label=solver, **look)
            axis.set(
                xscale="log",
                xlim=(0.3, 100),
                ylim=(0, 1),
                xlabel="queries / (n + 1)",
                title=f"to {_power(tolerance)}",
            )
        axes[0].set_ylabel("share of problems solved")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
        return save(figure, folder, name)


def _look(index: int | None) -> dict[str, Any]:
    """Return the line of a peer by its index, or of this library where there is none.

    Peers go through the colors with solid lines first, then through them with other lines.
    """
    if index is None:
        return {"color": OURS, "linestyle": "-", "linewidth": 2.5}
    lap, color = divmod(index, len(COLORS))
    line = LINES[0] if lap == 0 else LINES[1:][lap % 3]
    return {"color": COLORS[color], "linestyle": line, "linewidth": 1.2}


def _power(tolerance: float) -> str:
    return f"1e{round(np.log10(tolerance))}"


def beaten(runs: Sequence[Run]) -> dict[str, float]:
    """Return the cases whose reference some run got below, and the normalized gap by how much."""
    found: dict[str, float] = {}
    for run in runs:
        reference = _reference(run)
        if run.value is not None and run.value < reference:
            gap = (reference - run.value) / (run.start - reference)
            found[run.case] = max(found.get(run.case, 0.0), gap)
    return {case: gap for case, gap in found.items() if gap > 1e-9}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the runs, write the table and the figures."""
    parser = argparse.ArgumentParser(description="Draw data profiles of the runs.")
    parser.add_argument("--runs", type=Path, default=Path("peers/runs.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("peers"))
    parser.add_argument("--split", choices=("tune", "report", "draw", "all"), default="report")
    parser.add_argument("--tag", help="only cases with this tag")
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="only these cases")
    parser.add_argument("--solvers", nargs="+", choices=tuple(SOLVERS), metavar="SOLVER")
    parser.add_argument("--no-record", action="store_true", help="ignore the runs that are kept")
    options = parser.parse_args(arguments)
    console = Console()
    kept = [] if options.no_record else read_record()
    made = [run for run in latest(kept, read_runs(options.runs)) if run.begin == "fixed"]
    runs = [
        run
        for run in longest(made)
        if options.split in ("all", run.split)
        and (options.tag is None or options.tag in run.tags)
        and (options.cases is None or run.case in options.cases)
        and (options.solvers is None or run.solver in options.solvers)
    ]
    if not runs:
        parser.error(f"no such runs in {options.runs}")
    options.out.mkdir(parents=True, exist_ok=True)
    name = "-".join(["profiles", options.split, *([options.tag] if options.tag else [])])
    text = table(runs)
    (options.out / f"{name}.md").write_text(text)
    draw(runs, options.out, name)
    console.print(text, soft_wrap=True, markup=False)
    for run in runs:
        if run.status == "failed":
            console.print(
                f"{run.solver} failed on {run.case}, seed {run.seed}: {run.message}", markup=False
            )
    for case, gap in beaten(runs).items():
        console.print(
            f"the reference of {case} was beaten by {gap:.1e}: "
            "python -m benchmarks.peers.references --runs ..."
        )


if __name__ == "__main__":
    main()
