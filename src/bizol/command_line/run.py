"""The commands that create and run a problem: new, run, resume, ask, tell, show, export."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from bizol.command_line.journal_files import (
    export,
    queries_as_json,
    tell,
    write_queries,
)
from bizol.command_line.run_file import RunFile, load
from bizol.command_line.starter import begin
from bizol.evaluation import Journal, Query
from bizol.evaluation.journal import Summary, summarize
from bizol.followers import Outside
from bizol.problem import Problem
from bizol.processes import die_with_parent
from bizol.run import Solution, Status, minimize

commands = typer.Typer()

PROBLEM = "A run file (*.toml), or the import path of a problem, module:name."
ProblemName = Annotated[str, typer.Argument(help=PROBLEM)]
JournalPath = Annotated[Path, typer.Argument(help="The journal of a run.")]
Budget = Annotated[int | None, typer.Option(min=1, help="How many response queries may be spent.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Makes the run repeatable.")]
EngineName = Annotated[
    str | None,
    typer.Option(help="What executes queries: threads:8, processes:8, dask:tcp://host:8786."),
]
Workers = Annotated[int | None, typer.Option(min=1, help="How many queries may run at a time.")]
Isolate = Annotated[
    bool | None,
    typer.Option(
        "--isolate/--no-isolate", help="Run each query in its own process.", show_default=False
    ),
]
Timeout = Annotated[
    float | None, typer.Option(help="Seconds after which an isolated query is stopped.")
]
Response = Annotated[
    str | None,
    typer.Option(help="A command that answers, with JSON lines in and out; run without a shell."),
]
OnUnknown = Annotated[
    str | None,
    typer.Option(help="What to do about queries that ran during a crash: ask (again) or stop."),
]


class Form(StrEnum):
    """The formats in which queries are printed."""

    table = "table"
    csv = "csv"
    json = "json"


@commands.command()
def new(
    folder: Annotated[
        Path,
        typer.Argument(metavar="NAME", help="A new folder, such as my-problem."),
    ],
) -> None:
    """Create a new folder with a small working problem, its run file and its test."""
    with _report_mistakes("NAME"):
        files = begin(folder)
    module, run_file, _ = (path.name for path in files)
    width = max(len(path.name) for path in files)
    typer.echo(f"{folder} has a small problem that works:\n")
    for path, purpose in files.items():
        typer.echo(f"  {path.name:<{width}}   {purpose}")
    typer.echo("\nTry it:\n")
    typer.echo(f"  cd {shlex.quote(str(folder))}\n  bizol run {run_file}\n  python -m pytest\n")
    typer.echo(
        f"Then put your own follower and objective into {module}, and your own set into {run_file}."
    )


@commands.command()
def run(
    problem: ProblemName,
    *,
    budget: Budget = None,
    journal: Annotated[
        Path | None,
        typer.Option(help="A file that keeps every query and response; resumes if it exists."),
    ] = None,
    engine: EngineName = None,
    workers: Workers = None,
    isolate: Isolate = None,
    timeout: Timeout = None,
    seed: Seed = None,
    response: Response = None,
    on_unknown: OnUnknown = None,
) -> None:
    """Minimize a problem with a budget of response queries."""
    options = {
        "budget": budget,
        "journal": journal,
        "engine": engine,
        "workers": workers,
        "isolate": isolate,
        "timeout": timeout,
        "seed": seed,
        "on_unknown": on_unknown,
    }
    _carry_out(problem, response, options)


@commands.command()
def resume(
    journal: JournalPath,
    problem: ProblemName,
    *,
    budget: Budget = None,
    engine: EngineName = None,
    workers: Workers = None,
    isolate: Isolate = None,
    timeout: Timeout = None,
    response: Response = None,
    on_unknown: OnUnknown = None,
) -> None:
    """Resume the run of a journal, with its budget or a larger one.

    You name the problem again, because nothing that is written in a journal is ever executed.
    """
    with _report_mistakes("JOURNAL"):
        budget = budget or summarize(Journal(journal)).budget or None
    options = {
        "budget": budget,
        "journal": journal,
        "engine": engine,
        "workers": workers,
        "isolate": isolate,
        "timeout": timeout,
        "on_unknown": on_unknown,
    }
    _carry_out(problem, response, options)


@commands.command()
def ask(
    journal: JournalPath,
    problem: Annotated[
        str | None, typer.Option(help=f"{PROBLEM} Give it to compute the next queries.")
    ] = None,
    budget: Budget = None,
    form: Annotated[Form, typer.Option("--format", help="How to print the queries.")] = Form.table,
) -> None:
    """Print the queries that wait for an answer from outside.

    With --problem, once all queries of the last batch are answered, print those of the next batch;
    a journal that does not exist yet is created.
    """
    with _report_mistakes("JOURNAL"):
        if problem is not None:
            loaded = load(problem)
            kept = loaded.options.get("budget")
            known = summarize(Journal(journal)).budget if journal.is_file() else None
            options = {"budget": budget or known or kept, "journal": journal}
            solution = _run_loaded(loaded, options, outside=True)
            if solution.status is not Status.WAITING:
                typer.echo(str(solution), err=True)
        pending = Journal(journal).pending()
    _print_queries(pending, form)
    if not pending and problem is None:
        typer.echo("Nothing is pending; give --problem to work out what to ask next.", err=True)


@commands.command("tell")
def tell_command(
    journal: JournalPath,
    answers: Annotated[
        Path,
        typer.Argument(help="CSV with the columns id, y0, y1, ..., or JSON, {id: \\[y0, ...]}."),
    ],
) -> None:
    """Add answers from a file to a journal: any subset, in any order.

    If one of the answers cannot be used, none of the file is added.
    """
    with _report_mistakes("ANSWERS"):
        new = tell(Journal(journal), answers)
        pending = len(Journal(journal).pending())
    typer.echo(f"{new} new answers; {pending} queries are pending.")


@commands.command()
def show(
    journal: JournalPath,
    watch: Annotated[
        bool, typer.Option("--watch", help="Update the table until the run ends.")
    ] = False,
) -> None:
    """Show what a run asked, spent and reached, also while it is running."""
    console = Console(width=None if Console().is_terminal else 100)
    with _report_mistakes("JOURNAL"):
        summary = summarize(Journal(journal))
        if watch:
            with Live(_tabulate(summary), console=console) as live:
                while (summary := summarize(Journal(journal))).status == "running":
                    live.update(_tabulate(summary))
                    time.sleep(0.5)
                live.update(_tabulate(summary))
        else:
            console.print(_tabulate(summary))


@commands.command("export")
def export_command(
    journal: JournalPath,
    out: Annotated[Path, typer.Argument(help="A file that ends in .csv or .parquet.")],
) -> None:
    """Write every execution of a run as a row: decision, response, outcome, seed, time."""
    with _report_mistakes("OUT"):
        rows = export(Journal(journal), out)
    typer.echo(f"{rows} rows in {out}.")


def _carry_out(problem: str, response: str | None, options: dict[str, Any]) -> None:
    with _report_mistakes("PROBLEM"), patience():
        loaded = load(problem, command=response)
        solution = _run_loaded(loaded, options)
    typer.echo(str(solution))
    if (journal := options.get("journal") or loaded.options.get("journal")) is not None:
        typer.echo(f"      journal: {journal}")
    if solution.status is Status.INTERRUPTED:
        raise typer.Exit(130)
    if solution.status in (Status.UNANSWERED, Status.FAILING):
        raise typer.Exit(1)


def _run_loaded(loaded: RunFile, options: dict[str, Any], *, outside: bool = False) -> Solution:
    """Run what was loaded; options of the command line override those of the file.

    With `outside`, the run only computes the queries that others have to answer.
    """
    given = {name: value for name, value in options.items() if value is not None}
    together = loaded.options | given
    engine = together.pop("engine", None)
    if together.get("budget") is None:
        raise ValueError(
            "A budget is needed: --budget 500, or budget = 500 in the table [run] of the file."
        )
    problem = loaded.problem
    if outside:
        problem = Problem(problem.objective, Outside(), problem.feasible_set)
        used = ("budget", "journal", "seed", "x0")
        together = {name: value for name, value in together.items() if name in used}
        engine = None
    if together.get("timeout") is not None:
        together.setdefault("isolate", True)
    with engine_named(engine, together.get("workers")) as (executor, workers):
        together |= {"executor": executor, "workers": workers}
        return minimize(problem, method=loaded.method, progress=True, **together)


@contextmanager
def engine_named(
    name: str | None, workers: int | None
) -> Iterator[tuple[Executor | None, int | None]]:
    """Yield the executor with this name, and how many queries it takes at a time."""
    kind, _, rest = (name or "").partition(":")
    if not kind:
        yield None, workers
    elif kind in ("threads", "processes"):
        if not rest.isdigit() or int(rest) < 1:
            raise ValueError(f"--engine {name} must say how many: {kind}:8.")
        if kind == "threads":
            yield None, workers or int(rest)
            return
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(
            int(rest), mp_context=get_context("spawn"), initializer=die_with_parent
        )
        with pool:
            yield pool, workers
    elif kind == "dask" and rest:
        try:
            from distributed import Client
        except ImportError as error:
            raise ValueError("--engine dask:... needs Dask: pip install 'bizol[dask]'.") from error
        with Client(rest) as client:
            yield client.get_executor(pure=False), workers or sum(client.nthreads().values())
    else:
        raise ValueError(
            f"--engine must be threads:8, processes:8 or dask:tcp://host:8786, got {name}."
        )


@contextmanager
def patience() -> Iterator[None]:
    """Let the first Ctrl-C finish the running queries, and the second one stop at once."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        typer.echo("Finishing what is under way; press Ctrl-C again to drop it.", err=True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _report_mistakes(where: str) -> Iterator[None]:
    """Report a mistake of the user as a message, not as a traceback."""
    try:
        yield
    except (ValueError, ImportError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint=where) from error


