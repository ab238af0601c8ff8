"""The command line: bizol --version, reproduce, verify, and the commands of `run_commands.py`."""

from __future__ import annotations

import json
import os
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bizol import __version__
from bizol.command_line.run import commands, patience

if TYPE_CHECKING:
    from bizol.reproduction.claims import Claim
    from bizol.reproduction.experiments import Setting
    from bizol.reproduction.record import Record
    from bizol.reproduction.reproduce import Reproduction
    from bizol.verification import Finding

app = typer.Typer(
    help="Optimization when someone else answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.add_typer(commands)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bizol {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Optimization when someone else answers."""


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="table-1 to table-4, figure-1 to figure-6, or all (the default).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The folder for tables, figures, the page and what was measured.")
    ] = Path("reproduction"),
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Runs per method and batch size (default: the paper's 10)."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes; the numbers are the same for any (default: one per core)."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two runs instead of ten.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare with the committed record; exit with an error on any drift."
        ),
    ] = False,
) -> None:
    """Reproduce the paper's Section V: its tables, its figures, and whether its claims hold.

    What was measured is kept in the output folder: a second run only redraws, and an interrupted
    one goes on where it was. Open index.html there when it is done. The constants of the instances
    are ours, not the paper's. A claim that does not hold is reported and is no error; a drift found
    by --check is.
    """
    from bizol.reproduction.experiments import FULL, QUICK
    from bizol.reproduction.reproduce import known, writable
    from bizol.reproduction.reproduce import reproduce as run

    if quick and seeds is not None:
        raise typer.BadParameter(
            "says how many runs already; leave one of the two out.", param_hint="--quick"
        )
    setting = QUICK if quick else FULL if seeds is None else replace(FULL, seeds=seeds)
    kept = _committed(setting) if check else None
    try:
        names = known(experiments or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="EXPERIMENTS") from error
    try:
        writable(out)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from error
    if find_spec("matplotlib") is None and any(name.startswith("figure") for name in names):
        raise typer.BadParameter(
            "figures need matplotlib: pip install 'bizol[plots]'.", param_hint="EXPERIMENTS"
        )
    with _bar() as progress, patience():
        task = progress.add_task("measuring and drawing", total=None)
        try:
            made = run(
                names,
                out=out,
                setting=setting,
                jobs=jobs or os.cpu_count() or 1,
                progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
        except (KeyboardInterrupt, BrokenProcessPool, OSError) as error:
            progress.stop()
            interrupted = isinstance(error, KeyboardInterrupt)
            why = "Interrupted." if interrupted else f"Broken off: {error or type(error).__name__}"
            typer.echo(
                f"{why} What was finished is kept in {out}; the same command goes on from there.",
                err=True,
            )
            raise typer.Exit(130 if interrupted else 1) from None
    _show(made)
    if len(names) < len(known(())):
        typer.echo(
            "The page shows this part alone; without arguments it is whole again, and what was measured is kept."
        )
    typer.echo(f"The page is {made.page}; open it in a browser.")
    if kept is not None:
        _compare(made.record, kept)


@app.command()
def verify(
    statements: Annotated[
        list[str] | None,
        typer.Argument(
            help='Which ones, such as "Lemma 1"; all 22 by default.', show_default=False
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list instead of a table.")
    ] = False,
) -> None:
    """Check the statements of the paper on small problems: what was measured, against which bound.

    Exits with an error when one does not hold.
    """
    from bizol.verification import STATEMENTS, Finding
    from bizol.verification import verify as check

    console, found = Console(), list[Finding]()
    try:
        findings = check(statements or ())
        with Progress(
            console=Console(stderr=True), transient=True, disable=not console.is_terminal
        ) as progress:
            for finding in progress.track(
                findings, total=len(statements or STATEMENTS), description="statements"
            ):
                found.append(finding)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="STATEMENTS") from error
    if as_json:
        typer.echo(
            json.dumps([asdict(finding) | {"holds": finding.holds} for finding in found], indent=2)
        )
    else:
        wide = console if console.is_terminal else Console(width=150)
        wide.print(_findings(found))
    if not all(finding.holds for finding in found):
        raise typer.Exit(1)


def _findings(found: list[Finding]) -> Table:
    table = Table(
        "statement", "what was checked", "on", "measured", "bound", "holds", show_lines=True
    )
    for finding in found:
        table.add_row(
            finding.statement,
            escape(finding.checked)
            + (f"\n[dim]{escape(finding.note)}[/dim]" if finding.note else ""),
            escape(finding.on),
            f"{finding.measured:.3g}",
            f"{finding.relation} {finding.bound:.3g}",
            "yes" if finding.holds else "[bold red]NO[/bold red]",
        )
    table.caption = f"{sum(finding.holds for finding in found)} of {len(found)} hold"
    return table


def _show(made: Reproduction) -> None:
    console = Console()
    wide = (
        console if console.width >= 130 else Console(width=130)
    )  # a broken line is better than a missing digit
    for table in made.tables:
        wide.print(table.rich())
    for title, claims in (
        ("Claims of Section V", made.claims),
        ("Distance to the paper", made.targets),
    ):
        if claims:
            wide.print(_claims(title, claims))


def _claims(title: str, claims: list[Claim]) -> Table:
    table = Table("about", "claim", "numbers", "holds", title=title, show_lines=True)
    for claim in claims:
        verdict = "yes" if claim.holds else "[bold red]NO[/bold red]"
        table.add_row(escape(claim.about), escape(claim.says), escape(claim.numbers), verdict)
    table.caption = f"{sum(claim.holds for claim in claims)} of {len(claims)} hold"
    return table


def _committed(setting: Setting) -> Record:
    from bizol.reproduction.record import committed

    if (kept := committed(setting)) is None:
        raise typer.BadParameter(
            f"there is no record of {setting.seeds} runs, only of the default and of --quick.",
            param_hint="--check",
        )
    return kept


def _compare(found: Record, kept: Record) -> None:
    from bizol.reproduction.record import drift

    if not set(found) - {"setting", "claims"}:
        typer.echo("Nothing to compare: these figures show no measurements.")
        return
    if drifts := list(drift(found, kept)):
        typer.echo(f"Differs from the record, {len(drifts)} of its numbers:", err=True)
        for line in drifts[:20]:
            typer.echo(f"  {line}", err=True)
        raise typer.Exit(1)
    typer.echo("Agrees with the record.")


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
