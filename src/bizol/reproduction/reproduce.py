"""The whole of Section V: measure what is missing, write the tables, draw the figures, make the page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any, final

import bizol
from bizol.report.page import Section, page, picture
from bizol.report.tables import FORMS, Column, Table
from bizol.reproduction import figures, paper, tables
from bizol.reproduction.claims import STATEMENTS, TARGETS, Claim, verdicts
from bizol.reproduction.experiments import (
    FULL,
    Cell,
    Experiment,
    Key,
    Measured,
    Setting,
    Store,
    measure_all,
    unheard,
    workers,
)
from bizol.reproduction.instances import BALL, BOX, GRID, Constants
from bizol.reproduction.record import Record, record
from bizol.reproduction.results import Results

DRAWING = 1.0  # seconds, roughly, that a figure takes


@final
@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure: the experiment it shows, how it is made, and what to say to who cannot see it."""

    shows: Experiment | None
    make: Callable[..., Any]
    caption: str = ""  # of a figure; a table has its own

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn."""
        return bool(self.caption)


EXHIBITS = {
    "table-1": Exhibit("box", tables.table_1),
    "table-2": Exhibit("ball", tables.table_2),
    "table-3": Exhibit("grid", tables.table_3),
    "table-4": Exhibit("grid", tables.table_4),
    "figure-1": Exhibit(
        None,
        figures.figure_1,
        "Figure 1. The anchored model at a point x where an agent reaches its capacity: φ linearized at (x, y(x)), the "
        "response left as it is. It has the kink of the hyperobjective; with the smoothed response in its place, the "
        "slope at x is g_δ(x).",
    ),
    "figure-2": Exhibit(
        None,
        figures.figure_2,
        "Figure 2. Zero structural bias at a switching point: the response and its smoothing (above); the slope of the "
        "smoothed anchored model at x lies in the Clarke subdifferential of the hyperobjective (below).",
    ),
    "figure-3": Exhibit(
        "box",
        figures.figure_3,
        "Figure 3. Best stationarity gaps so far on the box response, mean and one standard deviation over the runs: "
        "the validation gap of Bi-ZOL (above), the exact Clarke gap of Bi-ZOL and VZO (below).",
    ),
    "figure-4": Exhibit(
        "box",
        figures.figure_4,
        "Figure 4. The hyperobjective along the runs on the box response, mean and one standard deviation.",
    ),
    "figure-5": Exhibit(
        "ball",
        figures.figure_5,
        "Figure 5. The hyperobjective along the runs on the ball response, mean and one standard deviation.",
    ),
    "figure-6": Exhibit(
        "grid",
        figures.figure_6,
        "Figure 6. Normalized objective gap over the grid of dimensions, averaged over the runs; smaller is better.",
    ),
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reproduction:
    """What came out."""

    setting: Setting
    tables: list[Table]
    claims: list[Claim]  # of the paper's text
    targets: list[Claim]  # how near the numbers are to the paper's
    record: Record
    page: Path


def known(names: Sequence[str]) -> list[str]:
    """Return the exhibits that are asked for, in the paper's order; all of them for "all" or nothing."""
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
    progress: Callable[[float, float], object] = lambda done, total: None,
) -> Reproduction:
    """Reproduce tables and figures of Section V into a folder.

    What was measured is kept in the folder's `cache`, so a second run only redraws and an
    interrupted one goes on where it was. The numbers do not depend on `jobs`: the work is always
    done in processes of their own, so a script that calls this needs the usual `if __name__ ==
    "__main__":`.

    Args:
        names: "table-1", ..., "figure-6"; everything by default.
        out: the folder; made if need be.
        setting: how many runs, and how long.
        jobs: how many processes.
        progress: called with the effort done and the effort in all.

    """
    exhibits = known(names)
    writable(out)
    experiments = list(dict.fromkeys(EXHIBITS[name].shows for name in exhibits))
    cells = {
        experiment: setting.cells(experiment)
        for experiment in experiments
        if experiment is not None
    }
    drawings = [name for name in exhibits if EXHIBITS[name].is_figure]
    store = Store(out / "cache")
    missing = [
        cell for group in cells.values() for cell in group.values() if store.load(cell) is None
    ]
    total, done = sum(cell.effort for cell in missing) + DRAWING * len(drawings), 0.0
    progress(done, total)
    with workers(jobs) as pool:
        for cell in measure_all(missing, store, pool):
            done += cell.effort
            progress(done, total)
        with unheard():
            drawn = [pool.submit(_draw, name, setting, store, out / "figures") for name in drawings]
        results = read(setting, cells, store)
        written = [
            EXHIBITS[name].make(results) for name in exhibits if not EXHIBITS[name].is_figure
        ]
        claims, targets = list(verdicts(results, STATEMENTS)), list(verdicts(results, TARGETS))
        for future in drawn:
            future.result()
            done += DRAWING
            progress(done, total)
    _write_tables(written, out / "tables")
    kept = record(results, [*claims, *targets])
    (out / "record.json").write_text(json.dumps(kept, indent=1) + "\n")
    document = _page(
        results,
        exhibits,
        {table.name: table for table in written},
        claims,
        targets,
        out / "figures",
    )
    (out / "index.html").write_text(document, encoding="utf-8")
    return Reproduction(
        setting=setting,
        tables=written,
        claims=claims,
        targets=targets,
        record=kept,
        page=out / "index.html",
    )


