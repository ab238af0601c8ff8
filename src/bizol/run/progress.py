"""A progress bar counted in queries, on a terminal; nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan


@contextmanager
def query_bar(
    total: int, *, lowest: Callable[[], float], enabled: bool
) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that moves the bar by a number of queries; None when there is no bar.

    The bar is drawn on standard error, and only when that is a terminal. `lowest` tells the best
    value so far.
    """
    if not enabled:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("queries"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total)

        def answered(count: int) -> None:
            value = lowest()
            progress.update(
                task, advance=count, description="" if isnan(value) else f"best {value:.6g}"
            )

        yield answered
