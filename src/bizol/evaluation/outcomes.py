"""What became of one query: a response, or a failure of a known class. Plain data, so that it travels anywhere."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from bizol.arrays import Point, Response, as_response, owned
from bizol.problem import ResponseError

Kind: TypeAlias = Literal["ok", "died", "timeout", "lost", "error", "infinite", "shape", "refused"]
Key: TypeAlias = tuple[int, int, int, int]  # iteration, slot, sign, replicate
Respond: TypeAlias = Callable[
    [Point, int | None], Response
]  # from a decision and a seed to a response

ENGINE: tuple[Kind, ...] = (
    "died",
    "timeout",
    "lost",
)  # the process or the engine failed; the follower may be innocent


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What one execution of the follower came to; `info` says why there is no response, or what it wrote on the way."""

    kind: Kind
    response: Response = None
    info: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """One decision the follower is asked about: which one it is, and with which seed."""

    key: Key
    x: Point
    seed: int | None = None
    attempt: int = 0  # executions of this query before this one, of which there was an outcome

    @property
    def id(self) -> str:
        """The key in words that fit into a table: iteration.slot, the sign, and the replicate."""
        return name_of(self.key)


def name_of(key: Key) -> str:
    """Return the key as a word, such as `12.3+.0`."""
    iteration, slot, sign, replicate = key
    return f"{iteration}.{slot}{'+' if sign > 0 else '-' if sign < 0 else ''}.{replicate}"


def attempt(respond: Respond, x: Point, seed: int | None) -> Outcome:
    """Ask once, here; an exception becomes words, as not every exception survives a journey."""
    try:
        response = owned(as_response(respond(x.copy(), seed)))
        return Outcome("ok", response, info=getattr(respond, "remarks", str)())
    except (Exception, SystemExit) as error:
        return Outcome(class_of(error), info=in_words(error))


def class_of(error: BaseException) -> Kind:
    """Return the class of a failure: what followers that ask others say by the kind of the exception they raise."""
    kinds: dict[type[BaseException], Kind] = {
        ChildProcessError: "died",
        TimeoutError: "timeout",
        ConnectionError: "lost",
        PermissionError: "refused",  # for good: asking again would not help
        ResponseError: "refused",
    }
    return next(
        (kind for exception, kind in kinds.items() if isinstance(error, exception)), "error"
    )


def in_words(error: BaseException) -> str:
    """Return type, message and the end of the traceback of an exception, whatever its own `__str__` does."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({frame.filename}, line {frame.lineno})" for frame in where)
    return f"{type(error).__name__}: {message}{place}"
