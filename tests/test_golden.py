"""No bit changes: every run of `tests.golden` is what it was when it was written down."""

from __future__ import annotations

import json
import platform
from typing import Any

import pytest

from tests.golden import GOLDEN, measured, versions


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(GOLDEN.read_text())
    return recorded


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    return measured()


def test_every_run_is_still_made(kept: dict[str, Any], found: dict[str, Any]) -> None:
    assert list(found) == list(kept["runs"])
    assert len(found) == 7 * 10 * 3 + 7 * 4 + 4


def test_no_bit_changes(kept: dict[str, Any], found: dict[str, Any]) -> None:
    """To the last bit where the file was made with these versions; elsewhere rounding differs, and
    grows with time."""
    if versions() == kept["versions"] and platform.machine() == "x86_64":
        changed = [name for name, row in kept["runs"].items() if found[name] != row]
        assert not changed, (
            f"{len(changed)} runs changed; the first: {changed[0]}: {found[changed[0]]}"
        )
        return
    for name, row in kept["runs"].items():
        for part in ("queries", "status"):
            assert found[name][part] == row[part], name
        numbers = [[float(value) for value in each["first values"]] for each in (row, found[name])]
        assert numbers[1] == pytest.approx(numbers[0], rel=1e-9, nan_ok=True), name
