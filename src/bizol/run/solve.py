"""`minimize` and `iterate`: the doors to a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, as_size
from bizol.evaluation import Direct, Execution, Ledger, Retries
from bizol.methods import Method
from bizol.methods.protocol import S
from bizol.problem import Problem
from bizol.run.advance import advance
from bizol.run.opening import Order, check_method, open_run
from bizol.run.run import is_mistake
from bizol.run.solution import Solution


def iterate(
    problem: Problem, method: Method[S], x0: ArrayLike | None = None, *, seed: int | None = None
) -> Iterator[S]:
    """Yield the states of a run, without end; the first is at x0 and costs nothing.

    The caller decides when to stop, and there is no budget but the caller's.

    Example:
        >>> from itertools import islice
        >>> import numpy as np, bizol
        >>> identity = bizol.Problem(
        ...     bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        ...     response=lambda x: x,
        ...     feasible_set=bizol.Box([-1], [3]),
        ... )
        >>> states = iterate(identity, bizol.BiZOL(delta=0.1, step=0.5, batch=1), x0=[3], seed=0)
        >>> [state.x.item() for state in islice(states, 3)]
        [3.0, 1.0, 0.0]

    """
    check_method(method)
    start = method.start(problem, x0, seed=seed)
    ledger = Ledger(examine=problem.objective.examine)
    return _states(method, start, Direct(problem, ledger, seed=start.seed))


def _states(method: Method[S], start: S, evaluation: Direct) -> Iterator[S]:
    yield start
    for step in advance(method, start, evaluation):
        yield step.state


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
    check: bool = True,
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
        check: compare the gradients of the objective with finite differences of its value at the
            first answer, which costs no query; a gradient that is off is refused before more is
            asked. Up to 32 coordinates of each are compared.

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
    _check_arguments(problem, stop)
    execution = Execution(
        executor=executor,
        workers=workers,
        isolate=isolate,
        timeout=timeout,
        retries=retries,
        on_unknown=on_unknown,
        repeats=repeats,
    )
    order = Order(
        budget=as_size(budget, "minimize", "budget"),
        method=method,
        seed=seed,
        execution=execution,
        journal=journal,
        progress=progress,
        check=check,
    )
    with open_run(problem, x0, order) as run:
        failure = run.go_on(stop)
        solution = run.conclude(failure)
    if failure is not None and is_mistake(failure):
        failure.solution = solution  # type: ignore[attr-defined]  # exceptions take any attribute
        failure.add_note("What the run had found until then is this exception's `solution`.")
        raise failure
    return solution


def _check_arguments(problem: Problem, stop: Callable[[Any], bool] | None) -> None:
    if not isinstance(problem, Problem):
        raise ArgumentError("minimize", "problem", f"must be a bizol.Problem, got {problem!r}.")
    if stop is not None and not callable(stop):
        raise ArgumentError("minimize", "stop", f"must be a function of the state, got {stop!r}.")
