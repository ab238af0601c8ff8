"""The command line: bizol --version, bizol demo, bizol verify."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from bizol import __version__
from bizol.reproduction.demo import DELTA, PAPER, STEP, Comparison, Curve, compare, plot

if TYPE_CHECKING:
    from bizol.verification import Finding

app = typer.Typer(
    help="Optimization when someone else answers.", no_args_is_help=True, add_completion=False, rich_markup_mode="rich"
)


class Response(StrEnum):
    """The follower of the tracking problem."""

    box = "box"
    ball = "ball"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bizol {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Optimization when someone else answers."""


@app.command()
def demo(
    response: Annotated[
        Response, typer.Option(help="Individual capacities (box) or a shared one (ball).")
    ] = Response.box,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Batch size B; may be repeated (default: 1, 5, 10 and 50).")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Paired runs per batch size.")] = 3,
    budget: Annotated[int, typer.Option(min=1, help="Response queries per run.")] = 10_000,
    plot_to: Annotated[
        Path | None, typer.Option("--plot", help="Draw the runs into this file (.svg, .pdf, .png).", dir_okay=False)
    ] = None,
) -> None:
    """Compare Bi-ZOL with VZO on the tracking problem of the paper's Section V.

    An operator sets 20 incentives, 200 agents with limited capacity respond, and each response counts as one query.
    """
    batches = batch or [1, 5, 10, 50]
    if budget < (needed := 2 * max(batches) + 1):
        raise typer.BadParameter(f"must cover one iteration of Bi-ZOL, {needed} queries.", param_hint="--budget")
    if plot_to is not None and find_spec("matplotlib") is None:
        raise typer.BadParameter("needs matplotlib: pip install 'bizol[plots]'.", param_hint="--plot")
    if plot_to is not None and not plot_to.absolute().parent.is_dir():
        raise typer.BadParameter(f"the folder {plot_to.absolute().parent} does not exist.", param_hint="--plot")
    console = Console()
    with Progress(console=Console(stderr=True), transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("runs", total=2 * seeds * len(batches))
        comparisons = list(
            compare(response.value, batches=batches, seeds=seeds, budget=budget, ran=lambda: progress.advance(task))
        )
    console.print(_table(comparisons, response.value, seeds, budget))
    console.print(
        "φ(x, y(x)), the mean over the last ten iterates, ± one standard deviation over the seeds; lower is better.\n"
        "The constants of the instance are ours: the paper prints its sizes and parameters, not its data.",
        style="dim",
    )
    if plot_to is not None:
        plot(comparisons, plot_to)
        console.print(f"drawn into {plot_to}")


@app.command()
def verify(
    statements: Annotated[
        list[str] | None, typer.Argument(help='Which ones, such as "Lemma 1"; all 22 by default.', show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Check the statements of the paper on small problems: what was measured, against which bound.

    Exits with an error when one does not hold.
    """
    from bizol.verification import STATEMENTS, Finding
    from bizol.verification import verify as check

    console, found = Console(), list[Finding]()
    try:
        findings = check(statements or ())
        with Progress(console=Console(stderr=True), transient=True, disable=not console.is_terminal) as progress:
            for finding in progress.track(findings, total=len(statements or STATEMENTS), description="statements"):
                found.append(finding)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="STATEMENTS") from error
    if as_json:
        typer.echo(json.dumps([asdict(finding) | {"holds": finding.holds} for finding in found], indent=2))
    else:
        wide = console if console.is_terminal else Console(width=150)
        wide.print(_findings(found))
    if not all(finding.holds for finding in found):
        raise typer.Exit(1)


def _findings(found: list[Finding]) -> Table:
    table = Table("statement", "what was checked", "on", "measured", "bound", "holds", show_lines=True)
    for finding in found:
        table.add_row(
            finding.statement,
            escape(finding.checked) + (f"\n[dim]{escape(finding.note)}[/dim]" if finding.note else ""),
            escape(finding.on),
            f"{finding.measured:.3g}",
            f"{finding.relation} {finding.bound:.3g}",
            "yes" if finding.holds else "[bold red]NO[/bold red]",
        )
    table.caption = f"{sum(finding.holds for finding in found)} of {len(found)} hold"
    return table


def _table(comparisons: list[Comparison], response: str, seeds: int, budget: int) -> Table:
    table = Table(
        title=f"Tracking, {response} response, n=20, m=200, δ={DELTA}, γ={STEP}, {budget} queries, {seeds} seeds"
    )
    for heading in ("B", "Bi-ZOL", "VZO", "improvement", "paper: Bi-ZOL", "VZO"):
        table.add_column(heading, justify="right")
    for comparison in comparisons:
        known = PAPER[response].get(comparison.batch)
        table.add_row(
            f"{comparison.batch}",
            f"[bold]{_spread(comparison.bizol)}[/bold]",
            _spread(comparison.vzo),
            f"{comparison.improvement:.0%}",
            *((f"{value:.2f}" for value in known) if known else ("", "")),
        )
    return table


def _spread(curves: list[Curve]) -> str:
    finals = [curve.final for curve in curves]
    return f"{np.mean(finals):.2f} ± {np.std(finals):.2f}"
