"""The events of a run: one row of a journal each, written and read by name.

What a row says beside the query is in one column of text, `info`: JSON for the events of a run
(`spec`, `begin`, `ask`, `end`), plain words for those of a query. Nobody else needs to know.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isnan
from time import time
from typing import Any, Literal, TypeAlias, final

import numpy as np

from bizol.arrays import Point
from bizol.evaluation.outcomes import Kind
from bizol.evaluation.query import Key, Query

EventKind: TypeAlias = Literal["spec", "begin", "ask", "ok", "fail", "gave_up", "again", "end"]

NOWHERE: Key = (-1, 0, 0, 0)  # the key of events that are about no query
TOLD = "told from outside"


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One row of a journal; make one with the methods below."""

    kind: EventKind
    key: Key = NOWHERE
    attempt: int = 0
    x: bytes = b""
    y: bytes = b""
    seed: int | None = None
    info: str = ""
    time: float = field(default_factory=time)

    @classmethod
    def specification(cls, spec: dict[str, Any]) -> Event:
        """Say what the journal is of: the first row."""
        return cls("spec", info=json.dumps(spec))

    @classmethod
    def begin(cls, *, budget: int, version: str) -> Event:
        """Say that a session begins."""
        return cls("begin", info=json.dumps({"budget": budget, "bizol": version}))

    @classmethod
    def ask(cls, query: Query, *, best: float) -> Event:
        """Say that a query is sent, and the lowest value observed so far."""
        info = "" if isnan(best) else json.dumps({"best": best})
        return cls("ask", query.key, query.attempt, encode(query.x), b"", query.seed, info)

    @classmethod
    def ok(cls, query: Query, response: bytes, *, remarks: str = "") -> Event:
        """Say that a query was answered, and what the follower said on the side."""
        x = encode(query.x)
        return cls("ok", query.key, query.attempt, x, response, query.seed, remarks)

    @classmethod
    def fail(cls, query: Query, kind: Kind, why: str) -> Event:
        """Say that an execution failed."""
        info = f"{kind}: {why}"
        return cls("fail", query.key, query.attempt, encode(query.x), b"", query.seed, info)

    @classmethod
    def give_up(cls, query: Query, *, why: str = "") -> Event:
        """Say that a query failed for good."""
        return cls("gave_up", query.key, query.attempt, info=why)

    @classmethod
    def ask_again(cls, query: Query) -> Event:
        """Say that a query that failed for good is given another chance."""
        return cls("again", query.key, query.attempt)

    @classmethod
    def end(cls, *, status: str, best: float) -> Event:
        """Say that a session ended, how, and the lowest value observed."""
        return cls(
            "end", info=json.dumps({"status": status, "best": None if isnan(best) else best})
        )

    @property
    def details(self) -> dict[str, Any]:
        """What an event of a run says: the specification, `budget`, `best`, `status`."""
        return dict(json.loads(self.info)) if self.info else {}

    @property
    def failure(self) -> tuple[Kind, str]:
        """The class of a failure, and why."""
        kind, _, why = self.info.partition(": ")
        return kind, why  # type: ignore[return-value]  # written by `fail`, kept by a checksum


@final
@dataclass(slots=True)
class Record:
    """All that is known of one query."""

    x: bytes
    seed: int | None = None
    failures: list[Kind] = field(default_factory=list)  # since it was last given another chance
    attempts: int = 0  # executions that came to an end
    response: bytes | None = None
    given_up: bool = False
    sent: bool = False  # and no outcome so far
    why: str = ""  # it failed, the last time

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be asked."""
        return self.given_up or self.response is not None

    def take(self, event: Event) -> None:
        """Learn from the next event of this query."""
        self.sent = event.kind == "ask"
        if event.kind == "ask":
            self.seed = event.seed
        elif event.kind == "ok":
            self.response = event.y
            self.attempts += 1
        elif event.kind == "fail":
            kind, self.why = event.failure
            self.failures.append(kind)
            self.attempts += 1
        elif event.kind == "gave_up":
            self.given_up = True
        elif event.kind == "again":
            self.failures = []
            self.given_up = False


def fold(events: Iterable[Event]) -> dict[Key, Record]:
    """Return what events, the oldest first, tell of each query."""
    records: dict[Key, Record] = {}
    for event in events:
        if event.key != NOWHERE:
            records.setdefault(event.key, Record(event.x)).take(event)
    return records


def encode(array: Point) -> bytes:
    """Return numbers as they are written: little-endian float64."""
    return np.asarray(array, dtype="<f8").tobytes()


def decode(data: bytes) -> Point:
    """Return numbers as they were written, read-only."""
    return np.frombuffer(data, dtype="<f8").astype(np.float64, copy=False)
