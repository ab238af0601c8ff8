"""How a query is written for programs and services, and how their answers are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bizol.arrays import Point

SHOWN = 200  # characters of an answer that cannot be read, in the message about it


def write_question(x: Point, seed: int | None) -> bytes:
    """Return `{"x": [...], "seed": ...}`, one line without its end."""
    return json.dumps({"x": x.tolist(), "seed": seed}).encode()


def read_answer(answer: bytes, *, hide: Callable[[str], str] = str) -> list[Any]:
    """Return the response in `{"y": [...]}`.

    Args:
        answer: what was answered.
        hide: removes secrets from what is shown of it.

    Raises:
        RuntimeError: where the answer is `{"error": "why"}`.
        ValueError: where it is anything else.

    """
    text = answer.decode(errors="replace").strip()
    try:
        said = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the answer is not JSON: {hide(text)[:SHOWN]!r}") from error
    if isinstance(said, dict) and "error" in said:
        raise RuntimeError(hide(str(said["error"])))
    if not isinstance(said, dict) or not isinstance(said.get("y"), list):
        raise ValueError(f'the answer must be {{"y": [...]}}, got {hide(text)[:SHOWN]!r}')
    response: list[Any] = said["y"]
    return response
