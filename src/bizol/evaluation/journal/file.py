"""The journal: one file that knows every query that was sent and every response that came, and
nothing else.

An SQLite file, append-only, one row per event, each with a checksum; decisions and responses are
raw little-endian float64. One process writes, under a lock that ends with it; anyone may read
meanwhile. Nothing in it is ever executed.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from time import time
from types import TracebackType
from typing import Any, Literal, TypeAlias, final
from urllib.parse import quote

import numpy as np

from bizol.arrays import Point
from bizol.evaluation.outcomes import Key, Kind, Query, name_of

FORMAT = 1
APPLICATION = 0x42695A4F  # "BiZO", in the header of the file

EventKind: TypeAlias = Literal["spec", "begin", "ask", "ok", "fail", "gave_up", "again", "end"]

_TABLE = """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL,
    iteration INTEGER NOT NULL, slot INTEGER NOT NULL, sign INTEGER NOT NULL, replicate INTEGER NOT NULL,
    attempt INTEGER NOT NULL, x BLOB NOT NULL, y BLOB NOT NULL, seed INTEGER, info TEXT NOT NULL, time REAL NOT NULL,
    crc INTEGER NOT NULL) STRICT"""
_COLUMNS = "seq, kind, iteration, slot, sign, replicate, attempt, x, y, seed, info, time"
_NOWHERE: Key = (-1, 0, 0, 0)


class JournalError(ValueError):
    """A journal that cannot be used as it was meant to: damaged, in use, of another run, or not writable."""


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One row of a journal."""

    kind: EventKind
    key: Key = _NOWHERE
    attempt: int = 0
    x: bytes = b""
    y: bytes = b""
    seed: int | None = None
    info: str = ""
    time: float = field(default_factory=time)


@final
@dataclass(slots=True)
class Record:
    """All that is known of one query."""

    x: bytes
    seed: int | None = None
    failures: list[Kind] = field(default_factory=list)  # since it was last given another chance
    attempts: int = 0  # of which there was an outcome
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
            self.response, self.attempts = event.y, self.attempts + 1
        elif event.kind == "fail":
            kind, _, self.why = event.info.partition(": ")
            self.failures.append(kind)  # type: ignore[arg-type]  # written by us, and checked by its checksum
            self.attempts += 1
        elif event.kind == "gave_up":
            self.given_up = True
        elif event.kind == "again":
            self.failures, self.given_up = [], False


