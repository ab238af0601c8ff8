"""What a follower is, and what it may say of itself.

A follower is a callable from a decision x (n,) to a response y (m,). Everything below is optional:
each member is declared in a protocol of its own and read through the one function beside it.
"""

from __future__ import annotations

from math import inf
from typing import Any, Protocol, cast

from bizol.arrays import ArgumentError, is_real
from bizol.feasible_sets import FeasibleSet

ACCEPTED_ERROR = 0.1  # of a typical slope: the error of an estimate that is accepted silently


class Follower(Protocol):
    """The response y(x): single-valued, Lipschitz, possibly with kinks.

    Called as `follower(x)`, or as `follower(x, seed=...)` where it takes a seed.
    """

    def __call__(self, *decision: Any, **seed: Any) -> Any:
        """Return y (m,) for x (n,); with `Problem(vectorized=True)`, (k, m) for (k, n)."""
        ...


class StatesTolerance(Protocol):
    """A follower that states how accurate it is."""

    @property
    def tolerance(self) -> float | None:
        """The error of a response relative to its size; None where it is not known."""
        ...


class StatesReach(Protocol):
    """A follower that answers only near the feasible set."""

    @property
    def reach(self) -> float:
        """How far outside of X it answers: the δ̄ of Assumption 1."""
        ...


class TakesSeed(Protocol):
    """A follower whose noise is a function of a seed: it is called as `follower(x, seed=...)`."""

    @property
    def takes_seed(self) -> bool:
        """Whether it takes one."""
        ...


class AnswersOutside(Protocol):
    """A follower that is never called: its answers are told to the journal of a run."""

    @property
    def outside(self) -> bool:
        """Whether answers come from outside."""
        ...


class Remarks(Protocol):
    """A follower that says more than the response, such as what a program writes on the side."""

    def remarks(self) -> str:
        """Return what was said at the last query of this thread; it is kept in the journal."""
        ...


class Closes(Protocol):
    """A follower that holds something, such as processes, to be let go of when a run ends."""

    def close(self) -> None:
        """Let go of it; calling twice does no harm, and the follower may be asked again."""
        ...


# Members are read, and not looked up with `isinstance`: of an object that passes on what another
# one has, newer versions of Python would not see them.


def tolerance_of(follower: object) -> float | None:
    """Return how accurate a follower is, relative to its responses; None where it does not say."""
    try:
        stated = cast(StatesTolerance, follower).tolerance
    except AttributeError:
        return None
    return None if stated is None else _as_stated(stated, "tolerance")


def reach_of(follower: object) -> float:
    """Return how far outside of X a follower answers; anywhere where it does not say."""
    try:
        return _as_stated(cast(StatesReach, follower).reach, "reach")
    except AttributeError:
        return inf


def takes_seed(follower: object) -> bool:
    """Whether a follower says that it takes a seed."""
    try:
        return bool(cast(TakesSeed, follower).takes_seed)
    except AttributeError:
        return False


def is_outside(follower: object) -> bool:
    """Whether a follower's answers come from outside."""
    try:
        return bool(cast(AnswersOutside, follower).outside)
    except AttributeError:
        return False


def remarks_of(follower: object) -> str:
    """Return what a follower said beside its last response in this thread."""
    try:
        remarks = cast(Remarks, follower).remarks
    except AttributeError:
        return ""
    return str(remarks()) if callable(remarks) else ""


def close(follower: object) -> None:
    """Let a follower end what it holds."""
    try:
        end = cast(Closes, follower).close
    except AttributeError:
        return
    if callable(end):
        end()


def needed_radius(follower: object, feasible_set: FeasibleSet) -> float:
    """Return the smallest radius δ that suits the tolerance a follower states; 0 if it states none.

    Answers that are off by τ‖y‖ change an estimate of the Jacobian by about nτ‖y‖/δ. A typical
    slope is ‖y‖ over the diameter of the set: the response changes by its own size from one end to
    the other.
    """
    tolerance = tolerance_of(follower) or 0.0
    return feasible_set.dimension * tolerance * feasible_set.diameter / ACCEPTED_ERROR


def doubt_radius(follower: object, feasible_set: FeasibleSet, delta: float) -> str:
    """Say that a radius is too small for the tolerance a follower states; "" where it is not."""
    needed = needed_radius(follower, feasible_set)
    if not is_real(delta) or not 0 < delta < needed:
        return ""
    return (
        f"The radius δ = {delta:g} is small for a follower whose answers are accurate to "
        f"{tolerance_of(follower):g} of their size: estimates of its Jacobian may be off by "
        f"{ACCEPTED_ERROR * needed / delta:.0%} of a typical slope. "
        f"Take δ ≥ {needed:.1g}, or give the follower a smaller tolerance."
    )


def _as_stated(value: Any, name: str) -> float:
    if not is_real(value) or not value >= 0:
        raise ArgumentError("follower." + name, "", f"must be a number, 0 or more, got {value!r}.")
    return float(value)
