"""The committed record of a reproduction, and how a new one is compared with it.

`python -m bizol.reproduction.record FILE...` replaces the committed records by those in the files,
as `bizol reproduce` writes them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from bizol.reproduction import paper
from bizol.reproduction.claims import Claim
from bizol.reproduction.experiments import METHODS, Measured, Setting
from bizol.reproduction.results import Results, so_far

Record = dict[str, Any]

COMMITTED = Path(__file__).with_name("record.json")
TOLERANCE = 1e-6  # relative: far above rounding, far below anything one would read off a table


def record(results: Results, claims: Iterable[Claim]) -> Record:
    """Return the numbers of every run that tables and figures show, and which claims hold."""
    written: Record = {"setting": asdict(results.setting)}
    for response in ("box", "ball"):
        if response in results.measured:
            written[response] = {
                f"{method}, B={batch}": _summarize(results.cell(response, method, batch))
                for method in METHODS
                for batch in paper.BATCHES
            }
    if "grid" in results.measured:
        written["grid"] = {method: table.tolist() for method, table in results.grid().items()}
    written["claims"] = {claim.name: claim.holds for claim in claims}
    return written


def _summarize(cell: Measured) -> Record:
    """Return the ends of a cell's curves, run by run, and ten points of their means."""
    rows = np.linspace(0, len(cell.queries) - 1, 10).astype(int)
    written: Record = {
        "finals": cell.finals.tolist(),
        "values": cell.values[rows].mean(axis=1).tolist(),
    }
    for name, curve in (("validation", cell.validation), ("clarke", cell.clarke)):
        if curve.size:
            best = so_far(curve)
            written[name] = {"best": best[-1].tolist(), "mean": best[rows].mean(axis=1).tolist()}
    written["saturated"] = float(cell.saturated.mean())
    written["crossings"] = cell.crossings.tolist()
    return written


def committed(setting: Setting) -> Record | None:
    """Return the committed record of a setting, if there is one."""
    records: list[Record] = json.loads(COMMITTED.read_text())
    return next((kept for kept in records if kept["setting"] == asdict(setting)), None)


def drift(found: Any, kept: Any, where: str = "") -> Iterator[str]:
    """Yield every place where what was found differs from what is kept.

    Parts that were not run are skipped.
    """
    if isinstance(found, Mapping) and isinstance(kept, Mapping):
        for key, value in found.items():
            inside = f"{where}, {key}" if where else str(key)
            if key in kept:
                yield from drift(value, kept[key], inside)
            else:
                yield f"{inside}: not in the record"
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for index, (value, before) in enumerate(zip(found, kept, strict=True)):
            yield from drift(value, before, f"{where}[{index}]")
    elif isinstance(found, float) and isinstance(kept, float):
        if not isclose(found, kept, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"{where}: {found:.9g}, recorded {kept:.9g}"
    elif found != kept:
        yield f"{where}: {found!r}, recorded {kept!r}"


def commit(paths: Iterable[Path], to: Path = COMMITTED) -> None:
    """Write the records in these files into the committed file."""
    to.write_text(json.dumps([json.loads(path.read_text()) for path in paths]) + "\n")


if __name__ == "__main__":
    commit(Path(name) for name in sys.argv[1:])
