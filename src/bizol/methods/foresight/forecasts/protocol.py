"""What a forecast of the response around a decision offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

from bizol.arrays import Point, Points, Response, Responses

PullBack: TypeAlias = Callable[[Response], Point]


class Forecast(Protocol):
    """A forecast of how the response changes between x and x + step."""

    @property
    def size(self) -> int:
        """How many responses the forecast is computed from."""
        ...

    @property
    def kinked(self) -> bool:
        """Whether it has kinks: then it is a `KinkedForecast`."""
        ...

    def change(self, step: Point) -> Response:
        """Return the expected y(x + step) − y(x)."""
        ...

    def linearized(self, step: Point) -> tuple[Response, PullBack]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        ...

    def jacobian(self, step: Point) -> Responses:
        """Return J (m, n) at x + step, for responses of NumPy."""
        ...

    def curvature(self, step: Point, covector: Response) -> Points:
        """Return Σ_j d_j ∇²ŷ_j (n, n) at x + step without that of kinks, for a covector d."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kinks:
    """Smooth kinks near a step: φ through the forecast contains Σ wᵢ √(eᵢ² + tᵢ²).

    The arguments eᵢ are affine in the step, or nearly so.
    """

    rows: Points  # (k, n), the gradients of eᵢ
    arguments: Point  # (k,), eᵢ
    roots: Point  # (k,), √(eᵢ² + tᵢ²)
    weights: Point  # (k,), wᵢ


class KinkedForecast(Forecast, Protocol):
    """A forecast with kinks, which can be made smooth."""

    def softened(self, temperature: float) -> KinkedForecast:
        """Return the same with smooth kinks."""
        ...

    def kinks(self, step: Point, covector: Response) -> Kinks:
        """Return the kinks at x + step, where the gradient of φ by the response is the covector."""
        ...
