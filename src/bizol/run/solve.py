"""The only loop: ask the method, ask the follower, tell the method."""

from __future__ import annotations

import inspect
import json
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from math import isnan
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Points, Responses, as_size, owned
from bizol.evaluation import (
    BreakerError,
    Evaluator,
    Event,
    Execution,
    HaltError,
    Journal,
    JournalError,
    PendingError,
    Retries,
    Slots,
    SpentError,
    TerminatedError,
    refuse_other,
    specification,
    takes_seed,
)
from bizol.methods import Method
from bizol.methods.default import default_method
from bizol.methods.protocol import S
from bizol.problem import EvaluationError, Problem, UnansweredError
from bizol.randomness import OUTPUT, generator
from bizol.run.noise import Noise, NoiseMeter
from bizol.run.progress import query_bar
from bizol.run.solution import Recorder, Solution, Status
from bizol.testing.problems import too_fine

_ENDINGS: dict[type[BaseException], Status] = {
    KeyboardInterrupt: Status.INTERRUPTED,
    SpentError: Status.BUDGET_SPENT,
    BreakerError: Status.FAILING,
    PendingError: Status.WAITING,
    UnansweredError: Status.UNANSWERED,
}


def iterate(
    problem: Problem, method: Method[S], x0: ArrayLike | None = None, *, seed: int | None = None
) -> Iterator[S]:
    """Yield the states of a run, without end; the first is at x0 and costs nothing.

    The caller decides when to stop, and there is no budget but the caller's.

    Example:
        >>> from itertools import islice
        >>> import numpy as np, bizol
        >>> identity = bizol.Problem(
        ...     objective=bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        ...     response=lambda x: x,
        ...     feasible_set=bizol.Box([-1], [3]),
        ... )
        >>> states = iterate(identity, bizol.BiZOL(delta=0.1, step=0.5, batch=1), x0=[3], seed=0)
        >>> [state.x.item() for state in islice(states, 3)]
        [3.0, 1.0, 0.0]

    """
    _check_method(method)
    start = method.start(problem, x0, seed=seed)
    return _advance(
        method, start, Evaluator(problem, first=problem.objective.anchor, seed=start.seed)
    )


