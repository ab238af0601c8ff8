"""A forecast of all components with pieces in place of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Response
from bizol.methods.foresight.forecasts.pieces import Pieces, Planes
from bizol.methods.foresight.forecasts.protocol import Forecast, Kinks, PullBack


@final
@dataclass(frozen=True, slots=True, eq=False)
class Overlaid:
    """One forecast of all components, with pieces in place of some of them."""

    base: Forecast
    pieces: Pieces | Planes

    @property
    def size(self) -> int:
        """How many responses the forecast below is computed from."""
        return self.base.size

    @property
    def kinked(self) -> bool:
        """Whether there are kinks: pieces have them."""
        return isinstance(self.pieces, Pieces)

    def change(self, step: Point) -> Response:
        """Return the expected y(x + step) − y(x)."""
        change = np.array(self.base.change(step))
        change[self.pieces.components] = self.pieces.change(step)
        return change

    def linearized(self, step: Point) -> tuple[Response, PullBack]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        change, pull_below = self.base.linearized(step)
        over, pull_over = self.pieces.linearized(step)
        where = self.pieces.components
        change = np.array(change)
        change[where] = over

        def pull_back(covector: Response) -> Point:
            below = np.array(covector)
            below[where] = 0.0
            return pull_below(below) + pull_over(covector[where])

        return change, pull_back

    def softened(self, temperature: float) -> Overlaid:
        """Return the same with smooth kinks."""
        assert isinstance(self.pieces, Pieces)
        return Overlaid(self.base, self.pieces.softened(temperature))

    def kinks(self, step: Point, covector: Response) -> Kinks:
        """Return the kinks of the pieces; those of the forecast below are left out."""
        assert isinstance(self.pieces, Pieces)
        return self.pieces.kinks(step, covector[self.pieces.components])

    def tangent(self, step: Point) -> Overlaid:
        """Return the same with planes in place of the pieces."""
        assert isinstance(self.pieces, Pieces)
        return Overlaid(self.base, self.pieces.tangent(step))
