"""Hinges of many components at once, fitted to the same decisions.

Alternating between planes and the answers that belong to them, as for hinging hyperplanes (L.
Breiman, 1993), from several first splits; all components together, as small systems in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.methods.foresight.settings import (
    DECAY,
    ENOUGH,
    EXPLAINED,
    NEAR,
    REPEATED,
    RIDGE,
    SIDES,
)

TINY = 1e-100  # a weight that is none
GUESSES = 5  # first splits of the answers to a component,
TRIED = 24  # of which so many are tried in all, where there was a kink before

Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Answers of some components (c, k), the nearest first, and what they are fitted with."""

    offsets: Points  # (k, n), at most 1 long
    values: Matrix  # (c, k)
    low: Matrix  # (c, 1), floors
    high: Matrix  # (c, 1), ceilings
    at_floor: Mask  # (c, k)
    at_ceiling: Mask  # (c, k)
    weights: Matrix  # (c, k)
    reach: Point  # (c,), beyond which answers count less
    rows: Points  # (k, n + 1), (1, offset)
    products: Points  # (k, (n + 1)²), of their entries

    @classmethod
    def gather(cls, offsets: Points, values: Matrix, low: Point, high: Point) -> Answered:
        """Return the data with its weights."""
        at_floor = values <= low[:, None] + REPEATED
        at_ceiling = values >= high[:, None] - REPEATED
        distances = np.linalg.norm(offsets, axis=1)
        free = np.cumsum(~(at_floor | at_ceiling), axis=1)
        lacking = (free <= ENOUGH * (offsets.shape[1] + 1)).sum(axis=1)
        reach = np.maximum(distances[np.minimum(lacking, len(distances) - 1)], NEAR)
        weights = 1 / np.maximum(1.0, distances / reach[:, None]) ** DECAY
        rows = np.column_stack([np.ones(len(offsets)), offsets])
        return cls(
            offsets,
            values,
            low[:, None],
            high[:, None],
            at_floor,
            at_ceiling,
            weights,
            reach,
            rows,
            (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1),
        )

    def take(self, which: NDArray[np.intp]) -> Answered:
        """Return the data of some components, in this order."""
        return Answered(
            self.offsets,
            self.values[which],
            self.low[which],
            self.high[which],
            self.at_floor[which],
            self.at_ceiling[which],
            self.weights[which],
            self.reach[which],
            self.rows,
            self.products,
        )

    def planes(self, counted: Matrix) -> Matrix:
        """Return the planes (c, n + 1) that are nearest to the answers that count (c, k)."""
        width = self.rows.shape[1]
        weights = counted * self.weights
        # In units of the reach, as nearest answers may be much nearer than others.
        sizes = np.column_stack(
            [np.ones(len(weights)), np.repeat(self.reach[:, None], width - 1, 1)]
        )
        matrices = (weights @ self.products).reshape(-1, width, width)
        matrices /= sizes[:, :, None] * sizes[:, None, :]
        sums = np.einsum("cii->ci", matrices)
        costs = np.repeat(RIDGE * sums.max(axis=1, keepdims=True) + TINY, width, axis=1)
        costs[:, 0] *= RIDGE**0.3  # heights cost next to nothing
        matrices[:, np.arange(width), np.arange(width)] += costs
        right = (weights * self.values) @ self.rows / sizes
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0] / sizes)

    def explain(self, hinge: Matrix) -> Matrix:
        """Return which answers (c, k) a hinge has to explain, given what it says of them (c, k).

        All that are not at a limit, and those at a limit that the hinge does not reach.
        """
        reached = (self.at_floor & (hinge <= self.low)) | (self.at_ceiling & (hinge >= self.high))
        return np.asarray(~reached, dtype=np.float64)

    def left(self, hinge: Matrix, planes: Matrix) -> Point:
        """Return what a hinge does not explain (c,), and the cost of its slopes."""
        off = (np.clip(hinge, self.low, self.high) - self.values) ** 2
        steep = (planes[..., 1:] ** 2).sum(axis=(0, 2)) * self.reach**2
        total = self.weights.sum(axis=1)
        return np.asarray((off * self.weights).sum(axis=1) + RIDGE * steep * total)


