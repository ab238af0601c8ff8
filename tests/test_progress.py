"""The bar: on a real terminal it moves, anywhere else it is silent."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

SCRIPT = """
import bizol
from tests.problems import saturated
bizol.minimize(saturated(), method=bizol.BiZOL(0.1, 0.1, 2), budget=300, seed=0, progress=True)
"""


def on_a_terminal(script: str) -> bytes:
    """Run a script on a terminal of its own and return all it showed."""
    controller, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    run = subprocess.Popen(
        [sys.executable, "-c", script], stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 4096):
            shown += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(controller)
    assert run.wait() == 0
    return shown


def test_on_a_terminal_the_bar_counts_queries_and_shows_the_best_value() -> None:
    shown = on_a_terminal(SCRIPT)
    assert b"300/300" in shown
    assert b"queries" in shown
    assert b"best 0.01875" in shown


def test_a_vectorized_follower_moves_the_bar_as_far() -> None:
    assert b"300/300" in on_a_terminal(SCRIPT.replace("saturated()", "saturated(vectorized=True)"))


def test_where_there_is_no_terminal_nothing_is_printed() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    assert run.stdout + run.stderr == b""
