"""What a method is: a frozen configuration with `start`, `ask` and `tell`, all pure.

Everything else that a method may offer is declared here too, each member in a protocol of its own
with the one function that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Protocol, TypeVar, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, Response, Responses, as_responses
from bizol.evaluation import Answers, Batch, Slot
from bizol.evaluation.query import make_batch
from bizol.feasible_sets.protocol import as_member
from bizol.problem import Anchor, Problem, UnansweredError
from bizol.records import quick
from bizol.sensitivity import Hypergradient


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """What one iteration learned at x_k, and where it went from there."""

    at: Point  # x_k
    anchor: Anchor | None  # y(x_k) and φ there; None where the method does not ask for it
    hypergradient: Hypergradient  # ĝ_k
    vertex: Point  # z_k
    gap_estimate: float  # ⟨ĝ_k, x_k − z_k⟩: one sample, biased upward; not a certificate
    step: float  # γ_k, or how far a method went that has none
    delta: float  # δ_k
    queries: int
    landed: Anchor | None = None  # the best that was observed, by methods that ask elsewhere too

    @property
    def response(self) -> Response:
        """y(x_k); None where it was not observed."""
        return None if self.anchor is None else self.anchor.response

    @property
    def value(self) -> float:
        """φ(x_k, y(x_k)); NaN where it was not observed."""
        return nan if self.anchor is None else self.anchor.value


make_move = quick(Move)


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
S_contra = TypeVar("S_contra", bound=StateLike, contravariant=True)


@runtime_checkable
class Method(Protocol[S]):
    """Propose queries, take responses, move.

    The same state always gives the same queries and the same next state.
    """

    def start(self, problem: Problem, x0: ArrayLike | None = None, *, seed: int | None = None) -> S:
        """Return the state at x0, or at the center of the set."""
        ...

    def ask(self, state: S) -> Points:
        """Return the decisions the follower is to be asked about, one per row."""
        ...

    def tell(self, state: S, responses: Responses) -> S:
        """Return the next state, given one response per query."""
        ...


# --- what a method may offer


@runtime_checkable
class NamesQueries(Protocol[S_contra]):
    """A method whose estimates are means over pairs: it says which query is which.

    Then a query that is drawn again has another name than the one it replaces, the sides of a pair
    get the same seed, and noise can be told from smoothing.
    """

    def slots(self, state: S_contra) -> Sequence[Slot]:
        """Return number and sign of every query: (0, 0) at x, (b, +1) and (b, −1) for pairs."""
        ...


@runtime_checkable
class ToleratesGaps(Protocol[S]):
    """A method that goes on where some queries were not answered."""

    def tell_some(self, state: S, responses: Responses, answered: NDArray[np.bool_]) -> S:
        """Return the next state; rows that `answered` does not mark are to be ignored.

        Raises:
            UnansweredError: when it cannot go on without one of them.

        """
        ...


@runtime_checkable
class HasRadius(Protocol[S_contra]):
    """A method that estimates from differences over a distance δ around its decision."""

    def radius(self, state: S_contra) -> float:
        """Return the δ it looks with from a state."""
        ...


@runtime_checkable
class Remarking(Protocol):
    """A state that has something to tell the user when the run ends there."""

    @property
    def remark(self) -> str:
        """What the user should know about how the run went."""
        ...


def batches_of(method: Method[S]) -> Callable[[S, float], Batch]:
    """Return the function from a state, and the lowest value so far, to what is asked there.

    Which query is which the method says, or their rows do. Whether it does is found out once, as
    the loop has no time to ask again.
    """
    ask = method.ask
    if isinstance(method, NamesQueries):
        slots: Callable[[S], Sequence[Slot]] = method.slots
        return lambda state, best: make_batch(
            state.iteration, ask(state), tuple(slots(state)), best
        )

    def number_rows(state: S, best: float) -> Batch:
        points = ask(state)
        return make_batch(state.iteration, points, [(row, 0) for row in range(len(points))], best)

    return number_rows


def tell_answers(method: Method[S], state: S, answers: Answers) -> S:
    """Tell a method what a batch came to."""
    if answers.answered is None:
        return method.tell(state, answers.responses)
    if not isinstance(method, ToleratesGaps):
        raise UnansweredError(f"{type(method).__name__} needs every answer.")
    tolerant: ToleratesGaps[S] = method
    return tolerant.tell_some(state, answers.responses, answers.answered)


def radius_of(method: Method[S], state: S) -> float | None:
    """Return the δ a method looks with from a state; None for methods without one."""
    return float(method.radius(state)) if isinstance(method, HasRadius) else None


def remark_of(state: object) -> str:
    """Return what a state has to tell the user."""
    return state.remark if isinstance(state, Remarking) else ""


# --- what methods share


def first_decision(problem: Problem, x0: ArrayLike | None) -> Point:
    """Return x0, or the center of the feasible set, as a decision of the set."""
    if not isinstance(problem, Problem):
        raise ArgumentError("problem", "", f"must be a bizol.Problem, got {problem!r}.")
    if x0 is None:
        return as_member(problem.feasible_set.center, problem.feasible_set, "feasible_set.center")
    return as_member(x0, problem.feasible_set, "x0")


def as_rows(responses: Any, asked: int) -> Responses:
    """Return what `tell` was given as an array, one row for each query that was asked."""
    responses = as_responses(responses)
    shape = responses.shape
    if len(shape) != 2:
        raise ValueError(f"tell() needs responses of shape ({asked}, m), got {tuple(shape)}.")
    if shape[0] != asked:
        raise ValueError(f"tell() needs one response per query: asked {asked}, got {shape[0]}.")
    return responses
