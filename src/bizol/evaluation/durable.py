"""Queries with names: in parallel, journaled, asked again when they fail."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from math import nan
from time import sleep
from typing import final

import numpy as np

from bizol.arrays import Responses, stack, to_numpy
from bizol.evaluation.engine import Engine, Execution, take_landed
from bizol.evaluation.failures import (
    Breaker,
    PendingError,
    Retries,
    SpentError,
    TerminatedError,
)
from bizol.evaluation.journal import Event, Journal, encode
from bizol.evaluation.ledger import Ledger
from bizol.evaluation.outcomes import ENGINE, Outcome, failure_of
from bizol.evaluation.query import Answers, Batch, Query
from bizol.evaluation.question import Question
from bizol.evaluation.register import Register
from bizol.problem import Problem
from bizol.problem.follower import is_outside
from bizol.processes import terminable
from bizol.randomness import FOLLOWER, seed_of

Landed = list[tuple[Query, Outcome]]
Flying = dict[Future[list[Outcome]], list[Query]]


@final
class Durable:
    """Ask the follower through an engine; what fails is a matter of policy, not the end.

    What the journal knows is not asked again. Failed queries are asked again in rounds, each after
    the one before, so that nothing depends on the order in which answers arrive.

    Args:
        problem: whose follower is asked.
        ledger: counts the queries.
        execution: how queries are carried out.
        journal: where they are looked up and written down.
        seed: what the seeds of a follower that takes one are made of.

    """

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        *,
        execution: Execution,
        journal: Journal | None = None,
        seed: int = 0,
    ) -> None:
        self._question = Question.of(problem)
        self._outside = is_outside(problem.response)
        self._ledger = ledger
        self._execution = execution
        self._register = Register(ledger, journal)
        self._engine = Engine(execution, self._question)
        self._retries = execution.retries or Retries()
        self._breaker = Breaker(self._retries.breaker)
        self._seed = seed
        self._closing = ExitStack()
        self.unanswered = 0  # decisions that no response was found to
        self.trouble = ""  # why the last query that failed did

    def __enter__(self) -> Durable:
        self._closing.callback(self._engine.close)
        self._closing.enter_context(terminable(TerminatedError("The process was asked to end.")))
        return self

    def __exit__(self, *_: object) -> None:
        """End threads, and the processes of isolated queries, whatever they are doing."""
        self._closing.close()

    @property
    def queries(self) -> int:
        """How many queries were sent so far, answered or not."""
        return self._ledger.queries

    @property
    def spent(self) -> bool:
        """Whether the budget covers no further query."""
        return not self._ledger.affords(1)

    def affords(self, batch: Batch) -> bool:
        """Whether the budget covers a batch, queries not counted that were counted before."""
        queries = batch.queries(self._execution.repeats)
        return self._ledger.affords(self._register.count_new(batch.iteration, queries))

    def answer(self, batch: Batch) -> Answers:
        """Return the answers to a batch, as many as there are.

        Raises:
            HaltError: when the run ends here, to be resumed.

        """
        register = self._register
        queries = batch.queries(self._execution.repeats)
        register.turn_to(batch.iteration)
        for query in queries:
            register.recall(query)
        self._breaker.next_batch()
        while open_ := [query for query in queries if not register.record(query).settled]:
            self._leave_to_user(queries, best=batch.best)
            due = self._next_round(open_)
            if not self._ledger.affords(len(due)):
                raise SpentError(f"{len(due)} failed queries cannot be asked again.")
            self._perform([self._prepare(query) for query in due], best=batch.best)
            self._consider_failures(due)
        return self._collect(queries)

    def forgive(self, batch: Batch) -> bool:
        """Give queries that an earlier session gave up another chance; return if there are any."""
        register = self._register
        given_up = [
            replace(query, attempt=register.record(query).attempts)
            for query in batch.queries(self._execution.repeats)
            if register.record(query).given_up and not register.is_live(query)
        ]
        register.note([Event.ask_again(query) for query in given_up])
        return bool(given_up)

    def _next_round(self, open_: list[Query]) -> list[Query]:
        """Return the queries that were asked the fewest times; the very first one alone."""
        attempts = [self._register.record(query).attempts for query in open_]
        due = [query for query, made in zip(open_, attempts, strict=True) if made == min(attempts)]
        return due if self._ledger.sized else due[:1]  # the first response shows the size of all

    def _prepare(self, query: Query) -> Query:
        """Return a query as it is sent next, with its seed and the number of its attempt."""
        record = self._register.record(query)
        if self._question.seeded and (record.seed is None or not record.sent):
            iteration, slot, _, replicate = query.key  # both sides of a pair get the same seed
            failures = sum(kind not in ENGINE for kind in record.failures)
            key = (iteration, *FOLLOWER, slot + 1, replicate, failures)
            record.seed = seed_of(self._seed, *key)
        return replace(query, seed=record.seed, attempt=record.attempts)

    def _leave_to_user(self, queries: list[Query], *, best: float) -> None:
        """End the run where only the user can answer, or say what became of a query."""
        register = self._register
        if self._outside:
            self._ask_outside(queries, best=best)
        unknown = [
            query
            for query in queries
            if register.record(query).sent and (self._outside or not register.is_live(query))
        ]
        if unknown and (self._outside or self._execution.on_unknown == "stop"):
            raise PendingError([self._prepare(query) for query in unknown])

    def _ask_outside(self, queries: list[Query], *, best: float) -> None:
        register = self._register
        if register.journal is None:
            what = "A follower outside needs minimize(journal=...), to keep what was asked."
            raise ValueError(what)
        records = [register.record(query) for query in queries]
        unasked = [
            self._prepare(query)
            for query, record in zip(queries, records, strict=True)
            if not record.sent and not record.settled
        ]
        if not self._ledger.affords(len(unasked)):
            raise SpentError(f"{len(unasked)} failed queries cannot be asked again.")
        register.note([Event.ask(query, best=best) for query in unasked])

    def _perform(self, queries: list[Query], *, best: float) -> None:
        """Carry queries out, at most `workers` at a time.

        All are written down before they are sent and when they are back.
        """
        together = self._question.vectorized and self._execution.inline
        waiting = deque([queries] if together else [[query] for query in queries])
        sending: deque[list[Query]] = deque()  # written down, not sent yet
        flying: Flying = {}
        back: Landed = []
        try:
            while waiting or flying:
                free = self._execution.width - len(flying)
                sending.extend(waiting.popleft() for _ in range(min(len(waiting), free)))
                self._settle(back, [query for group in sending for query in group], best=best)
                back = []
                while sending:
                    future = self._engine.submit(sending[0])
                    flying[future] = sending.popleft()
                back = take_landed(flying)
        except KeyboardInterrupt as interrupt:
            if self._register.journal is not None:
                patient = not isinstance(interrupt, TerminatedError)
                self._rescue(back, flying, sending if patient else deque(), patient=patient)
            raise
        self._settle(back, [], best=best)

    def _rescue(
        self, back: Landed, flying: Flying, sending: deque[list[Query]], *, patient: bool
    ) -> None:
        """Write down what was paid for at an interrupt: what is back, and what is under way.

        What was written down as sent is sent, so that the journal tells the truth.
        """
        self._register.reread()
        for group in sending:
            written = all(self._register.record(query).sent for query in group)
            if written and not self._execution.inline:
                flying[self._engine.submit(group)] = group
        if flying and patient:
            with suppress(KeyboardInterrupt):  # a second interrupt drops them
                wait(flying)
        landed = [*back, *take_landed(flying, now=True)]
        unwritten = [
            (query, outcome)
            for query, outcome in landed
            if self._register.record(query).attempts == query.attempt
        ]
        self._settle(unwritten, [], best=nan)

    def _settle(self, back: Landed, sent: list[Query], *, best: float) -> None:
        """Write down what came back and what is sent next, in one go; then use it, and count."""
        judged = [(query, self._inspect(outcome)) for query, outcome in back]
        events = [event for query, outcome in judged for event in self._events(query, outcome)]
        self._register.note(events + [Event.ask(query, best=best) for query in sent])
        self._register.send(sent)
        for query, outcome in judged:
            self._breaker.count(failed=outcome.kind != "ok")
            if outcome.kind == "ok":
                self._register.accept(query, outcome.response)

    def _inspect(self, outcome: Outcome) -> Outcome:
        """Return a response as it is handed on, or the failure it is."""
        if outcome.kind != "ok":
            return outcome
        response = outcome.response
        try:
            if self._register.journal is not None:
                response = to_numpy(response)
            self._ledger.check_size(response.shape[0])
        except Exception as error:
            return failure_of(error)
        return replace(outcome, response=response)

    def _events(self, query: Query, outcome: Outcome) -> list[Event]:
        """Return what is written of an outcome: a response, or a failure and whether for good."""
        if outcome.kind == "ok":
            journaled = self._register.journal is not None
            response = encode(outcome.response) if journaled else b""
            return [Event.ok(query, response, remarks=outcome.info)]
        events = [Event.fail(query, outcome.kind, outcome.info)]
        failures = [*self._register.record(query).failures, outcome.kind]
        if not self._retries.again(failures):
            events.append(Event.give_up(query))
        return events

    def _consider_failures(self, due: list[Query]) -> None:
        """End a run in which too much fails; wait a little before what failed is asked again."""
        records = [self._register.record(query) for query in due]
        failed = [record for record in records if record.response is None]
        if not failed:
            return
        self.trouble = failed[-1].why
        self._breaker.check(self.trouble)
        if any(not record.settled for record in records):
            sleep(self._retries.pause(max(len(record.failures) for record in records)))

    def _collect(self, queries: list[Query]) -> Answers:
        """Return one response per decision, the mean of its replicates."""
        repeats = self._execution.repeats
        answers = [self._register.response(query) for query in queries]
        decisions = [answers[first : first + repeats] for first in range(0, len(answers), repeats)]
        present = [[answer for answer in row if answer is not None] for row in decisions]
        known = next((row[0] for row in present if row), np.zeros(1))
        self.unanswered += sum(not row for row in present)
        means: list[Responses] = [
            sum(row[1:], start=row[0]) / len(row) if row else 0 * known for row in present
        ]
        answered = np.array([bool(row) for row in present])
        return Answers(stack(means), None if answered.all() else answered, present)
