"""How ready objectives are added up."""

from __future__ import annotations

from typing import Any

from bizol.problem import Objective, ReadyObjective


def add(ready: ReadyObjective, other: Any) -> Objective:
    """Return the sum as the objective of a problem: the `__add__` of every ready objective."""
    total: Objective = ready.objective() + other
    return total
