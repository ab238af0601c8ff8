"""How a run begins: its method, its first state and questions, its journal, its way to answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from typing import Any, Generic, final

from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError
from bizol.evaluation import Batch, Execution, Journal, Ledger, choose_evaluation
from bizol.evaluation.journal import (
    Event,
    describe_method,
    fingerprint,
    name_in_code,
    refuse_other_run,
)
from bizol.methods import Foresight, Method
from bizol.methods.protocol import S, batches_of
from bizol.problem import Problem
from bizol.problem.gradients import examine
from bizol.randomness import OUTPUT, generator
from bizol.run.progress import query_bar
from bizol.run.recorder import Recorder
from bizol.run.run import Run
from bizol.version import __version__


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What `minimize` was asked for, apart from the problem and where to start."""

    budget: int
    method: Method[Any] | None
    seed: int | None
    execution: Execution
    journal: str | Path | None
    progress: bool
    check: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Beginning(Generic[S]):
    """What a run begins with: the method, its first state and its first questions."""

    method: Method[S]
    state: S
    batch: Batch


@contextmanager
def open_run(problem: Problem, x0: ArrayLike | None, order: Order) -> Iterator[Run[Any]]:
    """Yield a run that is ready to go on, and close what it holds.

    The journal comes first: seed and width of a run that is resumed are those it was begun with.
    """
    with ExitStack() as stack:
        journal = None
        if order.journal is not None:
            journal = stack.enter_context(Journal.own(order.journal, create=True))
        beginning = _begin(problem, x0, order, journal)
        start = beginning.state
        recorder = Recorder(start.x, generator(start.seed, *OUTPUT))
        report = stack.enter_context(
            query_bar(order.budget, lowest=recorder.lowest, enabled=order.progress)
        )
        ledger = Ledger(
            budget=order.budget,
            examine=partial(examine, problem) if order.check else problem.objective.examine,
            report=report,
        )
        evaluation = choose_evaluation(
            problem, ledger, execution=order.execution, journal=journal, seed=start.seed
        )
        stack.enter_context(evaluation)
        yield Run(
            beginning.method,
            start,
            beginning.batch,
            problem=problem,
            evaluation=evaluation,
            recorder=recorder,
            journal=journal,
            repeats=order.execution.repeats,
        )


def _begin(
    problem: Problem, x0: ArrayLike | None, order: Order, journal: Journal | None
) -> Beginning[Any]:
    """Work out what a run begins with, and write it into its journal."""
    spec = {} if journal is None else journal.spec
    repeats = order.execution.repeats
    method = order.method
    width = None
    if method is None:
        affordable = min(order.execution.width, order.budget // repeats)
        width = _journaled_width(spec) or max(1, affordable)
        method = Foresight(workers=width)
    check_method(method)
    state = method.start(problem, x0, seed=spec.get("seed") if order.seed is None else order.seed)
    batch = batches_of(method)(state, nan)
    needed = len(batch) * repeats
    if order.budget < needed:
        what = f"must cover one iteration of {method!r}, {needed} queries, got {order.budget}."
        raise ArgumentError("minimize", "budget", what)
    if journal is not None:
        wanted = {
            "bizol": __version__,
            "method": describe_method(method),
            "seed": state.seed,
            "repeats": repeats,
            "n": int(state.x.size),
            "x0": fingerprint(state.x),
            "set": fingerprint(problem.feasible_set),
            "objective": fingerprint(problem.objective),
            "follower": name_in_code(problem.response),
        }
        refuse_other_run(spec, wanted, journal.path)
        journal.identify(wanted | ({} if width is None else {"width": width}))
        journal.append(Event.begin(budget=order.budget, version=__version__))
    return Beginning(method, state, batch)


def check_method(method: object) -> None:
    """Refuse what is not a method, a class in place of its instance above all."""
    if isinstance(method, type) or not isinstance(method, Method):
        what = f"must have start, ask and tell, as bizol.BiZOL(...) has, got {method!r}."
        raise ArgumentError("method", "", what)


def _journaled_width(spec: dict[str, Any]) -> int | None:
    """Return how many questions at a time the default method asked in the run of a journal."""
    if "width" in spec:
        return int(spec["width"])
    if "method" not in spec:
        return None
    # Journals of earlier versions do not say: it is the width of the method they name.
    widths = range(1, 1025)
    return next((w for w in widths if repr(Foresight(workers=w)) == spec["method"]), None)
