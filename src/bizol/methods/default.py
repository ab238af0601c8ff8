"""The method `minimize` takes when nobody names one."""

from __future__ import annotations

from bizol.methods.foresight.foresight import Foresight


def default_method(workers: int = 1) -> Foresight:
    """Return `Foresight`, which fits itself to the problem while it runs; it asks a question per worker at a time."""
    return Foresight(workers=workers)
