"""Convex hulls of a few points: generalized Jacobians and subdifferentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """The convex hull of a few points, rows of `generators`."""

    at: Point  # where the set was taken
    generators: Points

    def nearest(self, target: Point) -> Point:
        """Return the point of the hull nearest to the target.

        It solves a non-negative least-squares problem for the weights, with their sum as one more
        equation. The solution, scaled to sum one, gives the nearest point, whatever the scale.
        """
        from scipy.optimize import nnls

        offsets = self.generators - target
        scale = float(np.abs(offsets).max()) or 1.0
        system = np.vstack([offsets.T / scale, np.ones(len(offsets))])
        wanted = np.append(np.zeros(target.size), 1.0)
        weights, _ = nnls(system, wanted, maxiter=100 * len(offsets) + 100)
        return np.asarray(weights @ self.generators / weights.sum())

    def distance(self, target: Point) -> float:
        """Return the Euclidean distance of the target to the hull."""
        return float(np.linalg.norm(target - self.nearest(target)))
