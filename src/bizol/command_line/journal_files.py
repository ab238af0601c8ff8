"""A journal and the world: queries as tables, answers read from files, everything exported."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, final

from bizol.evaluation import Journal, Query
from bizol.evaluation.journal.file import Event, decoded
from bizol.evaluation.outcomes import name_of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Where the run of a journal stands."""

    spec: dict[str, Any]
    budget: int
    asked: int  # different queries
    spent: int  # executions that came to an end
    answered: int
    failed: int  # executions that failed
    given_up: int  # queries that failed for good
    pending: int
    restarted: int  # executions that were begun again after a crash
    iteration: int
    best: float
    status: str  # how the last session ended; "running" where it has not
    seconds: float  # from the first to the last event


def summarized(journal: Journal) -> Summary:
    """Return where the run of a journal stands, from its rows alone."""
    events = list(journal.events())
    kinds = Counter(event.kind for event in events)
    asked = Counter((event.key, event.attempt) for event in events if event.kind == "ask")
    begun: dict[str, Any] = next(
        (json.loads(event.info) for event in reversed(events) if event.kind == "begin"), {}
    )
    last = next((event for event in reversed(events) if event.kind in ("begin", "end")), None)
    ended = (
        json.loads(last.info) if last is not None and last.kind == "end" else {"status": "running"}
    )
    told = (event.info for event in reversed(events) if event.kind in ("ask", "end"))
    bests = (json.loads(text).get("best") for text in told if text)
    return Summary(
        spec=journal.spec,
        budget=begun.get("budget", 0),
        asked=len({event.key for event in events if event.kind == "ask"}),
        spent=kinds["ok"] + kinds["fail"],
        answered=kinds["ok"],
        failed=kinds["fail"],
        given_up=kinds["gave_up"] - kinds["again"],
        pending=len(journal.pending()),
        restarted=asked.total() - len(asked),
        iteration=max((event.key[0] for event in events), default=0),
        best=next((best for best in bests if best is not None), nan),
        status=ended["status"],
        seconds=events[-1].time - events[0].time,
    )


def queries_as_json(queries: Iterable[Query]) -> str:
    """Return queries as a JSON list of ids, decisions and seeds."""
    return json.dumps(
        [{"id": query.id, "x": query.x.tolist(), "seed": query.seed} for query in queries], indent=2
    )


def write_queries(queries: list[Query], file: Any) -> None:
    """Write queries as CSV: id, seed, and the entries of x; numbers are written so that reading gives the same bits."""
    writer = csv.writer(file)
    size = queries[0].x.size if queries else 0
    writer.writerow(["id", "seed", *(f"x{i}" for i in range(size))])
    writer.writerows([query.id, query.seed, *query.x.tolist()] for query in queries)


def read_answers(path: str | Path) -> dict[str, Any]:
    """Read answers: CSV with the columns id, y0, y1, ..., or JSON, {id: [y0, y1, ...]}; `failed` or
    null for none.

    Raises:
        ValueError: naming the line, or the id, of what cannot be read.

    """
    path = Path(path)
    text = path.read_text(encoding="utf-8-sig")
    return _from_json(text, path) if path.suffix.lower() == ".json" else _from_csv(text, path)


def tell(journal: Journal, path: str | Path) -> int:
    """Tell a journal the answers in a file, all of them or none; return how many are new."""
    answers = read_answers(path)
    try:
        return journal.tell(answers)
    except ValueError as error:
        place = next(
            (
                where
                for name, where in _places(Path(path)).items()
                if str(error).startswith((name, repr(name)))
            ),
            "",
        )
        raise ValueError(f"{path}{place}: {error}") from error


def export(journal: Journal, path: str | Path) -> int:
    """Write every execution as a row, CSV or Parquet by the suffix; return how many there are."""
    events = [event for event in journal.events() if event.kind in ("ok", "fail", "gave_up")]
    rows = [_as_row(event) for event in events]
    sizes = [
        max((len(event.x) // 8 for event in events), default=0),
        max((len(e.y) // 8 for e in events), default=0),
    ]
    names = [
        "id",
        "iteration",
        "slot",
        "sign",
        "replicate",
        "attempt",
        "outcome",
        "seed",
        "info",
        "time",
    ]
    names += [f"{letter}{i}" for letter, size in zip("xy", sizes, strict=True) for i in range(size)]
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        _write_parquet(rows, names, path)
    elif path.suffix.lower() == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(rows)
    else:
        raise ValueError(f"{path.name} must end in .csv or .parquet.")
    return len(rows)


def _as_row(event: Event) -> dict[str, Any]:
    iteration, slot, sign, replicate = event.key
    row: dict[str, Any] = {
        "id": name_of(event.key),
        "iteration": iteration,
        "slot": slot,
        "sign": sign,
    }
    row |= {
        "replicate": replicate,
        "attempt": event.attempt,
        "outcome": event.kind,
        "seed": event.seed,
    }
    row |= {"info": event.info, "time": event.time}
    for letter, data in (("x", event.x), ("y", event.y)):
        row |= {f"{letter}{i}": value for i, value in enumerate(decoded(data).tolist())}
    return row


def _write_parquet(rows: list[dict[str, Any]], names: list[str], path: Path) -> None:
    try:
        import pandas
        import pyarrow  # noqa: F401 (pandas needs it for this)
    except ImportError as error:
        raise ImportError(
            "Parquet needs pandas and pyarrow: pip install 'bizol[parquet]'."
        ) from error
    pandas.DataFrame(rows, columns=names).to_parquet(path)


def _from_json(text: str, path: Path) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{path}: {repeated[0]} is answered twice.")
        return dict(pairs)

    try:
        answers = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}.") from error
    if not isinstance(answers, dict):
        raise ValueError(f"{path} must hold an object, " + '{"id": [y0, y1, ...]}.')
    return answers


def _from_csv(text: str, path: Path) -> dict[str, Any]:
    lines = list(csv.reader(text.splitlines()))
    header = [name.strip() for name in lines[0]] if lines else []
    columns = [index for index, name in enumerate(header) if name.startswith("y")]
    if "id" not in header or not columns:
        raise ValueError(
            f"{path}, line 1: the columns must be id, y0, y1, ..., got {', '.join(header) or 'nothing'}."
        )
    answers: dict[str, Any] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in line):
            continue
        if len(line) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(header)} columns are needed, got {len(line)}."
            )
        name, cells = line[header.index("id")].strip(), [line[index].strip() for index in columns]
        if name in answers:
            raise ValueError(f"{path}, line {number}: {name} is answered twice.")
        answers[name] = (
            None if cells[0] == "failed" else [_as_number(cell, path, number) for cell in cells]
        )
    return answers


def _as_number(cell: str, path: Path, number: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {cell!r} is not a number.") from error


def _places(path: Path) -> dict[str, str]:
    """Return on which line of a file each id is."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if path.suffix.lower() == ".json":
        return {
            part: f", line {i}" for i, line in enumerate(lines, 1) for part in line.split('"')[1::2]
        }
    header = [name.strip() for name in next(csv.reader(lines[:1]), [])]
    rows = enumerate(csv.reader(lines[1:]), start=2)
    return {
        row[header.index("id")].strip(): f", line {number}"
        for number, row in rows
        if len(row) == len(header)
    }
