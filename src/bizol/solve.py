"""The only loop: ask the method, ask the follower, tell the method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import ArrayLike

from bizol.arrays import as_size, owned
from bizol.evaluation import Evaluator
from bizol.methods import Method
from bizol.methods.default import default_method
from bizol.methods.protocol import S
from bizol.problem import EvaluationError, Problem
from bizol.progress import query_bar
from bizol.randomness import OUTPUT, generator
from bizol.solution import Recorder, Solution, Status


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
    return _advance(method, start, Evaluator(problem, first=problem.objective.anchor))


def minimize(
    problem: Problem,
    x0: ArrayLike | None = None,
    *,
    budget: int,
    method: Method[Any] | None = None,
    seed: int | None = None,
    stop: Callable[[Any], bool] | None = None,
    progress: bool = False,
) -> Solution:
    """Minimize φ(x, y(x)) over the feasible set with at most `budget` response queries.

    Runs whole iterations while the budget covers them. If a query is left then, the final decision is observed with it.

    Args:
        problem: what to minimize.
        x0: where to start; the center of the feasible set by default.
        budget: the number of response queries that may be spent; never exceeded.
        method: how to go about it; by default `Foresight`, the one that needs the fewest queries.
        seed: makes the run repeatable; without it, fresh randomness is used and reported in `solution.seed`.
        stop: called with every state; the run ends when it returns True.
        progress: show a bar, when the output is a terminal.

    Returns:
        The solution, with the best, the last and a uniformly drawn decision, and the history. Ctrl-C ends the run with
        what was found until then.

    Raises:
        EvaluationError: when the follower or the objective fails. What was found until then is its `solution`, as it is
            of any other exception that ends a run.

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
    method = default_method() if method is None else method
    _check_method(method)
    start = state = method.start(problem, x0, seed=seed)
    if budget < (needed := len(method.ask(start))):
        raise ValueError(
            f"minimize(budget=...) must cover one iteration of {method!r}, {needed} queries, got {budget}."
        )
    recorder = Recorder(start.x, generator(start.seed, *OUTPUT))
    stopped = False
    failure: BaseException | None = None
    with query_bar(int(budget), lowest=recorder.lowest, enabled=progress) as answered:
        evaluator = Evaluator(problem, budget=int(budget), answered=answered, first=problem.objective.anchor)
        try:
            for state in _advance(method, start, evaluator):
                if state.move is not None:
                    recorder.moved(state.move, to=state.x, queries=evaluator.queries)
                if stop is not None and stop(state):
                    stopped = True
                    break
            if not stopped and not recorder.observed and evaluator.affords(1):
                response = evaluator.evaluate(state.x[None])
                value = float(problem.objective.values(state.x[None], response)[0])
                recorder.closed(owned(response[0, ...]), value, queries=evaluator.queries)
        except (KeyboardInterrupt, Exception) as error:
            failure = error
    status = _status(stopped=stopped, failure=failure)
    solution = recorder.solution(
        queries=evaluator.queries,
        status=status,
        message=" ".join(filter(None, (status.value, str(failure or ""), getattr(state, "remark", "")))),
        seed=start.seed,
        method=method,
    )
    if isinstance(failure, Exception):
        failure.solution = solution  # type: ignore[attr-defined]  # every exception takes what one gives it
        failure.add_note("What the run had found until then is this exception's `solution`.")
        raise failure
    return solution


def _advance(method: Method[S], state: S, evaluator: Evaluator) -> Iterator[S]:
    """Yield the given state and those that follow, as long as whole iterations are affordable."""
    while True:
        yield state
        if not evaluator.affords(1):
            return
        queries = method.ask(state)
        if not evaluator.affords(len(queries)):
            return
        responses = evaluator.evaluate(queries)
        try:
            state = method.tell(state, responses)
        except EvaluationError as error:
            error.points, error.responses = queries, [responses[row, ...] for row in range(len(queries))]
            raise


def _status(*, stopped: bool, failure: BaseException | None) -> Status:
    """Say how the run ended, from the facts and once."""
    if failure is not None:
        return Status.INTERRUPTED if isinstance(failure, KeyboardInterrupt) else Status.FAILED
    return Status.STOPPED if stopped else Status.BUDGET_SPENT


def _check_method(method: Method[Any]) -> None:
    if isinstance(method, type) or not all(callable(getattr(method, name, None)) for name in ("start", "ask", "tell")):
        raise ValueError(f"method must have start, ask and tell, as bizol.BiZOL(...) has, got {method!r}.")


def _check_arguments(problem: Problem, budget: int, stop: Callable[[Any], bool] | None) -> None:
    if not isinstance(problem, Problem):
        raise ValueError(f"minimize(problem=...) must be a bizol.Problem, got {problem!r}.")
    as_size(budget, "minimize(budget=...)")
    if stop is not None and not callable(stop):
        raise ValueError(f"minimize(stop=...) must be a function of the state, got {stop!r}.")
