"""Every example and every Python block of the README runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_something(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3
    assert len(BLOCKS) >= 1


def test_the_blocks_of_the_readme_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), scope)
    assert capsys.readouterr().out.strip()
