"""Kernels of the forecast everywhere: how alike responses are at two decisions, and which is right.

Which kernel it is, the answers say: the one that makes them most likely (C. Rasmussen and
C. Williams, 2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.methods.foresight.forecasts.hinges import Matrix
from bizol.methods.foresight.settings import (
    BENDS,
    IRRELEVANT,
    LENGTHS,
    NOISES,
    OWN_SWEEPS,
    PREFERENCE,
    TRENDS,
)

CONSTANT = 10.0  # the variance of the height of a trend
# Kernels f(r) with f(0) = 1: squared exponential, and Matérn with smoothness 5/2 and 3/2.
FAMILIES = (inf, 2.5, 1.5)
NO_DISTANCE = 1e-12  # where a kernel that is not smooth has no second derivative


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """k(u, v) = f(‖u − v‖/ℓ) + c + a ⟨u, v⟩ + b ⟨u, v⟩², every choice by its place in a list.

    Coordinates may matter less: each is halved so many times first, and does not count at all from
    some number on (automatic relevance determination, R. Neal, 1996).
    """

    family: int = 0
    length: int = 5
    trend: int = 1
    bend: int = 0
    noise: int = 0
    halvings: tuple[int, ...] = ()  # none: all coordinates count

    def neighbors(self, *names: str) -> Iterator[Kernel]:
        """Yield the kernels that differ in one choice, by one place."""
        sizes = {"family": FAMILIES, "length": LENGTHS, "trend": TRENDS, "bend": BENDS}
        for name in names:
            size = len(sizes.get(name, NOISES))
            for place in (getattr(self, name) - 1, getattr(self, name) + 1):
                if 0 <= place < size:
                    yield replace(self, **{name: place})

    def relevances(self, dimension: int) -> Point:
        """Return what coordinates are multiplied by."""
        halvings = np.array(self.halvings or (0,) * dimension)
        return np.where(halvings < IRRELEVANT, 0.5**halvings, 0.0)

    def matrix(self, pairs: Pairs, *, noise: float = 0.0) -> Matrix:
        """Return K of some points: the kernel's values, and at least so much noise."""
        matrix = self.values(*pairs.measured(self))
        matrix[np.diag_indices(len(matrix))] += max(NOISES[self.noise], noise)
        return matrix

    def values(self, squares: Matrix, products: Matrix) -> Matrix:
        """Return k, given ‖u − v‖² and ⟨u, v⟩."""
        trend = CONSTANT + products * (TRENDS[self.trend] + BENDS[self.bend] * products)
        return np.asarray(rough(self.family, LENGTHS[self.length], squares)[0] + trend)


def rough(
    family: int, length: float | NDArray[np.float64], squares: Matrix
) -> tuple[Matrix, Matrix]:
    """Return f and g with ∇f = g (u − v)."""
    smoothness = FAMILIES[family]
    if smoothness == inf:
        value = np.exp(-squares / (2 * length**2))
        return value, -value / length**2
    along = np.sqrt(2 * smoothness * squares) / length
    decay = np.exp(-along)
    if smoothness == 1.5:
        return (1 + along) * decay, -3 / length**2 * decay
    return (1 + along + along**2 / 3) * decay, -5 / (3 * length**2) * (1 + along) * decay


def bends(
    family: int, length: float | NDArray[np.float64], squares: Matrix
) -> tuple[Matrix, Matrix]:
    """Return g and h with ∇²f = g I + h (u − v)(u − v)ᵀ."""
    smoothness = FAMILIES[family]
    value, slope = rough(family, length, squares)
    if smoothness == inf:
        return slope, value / length**4
    along = np.sqrt(2 * smoothness * squares) / length
    if smoothness == 1.5:
        return slope, 9 / length**4 * np.exp(-along) / np.maximum(along, NO_DISTANCE)
    return slope, 25 / (3 * length**4) * np.exp(-along)


