"""What is asked and what comes back: a query, a batch of them, and its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, Response, Responses
from bizol.records import quick

Slot: TypeAlias = tuple[int, int]  # which query of an iteration: its number and its sign
Key: TypeAlias = tuple[int, int, int, int]  # iteration, slot, sign, replicate


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """One decision the follower is asked about: which one it is, and with which seed."""

    key: Key
    x: Point
    seed: int | None = None
    attempt: int = 0  # executions of this query before this one that came to an end

    @property
    def id(self) -> str:
        """The key as a word that fits into a table: iteration.slot, the sign, the replicate."""
        return name_of(self.key)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The queries that a method asks together: a decision a row, and which query each row is."""

    iteration: int
    points: Points  # (q, n)
    slots: Sequence[Slot]  # (q,)
    best: float = nan  # the lowest value observed before, for those who watch the journal

    def __len__(self) -> int:
        return len(self.points)

    def queries(self, repeats: int = 1) -> list[Query]:
        """Return the queries one by one, those about one decision together."""
        return [
            Query(key=(self.iteration, *slot, replicate), x=point)
            for slot, point in zip(self.slots, self.points, strict=True)
            for replicate in range(repeats)
        ]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a batch came to, a row for every decision, in their order."""

    responses: Responses  # (q, m); a row of zeros where there is no answer
    answered: NDArray[np.bool_] | None = None  # which rows are answers; None for all of them
    replicates: Sequence[Sequence[Response]] = ()  # all answers to each decision, if asked again

    def present(self) -> list[int]:
        """Return the rows that are answers."""
        if self.answered is None:
            return list(range(self.responses.shape[0]))
        return [int(row) for row in np.flatnonzero(self.answered)]


make_batch = quick(Batch)
make_answers = quick(Answers)


def name_of(key: Key) -> str:
    """Return the key as a word, such as `12.3+.0`."""
    iteration, slot, sign, replicate = key
    side = {1: "+", 0: "", -1: "-"}[sign]
    return f"{iteration}.{slot}{side}.{replicate}"
