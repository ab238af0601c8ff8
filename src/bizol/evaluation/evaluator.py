"""One batch of queries → responses. The only caller of the follower, and the only counter of what it was asked."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from math import inf, isnan, nan
from time import sleep
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import (
    Point,
    Points,
    Response,
    Responses,
    as_response,
    infinite_rows,
    owned,
    stack,
    to_numpy,
)
from bizol.evaluation.engine import Engine, Execution, landed
from bizol.evaluation.failures import Breaker, PendingError, SpentError, TerminatedError
from bizol.evaluation.journal.file import Event, Journal, JournalError, Record, decoded, encoded
from bizol.evaluation.outcomes import ENGINE, Key, Outcome, Query, in_words, name_of
from bizol.evaluation.question import Question, takes_seed
from bizol.problem import EvaluationError, Problem
from bizol.randomness import FOLLOWER, seed_of

Slots: TypeAlias = list[tuple[int, int]]  # slot and sign of every query of a batch


@final
class Evaluator:
    """Ask the follower, count every query, let nothing pass that is not a response.

    The follower gets copies of the decisions, so it may write on them. Responses to a batch are
    good until the next batch is asked for, as a follower may use its buffers again; what is kept
    for longer is copied (`arrays.owned`).

    Args:
        problem: whose follower is asked, one decision at a time or whole batches
            (`Problem(vectorized=True)`).
        budget: a hard ceiling on the number of queries; none by default.
        answered: called with the number of queries just answered, for a progress bar.
        first: called with the first decision and the response to it, as soon as they are there, to
            look at both before more is asked.
        seed: what the seeds of a follower that takes one are made of.
        execution: how `gather` carries out queries.
        journal: where `gather` looks answers up and writes them down.
        lowest: tells the best value so far, to be written beside the queries for those who watch.

    """

    def __init__(
        self,
        problem: Problem,
        *,
        budget: float = inf,
        answered: Callable[[int], object] | None = None,
        first: Callable[[Point, Response], object] | None = None,
        seed: int = 0,
        execution: Execution | None = None,
        journal: Journal | None = None,
        lowest: Callable[[], float] | None = None,
    ) -> None:
        self._problem = problem
        self._question = Question(
            problem.response, problem.vectorized, takes_seed(problem.response)
        )
        self._seed = seed
        self._execution = execution or Execution()
        self._journal = journal
        self._lowest = lowest or (lambda: nan)
        self._records: dict[Key, Record] = {}  # of the iteration at hand
        self._answers: dict[Key, Response] = {}  # of the same, as they are handed on
        self._live: set[Key] = set()  # of the same, sent in this session
        self._iteration = -1
        self._breaker = Breaker(self._execution.retries.breaker)
        self._unanswered = 0
        self._replicates: list[list[Response]] = []
        self._trouble = ""
        self._engine = Engine(self._execution, self._question)
        self._budget = budget
        self._answered = answered
        self._first = first
        self._size: int | None = None  # m, known from the first response
        self._queries = 0

    @property
    def queries(self) -> int:
        """How many queries were sent so far, answered or not."""
        return self._queries

    @property
    def unanswered(self) -> int:
        """How many decisions `gather` found no response to."""
        return self._unanswered

    @property
    def replicates(self) -> list[list[Response]]:
        """The answers of the last batch `gather` returned, all that there are of each decision."""
        return self._replicates

    @property
    def trouble(self) -> str:
        """Why the last query that failed did."""
        return self._trouble

    def affords(self, count: int) -> bool:
        """Whether `count` more queries stay within the budget."""
        return self._queries + count <= self._budget

    def evaluate(self, points: Points) -> Responses:
        """Return the responses (q, m) to the queries (q, n), in their order."""
        if not self.affords(len(points)):
            raise ValueError(
                f"{len(points)} queries exceed the budget: {self._queries} of {self._budget} are spent."
            )
        return self._all_at_once(points) if self._problem.vectorized else self._one_by_one(points)

    def _all_at_once(self, points: Points) -> Responses:
        first, count = self._queries, len(points)
        self._queries += count
        try:
            responses = as_response(self._question.all(points, self._seeds(first, count)))
        except Exception as error:
            raise _failure(f"queries {first} to {first + count - 1}", error) from error
        if len(responses.shape) != 2 or responses.shape[0] != count:
            raise EvaluationError(
                f"Problem(response=..., vectorized=True) must return one row per query: "
                f"given shape {points.shape} it must return ({count}, m), got {tuple(responses.shape)}."
            )
        self._check_size(responses.shape[1], first)
        if bad := infinite_rows(responses):
            message = f"The response to query {first + bad[0]} is not finite ({len(bad)} of {count} are not)."
            good = [row for row in range(count) if row not in bad]
            raise EvaluationError(
                message, points=points[good], responses=[responses[row, ...] for row in good]
            )
        if first == 0 and self._first is not None:
            self._first(points[0], responses[0, ...])
        if self._answered is not None:
            self._answered(count)
        return responses

    def _one_by_one(self, points: Points) -> Responses:
        answers: list[Response] = []
        try:
            for point in points:
                answers.append(self._answer(point))
                if self._queries == 1 and self._first is not None:
                    self._first(point, answers[-1])
                if self._answered is not None:
                    self._answered(1)
        except EvaluationError as error:
            error.points, error.responses = points[: len(answers)], answers
            raise
        return stack(answers)

    def _answer(self, point: Point) -> Response:
        query = self._queries
        self._queries += 1
        seed = self._seeds(query, 1)[0] if self._question.seeded else None
        try:
            response = owned(as_response(self._question(point.copy(), seed)))
        except Exception as error:
            raise _failure(f"query {query}", error) from error
        if len(response.shape) != 1:
            raise EvaluationError(
                f"The response to query {query} must be a vector (m,), got shape {tuple(response.shape)}; "
                f"return a one-dimensional array, also when m is 1."
            )
        self._check_size(response.shape[0], query)
        if infinite_rows(response[None, ...]):
            raise EvaluationError(f"The response to query {query} is not finite.")
        return response

    def _check_size(self, size: int, query: int) -> None:
        if size == self._size:
            return
        if size == 0:
            raise EvaluationError(f"The response to query {query} must not be empty.")
        if self._size is None:
            self._size = size
        else:
            raise EvaluationError(
                f"The response to query {query} must have the size of the first one, {self._size}, got {size}."
            )

    def _seeds(self, first: int, count: int) -> list[int | None]:
        if not self._question.seeded:
            return [None] * count
        return [seed_of(self._seed, *FOLLOWER, query) for query in range(first, first + count)]

    # --- queries with names: parallel, journaled, asked again when they fail

    def close(self) -> None:
        """End what was started here: threads, and the processes of isolated queries, whatever they are doing."""
        self._engine.close()

    def needs(self, iteration: int, slots: Slots) -> int:
        """Return how many queries a batch costs, those not counted that were counted in this iteration before."""
        counted = self._answers if iteration == self._iteration else {}
        return sum(key not in counted for key in self._keys(iteration, slots))

    def gather(
        self, iteration: int, slots: Slots, points: Points
    ) -> tuple[Responses, NDArray[np.bool_]]:
        """Return the responses (q, m) to the queries (q, n), and which of them there are; the other
        rows hold zeros.

        What the journal knows is not asked again. Failed queries are asked again in rounds, each
        after the one before, so that nothing depends on the order in which answers arrive.
        """
        self._turn_to(iteration)
        keys = self._keys(iteration, slots)
        where = dict(zip(keys, np.repeat(points, self._execution.repeats, axis=0), strict=True))
        for key, x in where.items():
            self._recall(key, x)
        self._breaker.next_batch()
        while unsettled := [key for key in keys if not self._records[key].settled]:
            self._refuse_unknown(where)
            least = min(self._records[key].attempts for key in unsettled)
            due = [key for key in unsettled if self._records[key].attempts == least]
            if self._size is None:
                due = due[:1]  # the first response shows the size of all
            if not self.affords(len(due)):
                raise SpentError(f"{len(due)} failed queries cannot be asked again.")
            self._perform([self._query(key, where[key]) for key in due])
            if why := [
                self._records[key].why for key in due if self._records[key].response is None
            ]:
                self._trouble = why[-1]
                self._breaker.check(self._trouble)
                if any(not self._records[key].settled for key in due):
                    sleep(
                        self._execution.retries.pause(
                            max(len(self._records[key].failures) for key in due)
                        )
                    )
        return self._collected(keys, len(points))

    def forgive(self, iteration: int, slots: Slots) -> bool:
        """Give queries that were given up in an earlier session another chance; return whether there were any."""
        keys = [
            key
            for key in self._keys(iteration, slots)
            if self._records[key].given_up and key not in self._live
        ]
        self._note([Event("again", key, self._records[key].attempts) for key in keys])
        return bool(keys)

    def _keys(self, iteration: int, slots: Slots) -> list[Key]:
        return [
            (iteration, *slot, replicate)
            for slot in slots
            for replicate in range(self._execution.repeats)
        ]

    def _turn_to(self, iteration: int) -> None:
        """Remember the queries of this iteration alone, as far as the journal knows them."""
        if iteration == self._iteration:
            return
        self._iteration, self._answers, self._live = iteration, {}, set()
        self._records = {} if self._journal is None else self._journal.records(iteration)
        for key, record in self._records.items():
            if (
                key[1] < 0 and record.attempts
            ):  # the end of a shorter run was observed beside the method's own queries
                self._recall(key, decoded(record.x))

    def _recall(self, key: Key, x: Point) -> None:
        """Count what a journaled query cost, once, and see that it is the same query, to the last bit."""
        if key in self._answers:
            return
        record = self._records.setdefault(key, Record(encoded(x)))
        if record.x != encoded(x):
            _refuse_other(key, x, decoded(record.x))
        self._queries += record.attempts
        self._answers[key] = None
        if record.response is not None:
            self._accept(key, x, decoded(record.response))

    def _accept(self, key: Key, x: Point, response: Response) -> None:
        """Hand an answer on."""
        self._answers[key] = response
        if self._size is None:
            self._size = response.shape[0]
            if self._first is not None:
                self._first(x, response)
        if self._answered is not None:
            self._answered(1)

    def _query(self, key: Key, x: Point) -> Query:
        record = self._records[key]
        if self._question.seeded and (record.seed is None or not record.sent):
            iteration, slot, _, replicate = key  # both sides of a pair see the same randomness
            failures = sum(kind not in ENGINE for kind in record.failures)
            record.seed = seed_of(self._seed, iteration, *FOLLOWER, slot + 1, replicate, failures)
        return Query(key=key, x=x, seed=record.seed, attempt=record.attempts)

    def _refuse_unknown(self, where: dict[Key, Point]) -> None:
        """Leave to the user what only the user can answer."""
        records, outside = self._records, getattr(self._problem.response, "outside", False)
        unknown = [key for key in where if records[key].sent and key not in self._live]
        if outside:
            unasked = [key for key in where if not records[key].sent and not records[key].settled]
            queries = [self._query(key, where[key]) for key in unasked]
            if self._journal is None:
                raise ValueError(
                    "A follower outside needs minimize(journal=...), to keep what was asked."
                )
            if not self.affords(len(queries)):
                raise SpentError(f"{len(queries)} failed queries cannot be asked again.")
            self._note([self._asked(query) for query in queries])
            unknown = [key for key in where if records[key].sent]
        if unknown and (outside or self._execution.on_unknown == "stop"):
            raise PendingError([self._query(key, where[key]) for key in unknown])

    def _perform(self, queries: list[Query]) -> None:
        """Carry queries out, at most `workers` at a time; all are written down before they are sent and when back."""
        together = self._question.vectorized and self._engine.inline
        waiting = deque([queries] if together else [[query] for query in queries])
        flying: dict[Future[list[Outcome]], list[Query]] = {}
        back: list[tuple[Query, Outcome]] = []
        try:
            while waiting or flying:
                sent = [
                    waiting.popleft()
                    for _ in range(min(len(waiting), self._engine.workers - len(flying)))
                ]
                back = self._settle(back, [query for group in sent for query in group])
                for group in sent:
                    flying[self._engine.submit(group)] = group
                back = landed(flying)
        except KeyboardInterrupt as interrupt:
            if self._journal is not None:
                if flying and not isinstance(interrupt, TerminatedError):
                    with suppress(
                        KeyboardInterrupt
                    ):  # they are paid for; a second interrupt drops them
                        wait(flying)
                self._journal.refresh()  # the interrupt may have come while it was written
                self._records |= self._journal.records(self._iteration)
                back += landed(flying, now=True)
                self._settle(
                    [
                        each
                        for each in back
                        if self._records[each[0].key].attempts == each[0].attempt
                    ],
                    [],
                )
            raise
        self._settle(back, [])

    def _settle(
        self, back: list[tuple[Query, Outcome]], sent: list[Query]
    ) -> list[tuple[Query, Outcome]]:
        """Write down what came back and what is sent next, in one go; only then is it used, or sent."""
        judged = [(query, self._inspected(outcome)) for query, outcome in back]
        events = [event for query, outcome in judged for event in self._events_of(query, outcome)]
        self._note(events + [self._asked(query) for query in sent])
        self._live.update(query.key for query in sent)
        self._queries += len(sent)
        for query, outcome in judged:
            self._breaker.count(failed=outcome.kind != "ok")
            if outcome.kind == "ok":
                self._accept(query.key, query.x, outcome.response)
        return []

    def _events_of(self, query: Query, outcome: Outcome) -> list[Event]:
        """Return what is to be written of an outcome: that it is a response, or how it failed and whether for good."""
        if outcome.kind == "ok":
            y = encoded(outcome.response) if self._journal is not None else b""
            return [
                Event("ok", query.key, query.attempt, encoded(query.x), y, query.seed, outcome.info)
            ]
        info = f"{outcome.kind}: {outcome.info}"
        events = [Event("fail", query.key, query.attempt, encoded(query.x), b"", query.seed, info)]
        if not self._execution.retries.again([*self._records[query.key].failures, outcome.kind]):
            events.append(Event("gave_up", query.key, query.attempt))
        return events

    def _inspected(self, outcome: Outcome) -> Outcome:
        """Return a response as it is handed on, or the failure it is."""
        if outcome.kind != "ok":
            return outcome
        try:
            response = to_numpy(outcome.response) if self._journal is not None else outcome.response
        except Exception as error:
            return Outcome("error", info=in_words(error))
        shape, expected = tuple(response.shape), "m" if self._size is None else self._size
        if len(shape) != 1 or shape[0] == 0 or shape[0] != (self._size or shape[0]):
            return Outcome(
                "shape", info=f"the response must be a vector ({expected},), got shape {shape}"
            )
        if infinite_rows(response[None, ...]):
            return Outcome("infinite", info="the response is not finite")
        return Outcome("ok", response, outcome.info)

    def _asked(self, query: Query) -> Event:
        best = self._lowest()
        info = "" if isnan(best) else json.dumps({"best": best})
        return Event("ask", query.key, query.attempt, encoded(query.x), b"", query.seed, info)

    def _note(self, events: list[Event]) -> None:
        """Write events down, first where they last."""
        if self._journal is not None:
            self._journal.append(*events)
        for event in events:
            self._records[event.key].take(event)

    def _collected(self, keys: list[Key], count: int) -> tuple[Responses, NDArray[np.bool_]]:
        """Return one response per decision, the mean of its replicates, in the order of the batch."""
        repeats = self._execution.repeats
        answers = [
            [self._answers[key] for key in keys[row * repeats : (row + 1) * repeats]]
            for row in range(count)
        ]
        present = [[answer for answer in row if answer is not None] for row in answers]
        known = next((row[0] for row in present if row), np.zeros(1))
        self._replicates = present
        self._unanswered += sum(not row for row in present)
        rows = [sum(row[1:], start=row[0]) / len(row) if row else 0 * known for row in present]
        return stack(rows), np.array([bool(row) for row in present])


def _refuse_other(key: Key, x: Point, journaled: Point) -> None:
    if x.shape != journaled.shape:
        what = f"has {x.size} entries, {journaled.size} in the journal"
    else:
        index = int(np.argmax(x.view(np.int64) != journaled.view(np.int64)))
        what = f"has {x[index]!r} as entry {index}, {journaled[index]!r} in the journal"
    raise JournalError(
        f"This run does not repeat the one in the journal: query {name_of(key)} {what}. A small difference comes from "
        f"another version of NumPy or its BLAS, or another machine; a large one from another problem, or a follower "
        f"that was answered by other means. Nothing was asked."
    )


def _failure(which: str, error: Exception) -> EvaluationError:
    return EvaluationError(f"The follower failed at {which}: {type(error).__name__}: {error}")