@final
class Pairs:
    """Distances and products of all pairs of some points, by coordinate where that is asked for."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.squares = squared_distances(points, points)
        self.products = points @ points.T
        self._each: tuple[Matrix, Matrix] | None = None

    def measured(self, kernel: Kernel) -> tuple[Matrix, Matrix]:
        """Return ‖u − v‖² and ⟨u, v⟩ as the kernel measures them."""
        if not any(kernel.halvings):
            return self.squares, self.products
        if self._each is None:
            columns = self.points.T
            off = (columns[:, :, None] - columns[:, None, :]) ** 2
            along = columns[:, :, None] * columns[:, None, :]
            size = len(columns), -1
            self._each = off.reshape(size), along.reshape(size)
        shares = kernel.relevances(self.points.shape[1]) ** 2
        squares, products = ((shares @ each).reshape(self.squares.shape) for each in self._each)
        return squares, products


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
    return _substitute(factor, values, transposed=1)


def solve(factor: Matrix, white: Matrix) -> Matrix:
    """Return L⁻ᵀ white."""
    return _substitute(factor, white, transposed=0)


def _substitute(factor: Matrix, values: Matrix, *, transposed: int) -> Matrix:
    from scipy.linalg.lapack import dtrtrs  # for small matrices its caller in SciPy costs more

    if not values.size:
        return values
    found, _ = dtrtrs(factor.T, values.reshape(len(factor), -1), lower=0, trans=transposed)
    return np.asarray(found.reshape(values.shape))


@final
class Likelihood:
    """How likely some answers are, by kernel; each is worked out once."""

    def __init__(self, pairs: Pairs, latent: Matrix) -> None:
        self._pairs = pairs
        self._latent = latent
        self._known: dict[Kernel, float] = {}

    def __call__(self, kernel: Kernel) -> float:
        """Return the logarithm, with the variances that make it largest."""
        if kernel not in self._known:
            factor = factorize(kernel.matrix(self._pairs))
            self._known[kernel] = -inf
            if factor is not None:
                white = whiten(factor, self._latent)
                variances = (white**2).mean(axis=0) + 1e-20
                heights = np.log(np.diag(factor)).sum() * len(variances)
                fit = -0.5 * len(white) * float(np.log(variances).sum())
                self._known[kernel] = fit - float(heights)
        return self._known[kernel]


def most_likely(kernel: Kernel, pairs: Pairs, latent: Matrix) -> Kernel:
    """Return the kernel that makes the answers most likely, of those reached by going uphill."""
    likelihood = Likelihood(pairs, latent)
    curved = replace(kernel, bend=len(BENDS) - 1)
    best = max((kernel, curved, Kernel()), key=likelihood)
    return _climb(best, ("family", "length", "trend", "bend", "noise"), likelihood)


def own_kernel(begin: Iterable[Kernel], pairs: Pairs, latent: Point) -> Kernel:
    """Return a kernel for one component, in which each coordinate matters as much as it seems to.

    The best of those that are reached from some to begin with, in a few sweeps over all choices.
    What is not clearly more likely is not taken: few answers make many kernels a little more
    likely.
    """
    likelihood = Likelihood(pairs, latent[:, None])
    found = [_sweep(kernel, likelihood, pairs.points.shape[1]) for kernel in begin]
    return max(found, key=likelihood)


def _sweep(kernel: Kernel, likelihood: Likelihood, dimension: int) -> Kernel:
    for _ in range(OWN_SWEEPS):
        first = kernel
        for coordinate in range(dimension):
            kernel = _preferred(kernel, _rescaled(kernel, coordinate, dimension), likelihood)
        kernel = _climb(kernel, ("length", "trend", "bend", "noise"), likelihood)
        if kernel == first:
            break
    return kernel


def _climb(kernel: Kernel, names: Sequence[str], likelihood: Likelihood) -> Kernel:
    """Return the kernel that is reached by the best step, as long as there is one."""
    while True:
        following = max(kernel.neighbors(*names), key=likelihood)
        if likelihood(following) <= likelihood(kernel):
            return kernel
        kernel = following


def _preferred(kernel: Kernel, others: Iterable[Kernel], likelihood: Likelihood) -> Kernel:
    best = max(others, key=likelihood)
    return best if likelihood(best) > likelihood(kernel) + PREFERENCE else kernel


def _rescaled(kernel: Kernel, coordinate: int, dimension: int) -> Iterator[Kernel]:
    """Yield the kernels in which one coordinate matters less or more, or not at all."""
    halvings = kernel.halvings or (0,) * dimension
    now = halvings[coordinate]
    for other in {max(now - 1, 0), min(now + 1, IRRELEVANT), IRRELEVANT, 0} - {now}:
        yield replace(kernel, halvings=(*halvings[:coordinate], other, *halvings[coordinate + 1 :]))