def _print_queries(pending: list[Query], form: Form) -> None:
    if form is Form.json:
        typer.echo(queries_as_json(pending))
    elif form is Form.csv:
        write_queries(pending, sys.stdout)
    else:
        console = Console(width=None if Console().is_terminal else 120)
        table = Table("id", "x", title=f"{len(pending)} pending")
        for query in pending:
            table.add_row(query.id, ", ".join(f"{value:.6g}" for value in query.x))
        console.print(table)


def _tabulate(summary: Summary) -> Table:
    table = Table(show_header=False, title=summary.status.lower().replace("_", " "))
    spec = summary.spec
    asked = f"{summary.asked} queries in {summary.iteration + 1} iterations"
    lines = {
        "asked": f"{asked}, {summary.pending} pending",
        "spent": f"{summary.spent} of {summary.budget}",
        "reached": "nothing was observed yet" if isnan(summary.best) else f"{summary.best:.8g}",
        "failed": f"{summary.failed} executions; {summary.given_up} queries permanently",
        "restarted": f"{summary.restarted} executions, after a crash",
        "method": str(spec.get("method")),
        "problem": f"n = {spec.get('n')}, {spec.get('set')}, {spec.get('follower')}",
        "seed": str(spec.get("seed")),
        "bizol": str(spec.get("bizol")),
        "took": f"{summary.seconds:.1f} s from the first to the last event",
    }
    for name, text in lines.items():
        table.add_row(name, text)
    return table
