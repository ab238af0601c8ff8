"""The noise of a follower, measured by repeated queries, and its share in the variance."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import final

import numpy as np

from bizol.arrays import to_numpy
from bizol.evaluation import Answers, Batch
from bizol.methods import Move
from bizol.problem import Anchor
from bizol.sensitivity import estimate_scale


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise that `minimize(repeats=...)` measured.

    The estimate of the hypergradient varies because directions are random (the smoothing part) and
    because answers are noisy (the noise part): with r repeats and differences of pairs whose noise
    has variance s² along ∇₂φ,

        E‖ĝ − E ĝ‖² = smoothing + noise,     noise = n² s² / (4 δ² B r).

    Attributes:
        level: the standard deviation of one entry of one response.
        smoothing_variance, noise_variance: the two parts, means over the iterations; NaN for
            methods without pairs.
        delta_floor: the radius at which both parts would be equal; below it, an estimate is mostly
            noise.

    """

    level: float
    smoothing_variance: float
    noise_variance: float
    delta_floor: float

    def remark(self, delta: float) -> str:
        """Return a sentence if a radius is too small for the noise, and nothing otherwise."""
        if not delta < self.delta_floor < inf:
            return ""
        share = self.noise_variance / (self.noise_variance + self.smoothing_variance)
        return (
            f"Noise makes up {share:.0%} of the variance of the estimates: δ = {delta:g} is below "
            f"{self.delta_floor:.2g}, where both parts are equal."
        )


@final
class NoiseMeter:
    """Collects repeated answers during a run."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self._squares = 0.0  # of deviations within decisions, per entry
        self._freedom = 0  # their degrees of freedom
        self._parts: list[tuple[float, float, float]] = []  # noise, total, δ of each iteration

    def take(self, batch: Batch, answers: Answers, move: Move | None) -> None:
        """Add the answers to a batch, and the move that was made with them, if any."""
        for row in answers.replicates:
            if len(row) > 1:
                told = np.array([to_numpy(answer) for answer in row])
                self._squares += float(((told - told.mean(axis=0)) ** 2).mean(axis=1).sum())
                self._freedom += len(row) - 1
        if move is not None and move.anchor is not None:
            self._take_pairs(batch, answers, move, move.anchor)

    def _take_pairs(self, batch: Batch, answers: Answers, move: Move, anchor: Anchor) -> None:
        """Divide the variance of an estimate from pairs into its two parts."""
        told = dict(zip(batch.slots, answers.replicates, strict=True))
        sides = [
            (told[slot, 1], told[slot, -1])
            for slot, sign in batch.slots
            if sign > 0 and (slot, -1) in told
        ]
        pairs = [each for each in sides if all(len(side) == self._repeats for side in each)]
        if len(pairs) < 2:
            return
        differences = np.array(
            [
                [float(to_numpy((p - m) @ anchor.grad_y)) for p, m in zip(plus, minus, strict=True)]
                for plus, minus in pairs
            ]
        )
        # (B, r): each is the length of one direction's estimate.
        slopes = estimate_scale(move.at.size, 1, 2 * move.delta) * differences
        count, repeats = slopes.shape
        noise = float(slopes.var(axis=1, ddof=1).mean()) / (repeats * count)
        # E‖v‖² / B, too large by ‖E v‖² / B
        total = float((slopes.mean(axis=1) ** 2).mean()) / count
        self._parts.append((noise, total, move.delta))

    def noise(self) -> Noise | None:
        """Return what was measured, or None where nothing was repeated."""
        if not self._freedom:
            return None
        level = sqrt(self._squares / self._freedom)
        if not self._parts:
            return Noise(level=level, smoothing_variance=nan, noise_variance=nan, delta_floor=nan)
        noise, total, delta = np.mean(self._parts, axis=0).tolist()
        smoothing = max(total - noise, 0.0)
        floor = delta * sqrt(noise / smoothing) if smoothing > 0 else inf
        return Noise(
            level=level, smoothing_variance=smoothing, noise_variance=noise, delta_floor=floor
        )
