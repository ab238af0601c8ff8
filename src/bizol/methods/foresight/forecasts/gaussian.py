"""Gaussian processes on the same answers: of many components with one kernel, or each with its own.

C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, pi
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.methods.foresight.forecasts.hinges import Matrix
from bizol.methods.foresight.forecasts.kernels import (
    CONSTANT,
    FAMILIES,
    Kernel,
    bends,
    rough,
    solve,
    squared_distances,
    whiten,
)
from bizol.methods.foresight.settings import BENDS, FEATURES, LENGTHS, TRENDS
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """Functions of those the answers leave possible: random waves and a random plane."""

    waves: NDArray[np.float64]  # (g, f, n)
    phases: Point  # (f,)
    heights: Matrix  # (f, c)
    slopes: Matrix  # (n, c)


class Seen(NamedTuple):
    """Some components at a point."""

    values: Point  # (c,)
    pull_back: Callable[[Point], Point]  # d ↦ Jᵀd
    gradients: Callable[[NDArray[np.intp]], Matrix]  # rows of J


@final
@dataclass(frozen=True, slots=True, eq=False)
class Processes:
    """Some components: Σ_i k_j(u, x_i) α_ij, each with variance 1 before any answer.

    There are g kernels: one for all components, or one for each.
    """

    kernels: tuple[Kernel, ...]
    points: Points  # (k, n), x_i
    scales: Matrix  # (g, n), how much each coordinate matters
    factors: Sequence[Matrix]  # g times (k, k), of the matrices of the kernels, lower triangles
    latent: Matrix  # (k, c), the answers
    weights: Matrix  # α (k, c)
    variances: Point  # (c,)
    draw: Draw | None = None
    _left_out: Matrix | None = field(init=False, repr=False, default=None)  # computed once

    @classmethod
    def fit(
        cls,
        kernels: tuple[Kernel, ...],
        points: Points,
        factors: Sequence[Matrix],
        latent: Matrix,
    ) -> Processes:
        """Return the processes that agree with the answers."""
        white = _each(whiten, factors, latent)
        return cls(
            kernels=kernels,
            points=points,
            scales=np.array([kernel.relevances(points.shape[1]) for kernel in kernels]),
            factors=factors,
            latent=latent,
            weights=_each(solve, factors, white),
            variances=(white**2).mean(axis=0),
        )

    @property
    def _choices(self) -> tuple[Matrix, Matrix, Matrix]:
        """Lengths and variances of slopes and curvatures (g, 1)."""
        lengths = np.array([[LENGTHS[kernel.length]] for kernel in self.kernels])
        trends = np.array([[TRENDS[kernel.trend]] for kernel in self.kernels])
        curvatures = np.array([[BENDS[kernel.bend]] for kernel in self.kernels])
        return lengths, trends, curvatures

    def look(self, u: Point) -> Seen:
        """Return the components at a point."""
        scaled = self.scales[:, None] * self.points  # (g, k, n)
        here = self.scales * u
        offsets = here[:, None] - scaled
        along = np.einsum("gkn,gn->gk", scaled, here)
        lengths, a, b = self._choices
        value, slope = rough(
            self.kernels[0].family, lengths, np.einsum("gkn,gkn->gk", offsets, offsets)
        )
        tilt = a + 2 * b * along
        alpha = self.weights.T
        values = _values(value + CONSTANT + along * (a + b * along), self.weights)
        draw = self.draw
        if draw is not None:
            angles = np.einsum("gfn,gn->gf", draw.waves, here) + draw.phases
            values = values + _values(np.cos(angles), draw.heights)
            values = values + (here * draw.slopes.T).sum(axis=1)

        def gradients(which: NDArray[np.intp]) -> Matrix:
            some = which if len(self.kernels) > 1 else slice(None)
            each = alpha[which]
            back = _combined(each * slope[some], offsets[some])
            back = back + _combined(each * tilt[some], scaled[some])
            if draw is not None:
                waves = np.sin(angles[some]) * draw.heights.T[which]
                back = back - _combined(waves, draw.waves[some]) + draw.slopes.T[which]
            return np.asarray(back * self.scales[some])

        def pull_back(covector: Point) -> Point:
            if len(self.kernels) > 1:
                return np.asarray(covector @ gradients(np.arange(len(covector))))
            each = self.weights @ covector
            back = (each * slope[0]) @ offsets[0] + (each * tilt[0]) @ scaled[0]
            if draw is not None:
                back = back - (np.sin(angles[0]) * (draw.heights @ covector)) @ draw.waves[0]
                back = back + draw.slopes @ covector
            return np.asarray(back * self.scales[0])

        return Seen(values, pull_back, gradients)

    def curvature(self, u: Point, covector: Point) -> Points:
        """Return Σ_j d_j ∇² of the components."""
        scaled = self.scales[:, None] * self.points
        here = self.scales * u
        offsets = here[:, None] - scaled
        lengths, _, b = self._choices
        slope, bend = bends(
            self.kernels[0].family, lengths, np.einsum("gkn,gkn->gk", offsets, offsets)
        )
        each = self.weights.T * covector[:, None]
        if len(self.kernels) == 1:
            each = each.sum(axis=0, keepdims=True)
        whole = _outer(each * bend, offsets) + 2 * _outer(each * b, scaled)
        whole += (each * slope).sum(axis=1)[:, None, None] * np.eye(len(u))
        if self.draw is not None:
            angles = np.einsum("gfn,gn->gf", self.draw.waves, here) + self.draw.phases
            heights = self.draw.heights.T * covector[:, None]
            if len(self.kernels) == 1:
                heights = heights.sum(axis=0, keepdims=True)
            whole -= _outer(np.cos(angles) * heights, self.draw.waves)
        return np.asarray(np.einsum("gij,gi,gj->ij", whole, self.scales, self.scales))

    def values(self, points: Points) -> Matrix:
        """Return the components at many points (q, c)."""
        found = []
        for row, kernel in enumerate(self.kernels):
            which = slice(None) if len(self.kernels) == 1 else [row]
            one, other = points * self.scales[row], self.points * self.scales[row]
            values = kernel.values(squared_distances(one, other), one @ other.T)
            found.append(values @ self.weights[:, which])
        known = np.hstack(found)
        return known if self.draw is None else known + self._drawn_values(self.draw, points)

    def _drawn_values(self, draw: Draw, points: Points) -> Matrix:
        """Return random functions before they know the answers (q, c)."""
        found = []
        for row, scales in enumerate(self.scales):
            which = slice(None) if len(self.kernels) == 1 else [row]
            waves = np.cos((points * scales) @ draw.waves[row].T + draw.phases)
            found.append(waves @ draw.heights[:, which] + (points * scales) @ draw.slopes[:, which])
        return np.hstack(found)

    def left_out(self) -> Matrix:
        """Return how far the forecast of each answer by the others is off (k, c)."""
        if self._left_out is not None:
            return self._left_out
        precisions = []
        for factor in self.factors:
            inverse = whiten(factor, np.eye(len(factor)))
            precisions.append(np.einsum("ik,ik->k", inverse, inverse))  # the diagonal of K⁻¹
        off = np.asarray(self.weights / np.transpose(precisions))
        assign(self, _left_out=off)
        return off

    def drawn(self, rng: np.random.Generator) -> Processes:
        """Return some of the functions that the answers leave possible.

        Random functions of the kernels, corrected by what they miss of the answers (J. Wilson et
        al., 2020). The curvature of the trend is not random: answers determine it first.
        """
        n, c = self.points.shape[1], self.weights.shape[1]
        lengths, trends, _ = self._choices
        waves = rng.standard_normal((FEATURES, n))
        smoothness = FAMILIES[self.kernels[0].family]
        if smoothness < inf:
            waves /= np.sqrt(rng.gamma(smoothness, 1 / smoothness, (FEATURES, 1)))
        sizes = np.sqrt(self.variances)
        draw = Draw(
            waves=waves / lengths[:, :, None],
            phases=rng.uniform(0, 2 * pi, FEATURES),
            heights=rng.standard_normal((FEATURES, c)) * np.sqrt(2 / FEATURES) * sizes,
            slopes=rng.standard_normal((n, c)) * np.sqrt(trends[:, 0]) * sizes,
        )
        missed = self.latent - self._drawn_values(draw, self.points)
        weights = _each(solve, self.factors, _each(whiten, self.factors, missed))
        return replace(self, draw=draw, weights=weights)


def _each(
    function: Callable[[Matrix, Matrix], Matrix], factors: Sequence[Matrix], columns: Matrix
) -> Matrix:
    """Return the function of one factor and all columns, or of each factor and its column."""
    if len(factors) == 1:
        return function(factors[0], columns)
    pairs = zip(factors, columns.T, strict=True)
    return np.column_stack([function(factor, column) for factor, column in pairs])


def _values(rows: Matrix, columns: Matrix) -> Point:
    """Return Σ_k rows_gk columns_kc, for g = c or one for all."""
    if len(rows) == 1:
        return np.asarray(rows[0] @ columns)
    return np.asarray(np.einsum("ck,kc->c", rows, columns))


def _combined(each: Matrix, rows: NDArray[np.float64]) -> Matrix:
    """Return Σ_k each_ck rows_gkn, for g = c or one for all."""
    if len(rows) == 1:
        return np.asarray(each @ rows[0])
    return np.asarray(np.einsum("ck,ckn->cn", each, rows))


def _outer(each: Matrix, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_k each_gk rows_gk rows_gkᵀ."""
    return np.asarray(np.matmul((rows * each[:, :, None]).transpose(0, 2, 1), rows))
