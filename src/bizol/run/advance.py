"""The only loop: ask the method, ask the follower, tell the method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from typing import Generic, final

from bizol.evaluation import Answers, Batch, Evaluation, Slot
from bizol.methods import Method
from bizol.methods.protocol import S, StateLike, batches_of, tell_answers
from bizol.problem import EvaluationError, UnansweredError
from bizol.records import quick


@final
@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[S]):
    """One turn of the loop: what was asked, what was answered, and the state it led to."""

    batch: Batch
    answers: Answers
    state: S


make_step = quick(Step)


def advance(
    method: Method[S],
    state: S,
    evaluation: Evaluation,
    *,
    first: Batch | None = None,
    lowest: Callable[[], float] | None = None,
) -> Iterator[Step[S]]:
    """Yield the steps of a run, as long as whole iterations are affordable.

    Args:
        method: the method.
        state: where to begin.
        evaluation: the way to the follower.
        first: what is asked first, where that was worked out already.
        lowest: tells the lowest value observed so far, which travels with every batch.

    """
    ask = batches_of(method)
    batch = first
    while not evaluation.spent:
        if batch is None:
            batch = ask(state, nan if lowest is None else lowest())
        if not evaluation.affords(batch):
            return
        step = _take_step(method, state, batch, evaluation)
        yield step
        state = step.state
        batch = None


def observe(state: StateLike, *, slot: Slot, best: float) -> Batch:
    """Return the query about the decision of a state alone, under a given name."""
    return Batch(state.iteration, state.x[None], [slot], best)


def _take_step(method: Method[S], state: S, batch: Batch, evaluation: Evaluation) -> Step[S]:
    """Answer a batch and tell the method, also where some queries were not answered."""
    while True:
        answers = evaluation.answer(batch)
        try:
            return make_step(batch, answers, tell_answers(method, state, answers))
        except UnansweredError as error:
            if not evaluation.forgive(batch):
                raise UnansweredError(f"{error} {evaluation.trouble}") from error
        except EvaluationError as error:
            present = answers.present()
            error.points = batch.points[present]
            error.responses = [answers.responses[row, ...] for row in present]
            raise
