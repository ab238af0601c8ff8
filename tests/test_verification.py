"""The statements as a whole: complete, in order, honest when one fails."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from bizol.verification import STATEMENTS, Finding, verify


def test_every_numbered_statement_of_the_paper_is_there() -> None:
    counts = {
        "Definition": 5,
        "Proposition": 6,
        "Lemma": 4,
        "Theorem": 1,
        "Corollary": 2,
        "Remark": 4,
    }
    assert set(STATEMENTS) == {
        f"{kind} {k}" for kind, count in counts.items() for k in range(1, count + 1)
    }


def test_every_statement_has_a_test_file_of_its_own() -> None:
    paths = (Path(__file__).parent / "theory").glob("test_*.py")
    files = {path.stem.removeprefix("test_") for path in paths}
    assert files == {name.lower().replace(" ", "_") for name in STATEMENTS}


def test_statements_can_be_picked_and_unknown_ones_are_refused() -> None:
    picked = [finding.statement for finding in verify(["Remark 4", "Lemma 3"])]
    assert picked == ["Lemma 3", "Remark 4"]
    with pytest.raises(ValueError, match="Unknown statement 'Lemma 9'; the paper has Remark 1, "):
        list(verify(["Lemma 9"]))


def test_a_finding_holds_only_when_all_of_it_does() -> None:
    def finding(measured: float, relation: Literal["≤", "≥"], also: bool) -> Finding:
        return Finding(
            statement="s",
            checked="c",
            on="o",
            measured=measured,
            relation=relation,
            bound=1.0,
            also=also,
        )

    assert finding(0.5, "≤", True).holds
    assert not finding(1.5, "≤", True).holds
    assert finding(1.5, "≥", True).holds
    assert not finding(0.5, "≥", True).holds
    assert not finding(0.5, "≤", False).holds
    assert not finding(float("nan"), "≤", True).holds
