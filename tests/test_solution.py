"""Solution and History: readable, saveable, every field there."""

from __future__ import annotations

import builtins
import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL
from tests.problems import saturated

SOLUTION = bizol.minimize(saturated(), method=BiZOL(0.1, 0.1, 2), budget=103, seed=4)


def test_history_columns_tell_the_run() -> None:
    history = SOLUTION.history
    assert history.columns == ["iteration", "queries", "value", "gap_estimate", "step", "delta"]
    assert len(history) == 21  # twenty iterations and the final decision
    assert history.iteration.tolist() == list(range(21))
    assert history.queries.tolist() == [*range(5, 101, 5), 101]
    assert np.isnan([history.gap_estimate[-1], history.step[-1], history.delta[-1]]).all()
    assert (history.step[:-1] == 0.1).all()
    assert (history.delta[:-1] == 0.1).all()
    assert not np.isnan(history.value).any()
    assert (
        repr(history) == "History(21 rows of iteration, queries, value, gap_estimate, step, delta)"
    )


def test_history_as_a_data_frame() -> None:
    frame = SOLUTION.history.to_pandas()
    assert list(frame.columns) == SOLUTION.history.columns
    assert np.array_equal(frame["value"].to_numpy(), SOLUTION.history.value)


def test_history_without_pandas_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'bizol\[pandas\]'"):
        SOLUTION.history.to_pandas()


def test_a_csv_file_gives_back_the_same_bits(tmp_path: Path) -> None:
    SOLUTION.history.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header == SOLUTION.history.columns
    for column, name in enumerate(header):
        read = np.array([float(row[column]) for row in rows])
        assert np.array_equal(read, getattr(SOLUTION.history, name), equal_nan=True)


def test_a_solution_reads_well() -> None:
    assert repr(SOLUTION).startswith("Solution(value=0.01875")
    assert "queries=101, iterations=20, status=BUDGET_SPENT, seed=4)" in repr(SOLUTION)
    text = str(SOLUTION)
    for part in (
        "status: The query budget does not cover another iteration.",
        "queries: 101 in 20 iterations",
        "method: BiZOL(delta=0.1, step=0.1, batch=2, directions=Sphere())",
        "seed: 4",
    ):
        assert part in text


def test_a_blind_solution_says_so() -> None:
    blind = bizol.minimize(saturated(), method=bizol.VZO(0.1, 0.1, 2), budget=40, seed=4)
    assert "value: not observed" in str(blind)
    assert "y: not observed" in str(blind)


def test_status_values_are_messages() -> None:
    assert all(status.value.endswith(".") and " " in status.value for status in bizol.Status)
