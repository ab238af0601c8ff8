"""The command line, run as a person would."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bizol
from bizol import verification
from bizol.command_line import reproduce as reproduce_command
from bizol.command_line.app import app
from bizol.reproduction import record


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit code and what was printed, without frames and line breaks."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join(re.findall(r"[^\s│╭╮╰╯─]+", result.output))


def test_the_version() -> None:
    assert run("--version") == (0, f"bizol {bizol.__version__}")


def test_the_installed_command_works() -> None:
    command = Path(sys.executable).with_name("bizol")
    assert subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True
    ).stdout.startswith("bizol ")


def test_help_names_the_commands() -> None:
    code, output = run("--help")
    assert code == 0
    assert "reproduce" in output
    assert "when someone else answers" in output


def test_reproduce_prints_tables_beside_the_paper_and_says_where_the_page_is(
    tmp_path: Path,
) -> None:
    code, output = run(
        "reproduce", "table-1", "--quick", "--jobs", "2", "--out", str(tmp_path / "new")
    )
    assert code == 0
    assert "14.17 ± 0.60" in output  # the paper's value for B = 5
    assert "constants of the instance are ours" in output
    assert "of 16 hold" in output
    assert "index.html; open it in a browser" in output
    assert (tmp_path / "new" / "index.html").is_file()


def test_reproduce_checks_against_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ["reproduce", "table-3", "--quick", "--out", str(tmp_path), "--check"]
    code, output = run(*quick)
    assert (code, "Agrees with the record" in output) == (0, True)
    changed = json.loads(record.COMMITTED.read_text())
    for each in changed:
        each["grid"]["VZO"][1][2][0] += 0.01
    (tmp_path / "other.json").write_text(json.dumps(changed))
    monkeypatch.setattr(record, "COMMITTED", tmp_path / "other.json")
    code, output = run(*quick)
    assert code == 1
    assert "Differs from the record, 1 of its numbers" in output
    assert "grid, VZO[1][2][0]" in output


def test_reproduce_says_when_there_is_nothing_to_compare_and_when_the_page_is_a_part(
    tmp_path: Path,
) -> None:
    code, output = run("reproduce", "figure-2", "--out", str(tmp_path / "a[red]b"), "--check")
    assert code == 0
    assert "Nothing to compare" in output
    assert "this part alone" in output
    assert "a[red]b" in output


def test_reproduce_refuses_what_makes_no_sense_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ["--out", str(tmp_path / "out")]
    (tmp_path / "file").touch()
    for arguments, said in (
        (["figure-7", *out], "Unknown experiment 'figure-7'. Known are: all, table-1"),
        (["--quick", "--seeds", "3", *out], "leave one of the two out"),
        (["--seeds", "3", "--check", *out], "no record of 3 runs"),
        (["--seeds", "1", *out], "greater than or equal to 2"),
        (["--jobs", "0", *out], "greater than or equal to 1"),
        (["--out", str(tmp_path / "file" / "below")], "cannot be written"),
    ):
        code, output = run("reproduce", *arguments)
        assert code == 2
        assert said in output.replace("- ", "-")
    monkeypatch.setattr(reproduce_command, "find_spec", lambda name: None)
    code, output = run("reproduce", "figure-1", *out)
    assert code == 2
    assert "bizol[plots]" in output
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "file"]


def test_verify_prints_a_row_per_statement() -> None:
    code, output = run("verify", "Lemma 3", "Remark 4")
    assert code == 0
    assert "Lemma 3" in output
    assert "2 of 2 hold" in output


def test_verify_speaks_json() -> None:
    result = CliRunner().invoke(app, ["verify", "--json", "Lemma 3"])
    (finding,) = json.loads(result.output)
    assert finding["statement"] == "Lemma 3"
    assert finding["holds"] is True
    assert finding["measured"] <= finding["bound"]


def test_verify_fails_when_a_statement_does(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(verification.STATEMENTS["Lemma 3"](), measured=2.0)
    monkeypatch.setitem(verification.STATEMENTS, "Lemma 3", lambda: broken)
    code, output = run("verify", "Lemma 3")
    assert code == 1
    assert "NO" in output
    assert "0 of 1 hold" in output


def test_verify_names_the_statements_it_knows() -> None:
    code, output = run("verify", "Lemma 9")
    assert code == 2
    assert "Unknown statement 'Lemma 9'" in output
    assert "Theorem 1" in output
