"""The runs that are kept in the repository, `record.jsonl.xz`: peers take hours to run again.

    python -m benchmarks.peers.record --from peers/runs.jsonl    # new runs replace old of a job
    python -m benchmarks.peers.record --fresh bizol              # its code changed: run it again

`run`, `regret` and `profiles` read the record besides the file of runs. It is compressed, one line
per run, without decisions; traces are thinned to where the normalized gap first gets below each of
60 levels and to the last improvement before the numbers of queries of `regret`, with five digits.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.peers.problems import references
from benchmarks.peers.runs import Run, latest, read_runs

RECORD = Path(__file__).parent / "record.jsonl.xz"
LEVELS = np.logspace(0.0, -12.0, 61)  # five in a decade
COUNTS = (20, 40, 60, 100)  # queries after which regret is reported
KEPT = (
    *("case", "solver", "seed", "budget", "begin", "n", "split", "tags"),
    *("status", "message", "queries", "seconds", "value", "start"),
)


def read_record(path: Path = RECORD) -> list[Run]:
    """Return the runs of the record; none where there is no record."""
    if not path.exists():
        return []
    return [_unpacked(json.loads(line)) for line in lzma.open(path, "rt", encoding="utf-8")]


def write_record(runs: Iterable[Run], path: Path = RECORD) -> None:
    """Write the runs, in an order that does not depend on when they were made."""
    ordered = sorted(runs, key=lambda run: (run.case, run.solver, run.begin, run.budget, run.seed))
    lines = [json.dumps(_packed(run), ensure_ascii=False, separators=(",", ":")) for run in ordered]
    text = "".join(line + "\n" for line in lines)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _packed(run: Run) -> dict[str, Any]:
    """Return what the record keeps of a run: gaps with the reference of today, not values."""
    reference = references()[run.case].value if run.case in references() else run.reference
    scale = _scale(run.start, reference)
    gaps = [(query, (value - reference) / scale) for query, value in run.trace]
    trace = [(query, float(f"{gap:.4e}")) for query, gap in _thinned(gaps)]
    return {name: getattr(run, name) for name in KEPT} | {"reference": reference, "trace": trace}


def _unpacked(entry: dict[str, Any]) -> Run:
    reference, value = entry["reference"], entry["value"]
    scale = _scale(entry["start"], reference)
    trace = [(query, reference + gap * scale) for query, gap in entry["trace"]]
    if trace:
        trace[-1] = trace[-1][0], value
    return Run(**{**entry, "trace": trace})


def _scale(start: float, reference: float) -> float:
    return start - reference if start > reference else 1.0


def _thinned(gaps: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the first and the last, the first below each level and the last before each count."""
    if not gaps:
        return []
    kept = {0, len(gaps) - 1}
    for level in LEVELS:
        kept.update([i for i, (_, gap) in enumerate(gaps) if gap <= level][:1])
    for count in COUNTS:
        kept.update([i for i, (query, _) in enumerate(gaps) if query <= count][-1:])
    return [gaps[i] for i in sorted(kept)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and change the record."""
    parser = argparse.ArgumentParser(description="Keep runs in the repository.")
    parser.add_argument("--from", dest="source", type=Path, help="a file of runs to be kept")
    parser.add_argument(
        "--fresh", nargs="+", default=[], metavar="SOLVER", help="drop its runs from the record"
    )
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    kept = [run for run in read_record(options.record) if run.solver not in options.fresh]
    runs = latest(kept, read_runs(options.source) if options.source is not None else [])
    write_record(runs, options.record)
    size = options.record.stat().st_size / 1e6
    Console().print(f"{len(runs)} runs, {size:.2f} MB: {options.record}", soft_wrap=True)


if __name__ == "__main__":
    main()