def minimize(
    problem: Problem,
    x0: ArrayLike | None = None,
    *,
    budget: int,
    method: Method[Any] | None = None,
    seed: int | None = None,
    stop: Callable[[Any], bool] | None = None,
    progress: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    isolate: bool = False,
    timeout: float | None = None,
    retries: Retries | None = None,
    journal: str | Path | None = None,
    on_unknown: Literal["ask", "stop"] = "ask",
    repeats: int = 1,
) -> Solution:
    """Minimize φ(x, y(x)) over the feasible set with at most `budget` response queries.

    Runs whole iterations while the budget covers them. If a query is left then, the final decision
    is observed with it.

    Where the follower states a `tolerance` and the method has a δ that is too small for it, a
    warning says so, once.

    Plainly called, it asks one query after the other and ends at the first that fails. With any of
    the arguments from `executor` on, failed queries are asked again and then left out (`Retries`),
    and the solution tells how it ended.

    Args:
        problem: what to minimize.
        x0: where to start; the center of the feasible set by default.
        budget: the number of response queries that may be spent; never exceeded.
        method: how to go about it; by default `Foresight`, the one that needs the fewest queries,
            which asks as many questions at a time as there are workers.
        seed: makes the run repeatable; without it, fresh randomness is used and reported in
            `solution.seed`.
        stop: called with every state; the run ends when it returns True.
        progress: show a bar, when the output is a terminal.
        executor: who carries out queries: anything with `submit`, of `concurrent.futures`, loky,
            Dask, MPI, ... What a method finds does not depend on it.
        workers: how many queries are under way at a time; without an executor, that many threads.
        isolate: let each query run in a process of its own, so that a crash costs that query alone.
        timeout: seconds after which an isolated query is stopped.
        retries: how often a failed query is asked again; every attempt counts against the budget.
        journal: a file that keeps every query and every response. Where it exists already, the run
            it is of is resumed: nothing that was answered is asked again. A larger budget continues
                a finished run.
        on_unknown: what to do about queries that were sent when a run was killed: "ask" again, or
            "stop" and list them as `solution.pending`, to be told by `Journal.tell`.
        repeats: how often each decision is asked about, to average out noise and to learn how much
            there is of it (`solution.noise`). A follower that takes a `seed` gets the same one on
            both sides of a pair.

    Returns:
        The solution, with the best, the last and a uniformly drawn decision, and the history.
        Ctrl-C ends the run with what was found until then.

    Raises:
        JournalError: when the journal is damaged, in use, of another run, or cannot be written.
        EvaluationError: when the follower or the objective fails. What was found until then is its
            `solution`, as it is of any other exception that ends a run.

    Example:
        >>> import numpy as np, bizol
        >>> problem = bizol.Problem(
        ...     objective=bizol.Objective(
        ...         value=lambda x, y: (x @ x + (y - 1) @ (y - 1)) / 2,
        ...         grad_x=lambda x, y: x,
        ...         grad_y=lambda x, y: y - 1,
        ...     ),
        ...     response=lambda x: np.minimum(x + 0.5, 1.2),
        ...     feasible_set=bizol.Box(-np.ones(3), np.ones(3)),
        ... )
        >>> solution = bizol.minimize(problem, budget=700, seed=0)
        >>> solution.queries <= 700, bool(np.abs(solution.x - 0.25).max() < 0.02)
        (True, True)

    """
    _check_arguments(problem, budget, stop)
    execution = _execution(
        executor=executor,
        workers=workers,
        isolate=isolate,
        timeout=timeout,
        retries=retries,
        on_unknown=on_unknown,
        repeats=repeats,
    )
    written = _written(journal)
    if method is None:
        method = default_method(_width(written) or max(1, min(execution.width, budget // repeats)))
    _check_method(method)
    named = (
        execution != Execution()
        or retries is not None
        or journal is not None
        or _answers_oddly(problem)
    )
    start = state = method.start(problem, x0, seed=written.get("seed") if seed is None else seed)
    if budget < (needed := len(method.ask(start)) * repeats):
        raise ArgumentError(
            "minimize",
            "budget",
            f"must cover one iteration of {method!r}, {needed} queries, got {budget}.",
        )
    radius = getattr(method, "delta", None)
    doubtful = _warned(problem, radius(0) if callable(radius) else radius)
    recorder, meter = Recorder(start.x, generator(start.seed, *OUTPUT)), NoiseMeter(repeats)
    stopped = False
    failure: BaseException | None = None
    with ExitStack() as stack:
        book = (
            stack.enter_context(_opened(journal, problem, method, start, repeats))
            if journal is not None
            else None
        )
        answered = stack.enter_context(
            query_bar(int(budget), lowest=recorder.lowest, enabled=progress)
        )
        evaluator = Evaluator(
            problem,
            budget=int(budget),
            answered=answered,
            first=problem.objective.anchor,
            seed=start.seed,
            execution=execution,
            journal=book,
            lowest=recorder.lowest,
        )
        if named:
            stack.callback(evaluator.close)
            stack.enter_context(_terminable())
        if book is not None:
            book.append(
                Event("begin", info=json.dumps({"budget": int(budget), "bizol": _version()}))
            )
        move, previous = start.move, _slots(method, start, needed // repeats)
        try:
            for state in _advance(method, start, evaluator, named=named):
                if state.move is not None and state.move is not move:
                    move = state.move
                    recorder.moved(move, to=state.x, queries=evaluator.queries)
                    doubtful = doubtful or (radius is not None and _warned(problem, move.delta))
                    if repeats > 1:
                        meter.moved(move, problem.objective, previous, evaluator.replicates)
                if repeats > 1:
                    meter.add(evaluator.replicates)
                    previous = _slots(method, state, len(method.ask(state)))
                if stop is not None and stop(state):
                    stopped = True
                    break
            if not stopped and not recorder.observed and evaluator.affords(1):
                response = _observed(method, state, evaluator, named=named)
                value = float(problem.objective.values(state.x[None], response)[0])
                recorder.closed(owned(response[0, ...]), value, queries=evaluator.queries)
        except (KeyboardInterrupt, Exception) as error:
            failure = error
            if book is not None and isinstance(error, KeyboardInterrupt):
                book.refresh()
        status = _status(stopped=stopped, failure=failure)
        solution = _concluded(status, failure, method, state, recorder, evaluator, meter.noise())
        if book is not None and not isinstance(failure, JournalError):
            best = None if isnan(solution.value) else solution.value
            book.append(Event("end", info=json.dumps({"status": status.name, "best": best})))
    if isinstance(failure, Exception) and not isinstance(failure, (HaltError, UnansweredError)):
        failure.solution = solution  # type: ignore[attr-defined]  # every exception takes what one gives it
        failure.add_note("What the run had found until then is this exception's `solution`.")
        raise failure
    return solution


def _concluded(
    status: Status,
    failure: BaseException | None,
    method: Method[S],
    state: S,
    recorder: Recorder,
    evaluator: Evaluator,
    noise: Noise | None,
) -> Solution:
    """Return what was found, and say in words how it went."""
    remarks = (
        status.value,
        str(failure or ""),
        getattr(state, "remark", ""),
        _left_out(evaluator.unanswered, estimated=hasattr(method, "slots")),
        "" if noise is None or state.move is None else noise.remark(state.move.delta),
    )
    return recorder.solution(
        queries=evaluator.queries,
        status=status,
        message=" ".join(filter(None, remarks)),
        seed=state.seed,
        method=method,
        unanswered=evaluator.unanswered,
        noise=noise,
        pending=tuple(failure.queries) if isinstance(failure, PendingError) else (),
    )


def _advance(
    method: Method[S], state: S, evaluator: Evaluator, *, named: bool = False
) -> Iterator[S]:
    """Yield the given state and those that follow, as long as whole iterations are affordable."""
    while True:
        yield state
        if not evaluator.affords(1):
            return
        queries = method.ask(state)
        if named:
            slots = _slots(method, state, len(queries))
            if not evaluator.affords(evaluator.needs(state.iteration, slots)):
                return
            state = _told(method, state, queries, slots, evaluator)
            continue
        if not evaluator.affords(len(queries)):
            return
        responses = evaluator.evaluate(queries)
        try:
            state = method.tell(state, responses)
        except EvaluationError as error:
            error.points, error.responses = (
                queries,
                [responses[row, ...] for row in range(len(queries))],
            )
            raise


def _told(method: Method[S], state: S, queries: Points, slots: Slots, evaluator: Evaluator) -> S:
    """Return the next state, also where some queries were not answered."""
    while True:
        responses, answered = evaluator.gather(state.iteration, slots, queries)
        try:
            if answered.all():
                return method.tell(state, responses)
            if "answered" not in inspect.signature(method.tell).parameters:
                raise UnansweredError(f"{type(method).__name__} needs every answer.")
            following: S = method.tell(state, responses, answered=answered)  # type: ignore[call-arg]
            return following
        except UnansweredError as error:
            if not evaluator.forgive(state.iteration, slots):
                raise UnansweredError(f"{error} {evaluator.trouble}") from error
        except EvaluationError as error:
            error.points, error.responses = (
                queries[answered],
                [responses[row, ...] for row in np.flatnonzero(answered)],
            )
            raise


def _observed(method: Method[S], state: S, evaluator: Evaluator, *, named: bool) -> Responses:
    """Return the response (1, m) to the final decision; to be continued, it is the anchor of the next iteration."""
    if not named:
        return evaluator.evaluate(state.x[None])
    slots = [(0, 0)] if (0, 0) in _slots(method, state, 0) else [(-1, 0)]
    response, answered = evaluator.gather(state.iteration, slots, state.x[None])
    if not answered.all():
        raise UnansweredError(
            f"The follower did not answer at the final decision. {evaluator.trouble}"
        )
    return response


def _slots(method: Method[S], state: S, count: int) -> Slots:
    """Return slot and sign of every query of a batch: the method's own, or its row."""
    own = getattr(method, "slots", None)
    return [(row, 0) for row in range(count)] if own is None else own(state)


def _written(journal: str | Path | None) -> dict[str, Any]:
    """Return what a journal that is there already is of."""
    there = journal is not None and Path(journal).is_file() and Path(journal).stat().st_size
    return Journal(journal).spec if journal is not None and there else {}


def _width(written: dict[str, Any]) -> int | None:
    """Return how many questions at a time the default method asked in a run that is to be resumed."""
    found = re.fullmatch(r"Foresight\(workers=(\d+)\)", str(written.get("method")))
    return int(found[1]) if found else None


@contextmanager
def _opened(
    path: str | Path, problem: Problem, method: Method[S], start: S, repeats: int
) -> Iterator[Journal]:
    """Open the journal of this run, new or not, and close it."""
    spec = specification(
        problem, method, x0=start.x, seed=start.seed, repeats=repeats, version=_version()
    )
    with Journal.own(path, spec) as journal:
        refuse_other(journal.spec, spec, path)
        yield journal


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does, where nobody else cares for it."""
    ours = current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not ours:
        yield
        return

    def end(*_: object) -> None:
        raise TerminatedError("The process was asked to end.")

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _execution(*, retries: Retries | None, **options: Any) -> Execution:
    return Execution(**options) if retries is None else Execution(**options, retries=retries)


def _answers_oddly(problem: Problem) -> bool:
    """Whether the follower takes a seed, or answers from outside."""
    return takes_seed(problem.response) or bool(getattr(problem.response, "outside", False))


def _warned(problem: Problem, delta: float | None) -> bool:
    """Whether δ is too small for the follower's tolerance, which is said aloud then."""
    doubt = "" if delta is None else too_fine(problem, delta)
    if doubt:
        warnings.warn(doubt, stacklevel=3)
    return bool(doubt)


def _left_out(count: int, *, estimated: bool) -> str:
    if not count:
        return ""
    unbiased = ": estimates stay unbiased if what fails is a matter of chance" if estimated else ""
    return f"{count} queries were not answered and left out{unbiased}."


def _version() -> str:
    from bizol import __version__

    return __version__


def _status(*, stopped: bool, failure: BaseException | None) -> Status:
    """Say how the run ended, from the facts and once."""
    if failure is None:
        return Status.STOPPED if stopped else Status.BUDGET_SPENT
    return next(
        (status for kind, status in _ENDINGS.items() if isinstance(failure, kind)), Status.FAILED
    )


def _check_method(method: Method[Any]) -> None:
    if isinstance(method, type) or not all(
        callable(getattr(method, name, None)) for name in ("start", "ask", "tell")
    ):
        raise ValueError(
            f"method must have start, ask and tell, as bizol.BiZOL(...) has, got {method!r}."
        )


def _check_arguments(problem: Problem, budget: int, stop: Callable[[Any], bool] | None) -> None:
    if not isinstance(problem, Problem):
        raise ArgumentError("minimize", "problem", f"must be a bizol.Problem, got {problem!r}.")
    as_size(budget, "minimize", "budget")
    if stop is not None and not callable(stop):
        raise ArgumentError("minimize", "stop", f"must be a function of the state, got {stop!r}.")
