"""Run every solver on every case and write one line per run; resumes if interrupted.

    python -m benchmarks.peers.run --out peers [--quick] [--cases NAME ...] [--solvers NAME ...]
        [--split tune|report|draw] [--seeds 3] [--jobs 2] [--budget 100] [--limit 300] [--no-record]

Runs that are kept in the repository (`benchmarks.peers.record`) are not made again. Then
`python -m benchmarks.peers.profiles --runs peers/runs.jsonl --out peers` draws the profiles.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from time import process_time

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from benchmarks.peers.problems import DRAWS, Case, build, names
from benchmarks.peers.record import read_record
from benchmarks.peers.runs import Job, Run, Status, latest, read_runs
from benchmarks.peers.sets import sample
from benchmarks.peers.solvers import PEERS, SOLVERS, Oracle, UnsuitableError, run_solver

MULTIPLES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100)  # of n + 1
FIXED = (10, 30, 60, 100, 200, 300, 1000)
CAP = 3000
QUICK = (
    "bard-1988-1",
    "muu-quy-2003-2",
    "tracking-n5",
    "allocation-a",
    "tolls-parallel-a",
    "cournot-small-ball",
)


def budget_of(n: int, multiple: int) -> int:
    """Return the budget for a dimension: so many times n + 1, and never above 3000."""
    return min(CAP, multiple * (n + 1))


def begun(case: Case, job: Job) -> Case:
    """Return the case with the start of the job."""
    if job.begin == "fixed":
        return case
    rng = np.random.default_rng([job.seed, 1906])  # not the stream that solvers draw from
    return replace(case, start=sample(case.problem.feasible_set, rng))


def carry_out(job: Job, limit: float = 300.0) -> Run:
    """Run a solver on a case; whatever it does is recorded."""
    case = begun(build(job.case), job)
    oracle = Oracle(case, job.budget, seconds=limit)
    begin = process_time()
    status: Status = "done"
    message = ""
    try:
        run_solver(SOLVERS[job.solver], oracle, job.seed)
        status = "late" if oracle.late else "done"
    except UnsuitableError as error:
        status, message = "skipped", str(error)
    except (Exception, SystemExit) as error:  # a package that calls sys.exit has failed too
        status, message = "failed", f"{type(error).__name__}: {error}"[:500]
    return summary(
        job, case, oracle, status=status, message=message, seconds=process_time() - begin
    )


def summary(
    job: Job,
    case: Case,
    oracle: Oracle,
    *,
    status: Status,
    message: str,
    seconds: float,
) -> Run:
    """Return the record of a run."""
    start = case.value(case.start)
    trace: list[tuple[int, float]] = []
    for query, value in enumerate(oracle.best, start=1):
        if isfinite(value) and (not trace or value < trace[-1][1]):
            trace.append((query, value))
    counts = sorted({*FIXED, *(k * (case.dimension + 1) for k in MULTIPLES), job.budget})
    gaps = {}
    for count in counts:
        reached = [value for query, value in trace if query <= count]
        if count <= job.budget and reached:
            gaps[str(count)] = (reached[-1] - case.reference) / (start - case.reference)
    return Run(
        case=job.case,
        solver=job.solver,
        seed=job.seed,
        budget=job.budget,
        begin=job.begin,
        n=case.dimension,
        split=case.split,
        tags=sorted(case.tags),
        status=status,
        message=message,
        queries=oracle.queries,
        seconds=round(seconds, 3),
        value=trace[-1][1] if trace else None,
        x=None if oracle.x is None else oracle.x.tolist(),
        start=start,
        reference=case.reference,
        gaps=gaps,
        trace=trace,
    )


def carry_out_all(
    jobs: Sequence[Job],
    path: Path,
    *,
    workers: int,
    limit: float,
    console: Console,
    kept: Sequence[Run] = (),
) -> int:
    """Make the runs that are neither kept nor in the file yet, and return how many were made.

    Each is appended as it ends. Runs that failed are made again, and so are those that ended late,
    if they may take longer now.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.read_text().endswith("\n"):
        path.write_text(path.read_text() + "\n")  # the last line was cut short
    known = latest(kept, read_runs(path))
    done = {run.job for run in known if not (run.status == "failed" or _cut(run, limit))}
    open_jobs = [job for job in jobs if job not in done]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with (
        path.open("a") as file,
        Progress(*columns, TimeRemainingColumn(), console=console) as progress,
    ):
        task = progress.add_task("runs", total=len(jobs), completed=len(jobs) - len(open_jobs))
        for run in _finished(open_jobs, workers, limit):
            file.write(json.dumps(asdict(run)) + "\n")
            file.flush()
            progress.update(task, advance=1, description=f"{run.case}, {run.solver}")
            if run.status == "failed":
                console.print(
                    f"[red]{run.solver} failed on {run.case}, seed {run.seed}:[/red] {run.message}"
                )
    return len(open_jobs)