def writable(out: Path) -> None:
    """Make the folder, the folders in it and a file in each, or say why not."""
    for folder in (out, out / "cache", out / "tables", out / "figures"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"The folder {folder} cannot be written: {error.strerror or error}."
            ) from error


def read(setting: Setting, cells: Mapping[Experiment, Mapping[Key, Cell]], store: Store) -> Results:
    """Read the measured cells back."""
    measured: dict[Experiment, dict[Key, Measured]] = {}
    for experiment, group in cells.items():
        measured[experiment] = {}
        for key, cell in group.items():
            if (found := store.load(cell)) is None:
                raise RuntimeError(
                    f"{store.path(cell)} was measured, and is gone or damaged; run it again."
                )
            measured[experiment][key] = found
    return Results(setting, measured)


def _draw(name: str, setting: Setting, store: Store, folder: Path) -> None:
    exhibit = EXHIBITS[name]
    if exhibit.shows is None:
        exhibit.make(folder)
    else:
        exhibit.make(read(setting, {exhibit.shows: setting.cells(exhibit.shows)}, store), folder)


def _write_tables(written: Iterable[Table], folder: Path) -> None:
    for table in written:
        for suffix, form in FORMS.items():
            (folder / f"{table.name}.{suffix}").write_text(form(table), encoding="utf-8")


def _page(
    results: Results,
    exhibits: list[str],
    written: dict[str, Table],
    claims: list[Claim],
    targets: list[Claim],
    drawn: Path,
) -> str:
    def show(*names: str) -> str:
        return "".join(
            written[name].html()
            if name in written
            else picture(drawn / f"{name}.svg", name=name, alt=EXHIBITS[name].caption)
            for name in names
            if name in exhibits
        )

    sections = [
        Section("Convergence", show("figure-3")),
        Section("Hyperobjective", show("table-1", "figure-4", "table-2", "figure-5")),
        Section("Dimensions", show("table-3", "table-4", "figure-6")),
        Section("Claims", _list(claims)),
        Section("Distance to the paper", _list(targets)),
        Section("Geometry", show("figure-1", "figure-2")),
        Section("Instances", _instances()),
    ]
    return page(
        "Bi-ZOL, Section V, reproduced",
        _lead(results.setting, claims),
        [each for each in sections if each.body],
    )


def _lead(setting: Setting, claims: list[Claim]) -> str:
    holding = sum(claim.holds for claim in claims)
    verdict = (
        f"<strong>{holding} of {len(claims)} claims</strong> of the paper's Section V hold here"
    )
    said = f"<p>{verdict}: <a href='#claims'>see which</a>.</p>" if claims else ""
    return (
        f"{said}<p>Both methods on the incentive-based tracking problem: {setting.seeds} runs each, "
        f"{setting.budget:,} response queries per run, δ = {paper.DELTA}, γ = {paper.STEP}, the same instance and the "
        f"same start for both. <strong>The constants of the instances are ours</strong>, found by search so that the "
        f"numbers land near the paper's: it prints sizes and parameters, but not its data.</p>"
        f'<p class="note">Z. Jiang and S. Bolognani, <cite>Bi-ZOL: Bilevel Zeroth-Order Learning with Nonsmooth '
        f"Responses</cite>. Made by bizol {escape(bizol.__version__)}, <code>bizol reproduce</code>.</p>"
    )


def _list(claims: list[Claim]) -> str:
    if not claims:
        return ""
    items = "".join(
        f'<li id="{escape(claim.name)}" class="{"holds" if claim.holds else "fails"}">'
        f'<span class="verdict">{"Holds" if claim.holds else "Does not hold"}.</span> {escape(claim.says)} '
        f'<span class="about">({escape(claim.about)})</span><br>'
        f'<span class="numbers">{escape(claim.numbers)}</span></li>'
        for claim in claims
    )
    note = '<p class="note">Numbers with slashes are for B = 1 / 5 / 10 / 50, unless another list is named.</p>'
    return f'{note}<ol class="claims">{items}</ol>'


def _instances() -> str:
    columns = (Column(name="constant"), *(Column(name=name) for name in ("box", "ball", "grid")))
    rows = tuple(
        (
            field.name.replace("_", " "),
            *(_constant(getattr(each, field.name)) for each in (BOX, BALL, GRID)),
        )
        for field in fields(Constants)
    )
    return Table(
        name="constants",
        title="The constants of the three families of instances (ours)",
        columns=columns,
        rows=rows,
        note="Every instance is drawn by bizol.reproduction.instances.tracking_instance.",
    ).html()


def _constant(value: Any) -> str:
    return (
        "–"
        if value is None
        else f"{value[0]} to {value[1]}"
        if isinstance(value, tuple)
        else str(value)
    )
