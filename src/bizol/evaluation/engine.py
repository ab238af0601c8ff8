"""Who carries queries out: this thread, threads of our own, or any executor; isolated or not."""

from __future__ import annotations

import os
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from typing import Literal, Protocol, final, runtime_checkable

from bizol.arrays import ArgumentError, as_positive, as_size
from bizol.evaluation.failures import Retries
from bizol.evaluation.isolation import dismiss, pack
from bizol.evaluation.outcomes import Outcome, in_words
from bizol.evaluation.query import Query
from bizol.evaluation.question import Question, carry_out
from bizol.problem.follower import close


@runtime_checkable
class Submits(Protocol):
    """An executor, as far as it is needed: of `concurrent.futures`, loky, Dask, MPI, or yours."""

    def submit(self, function: object, /, *arguments: object) -> Future[list[Outcome]]:
        """Have a function called somewhere, and return its future."""
        ...


@runtime_checkable
class StatesWorkers(Protocol):
    """An executor that says how many queries it carries out at a time."""

    @property
    def max_workers(self) -> int:
        """How many."""
        ...


def workers_of(executor: object) -> int | None:
    """Return how many queries an executor carries out at a time; None where it does not say."""
    if isinstance(executor, StatesWorkers):
        return int(executor.max_workers)
    if isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor)):
        return int(executor._max_workers)  # type: ignore[union-attr]  # it says so nowhere else
    return None


@final
@dataclass(frozen=True, slots=True)
class Execution:
    """How queries are carried out; as it is by default, one after the other, until one fails."""

    executor: Executor | None = None
    workers: int | None = None
    isolate: bool = False
    timeout: float | None = None
    retries: Retries | None = None
    on_unknown: Literal["ask", "stop"] = "ask"
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.executor is not None and not isinstance(self.executor, Submits):
            what = f"must have submit, as executors have, got {self.executor!r}."
            raise ArgumentError("minimize", "executor", what)
        if self.workers is not None:
            as_size(self.workers, "minimize", "workers")
        elif self.executor is not None and workers_of(self.executor) is None:
            what = "does not say how many workers it has: give minimize(workers=...)."
            raise ArgumentError("minimize", "executor", what)
        if self.timeout is not None:
            as_positive(self.timeout, "minimize", "timeout")
            if not self.isolate:
                what = "needs isolate=True: only a process of its own can be stopped."
                raise ArgumentError("minimize", "timeout", what)
        if not isinstance(self.retries, (Retries, type(None))):
            what = f"must be bizol.Retries(...), got {self.retries!r}."
            raise ArgumentError("minimize", "retries", what)
        if self.on_unknown not in ("ask", "stop"):
            what = f"must be 'ask' or 'stop', got {self.on_unknown!r}."
            raise ArgumentError("minimize", "on_unknown", what)
        as_size(self.repeats, "minimize", "repeats")

    @property
    def width(self) -> int:
        """How many queries may be under way."""
        return self.workers or workers_of(self.executor) or 1

    @property
    def inline(self) -> bool:
        """Whether queries are carried out by the caller itself."""
        return self.executor is None and self.workers is None and not self.isolate


@final
class Engine:
    """Sends queries off, and ends what it started."""

    def __init__(self, execution: Execution, question: Question) -> None:
        self._execution = execution
        self._question = question
        self._pool: ThreadPoolExecutor | None = None
        self._packed: bytes | None = None

    def submit(self, group: list[Query]) -> Future[list[Outcome]]:
        """Send queries off together; without an engine they are back already."""
        execution = self._execution
        if execution.isolate and self._packed is None:
            self._packed = pack(self._question)
        if execution.executor is None and execution.workers is not None and self._pool is None:
            self._pool = ThreadPoolExecutor(execution.workers)
        engine = execution.executor or self._pool
        arguments = (self._packed or self._question, group, execution.timeout, os.getpid())
        done: Future[list[Outcome]] = Future()
        if engine is None:
            done.set_result(carry_out(*arguments))
            return done
        try:
            return engine.submit(carry_out, *arguments)
        except Exception as error:  # an engine that broke refuses everything
            done.set_exception(error)
            return done

    def close(self) -> None:
        """End threads of our own and the processes of isolated queries, whatever they are doing."""
        if self._packed is not None:
            dismiss(self._packed)
        if self._pool is not None:
            self._pool.shutdown(wait=self._packed is not None, cancel_futures=True)
        if self._execution.executor is None:
            close(self._question.response)


def take_landed(
    flying: dict[Future[list[Outcome]], list[Query]], *, now: bool = False
) -> list[tuple[Query, Outcome]]:
    """Wait for the next answers, or take those that are there, and drop their futures.

    Engines keep what a future holds for as long as somebody holds the future.
    """
    if now:
        done = [future for future in flying if future.done()]
    else:
        done = list(wait(flying, return_when=FIRST_COMPLETED).done)
    back: list[tuple[Query, Outcome]] = []
    for future in done:
        group = flying.pop(future)
        try:
            back += zip(group, future.result(), strict=True)
        except (Exception, CancelledError) as error:  # the engine lost the query
            back += [(query, Outcome("lost", info=in_words(error))) for query in group]
    return back