def _cut(run: Run, limit: float) -> bool:
    return run.status == "late" and run.seconds < limit


def _finished(jobs: Sequence[Job], workers: int, limit: float) -> Iterable[Run]:
    if workers <= 1:
        yield from (carry_out(job, limit) for job in jobs)
        return
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # seen by the workers, which start afresh
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            for future in as_completed([pool.submit(carry_out, job, limit) for job in jobs]):
                yield future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def plan(
    cases: Iterable[str], solvers: Sequence[str], *, seeds: int, multiple: int, split: str | None
) -> list[Job]:
    """Return the jobs, case by case."""
    jobs = []
    for name in cases:
        case = build(name)
        if split is not None and case.split != split:
            continue
        budget = budget_of(case.dimension, multiple)
        jobs += [
            Job(case=name, solver=solver, seed=seed, budget=budget)
            for solver in solvers
            for seed in range(seeds)
        ]
    return jobs


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description="Run black-box solvers on bilevel problems, each query counted."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("peers"), help="folder of the file of runs"
    )
    parser.add_argument(
        "--quick", action="store_true", help="six small cases, one seed, 20 (n + 1) queries"
    )
    parser.add_argument("--cases", nargs="+", choices=(*names(), *DRAWS), metavar="CASE")
    parser.add_argument(
        "--solvers", nargs="+", choices=tuple(SOLVERS), metavar="SOLVER", default=list(PEERS)
    )
    parser.add_argument("--split", choices=("tune", "report", "draw"))
    parser.add_argument("--seeds", type=int, default=None, help="3, or 1 with --quick")
    parser.add_argument(
        "--budget",
        type=int,
        default=None,
        help="queries in units of n + 1: 100, or 20 with --quick",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel processes")
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds of processor time for a run"
    )
    parser.add_argument(
        "--no-record", action="store_true", help="make again what is kept in the repository"
    )
    options = parser.parse_args(arguments)
    console = Console()
    for solver in options.solvers:
        if not SOLVERS[solver].installed:
            console.print(
                f"{solver} is left out: install {SOLVERS[solver].package}, or bizol[bench].",
                markup=False,
            )
    jobs = plan(
        options.cases
        or (QUICK if options.quick else DRAWS if options.split == "draw" else names()),
        [solver for solver in options.solvers if SOLVERS[solver].installed],
        seeds=options.seeds or (1 if options.quick else 3),
        multiple=options.budget or (20 if options.quick else 100),
        split=options.split,
    )
    path = options.out / "runs.jsonl"
    made = carry_out_all(
        jobs,
        path,
        workers=options.jobs,
        limit=options.limit,
        console=console,
        kept=[] if options.no_record else read_record(),
    )
    cases = len({job.case for job in jobs})
    console.print(f"{made} runs made, {len(jobs) - made} were there, of {cases} cases: {path}")


if __name__ == "__main__":
    main()
