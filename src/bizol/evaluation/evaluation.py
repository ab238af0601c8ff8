"""The way to the follower: one interface, two ways behind it, chosen once when a run begins."""

from __future__ import annotations

from typing import Protocol

from bizol.evaluation.direct import Direct
from bizol.evaluation.durable import Durable
from bizol.evaluation.engine import Execution
from bizol.evaluation.journal import Journal
from bizol.evaluation.ledger import Ledger
from bizol.evaluation.query import Answers, Batch
from bizol.problem import Problem
from bizol.problem.follower import is_outside


class Evaluation(Protocol):
    """From a batch of queries to its answers: the only caller of the follower."""

    @property
    def queries(self) -> int:
        """How many queries were sent so far, answered or not."""
        ...

    @property
    def spent(self) -> bool:
        """Whether the budget covers no further query."""
        ...

    @property
    def unanswered(self) -> int:
        """How many decisions no response was found to."""
        ...

    @property
    def trouble(self) -> str:
        """Why the last query that failed did."""
        ...

    def affords(self, batch: Batch) -> bool:
        """Whether the budget covers a batch."""
        ...

    def answer(self, batch: Batch) -> Answers:
        """Return the answers to a batch."""
        ...

    def forgive(self, batch: Batch) -> bool:
        """Give queries that an earlier session gave up another chance; return if there are any."""
        ...


def choose_evaluation(
    problem: Problem,
    ledger: Ledger,
    *,
    execution: Execution,
    journal: Journal | None,
    seed: int,
) -> Direct | Durable:
    """Return the way to the follower that a run needs.

    Plainly called, queries are asked here, and the first failure ends the run. Queries have names
    where something depends on which one is which: parallelism, retries, repeats, a journal, a
    follower that takes seeds or answers from outside.
    """
    plain = execution == Execution() and journal is None
    if plain and not problem.is_seeded and not is_outside(problem.response):
        return Direct(problem, ledger, seed=seed)
    return Durable(problem, ledger, execution=execution, journal=journal, seed=seed)
