"""A run under way: the loop over its steps, what it keeps of them, and how it ends."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Generic, final

from bizol.evaluation import (
    Batch,
    BreakerError,
    Evaluation,
    Event,
    HaltError,
    Journal,
    JournalError,
    PendingError,
    SpentError,
)
from bizol.methods import Method
from bizol.methods.protocol import NamesQueries, S, radius_of, remark_of
from bizol.problem import Problem, UnansweredError
from bizol.problem.follower import doubt_radius, needed_radius
from bizol.run.advance import Step, advance, observe
from bizol.run.noise import NoiseMeter
from bizol.run.recorder import Recorder
from bizol.run.solution import Solution, Status

_ENDINGS: dict[type[BaseException], Status] = {
    KeyboardInterrupt: Status.INTERRUPTED,
    SpentError: Status.BUDGET_SPENT,
    BreakerError: Status.FAILING,
    PendingError: Status.WAITING,
    UnansweredError: Status.UNANSWERED,
}


@final
class Run(Generic[S]):
    """A run under way.

    Args:
        method: the method.
        start: its first state.
        first: what it asks from there.
        problem: what it minimizes.
        evaluation: the way to the follower.
        recorder: keeps what will be reported.
        journal: is told how the run ends.
        repeats: how often each decision is asked about.

    """

    def __init__(
        self,
        method: Method[S],
        start: S,
        first: Batch,
        *,
        problem: Problem,
        evaluation: Evaluation,
        recorder: Recorder,
        journal: Journal | None = None,
        repeats: int = 1,
    ) -> None:
        self._method = method
        self._state = start
        self._first = first
        self._problem = problem
        self._evaluation = evaluation
        self._recorder = recorder
        self._journal = journal
        self._meter = NoiseMeter(repeats) if repeats > 1 else None
        self._stopped = False
        self._smallest = 0.0  # radius that suits the follower's tolerance; 0 where none matters

    def go_on(self, stop: Callable[[Any], bool] | None) -> BaseException | None:
        """Make whole iterations, observe the last decision, and return what ended the run early."""
        try:
            self._iterate(stop)
            self._observe_end()
        except (KeyboardInterrupt, Exception) as error:
            return error
        return None

    def _iterate(self, stop: Callable[[Any], bool] | None) -> None:
        """Make whole iterations until the budget is spent or `stop` says so."""
        radius = radius_of(self._method, self._state)
        if radius is not None:
            self._smallest = needed_radius(self._problem.response, self._problem.feasible_set)
            if radius < self._smallest:
                self._doubt(radius)
        if stop is not None and stop(self._state):
            self._stopped = True
            return
        steps = advance(
            self._method,
            self._state,
            self._evaluation,
            first=self._first,
            lowest=self._recorder.lowest,
        )
        for step in steps:
            self._record(step)
            move = step.state.move
            if move is not None and move.delta < self._smallest:
                self._doubt(move.delta)
            if stop is not None and stop(step.state):
                self._stopped = True
                return

    def _observe_end(self) -> None:
        """Ask about the last decision, where it was not asked about and a query is left."""
        if self._stopped or self._recorder.observed:
            return
        # Where the method asks there itself, it is that query: a continued run has its answer.
        own = isinstance(self._method, NamesQueries) and (0, 0) in self._first.slots
        slot = (0, 0) if own else (-1, 0)
        batch = observe(self._state, slot=slot, best=self._recorder.lowest())
        if not self._evaluation.affords(batch):
            return
        answers = self._evaluation.answer(batch)
        if answers.answered is not None:
            trouble = self._evaluation.trouble
            what = f"The follower did not answer at the final decision. {trouble}"
            raise UnansweredError(what)
        response = answers.responses[0, ...]
        (value,) = self._problem.objective.values(batch.points, answers.responses)
        self._recorder.record_end(response, float(value), queries=self._evaluation.queries)

    def conclude(self, failure: BaseException | None) -> Solution:
        """Return what was found, and say in words how it went."""
        self._problem.objective.forget()
        status = conclude_status(stopped=self._stopped, failure=failure)
        noise = None if self._meter is None else self._meter.noise()
        move = self._state.move
        remarks = (
            status.value,
            str(failure or ""),
            remark_of(self._state),
            self._describe_unanswered(),
            "" if noise is None or move is None else noise.remark(move.delta),
        )
        pending = failure.queries if isinstance(failure, PendingError) else []
        solution = self._recorder.solution(
            status=status,
            message=" ".join(filter(None, remarks)),
            queries=self._evaluation.queries,
            seed=self._state.seed,
            method=self._method,
            unanswered=self._evaluation.unanswered,
            noise=noise,
            pending=tuple(pending),
        )
        if self._journal is not None and not isinstance(failure, JournalError):
            if isinstance(failure, KeyboardInterrupt):
                self._journal.refresh()  # it may have come while an event was written
            self._journal.append(Event.end(status=status.name, best=solution.value))
        return solution

    def _record(self, step: Step[S]) -> None:
        state = step.state
        move = state.move
        if move is self._state.move:
            move = None  # the same one: the directions are drawn again
        self._state = state
        if move is not None:
            self._recorder.record_move(move, to=state.x, queries=self._evaluation.queries)
        if self._meter is not None:
            self._meter.take(step.batch, step.answers, move)

    def _doubt(self, radius: float) -> None:
        """Warn of a radius that is too small for the follower's tolerance, once."""
        doubt = doubt_radius(self._problem.response, self._problem.feasible_set, radius)
        if doubt:
            warnings.warn(doubt, stacklevel=5)  # at the caller of `minimize`
        self._smallest = 0.0

    def _describe_unanswered(self) -> str:
        count = self._evaluation.unanswered
        if not count:
            return ""
        left_out = f"{count} queries were not answered and left out"
        if isinstance(self._method, NamesQueries):
            left_out += ": estimates stay unbiased if what fails is a matter of chance"
        return f"{left_out}."


def conclude_status(*, stopped: bool, failure: BaseException | None) -> Status:
    """Say how a run ended, from the facts and once."""
    if failure is None:
        return Status.STOPPED if stopped else Status.BUDGET_SPENT
    kinds = (status for kind, status in _ENDINGS.items() if isinstance(failure, kind))
    return next(kinds, Status.FAILED)


def is_mistake(failure: BaseException | None) -> bool:
    """Whether what ended a run is raised; a run that can be resumed returns what it found."""
    ends_quietly = (HaltError, UnansweredError)
    return isinstance(failure, Exception) and not isinstance(failure, ends_quietly)
