"""How a query is put to the follower: the one place where it is called."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bizol.arrays import Point, Points, as_response, owned
from bizol.evaluation.isolation import follow_parent, guarded
from bizol.evaluation.outcomes import Outcome, Query, attempt, class_of, in_words
from bizol.problem import EvaluationError, ResponseError


@final
@dataclass(frozen=True, slots=True)
class Question:
    """How one query is put to a follower: with a seed where it takes one, as a batch of one where it takes batches."""

    response: Callable[..., Any]
    vectorized: bool
    seeded: bool

    def __call__(self, x: Point, seed: int | None) -> Any:
        """Ask about one decision."""
        if not self.vectorized:
            return self.response(x, seed=seed) if self.seeded else self.response(x)
        rows = as_response(self.all(x[None], [seed]))
        if len(rows.shape) != 2 or rows.shape[0] != 1:
            raise EvaluationError(
                f"asked about 1 decision, it must return shape (1, m), got {tuple(rows.shape)}"
            )
        return rows[0, ...]

    def all(self, points: Points, seeds: list[int | None]) -> Any:
        """Ask about several decisions at once."""
        return (
            self.response(points.copy(), seed=seeds)
            if self.seeded
            else self.response(points.copy())
        )

    def remarks(self) -> str:
        """Return what the follower said on the side, if it keeps that."""
        return str(getattr(self.response, "remarks", str)())


def carry_out(
    follower: bytes | Question, group: list[Query], timeout: float | None, home: int
) -> list[Outcome]:
    """Ask about a group of decisions, wherever this runs: packed, in a process of its own; or here,
    all at once.

    Away from the process of the run, `home`, it sees to it that the worker does not outlive the one
    who started it.
    """
    if os.getpid() != home:
        follow_parent()
    if isinstance(follower, bytes):
        return [guarded(follower, query.x, query.seed, timeout) for query in group]
    if len(group) == 1:
        return [attempt(follower, group[0].x, group[0].seed)]
    try:
        rows = as_response(
            follower.all(np.array([query.x for query in group]), [query.seed for query in group])
        )
        if len(rows.shape) != 2 or rows.shape[0] != len(group):
            return [
                Outcome("shape", info=f"asked about {len(group)} decisions, got shape {rows.shape}")
            ] * len(group)
        return [
            Outcome("ok", owned(rows[row, ...]), follower.remarks()) for row in range(len(group))
        ]
    except ResponseError:  # of one of them; the others have their answers
        return [attempt(follower, query.x, query.seed) for query in group]
    except (Exception, SystemExit) as error:
        return [Outcome(class_of(error), info=in_words(error))] * len(group)


def takes_seed(response: Callable[..., Any]) -> bool:
    """Whether the follower has a parameter named `seed`."""
    try:
        return "seed" in inspect.signature(response).parameters
    except (TypeError, ValueError):  # some built-in functions do not say
        return False
