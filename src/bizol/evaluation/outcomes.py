"""What became of one execution: a response, or a failure of a known class.

Plain data, so that it travels between processes and machines.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from bizol.arrays import Response
from bizol.problem import ResponseError

Kind: TypeAlias = Literal["ok", "died", "timeout", "lost", "error", "infinite", "shape", "refused"]

# The process or the engine failed; the follower may be innocent.
ENGINE: tuple[Kind, ...] = ("died", "timeout", "lost")

# What followers that ask others say by the kind of the exception they raise.
_CLASSES: dict[type[BaseException], Kind] = {
    ChildProcessError: "died",
    TimeoutError: "timeout",
    ConnectionError: "lost",
    PermissionError: "refused",  # for good: asking again would not help
    ResponseError: "refused",
}


@final
class UnusableResponseError(ValueError):
    """What a follower returned is no response; the message goes on after "the response"."""

    def __init__(self, kind: Literal["shape", "infinite"], what: str) -> None:
        super().__init__(what)
        self.kind: Kind = kind


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What one execution of the follower came to.

    `info` says why there is no response, or what the follower wrote on the side.
    """

    kind: Kind
    response: Response = None
    info: str = ""


def failure_of(error: BaseException) -> Outcome:
    """Return an exception as an outcome: its class, and words, as not all exceptions can travel."""
    if isinstance(error, UnusableResponseError):
        return Outcome(error.kind, info=f"the response {error}")
    kinds = (kind for exception, kind in _CLASSES.items() if isinstance(error, exception))
    return Outcome(next(kinds, "error"), info=in_words(error))


def in_words(error: BaseException) -> str:
    """Return type, message and place of an exception, whatever its own `__str__` does."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({frame.filename}, line {frame.lineno})" for frame in where)
    return f"{type(error).__name__}: {message}{place}"
