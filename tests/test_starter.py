"""`bizol new`: what it writes works, for real, in a folder of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bizol.command_line.starter import begin

BIZOL = Path(sys.executable).with_name("bizol")


def run(*command: object, folder: Path) -> tuple[int, str]:
    """Return the exit code and all that was said, without frames and line breaks."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, " ".join(re.findall(r"[^\s│╭╮╰╯─]+", done.stdout + done.stderr))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which `bizol new my-problem` was called, and what it said."""
    folder = tmp_path_factory.mktemp("new")
    code, output = run(BIZOL, "new", "my-problem", folder=folder)
    assert code == 0, output
    return folder, output


def test_it_says_what_it_wrote_and_what_to_do_next(begun: tuple[Path, str]) -> None:
    folder, output = begun
    assert sorted(path.name for path in (folder / "my-problem").iterdir()) == [
        "my_problem.py",
        "my_problem.toml",
        "test_my_problem.py",
    ]
    assert "cd my-problem bizol run my_problem.toml python -m pytest" in output


def test_its_test_passes_and_notices_a_mistake(begun: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = begun
    for name, text in contents(folder / "my-problem").items():
        (tmp_path / name).write_bytes(text)
    tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    code, output = run(*tests, folder=tmp_path)
    assert (code, "3 passed" in output) == (0, True), output
    problem = tmp_path / "my_problem.py"
    problem.write_text(problem.read_text().replace("return COST - prices", "return prices - COST"))
    code, output = run(*tests, folder=tmp_path)
    assert (code, "grad_y=...) is off" in output) == (1, True), output


def test_the_commands_it_recommends_work(begun: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = begun
    journal = tmp_path / "run.bizol"
    code, output = run(
        BIZOL, "run", "my_problem.toml", "--journal", journal, folder=folder / "my-problem"
    )
    assert (code, "queries: 200 in" in output, "value: -0.96" in output) == (0, True, True), output
    code, output = run(
        BIZOL, "run", "my-problem/my_problem.toml", "--budget", 40, "--isolate", folder=folder
    )
    assert (code, "queries: 40" in output) == (0, True), output


def test_it_reads_as_the_house_does(begun: tuple[Path, str]) -> None:
    folder, _ = begun
    ruff = (sys.executable, "-m", "ruff")
    for command in (
        ("check", "--select", "A,B,C4,E,F,I,N,PIE,PT,PTH,SIM,UP,W"),
        ("format", "--check"),
    ):
        code, output = run(*ruff, *command, "--isolated", "--line-length", 120, ".", folder=folder)
        assert code == 0, output


def test_it_never_overwrites(begun: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = begun
    before = contents(folder)
    code, output = run(BIZOL, "new", "my-problem", folder=folder)
    assert (code, "is there already; nothing was written" in output) == (2, True), output
    assert contents(folder) == before
    (tmp_path / "taken").write_text("mine")
    assert run(BIZOL, "new", "taken", folder=tmp_path)[0] == 2
    assert contents(tmp_path) == {"taken": b"mine"}


def test_an_empty_folder_and_a_longer_path_are_fine(tmp_path: Path) -> None:
    (tmp_path / "Empty One").mkdir()
    code, output = run(BIZOL, "new", "Empty One", folder=tmp_path)
    assert (code, "cd 'Empty One' bizol run empty_one.toml" in output) == (0, True), output
    code, output = run(BIZOL, "new", "deep/down/tolls", folder=tmp_path)
    assert (code, "cd deep/down/tolls" in output) == (0, True), output
    assert (tmp_path / "deep" / "down" / "tolls" / "tolls.py").is_file()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("7-bridges", "must begin with a letter"),
        ("class", "must begin with a letter"),
        ("ответ", "must begin with a letter"),
        ("numpy", "there is one of that name"),
        ("json", "there is one of that name"),
    ],
)
def test_a_name_that_cannot_be_a_new_module_is_refused(
    tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        begin(tmp_path / name)
    assert not list(tmp_path.iterdir())