def fit_hinges(data: Answered, before: Matrix | None, turn: int = 0) -> tuple[Matrix, Point]:
    """Return two planes (2, c, n + 1) for every component, and the signs.

    Args:
        data: the answers.
        before: on which side (c, k) of earlier kinks they are; NaN in rows where there was none.
        turn: which first split is tried besides, where there was an earlier kink.

    """
    rows = data.rows
    counted = np.asarray(~(data.at_floor | data.at_ceiling), dtype=np.float64)
    one = data.planes(counted)
    open_ = np.arange(len(one))
    for _ in range(SIDES):
        again = data.take(open_).explain(one[open_] @ rows.T)
        changed = (again != counted[open_]).any(axis=1)
        counted[open_] = again
        open_ = open_[changed]
        if not open_.size:
            break
        one[open_] = data.take(open_).planes(counted[open_])
    planes, signs = np.array([one, one]), np.ones(len(one))
    left = data.left(one @ rows.T, planes[:1])
    variation = (data.values**2 * data.weights).sum(axis=1)
    steep = RIDGE * (one[:, 1:] ** 2).sum(axis=1) * data.reach**2 * data.weights.sum(axis=1)
    bent = np.flatnonzero(left - 3 * steep > EXPLAINED * variation)
    if not bent.size:
        return planes, signs
    residuals = (data.values - one @ rows.T)[bent] * counted[bent]
    earlier = None if before is None else before[bent]
    for among, sides in _splits(data.take(bent), residuals, earlier, turn):
        which = bent[among]
        found, way, rest = _hinges(data.take(which), sides, counted[which])
        for row in np.argsort(-rest, kind="stable"):  # the best one last
            if rest[row] < left[which[row]]:
                left[which[row]] = rest[row]
                planes[:, which[row]], signs[which[row]] = found[:, row], way[row]
    return planes, signs


def _hinges(data: Answered, sides: Matrix, counted: Matrix) -> tuple[Matrix, Point, Point]:
    """Return hinges (2, c, n + 1), their signs and what they leave, from first sides (c, k).

    Planes are fitted to the answers on their sides, and answers change to the side of the plane
    that counts there, in turn.
    """
    rows = data.rows
    best = np.full(len(sides), np.inf)
    planes, signs = np.zeros((2, len(sides), rows.shape[1])), np.ones(len(sides))
    open_ = np.arange(len(sides))
    for _ in range(SIDES):
        part = data.take(open_)
        pair = np.array([part.planes(counted * sides), part.planes(counted * (1 - sides))])
        first, second = pair @ rows.T
        upper, lower = np.maximum(first, second), np.minimum(first, second)
        as_max, as_min = part.left(upper, pair), part.left(lower, pair)
        way = np.where(as_max <= as_min, 1.0, -1.0)
        rest = np.minimum(as_max, as_min)
        better = rest < best[open_]
        improved = open_[better]
        best[improved], signs[improved] = rest[better], way[better]
        planes[:, improved] = pair[:, better]
        now = np.asarray(way[:, None] * (first - second) >= 0, dtype=np.float64)
        explained = part.explain(np.where(way[:, None] > 0, upper, lower))
        changed = ((now != sides) | (explained != counted)).any(axis=1) & better
        open_, sides, counted = open_[changed], now[changed], explained[changed]
        if not open_.size:
            break
    return planes, signs, best


def _splits(
    data: Answered, residuals: Matrix, before: Matrix | None, turn: int
) -> Iterator[tuple[NDArray[np.intp], Matrix]]:
    """Yield components and first guesses of which answers are on which side of their kink.

    As it was before; by the value; and by the direction in which the residuals of a plane bend
    most: where they are those of a hinge, their quadratic form has this one direction. Components
    that had a kink before get some of these guesses in turn, the others all.
    """
    count = len(data.values)
    known = np.zeros(count, dtype=bool)
    if before is not None:
        known = np.isfinite(before[:, 0])
        if known.any():
            yield np.flatnonzero(known), before[known]
    values = data.values
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    bends = np.zeros_like(values)
    some = max(1, TRIED // count)
    tried = (np.arange(GUESSES)[:, None] - np.arange(count) - turn) % GUESSES < some  # (5, c)
    tried |= ~known
    wanted = np.flatnonzero(tried[-2:].any(axis=0))
    if wanted.size:
        bends[wanted] = _bends(data.take(wanted), residuals[wanted])
    guesses = np.array(
        [
            values > np.median(values, axis=1, keepdims=True),
            values > low + 0.1 * (high - low),
            values > high - 0.1 * (high - low),
            bends > np.median(bends, axis=1, keepdims=True),
            bends > 0,
        ],
        dtype=np.float64,
    )
    which, among = np.nonzero(tried)
    yield among, guesses[which, among]


def _bends(data: Answered, residuals: Matrix) -> Matrix:
    """Return how far the answers are along the direction in which residuals bend most (c, k)."""
    offsets = data.offsets
    forms = np.einsum("ck,ki,kj->cij", residuals * data.weights, offsets, offsets, optimize=True)
    sizes, directions = np.linalg.eigh(forms)
    last = np.abs(sizes[:, -1]) > np.abs(sizes[:, 0])
    return np.asarray(
        np.where(last[:, None], directions[:, :, -1], directions[:, :, 0]) @ offsets.T
    )
