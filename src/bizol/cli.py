"""The command line: bizol --version, bizol demo."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bizol import __version__
from bizol.reproduction.demo import DELTA, PAPER, STEP, Comparison, Curve, compare, plot

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
