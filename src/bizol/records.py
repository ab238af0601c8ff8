"""Frozen records that keep what they were given in a form of their own."""

from __future__ import annotations

from typing import Any


def assign(record: Any, **fields: Any) -> None:
    """Set fields of a frozen record, while it is being made or to remember what was worked out.

    The one place that reaches around `frozen=True`: `__init__` and `__post_init__` store checked
    arrays instead of what was given, and a few records remember a result that is a function of
    their other fields.
    """
    for name, value in fields.items():
        object.__setattr__(record, name, value)
