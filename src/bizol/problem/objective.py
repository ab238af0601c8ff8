"""The leader's objective φ(x, y) with its exact partial gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import ArgumentError, Point, Points, Response, Responses, namespace, to_numpy
from bizol.problem.errors import EvaluationError
from bizol.records import assign, quick

NAMES = ("value", "grad_x", "grad_y")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """What is known exactly at an observed pair: φ(x, y), d_x = ∇₁φ(x, y) and d_y = ∇₂φ(x, y)."""

    at: Point
    response: Response
    value: float
    grad_x: Point  # d_x (n,)
    grad_y: Response  # d_y (m,), in the follower's array library


make_anchor = quick(Anchor)


@runtime_checkable
class ReadyObjective(Protocol):
    """Something that can be turned into an objective, as the records of `bizol.objectives` can."""

    def objective(self) -> Objective:
        """Return it as the objective of a problem."""
        ...


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
        >>> import numpy as np
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
    _examined: Anchor | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in (*NAMES, "joint"):
            part = getattr(self, name)
            if not callable(part) and not (name == "joint" and part is None):
                raise ArgumentError("Objective", name, f"must be callable, got {part!r}.")

    @classmethod
    def from_jax(cls, phi: Callable[[Any, Any], Any]) -> Objective:
        """Differentiate `phi(x, y)`, written with `jax.numpy`, automatically."""
        from bizol.autodiff import jax_gradients

        value, joint = jax_gradients(phi)
        return cls(value, lambda x, y: joint(x, y)[1], lambda x, y: joint(x, y)[2], joint=joint)

    @classmethod
    def from_torch(cls, phi: Callable[[Any, Any], Any]) -> Objective:
        """Differentiate `phi(x, y)`, written with PyTorch operations, automatically."""
        from bizol.autodiff import torch_gradients

        value, joint = torch_gradients(phi)
        return cls(value, lambda x, y: joint(x, y)[1], lambda x, y: joint(x, y)[2], joint=joint)

    def __add__(self, other: Any) -> Objective:
        """Return the sum with another objective, or with a ready one of `bizol.objectives`."""
        if not isinstance(other, Objective):
            if not isinstance(other, ReadyObjective):
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
        if self._examined is not None and (examined := self._recall(x, y)) is not None:
            return replace(examined, at=x, response=y)
        if self.joint is None:
            value, grad_x, grad_y = [self._call(name, x, y) for name in NAMES]
        else:
            try:
                value, grad_x, grad_y = self.joint(x, y)
            except Exception as error:
                raise _failure("joint", error) from error
        grad_x = _as_gradient("grad_x", grad_x)
        if isinstance(y, np.ndarray):
            grad_y = _as_gradient("grad_y", grad_y)
        if grad_x.shape != x.shape:
            raise _misshaped("grad_x", "the shape of x", x.shape, grad_x.shape)
        if getattr(grad_y, "shape", None) != y.shape:
            raise _misshaped("grad_y", "the shape of y", y.shape, np.shape(grad_y))
        number = _as_number(value, x)
        return make_anchor(at=x, response=y, value=number, grad_x=grad_x, grad_y=grad_y)

    def values(self, points: Points, responses: Responses) -> NDArray[np.float64]:
        """Evaluate φ at q observed pairs, (q, n) and (q, m)."""
        if not self.vectorized:
            return np.array([self._value(x, responses[row, ...]) for row, x in enumerate(points)])
        try:
            values = np.asarray(self.value(points, responses), dtype=np.float64)
        except Exception as error:
            raise _failure("value", error) from error
        if values.shape != (len(points),):
            raise _misshaped("value", "one number per pair", (len(points),), values.shape)
        if not np.isfinite(values).all():
            _as_number(values[~np.isfinite(values)][0], points[~np.isfinite(values)][0])
        return values

    def examine(self, x: Point, y: Response) -> Anchor:
        """Evaluate all three at the first answer of a run, to find mistakes before more is asked.

        What comes out is remembered until it is wanted once more at the same pair, so that φ is
        evaluated once per answer here too.
        """
        self.forget()
        examined = self.anchor(x, y)
        assign(self, _examined=examined)
        return examined

    def forget(self) -> None:
        """Forget what `examine` found: it belongs to one run."""
        assign(self, _examined=None)

    def _recall(self, x: Point, y: Response) -> Anchor | None:
        """Return what `examine` found, once, if this is the pair it looked at."""
        examined = self._examined
        if examined is None or not np.array_equal(examined.at, x):
            return None
        if examined.response.shape != y.shape or not bool(namespace(y).all(examined.response == y)):
            return None
        assign(self, _examined=None)
        return examined

    def _value(self, x: Point, y: Response) -> float:
        if (examined := self._recall(x, y)) is not None:
            return examined.value
        return _as_number(self._call("value", x, y), x)

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
