"""Files around a journal: queries as tables, answers read from files, exports of all executions."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bizol.evaluation import Event, Journal, Query
from bizol.evaluation.journal import AnswerError, decode
from bizol.evaluation.query import name_of


def queries_as_json(queries: Iterable[Query]) -> str:
    """Return queries as a JSON list of ids, decisions and seeds."""
    rows = [{"id": query.id, "x": query.x.tolist(), "seed": query.seed} for query in queries]
    return json.dumps(rows, indent=2)


def write_queries(queries: list[Query], file: Any) -> None:
    """Write queries as CSV: id, seed, and the entries of x.

    Numbers are written with all their digits, so that reading them gives the same bits.
    """
    writer = csv.writer(file)
    size = queries[0].x.size if queries else 0
    writer.writerow(["id", "seed", *(f"x{i}" for i in range(size))])
    writer.writerows([query.id, query.seed, *query.x.tolist()] for query in queries)


def read_answers(path: str | Path) -> dict[str, Any]:
    """Read answers from a CSV or JSON file.

    CSV has the columns id, y0, y1, ..., with `failed` in place of y0 for a query without an answer.
    JSON is {id: [y0, y1, ...]}, with null for a query without an answer.

    Raises:
        ValueError: naming the line, or the id, of what cannot be read.

    """
    path = Path(path)
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".json":
        return _parse_json(text, path)
    return _parse_csv(text, path)


def tell(journal: Journal, path: str | Path) -> int:
    """Add the answers in a file to a journal, all of them or none; return how many are new."""
    answers = read_answers(path)
    try:
        return journal.tell(answers)
    except AnswerError as error:
        place = _locate_ids(Path(path)).get(error.query, "")
        raise ValueError(f"{path}{place}: {error}") from error


def export(journal: Journal, path: str | Path) -> int:
    """Write every execution as a row of a .csv or .parquet file; return how many there are."""
    events = [event for event in journal.events() if event.kind in ("ok", "fail", "gave_up")]
    rows = [_as_row(event) for event in events]
    names = ["id", "iteration", "slot", "sign", "replicate", "attempt", "outcome", "seed"]
    names += ["info", "time"]
    for letter, data in (("x", [event.x for event in events]), ("y", [e.y for e in events])):
        size = max((len(each) // 8 for each in data), default=0)  # a number has eight bytes
        names += [f"{letter}{i}" for i in range(size)]
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
        "replicate": replicate,
        "attempt": event.attempt,
        "outcome": event.kind,
        "seed": event.seed,
        "info": event.info,
        "time": event.time,
    }
    for letter, data in (("x", event.x), ("y", event.y)):
        row |= {f"{letter}{i}": value for i, value in enumerate(decode(data).tolist())}
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


def _parse_json(text: str, path: Path) -> dict[str, Any]:
    def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{path}: {repeated[0]} is answered twice.")
        return dict(pairs)

    try:
        answers = json.loads(text, object_pairs_hook=refuse_repeated)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}.") from error
    if not isinstance(answers, dict):
        raise ValueError(f"{path} must hold an object, " + '{"id": [y0, y1, ...]}.')
    return answers


def _parse_csv(text: str, path: Path) -> dict[str, Any]:
    lines = list(csv.reader(text.splitlines()))
    header = [name.strip() for name in lines[0]] if lines else []
    columns = [index for index, name in enumerate(header) if name.startswith("y")]
    if "id" not in header or not columns:
        got = ", ".join(header) or "nothing"
        raise ValueError(f"{path}, line 1: the columns must be id, y0, y1, ..., got {got}.")
    answers: dict[str, Any] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in line):
            continue
        if len(line) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(header)} columns are needed, got {len(line)}."
            )
        name = line[header.index("id")].strip()
        if name in answers:
            raise ValueError(f"{path}, line {number}: {name} is answered twice.")
        cells = [line[index].strip() for index in columns]
        if cells[0] == "failed":  # a query without an answer
            answers[name] = None
        else:
            answers[name] = [_parse_number(cell, path, number) for cell in cells]
    return answers


def _parse_number(cell: str, path: Path, number: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {cell!r} is not a number.") from error


def _locate_ids(path: Path) -> dict[str, str]:
    """Return the line of a file that each id is on, as ", line 3"."""
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
