"""A follower that no program can ask: people, a laboratory, a market."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn, final


@final
@dataclass(frozen=True, slots=True)
class Outside:
    """A follower whose answers are told, not computed.

    Use `bizol ask` and `bizol tell`, or `Journal.pending` and `Journal.tell`. `minimize` ends where
    answers are missing, with `Status.WAITING`, and resumes from its journal when called again.
    """

    outside: ClassVar[bool] = True

    def __call__(self, x: object) -> NoReturn:
        """Refuse: there is nobody here to answer."""
        raise RuntimeError(
            "its answers come from outside: give minimize(journal=...), "
            "then tell them to the journal"
        )
