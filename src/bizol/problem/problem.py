"""Who decides what: the leader's objective, the follower's response, the set of decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, Response, Responses, to_numpy
from bizol.feasible_sets import FeasibleSet

if TYPE_CHECKING:
    from bizol.run.solution import Solution
    from bizol.testing.problems import ProblemCheck

NAMES = ("value", "grad_x", "grad_y")


class EvaluationError(ValueError):
    """The follower or the objective gave no usable answer.

    Attributes:
        solution: what the run had found until then, with its history; None outside of `minimize`.
        points, responses: the queries of the failed batch that were answered, in order; None where
            there are none.

    """

    solution: Solution | None = None

    def __init__(
        self, message: str, *, points: Points | None = None, responses: list[Response] | None = None
    ) -> None:
        super().__init__(message)
        self.points = points
        self.responses = responses


class UnansweredError(EvaluationError):
    """A query that a method cannot do without was not answered, however often it was asked."""


class ResponseError(ValueError):
    """There is no response at a decision, and asking again would not help: infeasible, unbounded,
    or not solved.

    Raise it in a follower of your own; the message should name the decision and say what the solver
    said. Where failures are a matter of policy (`Retries`), the query is left out at once.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """What is known exactly at an observed pair: φ(x, y), d_x = ∇₁φ(x, y) and d_y = ∇₂φ(x, y)."""

    at: Point
    response: Response
    value: float
    grad_x: Point  # d_x (n,)
    grad_y: Response  # d_y (m,), in the follower's array library


