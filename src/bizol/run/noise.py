"""What repeated queries tell of a follower's noise, and how much of an estimate's variance is due to it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import final

import numpy as np

from bizol.arrays import Response, to_numpy
from bizol.methods import Move
from bizol.problem import Objective


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What `minimize(repeats=...)` found out about noise.

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
        """Say whether a radius is too small for the noise."""
        if not delta < self.delta_floor < inf:
            return ""
        return (
            f"Noise makes up {self.noise_variance / (self.noise_variance + self.smoothing_variance):.0%} "
            f"of the variance of the estimates: δ = {delta:g} is below {self.delta_floor:.2g}, "
            f"where both parts are equal."
        )


@final
class NoiseMeter:
    """Collects what repeats show, while the run goes on."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self._squares, self._freedom = 0.0, 0  # within decisions, per entry
        self._parts: list[tuple[float, float, float]] = []  # noise, total, δ of each iteration

    def add(self, replicates: list[list[Response]]) -> None:
        """Take note of the replicates of a batch."""
        for row in replicates:
            if len(row) > 1:
                answers = np.array([to_numpy(answer) for answer in row])
                self._squares += float(((answers - answers.mean(axis=0)) ** 2).mean(axis=1).sum())
                self._freedom += len(row) - 1

    def moved(
        self,
        move: Move,
        objective: Objective,
        slots: list[tuple[int, int]],
        replicates: list[list[Response]],
    ) -> None:
        """Take note of what an iteration with pairs made of them."""
        answers = dict(zip(slots, replicates, strict=True))
        pairs = [
            (answers[slot, 1], answers[slot, -1])
            for slot, sign in slots
            if sign > 0 and (slot, -1) in answers
        ]
        pairs = [(plus, minus) for plus, minus in pairs if len(plus) == len(minus) == self._repeats]
        if move.response is None or len(pairs) < 2:
            return
        weights = objective.anchor(move.at, move.response).grad_y
        slopes = np.array(
            [
                [float(to_numpy((p - m) @ weights)) for p, m in zip(plus, minus, strict=True)]
                for plus, minus in pairs
            ]
        )
        slopes *= move.at.size / (
            2 * move.delta
        )  # (B, r): each is the length of one direction's estimate
        count, repeats = slopes.shape
        noise = float(slopes.var(axis=1, ddof=1).mean()) / (repeats * count)
        total = (
            float((slopes.mean(axis=1) ** 2).mean()) / count
        )  # E‖v‖² / B, an upper bound by ‖E v‖² / B
        self._parts.append((noise, total, move.delta))

    def noise(self) -> Noise | None:
        """Return what was found, None where nothing was repeated."""
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
