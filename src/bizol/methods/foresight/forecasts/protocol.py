"""What a forecast of the response around a decision offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from bizol.arrays import Point, Response

PullBack: TypeAlias = Callable[[Response], Point]


class Forecast(Protocol):
    """A forecast of how the response changes between x and x + step."""

    @property
    def size(self) -> int:
        """How many responses the forecast is computed from."""
        ...

    def change(self, step: Point) -> Response:
        """Return the expected y(x + step) − y(x)."""
        ...

    def linearized(self, step: Point) -> tuple[Response, PullBack]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        ...
