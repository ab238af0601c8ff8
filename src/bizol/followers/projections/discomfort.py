"""The cost that a follower with limited capacity minimizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points


def evaluate_discomfort(matrix: Points, offset: Point, x: Point, y: Point) -> NDArray[np.float64]:
    """Return g(x, y) = ½ ‖y − d‖² − (A x)ᵀ y, with A the matrix and d the offset."""
    away = y - offset
    discomfort: Point = np.vecdot(away, away) / 2 - np.vecdot(x @ matrix.T, y)
    return discomfort
