"""The command line `bizol`, with all its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from bizol.command_line import reproduce, run
from bizol.version import __version__

app = typer.Typer(
    help="Optimization when someone else answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.add_typer(run.commands)
app.add_typer(reproduce.commands)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bizol {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Optimization when someone else answers."""
