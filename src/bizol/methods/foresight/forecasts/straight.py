"""The linear forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses
from bizol.methods.foresight.forecasts.protocol import PullBack
from bizol.sensitivity import RememberedSensitivity


@final
@dataclass(frozen=True, slots=True)
class Straight:
    """The linear forecast: the change is M step, with a remembered Jacobian M."""

    sensitivity: RememberedSensitivity

    @property
    def size(self) -> int:
        """How many directions are known."""
        return self.sensitivity.rank

    @property
    def kinked(self) -> bool:
        """Whether there are kinks: none."""
        return False

    def change(self, step: Point) -> Response:
        """Return M step; zero while nothing is known."""
        if self.sensitivity.differences is None:
            return 0.0
        return self.sensitivity.push(step)

    def linearized(self, step: Point) -> tuple[Response, PullBack]:
        """Return M step and d ↦ Mᵀd."""
        return self.change(step), self.sensitivity.pull_back

    def jacobian(self, step: Point) -> Responses:
        """Return M; one row of zeros where nothing is known."""
        return self.sensitivity.dense()

    def curvature(self, step: Point, covector: Response) -> Points:
        """Return zero."""
        return np.zeros((len(step), len(step)))
