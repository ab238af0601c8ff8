"""A follower that no program can ask: people, a laboratory, a market."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn, final


@final
@dataclass(frozen=True, slots=True)
class Outside:
    """A follower whose answers are told, not computed: `bizol ask` and `bizol tell`, or
    `Journal.pending` and `tell`.

    `minimize` with it ends where answers are missing, `Status.WAITING`, and goes on from its
    journal when called again.
    """

    outside: ClassVar[bool] = True

    def __call__(self, x: object) -> NoReturn:
        """Refuse: there is nobody here to answer."""
        raise RuntimeError(
            "its answers come from outside: give minimize(journal=...), then tell them to the journal"
        )
