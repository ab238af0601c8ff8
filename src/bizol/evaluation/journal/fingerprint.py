"""What a journal is of: enough to tell whether the run that opens it is the run that wrote it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from bizol.arrays import Point
from bizol.evaluation.journal.file import JournalError
from bizol.problem import Problem


def specification(
    problem: Problem, method: Any, *, x0: Point, seed: int, repeats: int, version: str
) -> dict[str, Any]:
    """Return method, parameters, seed and a fingerprint of the problem, as plain data."""
    return {
        "bizol": version,
        "method": re.sub(r" at 0x[0-9a-f]+", "", repr(method)),
        "seed": seed,
        "repeats": repeats,
        "n": int(x0.size),
        "x0": fingerprint(x0),
        "set": fingerprint(problem.feasible_set),
        "objective": fingerprint(problem.objective),
        "follower": str(
            getattr(problem.response, "__qualname__", type(problem.response).__qualname__)
        ),
    }


def refuse_other(found: dict[str, Any], wanted: dict[str, Any], path: object) -> None:
    """Say which parts of a run differ from those in its journal; the version of the library may."""
    differing = [name for name in wanted if name != "bizol" and found.get(name) != wanted[name]]
    if differing:
        lines = [
            f"{name}: {found.get(name)} in the journal, {wanted[name]} now" for name in differing
        ]
        raise JournalError(
            f"{path} is the journal of another run. It differs in {'; '.join(lines)}. "
            f"Give the same problem, method and seed to go on, or another path to begin."
        )


def fingerprint(thing: Any) -> str:
    """Return the kind of a thing and a digest of its data; functions are known by their names
    alone.

    Example:
        >>> import bizol
        >>> fingerprint(bizol.Box([0], [1])) == fingerprint(bizol.Box([0], [2]))
        False

    """
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    return f"{name} {hashlib.sha256(_canonical(thing).encode()).hexdigest()[:16]}"


def _canonical(thing: Any) -> str:
    if isinstance(thing, np.ndarray):
        data = np.ascontiguousarray(thing)
        return f"array {data.dtype.str} {data.shape} {hashlib.sha256(data.tobytes()).hexdigest()}"
    if isinstance(thing, (bool, int, float, str, bytes, type(None))):
        return repr(thing)
    if isinstance(thing, (list, tuple)):
        return f"[{', '.join(map(_canonical, thing))}]"
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = (
            f"{part.name}={_canonical(getattr(thing, part.name))}"
            for part in fields(thing)
            if part.init
        )
        return f"{type(thing).__qualname__}({', '.join(parts)})"
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))
