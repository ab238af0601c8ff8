"""The method `minimize` takes when nobody names one."""

from __future__ import annotations

from bizol.methods.foresight import Foresight


def default_method() -> Foresight:
    """Return `Foresight`, which fits itself to the problem while it runs."""
    return Foresight()