@final
class Journal:
    """The journal of a run: what was asked, what was answered, what is pending; and the door for
    answers from outside.

    Opened as here it is only read, also while the run that writes it goes on.

    Args:
        path: the file.

    Example:
        >>> import numpy as np, bizol, tempfile
        >>> problem = bizol.Problem(
        ...     bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        ...     bizol.followers.Outside(),
        ...     bizol.Box([-1, -1], [1, 1]),
        ... )
        >>> folder = tempfile.TemporaryDirectory()
        >>> run = f"{folder.name}/run.bizol"
        >>> bizol.minimize(problem, [1.0, 0.5], budget=50, journal=run, seed=0).status.name
        'WAITING'
        >>> Journal(run).pending()[0].x
        array([1. , 0.5])
        >>> Journal(run).tell({Journal(run).pending()[0].id: [2.0, 1.0]})
        1
        >>> folder.cleanup()

    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise JournalError(f"There is no journal at {self.path}.")
        self._lock: sqlite3.Connection | None = None
        self._file = _connected(self.path, "ro")
        self._scan()

    @classmethod
    def own(cls, path: str | Path, spec: dict[str, Any] | None = None) -> Journal:
        """Open the journal to write, as its only writer; with `spec`, make it where there is none.

        Raises:
            JournalError: when another process writes it, or when it is damaged.

        """
        journal = object.__new__(cls)
        journal.path = Path(path)
        if spec is None and not journal.path.is_file():
            raise JournalError(f"There is no journal at {journal.path}.")
        journal._lock = _locked(journal.path)
        try:
            journal._file = _connected(journal.path, "rwc")
            journal._prepare(spec)
            journal._scan()
        except BaseException:
            journal.close()
            raise
        return journal

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, and of the right to write it."""
        for connection in (getattr(self, "_file", None), getattr(self, "_lock", None)):
            if connection is not None:
                connection.close()

    @property
    def spec(self) -> dict[str, Any]:
        """What the journal is of: method, seed, fingerprint of the problem, versions."""
        try:
            return dict(json.loads(next(self._events([1])).info))
        except (ValueError, TypeError) as error:
            raise JournalError(
                f"{self.path} does not say what it is the journal of: {error}."
            ) from error

    def append(self, *events: Event) -> None:
        """Write events, all or none; they are on the disk when this returns. An error is final, never tried again."""
        if not events:
            return
        first = self._length + 1
        try:
            with self._file:
                self._file.execute("BEGIN IMMEDIATE")
                self._file.executemany(
                    f"INSERT INTO events VALUES ({', '.join('?' * 13)})",
                    [_row(first + offset, event) for offset, event in enumerate(events)],
                )
        except sqlite3.Error as error:
            self.close()
            raise JournalError(
                f"The journal {self.path} could not be written ({error}): the run ends here; what was written before "
                f"is safe. Resume it when the cause, such as a full disk, is gone."
            ) from error
        for offset, event in enumerate(events):
            self._seen(first + offset, event)

    def refresh(self) -> None:
        """Look at the file again, as others, or an interrupt in the middle of writing, may have left it."""
        if self._file.in_transaction:
            self._file.rollback()
        self._scan()

    def events(self) -> Iterator[Event]:
        """Yield all events, the oldest first."""
        return self._events(range(1, self._length + 1))

    def records(self, iteration: int) -> dict[Key, Record]:
        """Return what is known of the queries of one iteration."""
        return _folded(self._events(self._where.get(iteration, ())))

    def pending(self) -> list[Query]:
        """Return the queries that were sent and not answered, in the order in which they were sent."""
        waiting = ((key, record) for key, record in _folded(self.events()).items() if record.sent)
        return [
            Query(key=key, x=decoded(record.x), seed=record.seed, attempt=record.attempts)
            for key, record in waiting
        ]

    def tell(self, answers: dict[str, Any]) -> int:
        """Take answers from outside, by the ids of their queries: any number, in any order, all of
        them or none.

        An answer is the response, or None where there will be none. What was told before may be
        told again, if it is the same to the last bit.

        Returns:
            How many of them are new.

        Raises:
            ValueError: naming the answers that cannot be taken.

        """
        with Journal.own(self.path) as owner:
            new = owner._checked(answers)
            owner.append(*new)
        self.refresh()
        return len(new)

    def _checked(self, answers: dict[str, Any]) -> list[Event]:
        records = _folded(self.events())
        known = {name_of(key): (key, record) for key, record in records.items()}
        sizes = {
            len(record.response) // 8 for record in records.values() if record.response is not None
        }
        new: list[Event] = []
        for name, answer in answers.items():
            if name not in known:
                raise ValueError(f"{name!r} is not a query of this run.")
            key, record = known[name]
            given = None if answer is None else encoded(_as_answer(name, answer))
            if record.settled:
                if given != record.response:
                    raise ValueError(
                        f"{name} was answered before, and differently; an answer is never changed."
                    )
                continue
            if given is None:
                new.append(
                    Event("fail", key, record.attempts, record.x, info="error: told from outside")
                )
                new.append(Event("gave_up", key, record.attempts, info="told from outside"))
                continue
            sizes.add(len(given) // 8)
            if len(sizes) > 1:
                raise ValueError(
                    f"{name} needs {min(sizes - {len(given) // 8})} numbers, got {len(given) // 8}."
                )
            new.append(Event("ok", key, record.attempts, record.x, given, info="told from outside"))
        return new

    def _prepare(self, spec: dict[str, Any] | None) -> None:
        """Make the table and its first row, all at once, where there is nothing yet."""
        try:
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
            if (
                spec is None
                or self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            ):
                return
            with self._file:
                self._file.execute("BEGIN IMMEDIATE")
                self._file.execute(f"PRAGMA application_id = {APPLICATION}")
                self._file.execute(_TABLE)
                text = json.dumps({"format": FORMAT} | spec)
                self._file.execute(
                    f"INSERT INTO events VALUES ({', '.join('?' * 13)})",
                    _row(1, Event("spec", info=text)),
                )
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{self.path} cannot be used as a journal: {error}.") from error

    def _scan(self) -> None:
        """Look at every row once: all there, all intact."""
        self._where: dict[int, list[int]] = {}
        self._length = 0
        try:
            schema = self._file.execute("SELECT sql FROM sqlite_master").fetchall()
            if not schema:
                raise JournalError(f"{self.path} is empty: nothing was written to it yet.")
            if (
                schema != [(_TABLE,)]
                or self._file.execute("PRAGMA application_id").fetchone()[0] != APPLICATION
            ):
                raise JournalError(f"{self.path} is not a journal of bizol, or it is damaged.")
            rows = self._file.execute(
                f"SELECT {_COLUMNS}, crc FROM events NOT INDEXED ORDER BY seq"
            )
            for expected, row in enumerate(rows, start=1):
                self._seen(expected, _event(row, expected, self.path))
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise JournalError(
                f"{self.path} is not a journal of bizol, or it is damaged: {error}."
            ) from error
        if not self._length:
            raise JournalError(f"{self.path} is damaged: its first row is missing.")
        if (found := self.spec.get("format")) != FORMAT:
            raise JournalError(
                f"{self.path} has format {found}; this version of bizol reads format {FORMAT}."
            )

    def _seen(self, seq: int, event: Event) -> None:
        self._length = seq
        self._where.setdefault(event.key[0], []).append(seq)

    def _events(self, rows: Sequence[int]) -> Iterator[Event]:
        for seq in rows:
            row = self._file.execute(
                f"SELECT {_COLUMNS}, crc FROM events WHERE seq = ?", (seq,)
            ).fetchone()
            yield _event(row, seq, self.path)


def encoded(array: Point) -> bytes:
    """Return the numbers as they are written: little-endian float64."""
    return np.asarray(array, dtype="<f8").tobytes()


def decoded(data: bytes) -> Point:
    """Return numbers as they were written, read-only."""
    return np.frombuffer(data, dtype="<f8").astype(np.float64, copy=False)


def _folded(events: Iterator[Event]) -> dict[Key, Record]:
    records: dict[Key, Record] = {}
    for event in events:
        if event.key != _NOWHERE:
            records.setdefault(event.key, Record(event.x)).take(event)
    return records


def _as_answer(name: str, answer: Any) -> Point:
    try:
        vector = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be answered with numbers, got {answer!r}.") from error
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise ValueError(
            f"{name} must be answered with a vector of finite numbers, got {answer!r}."
        )
    return vector


def _row(seq: int, event: Event) -> tuple[Any, ...]:
    kind, key, *others = astuple(event)
    values = (seq, kind, *key, *others)
    return (*values, _checksum(values))


def _event(row: tuple[Any, ...] | None, expected: int, path: Path) -> Event:
    if row is None or row[0] != expected or not _intact(row):
        raise JournalError(
            f"{path} is damaged: row {expected} is not what was written. Take a copy made before the damage, or begin "
            f"a new journal; the rows before this one can be read with an SQLite tool."
        )
    return Event(row[1], row[2:6], *row[6:-1])


def _intact(row: tuple[Any, ...]) -> bool:
    try:
        return bool(row[-1] == _checksum(row[:-1]))
    except (
        TypeError,
        struct.error,
    ):  # a flipped bit may turn bytes into a text, or a number into nothing
        return False


def _checksum(values: tuple[Any, ...]) -> int:
    x, y = values[7], values[8]
    rest = repr([*values[:7], *values[9:-1], struct.pack("<d", values[-1])])
    return zlib.crc32(y, zlib.crc32(x, zlib.crc32(f"{len(x)} {len(y)} {rest}".encode())))


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    try:
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, timeout=30, check_same_thread=False
        )
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be opened as a journal: {error}.") from error
    return connection


def _locked(path: Path) -> sqlite3.Connection:
    """Take the lock of a journal: a transaction on a side file, which no orphan can hold and no crash leaves behind."""
    lock = path.with_name(path.name + ".lock")
    connection = None
    try:
        connection = sqlite3.connect(lock, isolation_level=None, timeout=0, check_same_thread=False)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        why = (
            "it is being written by another process, and only one may"
            if "locked" in str(error)
            else str(error)
        )
        raise JournalError(f"{path} cannot be written: {why}.") from error
    return connection
