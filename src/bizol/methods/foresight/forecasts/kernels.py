"""Kernels of the forecast everywhere: how alike responses are at two decisions, and which is right.

Which kernel it is, the answers say: the one that makes them most likely (C. Rasmussen and
C. Williams, 2006).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import final

import numpy as np

from bizol.arrays import Points
from bizol.methods.foresight.forecasts.hinges import Matrix
from bizol.methods.foresight.settings import BENDS, LENGTHS, NOISES, TRENDS

CONSTANT = 10.0  # the variance of the height of a trend
# Kernels f(r) with f(0) = 1: squared exponential, and Matérn with smoothness 5/2 and 3/2.
FAMILIES = (inf, 2.5, 1.5)
NO_DISTANCE = 1e-12  # where a kernel that is not smooth has no second derivative


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """k(u, v) = f(‖u − v‖/ℓ) + c + a ⟨u, v⟩ + b ⟨u, v⟩², every choice by its place in a list."""

    family: int = 0
    length: int = 5
    trend: int = 1
    bend: int = 0
    noise: int = 0

    def neighbors(self) -> list[Kernel]:
        """Return the kernels that differ in one choice, by one place."""
        sizes = (len(FAMILIES), len(LENGTHS), len(TRENDS), len(BENDS), len(NOISES))
        names = ("family", "length", "trend", "bend", "noise")
        found = []
        for name, size in zip(names, sizes, strict=True):
            for place in (getattr(self, name) - 1, getattr(self, name) + 1):
                if 0 <= place < size:
                    found.append(replace(self, **{name: place}))
        return found

    def values(self, squares: Matrix, products: Matrix) -> Matrix:
        """Return k, given ‖u − v‖² and ⟨u, v⟩."""
        trend = CONSTANT + products * (TRENDS[self.trend] + BENDS[self.bend] * products)
        return np.asarray(self.rough(squares)[0] + trend)

    def matrix(self, squares: Matrix, products: Matrix, *, noise: float = 0.0) -> Matrix:
        """Return K of some points: the kernel's values, and at least so much noise."""
        matrix = self.values(squares, products)
        matrix[np.diag_indices(len(matrix))] += max(NOISES[self.noise], noise)
        return matrix

    def rough(self, squares: Matrix) -> tuple[Matrix, Matrix]:
        """Return f and g with ∇f = g (u − v)."""
        length, family = LENGTHS[self.length], FAMILIES[self.family]
        if family == inf:
            value = np.exp(-squares / (2 * length**2))
            return value, -value / length**2
        along = np.sqrt(2 * family * squares) / length
        decay = np.exp(-along)
        if family == 1.5:
            return (1 + along) * decay, -3 / length**2 * decay
        return (1 + along + along**2 / 3) * decay, -5 / (3 * length**2) * (1 + along) * decay

    def bends(self, squares: Matrix) -> tuple[Matrix, Matrix]:
        """Return g and h with ∇²f = g I + h (u − v)(u − v)ᵀ."""
        length, family = LENGTHS[self.length], FAMILIES[self.family]
        value, slope = self.rough(squares)
        if family == inf:
            return slope, value / length**4
        along = np.sqrt(2 * family * squares) / length
        if family == 1.5:
            return slope, 9 / length**4 * np.exp(-along) / np.maximum(along, NO_DISTANCE)
        return slope, 25 / (3 * length**4) * np.exp(-along)


def squared_distances(points: Points, others: Points) -> Matrix:
    """Return ‖u − v‖² of all pairs."""
    sizes = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    return np.asarray(np.maximum(sizes - 2 * points @ others.T, 0.0))


def factorize(matrix: Matrix) -> Matrix | None:
    """Return L with L Lᵀ = K; None where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return None


def whiten(factor: Matrix, values: Matrix) -> Matrix:
    """Return L⁻¹ values."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(factor, values, lower=True, check_finite=False))


def solve(factor: Matrix, white: Matrix) -> Matrix:
    """Return L⁻ᵀ white."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(factor, white, lower=True, trans="T", check_finite=False))


def most_likely(kernel: Kernel, squares: Matrix, products: Matrix, latent: Matrix) -> Kernel:
    """Return the kernel that makes the answers most likely, of those reached by going uphill."""
    known: dict[Kernel, float] = {}

    def likelihood(each: Kernel) -> float:
        if each not in known:
            factor = factorize(each.matrix(squares, products))
            known[each] = -inf
            if factor is not None:
                white = whiten(factor, latent)
                variances = (white**2).mean(axis=0) + 1e-20
                heights = np.log(np.diag(factor)).sum() * latent.shape[1]
                known[each] = -0.5 * len(latent) * float(np.log(variances).sum()) - float(heights)
        return known[each]

    curved = replace(kernel, bend=len(BENDS) - 1)
    best = max((kernel, curved, Kernel()), key=likelihood)
    while True:
        following = max(best.neighbors(), key=likelihood)
        if likelihood(following) <= likelihood(best):
            return best
        best = following
