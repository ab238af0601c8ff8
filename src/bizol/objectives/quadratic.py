"""A general quadratic in the decision and the response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, Response, as_size
from bizol.objectives.addition import add
from bizol.problem import Objective
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """A quadratic in both: φ(x, y) = ½ xᵀM x + xᵀN y + ½ yᵀR y + aᵀx + bᵀy.

    Args:
        n, m: the sizes of x and y.
        xx, xy, yy: M (n, n), N (n, m) and R (m, m), zero by default; only the symmetric parts of M
            and R count.
        x, y: a (n,) and b (m,), zero by default.

    Example:
        >>> phi = Quadratic(1, 2, yy=np.eye(2), x=[3.0])
        >>> x, y = np.ones(1), np.array([1.0, 2.0])
        >>> float(phi.value(x, y)), phi.grad_y(x, y)
        (5.5, array([1., 2.]))

    """

    n: int
    m: int
    xx: Points
    xy: Points
    yy: Points
    x: Point
    y: Point

    def __init__(
        self,
        n: int,
        m: int,
        *,
        xx: ArrayLike | None = None,
        xy: ArrayLike | None = None,
        yy: ArrayLike | None = None,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> None:
        assign(self, n=as_size(n, "Quadratic", "n"), m=as_size(m, "Quadratic", "m"))
        M = _as_part(xx, "xx", (n, n))
        R = _as_part(yy, "yy", (m, m))
        assign(self, xx=(M + M.T) / 2, yy=(R + R.T) / 2, xy=_as_part(xy, "xy", (n, m)))
        assign(self, x=_as_part(x, "x", (n,)), y=_as_part(y, "y", (m,)))

    def value(self, x: Point, y: Response) -> Any:
        """Return φ(x, y)."""
        by_x: Point = x @ self.xx / 2 + y @ self.xy.T + self.x
        return np.vecdot(by_x, x) + np.vecdot(y @ self.yy / 2 + self.y, y)

    def grad_x(self, x: Point, y: Response) -> Point:
        """Return ∇₁φ = M x + N y + a."""
        gradient: Point = x @ self.xx + y @ self.xy.T + self.x
        return gradient

    def grad_y(self, x: Point, y: Response) -> Response:
        """Return ∇₂φ = Nᵀx + R y + b."""
        return x @ self.xy + y @ self.yy + self.y

    def objective(self) -> Objective:
        """Return φ as the objective of a problem."""
        return Objective(self.value, self.grad_x, self.grad_y, vectorized=True)

    __add__ = add


def _as_part(part: ArrayLike | None, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if part is None:
        return np.zeros(shape)
    array = np.array(part, dtype=np.float64)
    if array.shape != shape:
        raise ArgumentError("Quadratic", name, f"must have shape {shape}, got {array.shape}.")
    return array
