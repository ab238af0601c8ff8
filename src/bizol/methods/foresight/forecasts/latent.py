"""Answers without limits: what a component would be where an answer is at its floor or ceiling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, Responses
from bizol.methods.foresight.forecasts.hinges import Mask, Matrix
from bizol.methods.foresight.forecasts.pieces import limits
from bizol.methods.foresight.settings import HIDDEN, REPEATED


class Before(Protocol):
    """What is used of an earlier forecast."""

    @property
    def means(self) -> Point:
        """Return μ."""
        ...

    @property
    def spreads(self) -> Point:
        """Return σ."""
        ...

    @property
    def floors(self) -> Point:
        """Return the floors."""
        ...

    @property
    def ceilings(self) -> Point:
        """Return the ceilings."""
        ...

    def latents(self, points: Points) -> Matrix:
        """Return the expected responses without limits, as multiples of σ above μ."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Answers as multiples of σ above μ, and which of them are at a limit."""

    latent: Matrix  # (k, m)
    means: Point  # μ (m,)
    spreads: Point  # σ (m,)
    floors: Point  # (m,), in the units of the answers
    ceilings: Point
    low: Mask  # (k, m), which answers are at the floor
    high: Mask
    limited: Mask  # (m,), which components have answers at a limit
    moved: Mask  # (m,), and which of these have other limits than before

    @classmethod
    def gather(cls, places: Points, answers: Responses) -> Known:
        """Return answers (k, m) as they are known, at decisions (k, n)."""
        means, spreads = answers.mean(axis=0), answers.std(axis=0)
        spreads = np.where(spreads > REPEATED * np.abs(means), spreads, 1.0)
        floors, ceilings = limits(places, answers)
        low, high = answers == floors, answers == ceilings
        limited = (low | high).any(axis=0)
        return cls(
            latent=(answers - means) / spreads,
            means=means,
            spreads=spreads,
            floors=floors,
            ceilings=ceilings,
            low=low,
            high=high,
            limited=limited,
            moved=limited,
        )

    def compared(self, before: Before, points: Points) -> Known:
        """Return the same, in units as before; answers at limits are where they were expected.

        That is one round for all components at once. It is not enough for those whose limits are
        others than before.
        """
        same = (self.floors == before.floors) & (self.ceilings == before.ceilings)
        latent = (self.latent * self.spreads + self.means - before.means) / before.spreads
        expected = before.latents(points)
        latent = np.where(self.low & same, np.minimum(latent, expected), latent)
        latent = np.where(self.high & same, np.maximum(latent, expected), latent)
        return replace(
            self,
            latent=latent,
            means=before.means,
            spreads=before.spreads,
            moved=self.limited & ~same,
        )

    def beyond(self, matrix: Matrix, components: NDArray[np.intp]) -> Matrix:
        """Return the answers without limits: at a limit, what the others say, but beyond it.

        Those are the most likely values, given the matrix of the kernel's values. They are found
        for some of the components; at the limits of the others, answers stay what they were.
        """
        latent = self.latent.copy()
        for component in components[self.limited[components]]:
            sides = self.high[:, component].astype(float) - self.low[:, component]
            latent[:, component] = _beyond(matrix, latent[:, component], sides)
        return latent


def _beyond(matrix: Matrix, known: Point, sides: Point) -> Point:
    """Return the most likely values of one component: known, or at a limit and free beyond it.

    An active set: answers are held at the limit where the others expect them between the limits,
    and let go where they press outward.

    Args:
        matrix: of the kernel's values.
        known: the answers (k,).
        sides: 0 where an answer is known, 1 where it is known from below, −1 from above.

    """
    from scipy.linalg.lapack import dposv

    held, values = sides == 0, known
    for _ in range(HIDDEN):
        if not held.any():
            break
        columns = matrix[:, held]
        _, weights, failed = dposv(columns[held], known[held], lower=1)
        if failed:
            break
        expected = columns @ weights
        pressure = np.zeros(len(known))
        pressure[held] = -weights * sides[held]
        between = ~held & (sides * (expected - known) < 0)
        values = np.where(held | between, known, expected)
        changed = between | (pressure > 0)
        if not changed.any():
            break
        held = held ^ changed
    return values
