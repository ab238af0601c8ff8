"""What a journal is of: enough to tell whether the run that opens it is the run that wrote it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from bizol.evaluation.journal.file import JournalError


def describe_method(method: object) -> str:
    """Return a method and its parameters as text, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(method))


def refuse_other_run(found: dict[str, Any], wanted: dict[str, Any], path: object) -> None:
    """Raise a `JournalError` that names the parts in which a run differs from its journal.

    The version of the library may differ, and so may what an older version did not write down.
    """
    differing = [
        name for name in wanted if name in found and name != "bizol" and found[name] != wanted[name]
    ]
    if differing:
        lines = [f"{name}: {found[name]} in the journal, {wanted[name]} now" for name in differing]
        raise JournalError(
            f"{path} is the journal of another run. It differs in {'; '.join(lines)}. "
            f"Give the same problem, method and seed to go on, or another path to begin."
        )


def fingerprint(thing: Any) -> str:
    """Return the kind of a thing and a digest of its data; functions are known by name alone.

    Example:
        >>> import bizol
        >>> fingerprint(bizol.Box([0], [1])) == fingerprint(bizol.Box([0], [2]))
        False

    """
    return f"{name_in_code(thing)} {hashlib.sha256(_canonical(thing).encode()).hexdigest()[:16]}"


def name_in_code(thing: Any) -> str:
    """Return the name of a function or a class, and of anything else the name of its class."""
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))


def _canonical(thing: Any) -> str:
    if isinstance(thing, np.ndarray):
        data = np.ascontiguousarray(thing)
        digest = hashlib.sha256(data.tobytes()).hexdigest()
        return f"array {data.dtype.str} {data.shape} {digest}"
    if isinstance(thing, (bool, int, float, str, bytes, type(None))):
        return repr(thing)
    if isinstance(thing, (list, tuple)):
        return f"[{', '.join(map(_canonical, thing))}]"
    if is_dataclass(thing) and not isinstance(thing, type):
        given = [part.name for part in fields(thing) if part.init]
        parts = (f"{name}={_canonical(getattr(thing, name))}" for name in given)
        return f"{type(thing).__qualname__}({', '.join(parts)})"
    return name_in_code(thing)
