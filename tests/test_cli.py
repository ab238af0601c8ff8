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
from bizol import cli, verification
from bizol.cli import app

QUICK = ["demo", "--batch", "5", "--seeds", "2", "--budget", "300"]


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit code and what was printed, without frames and line breaks."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join(re.findall(r"[^\s│╭╮╰╯─]+", result.output))


def test_the_version() -> None:
    assert run("--version") == (0, f"bizol {bizol.__version__}")


def test_the_installed_command_works() -> None:
    command = Path(sys.executable).with_name("bizol")
    assert subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "bizol "
    )


def test_help_names_the_commands() -> None:
    code, output = run("--help")
    assert code == 0
    assert "demo" in output
    assert "when someone else answers" in output


@pytest.mark.parametrize("response", ["box", "ball"])
def test_the_demo_prints_both_methods_beside_the_paper(response: str) -> None:
    code, output = run(*QUICK, "--response", response)
    assert code == 0
    assert f"{response} response" in output
    assert "Bi-ZOL" in output
    assert "VZO" in output
    assert ("14.17" if response == "box" else "5.77") in output  # the paper's value for B = 5
    assert "constants of the instance are ours" in output


def test_a_batch_size_the_paper_does_not_have_has_no_paper_column() -> None:
    code, output = run("demo", "--batch", "3", "--seeds", "1", "--budget", "100")
    assert code == 0
    assert "14.17" not in output


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_demo_draws(suffix: str, tmp_path: Path) -> None:
    code, output = run(*QUICK, "--plot", str(tmp_path / f"runs.{suffix}"))
    assert code == 0
    assert "drawn into" in output
    assert (tmp_path / f"runs.{suffix}").stat().st_size > 5000


def test_a_drawing_is_the_same_file_every_time(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        run(*QUICK, "--plot", str(tmp_path / name))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_bad_options_are_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run("demo", "--budget", "20")
    assert code == 2
    assert "101 queries" in output
    code, output = run("demo", "--response", "torus")
    assert code == 2
    code, output = run("demo", "--plot", str(tmp_path / "missing" / "a.svg"))
    assert code == 2
    assert "does not exist" in output
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    code, output = run("demo", "--plot", str(tmp_path / "a.svg"))
    assert code == 2
    assert "bizol[plots]" in output


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
