"""The file of a journal: every query that was sent and every response that came, nothing else.

An SQLite file, append-only, one row per event, each with a checksum; decisions and responses are
raw little-endian float64. One process writes, under a lock that ends with it; anyone may read
meanwhile. Nothing in it is ever executed.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import Any, final
from urllib.parse import quote

import numpy as np

from bizol.arrays import Point
from bizol.evaluation.journal.events import TOLD, Event, Record, decode, encode, fold
from bizol.evaluation.query import Key, Query, name_of

FORMAT = 1
APPLICATION = 0x42695A4F  # "BiZO", in the header of the file

_TABLE = """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL,
    iteration INTEGER NOT NULL, slot INTEGER NOT NULL, sign INTEGER NOT NULL, replicate INTEGER NOT NULL,
    attempt INTEGER NOT NULL, x BLOB NOT NULL, y BLOB NOT NULL, seed INTEGER, info TEXT NOT NULL, time REAL NOT NULL,
    crc INTEGER NOT NULL) STRICT"""  # noqa: E501 (the schema of format 1, to the letter)
_COLUMNS = "seq, kind, iteration, slot, sign, replicate, attempt, x, y, seed, info, time"
_INSERT = f"INSERT INTO events VALUES ({', '.join('?' * 13)})"


class JournalError(ValueError):
    """A journal that cannot be used: damaged, in use, of another run, or not writable."""


class AnswerError(ValueError):
    """An answer from outside that cannot be taken; `query` is the id it was given for."""

    def __init__(self, query: str, message: str) -> None:
        super().__init__(message)
        self.query = query


@final
class Journal:
    """The journal of a run: what was asked, answered and is pending; answers can be told to it.

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

    path: Path
    _file: sqlite3.Connection | None
    _lock: sqlite3.Connection | None

    def __init__(self, path: str | Path) -> None:
        self._reset(path)
        if not self.path.is_file():
            raise JournalError(f"There is no journal at {self.path}.")
        self._file = _connect(self.path, "ro")
        self._scan()

    @classmethod
    def own(cls, path: str | Path, *, create: bool = False) -> Journal:
        """Open the journal to write, as its only writer.

        With `create`, one that is not there yet, or is empty, is opened too; `identify` makes it.

        Raises:
            JournalError: when another process writes it, or when it is damaged.

        """
        journal = object.__new__(cls)
        journal._reset(path)
        if not create and not journal.path.is_file():
            raise JournalError(f"There is no journal at {journal.path}.")
        journal._lock = _take_lock(journal.path)
        try:
            if journal.path.is_file():
                journal._connect_to_write()
                if not create or not journal._is_empty():
                    journal._scan()
        except BaseException:
            journal.close()
            raise
        return journal

    def _reset(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = None
        self._file = None
        self._where: dict[int, list[int]] = {}  # rows by iteration
        self._length = 0

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
        for connection in (self._file, self._lock):
            if connection is not None:
                connection.close()

    @property
    def spec(self) -> dict[str, Any]:
        """What the journal is of: method, seed, fingerprint of the problem, versions; {} if new."""
        if not self._length:
            return {}
        try:
            return next(self._events([1])).details
        except (ValueError, TypeError) as error:
            raise JournalError(
                f"{self.path} does not say what it is the journal of: {error}."
            ) from error

    def identify(self, spec: dict[str, Any]) -> None:
        """Make the journal, with what it is of as its first row, where there is none yet."""
        if self._length:
            return
        if self._file is None:
            self._connect_to_write()
        file = self._connection
        try:
            with file:
                file.execute("BEGIN IMMEDIATE")
                file.execute(f"PRAGMA application_id = {APPLICATION}")
                file.execute(_TABLE)
                file.execute(_INSERT, _as_row(1, Event.specification({"format": FORMAT} | spec)))
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{self.path} cannot be used as a journal: {error}.") from error
        self._scan()

    def append(self, *events: Event) -> None:
        """Write events, all or none; they are on the disk when this returns.

        An error is final, never tried again.
        """
        if not events:
            return
        first = self._length + 1
        file = self._connection
        try:
            with file:
                file.execute("BEGIN IMMEDIATE")
                file.executemany(
                    _INSERT, [_as_row(first + offset, event) for offset, event in enumerate(events)]
                )
        except sqlite3.Error as error:
            self.close()
            raise JournalError(
                f"The journal {self.path} could not be written ({error}): the run ends here; what "
                f"was written before is safe. Resume it when the cause, such as a full disk, is "
                f"gone."
            ) from error
        for offset, event in enumerate(events):
            self._index(first + offset, event)

    def refresh(self) -> None:
        """Read the file again: others, or an interrupt in the middle of writing, changed it."""
        if self._connection.in_transaction:
            self._connection.rollback()
        self._scan()

    def events(self) -> Iterator[Event]:
        """Yield all events, the oldest first."""
        return self._events(range(1, self._length + 1))

    def records(self, iteration: int) -> dict[Key, Record]:
        """Return what is known of the queries of one iteration."""
        return fold(self._events(self._where.get(iteration, ())))

    def pending(self) -> list[Query]:
        """Return the queries that were sent and not answered, in the order they were sent in."""
        return [
            Query(key=key, x=decode(record.x).copy(), seed=record.seed, attempt=record.attempts)
            for key, record in fold(self.events()).items()
            if record.sent
        ]

    def tell(self, answers: dict[str, Any]) -> int:
        """Take answers from outside, by the ids of their queries, all of them or none.

        Any number, in any order. An answer is the response, or None where there will be none. What
        was told before may be told again, if it is the same to the last bit.

        Returns:
            How many of them are new.

        Raises:
            AnswerError: naming the query whose answer cannot be taken.

        """
        with Journal.own(self.path) as owner:
            new = _answer_events(fold(owner.events()), answers)
            owner.append(*new)
        self.refresh()
        return len(new)

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._file is not None
        return self._file

    def _connect_to_write(self) -> None:
        self._file = _connect(self.path, "rwc")
        try:
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{self.path} cannot be used as a journal: {error}.") from error

    def _is_empty(self) -> bool:
        try:
            return not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{self.path} cannot be used as a journal: {error}.") from error

    def _scan(self) -> None:
        """Look at every row once: all there, all intact."""
        file = self._connection
        self._where = {}
        self._length = 0
        try:
            schema = file.execute("SELECT sql FROM sqlite_master").fetchall()
            if not schema:
                raise JournalError(f"{self.path} is empty: nothing was written to it yet.")
            application = file.execute("PRAGMA application_id").fetchone()[0]
            if schema != [(_TABLE,)] or application != APPLICATION:
                raise JournalError(f"{self.path} is not a journal of bizol, or it is damaged.")
            rows = file.execute(f"SELECT {_COLUMNS}, crc FROM events NOT INDEXED ORDER BY seq")
            for expected, row in enumerate(rows, start=1):
                self._index(expected, _as_event(row, expected, self.path))
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

    def _index(self, seq: int, event: Event) -> None:
        self._length = seq
        self._where.setdefault(event.key[0], []).append(seq)

    def _events(self, rows: Sequence[int]) -> Iterator[Event]:
        select = f"SELECT {_COLUMNS}, crc FROM events WHERE seq = ?"
        for seq in rows:
            row = self._connection.execute(select, (seq,)).fetchone()
            yield _as_event(row, seq, self.path)


def _answer_events(records: dict[Key, Record], answers: dict[str, Any]) -> list[Event]:
    """Return the events that answers from outside make, those alone that are new."""
    known = {name_of(key): (key, record) for key, record in records.items()}
    responses = (record.response for record in records.values())
    sizes = {len(response) // 8 for response in responses if response is not None}
    new: list[Event] = []
    for name, answer in answers.items():
        if name not in known:
            raise AnswerError(name, f"{name!r} is not a query of this run.")
        key, record = known[name]
        given = None if answer is None else encode(_as_answer(name, answer))
        if record.settled:
            if given != record.response:
                what = "was answered before, and differently; an answer is never changed."
                raise AnswerError(name, f"{name} {what}")
            continue
        query = Query(key=key, x=decode(record.x), attempt=record.attempts)
        if given is None:
            new += [Event.fail(query, "error", TOLD), Event.give_up(query, why=TOLD)]
            continue
        size = len(given) // 8
        sizes.add(size)
        if len(sizes) > 1:
            what = f"needs {min(sizes - {size})} numbers, got {size}."
            raise AnswerError(name, f"{name} {what}")
        new.append(Event.ok(query, given, remarks=TOLD))
    return new


def _as_answer(name: str, answer: Any) -> Point:
    try:
        vector = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = f"{name} must be answered with numbers, got {answer!r}."
        raise AnswerError(name, what) from error
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        what = f"{name} must be answered with a vector of finite numbers, got {answer!r}."
        raise AnswerError(name, what)
    return vector


def _as_row(seq: int, event: Event) -> tuple[Any, ...]:
    kind, key, *others = astuple(event)
    values = (seq, kind, *key, *others)
    return (*values, _checksum(values))


def _as_event(row: tuple[Any, ...] | None, expected: int, path: Path) -> Event:
    if row is None or row[0] != expected or not _is_intact(row):
        raise JournalError(
            f"{path} is damaged: row {expected} is not what was written. Take a copy made before "
            f"the damage, or begin a new journal; the rows before this one can be read with an "
            f"SQLite tool."
        )
    return Event(row[1], row[2:6], *row[6:-1])


def _is_intact(row: tuple[Any, ...]) -> bool:
    try:
        return bool(row[-1] == _checksum(row[:-1]))
    except (TypeError, struct.error):  # a flipped bit may turn bytes into text, a number into none
        return False


def _checksum(values: tuple[Any, ...]) -> int:
    x, y = values[7], values[8]
    rest = repr([*values[:7], *values[9:-1], struct.pack("<d", values[-1])])
    return zlib.crc32(y, zlib.crc32(x, zlib.crc32(f"{len(x)} {len(y)} {rest}".encode())))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    try:
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, timeout=30, check_same_thread=False
        )
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be opened as a journal: {error}.") from error
    return connection


def _take_lock(path: Path) -> sqlite3.Connection:
    """Take the lock of a journal: a transaction on a side file.

    No orphan can hold it, and no crash leaves it behind.
    """
    lock = path.with_name(path.name + ".lock")
    connection = None
    try:
        connection = sqlite3.connect(lock, isolation_level=None, timeout=0, check_same_thread=False)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        why = str(error)
        if "locked" in why:
            why = "it is being written by another process, and only one may"
        raise JournalError(f"{path} cannot be written: {why}.") from error
    return connection
