"""A statement to check, and the claim that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

from bizol.reproduction.experiments import Experiment
from bizol.reproduction.results import Results

Verdict: TypeAlias = tuple[bool, str]  # whether it holds, and the numbers that show it
Check: TypeAlias = Callable[[Results], Verdict]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim, whether it holds here, and the numbers that show it."""

    name: str
    about: str
    says: str
    holds: bool
    numbers: str


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """A claim still to be checked: what it is about, what must be measured, and how to check it."""

    about: str
    needs: frozenset[Experiment]
    check: Check

    @property
    def name(self) -> str:
        """The name of the function that checks it, with hyphens."""
        return self.check.__name__.replace("_", "-")

    @property
    def says(self) -> str:
        """The claim itself, which is the docstring of the function."""
        return self.check.__doc__ or ""


def check_statements(results: Results, statements: Iterable[Statement]) -> Iterator[Claim]:
    """Check the statements for which everything needed was measured."""
    for statement in statements:
        if statement.needs <= set(results.measured):
            holds, numbers = statement.check(results)
            yield Claim(
                name=statement.name,
                about=statement.about,
                says=statement.says,
                holds=bool(holds),
                numbers=numbers,
            )


def register(about: str, *needs: Experiment, to: list[Statement]) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to a list of statements.

    Args:
        about: The part of the paper that makes the claim, such as "Fig. 3".
        needs: The experiments that must have been measured.
        to: The list.

    """

    def add(check: Check) -> Check:
        to.append(Statement(about, frozenset(needs), check))
        return check

    return add
