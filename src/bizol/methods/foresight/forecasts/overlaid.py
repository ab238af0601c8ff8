"""A forecast of all components with pieces in place of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses
from bizol.methods.foresight.forecasts.everywhere import Everywhere
from bizol.methods.foresight.forecasts.pieces import Pieces
from bizol.methods.foresight.forecasts.protocol import Forecast, Kinks, PullBack


@final
@dataclass(frozen=True, slots=True, eq=False)
class Overlaid:
    """One forecast of all components, with pieces in place of some of them."""

    base: Forecast
    pieces: Pieces

    @property
    def size(self) -> int:
        """How many responses the forecast below is computed from."""
        return self.base.size

    @property
    def kinked(self) -> bool:
        """Whether there are kinks: pieces have them."""
        return True

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
            return pull_below(self._below(covector)) + pull_over(covector[where])

        return change, pull_back

    def softened(self, temperature: float) -> Overlaid:
        """Return the same with smooth kinks."""
        base = self.base
        if isinstance(base, Everywhere) and base.kinked:
            base = base.softened(temperature)
        return Overlaid(base, self.pieces.softened(temperature))

    def kinks(self, step: Point, covector: Response) -> Kinks:
        """Return the kinks of both forecasts."""
        over = self.pieces.kinks(step, covector[self.pieces.components])
        if not (isinstance(self.base, Everywhere) and self.base.kinked):
            return over
        below = self.base.kinks(step, self._below(covector))
        return Kinks(
            rows=np.concatenate([over.rows, below.rows]),
            arguments=np.concatenate([over.arguments, below.arguments]),
            roots=np.concatenate([over.roots, below.roots]),
            weights=np.concatenate([over.weights, below.weights]),
        )

    def jacobian(self, step: Point) -> Responses:
        """Return J (m, n) at x + step."""
        jacobian = np.array(self.base.jacobian(step))
        jacobian[self.pieces.components] = self.pieces.jacobian(step)
        return jacobian

    def curvature(self, step: Point, covector: Response) -> Points:
        """Return that of the forecast below: pieces have kinks alone."""
        return self.base.curvature(step, self._below(covector))

    def _below(self, covector: Response) -> Response:
        below = np.array(covector)
        below[self.pieces.components] = 0.0
        return below

    def responses(self, places: Points) -> Responses:
        """Return the expected responses (q, m) at decisions in units (q, n)."""
        assert isinstance(self.base, Everywhere)
        responses = self.base.responses(places)
        responses[:, self.pieces.components] = self.pieces.responses(places - self.pieces.at)
        return responses