@final
@dataclass(frozen=True, slots=True)
class Objective:
    """The leader's objective φ(x, y) and its two partial gradients.

    Args:
        value: φ, from x (n,) and y (m,) to a number.
        grad_x: ∇₁φ, to an array of the shape of x.
        grad_y: ∇₂φ, to an array of the shape of y.
        vectorized: with True the three take k pairs at once, x (k, n) and y (k, m), and return one
            row per pair.
        joint: all three at once, as a tuple, for a single pair; worth giving where they share work.

    Objectives can be added: `Objective(...) + Objective(...)`.

    Example:
        >>> track = Objective(
        ...     value=lambda x, y: ((y - 1) ** 2).sum() / 2 + (x**2).sum() / 2,
        ...     grad_x=lambda x, y: x,
        ...     grad_y=lambda x, y: y - 1,
        ... )
        >>> track.anchor(np.array([3.0]), np.array([0.0, 0.0])).grad_y
        array([-1., -1.])

    """

    value: Callable[[Any, Any], Any]
    grad_x: Callable[[Any, Any], Any]
    grad_y: Callable[[Any, Any], Any]
    vectorized: bool = False
    joint: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        for name in (*NAMES, "joint"):
            part = getattr(self, name)
            if not callable(part) and not (name == "joint" and part is None):
                raise ArgumentError("Objective", name, f"must be callable, got {part!r}.")

    @classmethod
    def from_jax(cls, phi: Callable[[Any, Any], Any]) -> Objective:
        """Build the partial gradients of `phi(x, y)`, written with `jax.numpy`, by automatic differentiation."""
        from bizol.autodiff import jax_gradients

        value, joint = jax_gradients(phi)
        return cls(value, lambda x, y: joint(x, y)[1], lambda x, y: joint(x, y)[2], joint=joint)

    @classmethod
    def from_torch(cls, phi: Callable[[Any, Any], Any]) -> Objective:
        """Build the partial gradients of `phi(x, y)`, written with PyTorch operations, by automatic differentiation."""
        from bizol.autodiff import torch_gradients

        value, joint = torch_gradients(phi)
        return cls(value, lambda x, y: joint(x, y)[1], lambda x, y: joint(x, y)[2], joint=joint)

    def __add__(self, other: Any) -> Objective:
        """Return the sum with another objective, or with a ready one of `bizol.objectives`."""
        if not isinstance(other, Objective):
            if not callable(getattr(other, "objective", None)):
                return NotImplemented
            other = other.objective()
        parts = (self, other)
        together = all(part.vectorized for part in parts)

        def summed(name: str) -> Callable[[Any, Any], Any]:
            if together:
                return lambda x, y: getattr(parts[0], name)(x, y) + getattr(parts[1], name)(x, y)
            return lambda x, y: sum(part._call(name, x, y) for part in parts)

        def joint(x: Point, y: Response) -> tuple[Any, Any, Any]:
            first, second = ([getattr(part.anchor(x, y), name) for name in NAMES] for part in parts)
            return first[0] + second[0], first[1] + second[1], first[2] + second[2]

        value, grad_x, grad_y = map(summed, NAMES)
        return Objective(value, grad_x, grad_y, vectorized=together, joint=joint)

    def anchor(self, x: Point, y: Response) -> Anchor:
        """Evaluate φ, ∇₁φ and ∇₂φ at one observed pair."""
        if self.joint is None:
            value, grad_x, grad_y = (self._call(name, x, y) for name in NAMES)
        else:
            value, grad_x, grad_y = _all_three(self.joint, x, y)
        grad_x = _as_gradient("grad_x", grad_x)
        if isinstance(y, np.ndarray):
            grad_y = _as_gradient("grad_y", grad_y)
        if grad_x.shape != x.shape:
            raise _misshaped("grad_x", "the shape of x", x.shape, grad_x.shape)
        if not hasattr(grad_y, "shape") or grad_y.shape != y.shape:
            raise _misshaped("grad_y", "the shape of y", y.shape, np.shape(grad_y))
        return Anchor(at=x, response=y, value=_as_number(value, x), grad_x=grad_x, grad_y=grad_y)

    def values(self, points: Points, responses: Responses) -> NDArray[np.float64]:
        """Evaluate φ at q observed pairs, (q, n) and (q, m)."""
        if not self.vectorized:
            calls = (
                (x, self._call("value", x, responses[row, ...])) for row, x in enumerate(points)
            )
            return np.array([_as_number(value, x) for x, value in calls])
        try:
            values = np.asarray(self.value(points, responses), dtype=np.float64)
        except Exception as error:
            raise _failure("value", error) from error
        if values.shape != (len(points),):
            raise _misshaped("value", "one number per pair", (len(points),), values.shape)
        if not np.isfinite(values).all():
            _as_number(values[~np.isfinite(values)][0], points[~np.isfinite(values)][0])
        return values

    def _call(self, name: str, x: Point, y: Response) -> Any:
        function = getattr(self, name)
        try:
            if not self.vectorized:
                return function(x, y)
            rows = function(x[None], y[None, ...])
        except Exception as error:
            raise _failure(name, error) from error
        if np.ndim(rows) == 0 or np.shape(rows)[0] != 1:
            raise EvaluationError(
                f"Objective({name}=..., vectorized=True) must return one row per pair: "
                f"given 1 pair it returned shape {tuple(np.shape(rows))}."
            )
        return rows[0, ...] if hasattr(rows, "shape") else rows[0]


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """Minimize φ(x, y(x)) over x in X, where y(x) can only be asked for.

    Args:
        objective: φ with its partial gradients.
        response: the follower, from x (n,) to y (m,); single-valued, Lipschitz, possibly with
            kinks. Methods ask within δ of X, so a little outside of it too.
        feasible_set: X, convex and compact: a set of this library or any object that answers the
            same questions.
        vectorized: with True the follower takes k decisions at once, (k, n), and returns (k, m).

    Example:
        >>> import bizol
        >>> problem = Problem(
        ...     objective=Objective(
        ...         value=lambda x, y: ((y - 0.3) ** 2).sum(),
        ...         grad_x=lambda x, y: np.zeros_like(x),
        ...         grad_y=lambda x, y: 2 * (y - 0.3),
        ...     ),
        ...     response=lambda x: np.clip(2 * x, -1, 1),
        ...     feasible_set=bizol.Box(-np.ones(2), np.ones(2)),
        ... )
        >>> bizol.minimize(problem, budget=300, seed=0).value < 1e-4
        True

    """

    objective: Objective
    response: Callable[[Any], Any]
    feasible_set: FeasibleSet
    vectorized: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.objective, Objective):
            raise ArgumentError(
                "Problem", "objective", f"must be a bizol.Objective, got {self.objective!r}."
            )
        if not callable(self.response):
            raise ArgumentError("Problem", "response", f"must be callable, got {self.response!r}.")
        if not isinstance(self.feasible_set, FeasibleSet):
            needed = ("dimension", "diameter", "center", "minimize_linear", "contains")
            missing = ", ".join(name for name in needed if not hasattr(self.feasible_set, name))
            raise ArgumentError(
                "Problem",
                "feasible_set",
                f"must be a set of bizol or answer its protocol: "
                f"{type(self.feasible_set).__name__} lacks {missing}.",
            )

    def check(
        self,
        x: ArrayLike | None = None,
        *,
        delta: float | None = None,
        noise: float = 1e-6,
        seed: int = 0,
    ) -> ProblemCheck:
        """Verify the problem with three queries, before a budget is spent.

        Looks at the shapes and finiteness of every answer, at whether the follower says the same
        when asked twice, and compares both partial gradients with finite differences of φ (which
        costs no query).

        Args:
            x: where to look; the center of the set by default.
            delta: when given, also ask a little outside of X, at this distance, as methods with
                this δ do (one query).
            noise: the largest difference between two answers to the same question that is accepted,
                relative to the largest entry of the response; what single precision makes of it
                passes by default.
            seed: which second point and, in high dimension, which coordinates are looked at.

        Returns:
            What was measured; printing it says it in words.

        Raises:
            ValueError: naming what is wrong, and where.

        """
        from bizol.testing.problems import check_problem

        return check_problem(self, x, delta=delta, noise=noise, seed=seed)


def _all_three(joint: Callable[[Any, Any], Any], x: Point, y: Response) -> tuple[Any, Any, Any]:
    try:
        value, grad_x, grad_y = joint(x, y)
    except Exception as error:
        raise _failure("joint", error) from error
    return value, grad_x, grad_y


def _failure(name: str, error: Exception) -> EvaluationError:
    return EvaluationError(f"Objective({name}=...) failed: {type(error).__name__}: {error}")


def _as_number(value: Any, x: Point) -> float:
    if getattr(value, "ndim", 0) != 0:
        raise _misshaped("value", "a number", (), value.shape)
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"Objective(value=...) must return a number, got {value!r}."
        ) from error
    if not isfinite(number):
        raise EvaluationError(f"Objective(value=...) must be finite, got {number} at x = {x}.")
    return number


def _as_gradient(name: str, gradient: Any) -> NDArray[np.float64]:
    try:
        return to_numpy(gradient)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"Objective({name}=...) must return an array of numbers, got {gradient!r}."
        ) from error


def _misshaped(
    name: str, what: str, expected: tuple[int, ...], got: tuple[int, ...]
) -> EvaluationError:
    return EvaluationError(
        f"Objective({name}=...) must return shape {tuple(expected)}, {what}, got {tuple(got)}."
    )
