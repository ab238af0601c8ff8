"""The commands about the paper: reproduce, verify."""

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

from bizol.command_line.run import patience

if TYPE_CHECKING:
    from bizol.reproduction.claims import Claim
    from bizol.reproduction.experiments import Setting
    from bizol.reproduction.record import Record
    from bizol.reproduction.reproduce import Reproduction
    from bizol.verification import Finding

commands = typer.Typer()


@commands.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="table-1 to table-4, figure-1 to figure-6, or all (the default).",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option(help="The folder for tables, figures, the page and the measurements.")
    ] = Path("reproduction"),
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Runs per method and batch size (default: the paper's 10)."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many processes; results do not depend on it (default: one per core)."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two runs instead of ten.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare with the committed record; exit with an error if they differ."
        ),
    ] = False,
) -> None:
    """Reproduce the tables and figures of the paper's Section V, and check its claims.

    Measurements are kept in the output folder: a second run only redraws, and an interrupted run
    resumes. Open index.html there when it is done. The constants of the instances are ours, not the
    paper's. A claim that does not hold is reported and is not an error; a difference found by
    --check is.
    """
    from bizol.reproduction.reproduce import known

    setting = _choose_setting(seeds, quick=quick)
    kept = _load_committed(setting) if check else None
    names = _check_arguments(experiments or [], out)
    made = _run_with_progress(names, out=out, setting=setting, jobs=jobs or os.cpu_count() or 1)
    _print_results(made)
    if len(names) < len(known(())):
        typer.echo(
            "The page shows this part alone. Run the command without arguments for the whole page; "
            "measurements are kept."
        )
    typer.echo(f"The page is {made.page}; open it in a browser.")
    if kept is not None:
        _compare(made.record, kept)


def _choose_setting(seeds: int | None, *, quick: bool) -> Setting:
    from bizol.reproduction.experiments import FULL, QUICK

    if quick and seeds is not None:
        raise typer.BadParameter(
            "says how many runs already; leave one of the two out.", param_hint="--quick"
        )
    if quick:
        return QUICK
    return FULL if seeds is None else replace(FULL, seeds=seeds)


def _check_arguments(experiments: list[str], out: Path) -> list[str]:
    """Return the names of the experiments, after checking that their results can be written."""
    from bizol.reproduction.reproduce import known, writable

    try:
        names = known(experiments)
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
    return names


def _run_with_progress(names: list[str], *, out: Path, setting: Setting, jobs: int) -> Reproduction:
    """Reproduce under a progress bar, and exit with a message if that is interrupted."""
    from bizol.reproduction.reproduce import reproduce as run

    with _make_bar() as progress, patience():
        task = progress.add_task("measuring and drawing", total=None)
        try:
            return run(
                names,
                out=out,
                setting=setting,
                jobs=jobs,
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


@commands.command()
def verify(
    statements: Annotated[
        list[str] | None,
        typer.Argument(
            help='Which statements, such as "Lemma 1"; all 22 by default.', show_default=False
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list instead of a table.")
    ] = False,
) -> None:
    """Check the statements of the paper on small problems, and print measured values and bounds.

    Exits with an error if one does not hold.
    """
    from bizol.verification import STATEMENTS
    from bizol.verification import verify as check

    console = Console()
    found: list[Finding] = []
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
        rows = [asdict(finding) | {"holds": finding.holds} for finding in found]
        typer.echo(json.dumps(rows, indent=2))
    else:
        wide = console if console.is_terminal else Console(width=150)
        wide.print(_tabulate_findings(found))
    if not all(finding.holds for finding in found):
        raise typer.Exit(1)


def _tabulate_findings(found: list[Finding]) -> Table:
    table = Table(
        "statement", "what was checked", "on", "measured", "bound", "holds", show_lines=True
    )
    for finding in found:
        note = f"\n[dim]{escape(finding.note)}[/dim]" if finding.note else ""
        table.add_row(
            finding.statement,
            escape(finding.checked) + note,
            escape(finding.on),
            f"{finding.measured:.3g}",
            f"{finding.relation} {finding.bound:.3g}",
            "yes" if finding.holds else "[bold red]NO[/bold red]",
        )
    table.caption = f"{sum(finding.holds for finding in found)} of {len(found)} hold"
    return table


def _print_results(made: Reproduction) -> None:
    # A broken line is better than a missing digit.
    wide = Console() if Console().width >= 130 else Console(width=130)
    for table in made.tables:
        wide.print(table.rich())
    for title, claims in (
        ("Claims of Section V", made.claims),
        ("Distance to the paper", made.targets),
    ):
        if claims:
            wide.print(_tabulate_claims(title, claims))


def _tabulate_claims(title: str, claims: list[Claim]) -> Table:
    table = Table("about", "claim", "numbers", "holds", title=title, show_lines=True)
    for claim in claims:
        verdict = "yes" if claim.holds else "[bold red]NO[/bold red]"
        table.add_row(escape(claim.about), escape(claim.says), escape(claim.numbers), verdict)
    table.caption = f"{sum(claim.holds for claim in claims)} of {len(claims)} hold"
    return table


def _load_committed(setting: Setting) -> Record:
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


def _make_bar() -> Progress:
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
