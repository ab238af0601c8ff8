"""What a method is: a frozen configuration with `start`, `ask` and `tell`, all pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, final

from numpy.typing import ArrayLike

from bizol.arrays import Point, Points, Response, Responses
from bizol.problem import Anchor, Problem
from bizol.sensitivity import Hypergradient


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """What one iteration learned at x_k, and where it went from there."""

    at: Point  # x_k
    response: Response  # y(x_k), or None where the method does not ask for it
    value: float  # φ(x_k, y(x_k)), NaN where it was not observed
    hypergradient: Hypergradient  # ĝ_k
    vertex: Point  # z_k
    gap_estimate: float  # ⟨ĝ_k, x_k − z_k⟩: one sample, biased upward; not a certificate
    step: float  # γ_k, or how far a method went that has none
    delta: float  # δ_k
    queries: int
    landed: Anchor | None = (
        None  # the best that was observed on the way, where a method asks at more than x_k
    )


class StateLike(Protocol):
    """What the loop reads of a method's state."""

    @property
    def x(self) -> Point:
        """The current decision."""
        ...

    @property
    def iteration(self) -> int:
        """How many moves led here."""
        ...

    @property
    def seed(self) -> int:
        """The seed of the run."""
        ...

    @property
    def move(self) -> Move | None:
        """The move that led here; None at the start."""
        ...


S = TypeVar("S", bound=StateLike)


class Method(Protocol[S]):
    """Propose queries, take responses, move. The same state always gives the same queries and the same next state."""

    def start(self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None) -> S:
        """Return the state at x0, or at the center of the set."""
        ...

    def ask(self, state: S) -> Points:
        """Return the decisions the follower is to be asked about, one per row."""
        ...

    def tell(self, state: S, responses: Responses) -> S:
        """Return the next state, given one response per query."""
        ...
