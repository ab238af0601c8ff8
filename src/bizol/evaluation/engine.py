"""Who carries queries out: this thread, threads of our own, or any executor; each query isolated or not."""

from __future__ import annotations

import os
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from typing import Literal, final

from bizol.arrays import ArgumentError, as_positive, as_size
from bizol.evaluation.failures import Retries
from bizol.evaluation.isolation import dismiss, pack
from bizol.evaluation.outcomes import Outcome, Query, in_words
from bizol.evaluation.question import Question, carry_out


@final
@dataclass(frozen=True, slots=True)
class Execution:
    """How queries are carried out, when it is not simply one after the other, here, until one fails."""

    executor: Executor | None = None
    workers: int | None = None
    isolate: bool = False
    timeout: float | None = None
    retries: Retries = Retries()
    on_unknown: Literal["ask", "stop"] = "ask"
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise ArgumentError(
                "minimize",
                "executor",
                f"must have submit, as executors have, got {self.executor!r}.",
            )
        if self.workers is not None:
            as_size(self.workers, "minimize", "workers")
        elif self.executor is not None and not hasattr(self.executor, "_max_workers"):
            raise ArgumentError(
                "minimize",
                "executor",
                "does not say how many workers it has: give minimize(workers=...).",
            )
        if self.timeout is not None:
            as_positive(self.timeout, "minimize", "timeout")
            if not self.isolate:
                raise ArgumentError(
                    "minimize",
                    "timeout",
                    "needs isolate=True: only a process of its own can be stopped.",
                )
        if not isinstance(self.retries, Retries):
            raise ArgumentError(
                "minimize", "retries", f"must be bizol.Retries(...), got {self.retries!r}."
            )
        if self.on_unknown not in ("ask", "stop"):
            raise ArgumentError(
                "minimize", "on_unknown", f"must be 'ask' or 'stop', got {self.on_unknown!r}."
            )
        as_size(self.repeats, "minimize", "repeats")

    @property
    def width(self) -> int:
        """How many queries may be under way."""
        return self.workers or int(getattr(self.executor, "_max_workers", 1))


@final
class Engine:
    """Sends queries off, and ends what it started."""

    def __init__(self, execution: Execution, question: Question) -> None:
        self._execution = execution
        self._question = question
        self._pool: Executor | None = None
        self._packed: bytes | None = None

    @property
    def inline(self) -> bool:
        """Whether queries are carried out by the caller itself."""
        execution = self._execution
        return execution.executor is None and execution.workers is None and not execution.isolate

    @property
    def workers(self) -> int:
        """How many queries may be under way."""
        return self._execution.width

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
        """End threads of our own, and the processes of isolated queries, whatever they are doing."""
        if self._packed is not None:
            dismiss(self._packed)
        if self._pool is not None:
            self._pool.shutdown(wait=self._packed is not None, cancel_futures=True)
        if (
            callable(end := getattr(self._question.response, "close", None))
            and self._execution.executor is None
        ):
            end()


def landed(
    flying: dict[Future[list[Outcome]], list[Query]], *, now: bool = False
) -> list[tuple[Query, Outcome]]:
    """Wait for the next answers, or take those that are there; drop their futures, as engines keep what is held."""
    done = (
        [future for future in flying if future.done()]
        if now
        else wait(flying, return_when=FIRST_COMPLETED).done
    )
    back: list[tuple[Query, Outcome]] = []
    for future in done:
        group = flying.pop(future)
        try:
            back += zip(group, future.result(), strict=True)
        except (
            Exception,
            CancelledError,
        ) as error:  # whatever an engine raises means that it lost the query
            back += [(query, Outcome("lost", info=in_words(error))) for query in group]
    return back
