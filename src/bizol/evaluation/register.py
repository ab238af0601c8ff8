"""What is known of the queries of one iteration, in memory and in the journal."""

from __future__ import annotations

from typing import final

import numpy as np

from bizol.arrays import Point, Response
from bizol.evaluation.journal import Event, Journal, JournalError, Record, decode, encode
from bizol.evaluation.ledger import Ledger
from bizol.evaluation.query import Key, Query


@final
class Register:
    """Records and answers of the iteration at hand; older ones are in the journal alone.

    Args:
        ledger: counts what was spent, what the journal knows of included.
        journal: where events are written first; without one they are kept in memory.

    """

    def __init__(self, ledger: Ledger, journal: Journal | None) -> None:
        self.journal = journal
        self._ledger = ledger
        self._iteration = -1
        self._records: dict[Key, Record] = {}
        self._answers: dict[Key, Response] = {}  # None for queries that were counted, not answered
        self._live: set[Key] = set()  # sent in this session

    def record(self, query: Query) -> Record:
        """Return what is known of a query."""
        return self._records[query.key]

    def response(self, query: Query) -> Response:
        """Return the response to a query, None where there is none."""
        return self._answers[query.key]

    def is_live(self, query: Query) -> bool:
        """Whether a query was sent in this session."""
        return query.key in self._live

    def count_new(self, iteration: int, queries: list[Query]) -> int:
        """Return how many of the queries were not counted in this iteration before."""
        counted = self._answers if iteration == self._iteration else {}
        return sum(query.key not in counted for query in queries)

    def turn_to(self, iteration: int) -> None:
        """Forget other iterations, and read what the journal knows of this one."""
        if iteration == self._iteration:
            return
        self._iteration = iteration
        self._answers = {}
        self._live = set()
        self._records = {} if self.journal is None else self.journal.records(iteration)
        for key, record in self._records.items():
            # The end of a shorter run was observed beside the method's own queries.
            if key[1] < 0 and record.attempts:
                self.recall(Query(key=key, x=decode(record.x)))

    def recall(self, query: Query) -> None:
        """Count what a journaled query cost, once; refuse a query that is not the same one."""
        key = query.key
        if key in self._answers:
            return
        x = encode(query.x)
        record = self._records.setdefault(key, Record(x))
        if record.x != x:
            refuse_other_query(query, decode(record.x))
        self._ledger.spend(record.attempts)
        self._answers[key] = None
        if record.response is not None:
            self.accept(query, decode(record.response))

    def accept(self, query: Query, response: Response) -> None:
        """Keep an answer."""
        self._answers[query.key] = response
        self._ledger.admit(query.x, response)

    def send(self, queries: list[Query]) -> None:
        """Count queries that are sent."""
        self._live.update(query.key for query in queries)
        self._ledger.spend(len(queries))

    def note(self, events: list[Event]) -> None:
        """Write events down, first where they last."""
        if self.journal is not None:
            self.journal.append(*events)
        for event in events:
            self._records[event.key].take(event)

    def reread(self) -> None:
        """Read the journal again, after an interrupt that may have come while it was written."""
        if self.journal is not None:
            self.journal.refresh()
            self._records |= self.journal.records(self._iteration)


def refuse_other_query(query: Query, journaled: Point) -> None:
    """Raise a `JournalError` that says in what a query differs from the journaled one."""
    x = query.x
    if x.shape != journaled.shape:
        what = f"has {x.size} entries, {journaled.size} in the journal"
    else:
        index = int(np.argmax(x.view(np.int64) != journaled.view(np.int64)))
        what = f"has {x[index]!r} as entry {index}, {journaled[index]!r} in the journal"
    raise JournalError(
        f"This run does not repeat the one in the journal: query {query.id} {what}. A small "
        f"difference comes from another version of NumPy or its BLAS, or another machine; a large "
        f"one from another problem, or a follower that was answered by other means. Nothing was "
        f"asked."
    )
