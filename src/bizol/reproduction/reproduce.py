"""All of Section V: measure what is missing, write the tables, draw the figures, make the page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from bizol.processes import interrupts_held
from bizol.report.tables import FORMS, Table
from bizol.reproduction.claims import STATEMENTS, TARGETS, Claim, check_statements
from bizol.reproduction.exhibits import EXHIBITS
from bizol.reproduction.experiments import (
    FULL,
    Cell,
    Experiment,
    Key,
    Measured,
    Setting,
    Store,
    measure_all,
    workers,
)
from bizol.reproduction.page import write_page
from bizol.reproduction.record import Record, record
from bizol.reproduction.results import Results

Progress = Callable[[float, float], object]  # called with the effort done and the effort in all
Cells = Mapping[Experiment, Mapping[Key, Cell]]

DRAWING = 1.0  # seconds, roughly, that a figure takes


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reproduction:
    """The tables, claims and files of a reproduction."""

    setting: Setting
    tables: list[Table]
    claims: list[Claim]  # of the paper's text
    targets: list[Claim]  # how near the numbers are to the paper's
    record: Record
    page: Path


def known(names: Sequence[str]) -> list[str]:
    """Return the named exhibits in the paper's order; "all" or nothing stands for all of them."""
    for name in names:
        if name != "all" and name not in EXHIBITS:
            raise ValueError(f"Unknown experiment {name!r}. Known are: all, {', '.join(EXHIBITS)}.")
    return [name for name in EXHIBITS if not names or "all" in names or name in names]


def reproduce(
    names: Sequence[str] = (),
    *,
    out: Path,
    setting: Setting = FULL,
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
) -> Reproduction:
    """Reproduce tables and figures of Section V into a folder.

    What was measured is kept in the folder's `cache`: a second run only redraws, and an interrupted
    run resumes. The numbers do not depend on `jobs`: the work is always done in other processes, so
    a script that calls this function needs the usual `if __name__ == "__main__":`.

    Args:
        names: "table-1", ..., "figure-6"; everything by default.
        out: The folder; made where it does not exist.
        setting: How many runs, and how many queries each.
        jobs: How many processes.
        progress: Called with the effort done and the effort in all.

    """
    exhibits = known(names)
    writable(out)
    experiments = dict.fromkeys(EXHIBITS[name].shows for name in exhibits)
    cells = {experiment: setting.cells(experiment) for experiment in experiments if experiment}
    store = Store(out / "cache")
    missing = [
        cell for group in cells.values() for cell in group.values() if store.load(cell) is None
    ]
    drawings = [name for name in exhibits if EXHIBITS[name].is_figure]
    total = sum(cell.effort for cell in missing) + DRAWING * len(drawings)
    done = 0.0
    progress(done, total)
    with workers(jobs) as pool:
        for cell in measure_all(missing, store, pool):
            done += cell.effort
            progress(done, total)
        with interrupts_held():
            drawn = [pool.submit(_draw, name, setting, store, out / "figures") for name in drawings]
        # While the workers draw the figures:
        results = read(setting, cells, store)
        tables = [EXHIBITS[name].make(results) for name in exhibits if name not in drawings]
        claims = list(check_statements(results, STATEMENTS))
        targets = list(check_statements(results, TARGETS))
        for future in drawn:
            future.result()
            done += DRAWING
            progress(done, total)
    made = Reproduction(
        setting=setting,
        tables=tables,
        claims=claims,
        targets=targets,
        record=record(results, [*claims, *targets]),
        page=out / "index.html",
    )
    _write(made, figures={name: out / "figures" / f"{name}.svg" for name in drawings})
    return made


def writable(out: Path) -> None:
    """Make the folder and those in it, and write a file into each, or raise with the reason."""
    for folder in (out, out / "cache", out / "tables", out / "figures"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"The folder {folder} cannot be written: {reason}.") from error


def read(setting: Setting, cells: Cells, store: Store) -> Results:
    """Read the measured cells back."""
    measured: dict[Experiment, dict[Key, Measured]] = {}
    for experiment, group in cells.items():
        measured[experiment] = {}
        for key, cell in group.items():
            if (found := store.load(cell)) is None:
                path = store.path(cell)
                raise RuntimeError(f"{path} was measured, and is gone or damaged; run it again.")
            measured[experiment][key] = found
    return Results(setting, measured)


def _draw(name: str, setting: Setting, store: Store, folder: Path) -> None:
    exhibit = EXHIBITS[name]
    if exhibit.shows is None:
        exhibit.make(folder)
    else:
        results = read(setting, {exhibit.shows: setting.cells(exhibit.shows)}, store)
        exhibit.make(results, folder)


def _write(made: Reproduction, *, figures: Mapping[str, Path]) -> None:
    """Write tables, record and page beside the figures, which are there already."""
    out = made.page.parent
    for table in made.tables:
        for suffix, form in FORMS.items():
            path = out / "tables" / f"{table.name}.{suffix}"
            path.write_text(form(table), encoding="utf-8")
    (out / "record.json").write_text(json.dumps(made.record, indent=1) + "\n")
    document = write_page(
        {**{table.name: table for table in made.tables}, **figures},
        setting=made.setting,
        claims=made.claims,
        targets=made.targets,
    )
    made.page.write_text(document, encoding="utf-8")
