"""Certify with fresh queries how stationary a point is."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite, isnan, log10, nan, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import ArgumentError, Point, as_size, is_real, norm
from bizol.certificates.estimate import HypergradientEstimate, estimate_hypergradient
from bizol.directions import Directions
from bizol.feasible_sets import FeasibleSet
from bizol.problem import Problem
from bizol.randomness import as_seed
from bizol.sensitivity import Hypergradient
from bizol.structure.clarke import is_known, set_variation, structure


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """What separates the certificate from the truth about the original problem, part by part.

    Attributes:
        sampling: how far the upper end of the interval lies above the gap that was measured.
        smoothing: D ‖d_y‖ ω(x, δ), what Proposition 5 adds for the Clarke gap; NaN where the
            follower is a black box or its pieces can only be searched for (`transfer` does that).
        follower: D n τ ‖d_y‖ / δ, the most that a follower solved to tolerance τ adds through its
            differences, with τ at least the rounding of the response; part of the interval.

    """

    sampling: float
    smoothing: float
    follower: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """What fresh queries say about the Bi-ZOL Frank–Wolfe gap G_δ(x) at one point.

    The gap of averaged samples is biased upward (Jensen: the largest of noisy numbers), and the
    lowest of many such gaps downward. The interval knows both:

    - its upper end is the largest, over z in X, of the upper t-limit of ⟨x − z, g_δ⟩. It holds
      because the z that attains the true gap is a fixed point of X, whose own t-limit is exceeded
      only with the stated risk: no union bound is needed. (The largest is found by ascent from many
      starts, as the limit is a convex function of z);
    - its lower end is cross-fitted: one half of the samples chooses z, the other half evaluates it,
      and the other way round; each is unbiased for something that is at most the gap;
    - with `among=k` both are widened (Bonferroni) so that the lowest of k certificates still means
      what it says.

    The limits are Student's, lengthened where the samples are skewed, so the confidence is
    approximate, as good as the samples are typical. What no sample shows no interval of this kind
    can know: a steep kink that only one direction in hundreds meets may be missed altogether. More
    directions, or a smaller δ, are the remedy.

    Attributes:
        at: the point.
        gap: the gap of the averaged samples, the paper's validation gap.
        interval: (low, high), holds G_δ(x) with the stated confidence.
        confidence: the confidence.
        hypergradient: the averaged samples.
        vertex: the z that attains the gap.
        parts: the named parts of the error.
        queries: what it cost; a ledger of its own.

    """

    at: Point
    delta: float
    gap: float
    interval: tuple[float, float]
    confidence: float
    hypergradient: Hypergradient
    response_gradient: float  # ‖d_y(x)‖
    diameter: float  # D
    vertex: Point
    parts: ErrorParts
    directions: int
    queries: int
    seed: int

    @property
    def epsilon(self) -> float:
        """The ε of the statement: the upper end of the interval."""
        return self.interval[1]

    @property
    def statement(self) -> str:
        """What is certified, in a sentence."""
        return f"({self.delta:g}, {rounded_up(self.epsilon)})-Bi-ZOL stationary at {100 * self.confidence:g} %"

    def __str__(self) -> str:
        low, high = self.interval
        smoothing = (
            "unknown without the follower's structure" if isnan(self.parts.smoothing) else ""
        )
        lines = {
            "statement": self.statement,
            "gap": f"{self.gap:.6g}   in [{low:.4g}, {high:.4g}]",
            "sampling": f"{self.parts.sampling:.4g}",
            "smoothing": smoothing or f"{self.parts.smoothing:.4g}",
            "follower": f"{self.parts.follower:.4g}",
            "queries": f"{self.queries} ({self.directions} directions, seed {self.seed})",
        }
        return "\n".join(f"{name:>13}: {text}" for name, text in lines.items())


def certify(
    problem: Problem,
    x: ArrayLike,
    *,
    delta: float,
    directions: int = 200,
    confidence: float = 0.95,
    sampler: Directions | None = None,
    among: int = 1,
    seed: int | None = None,
) -> Certificate:
    """Certify with fresh queries how stationary x is.

    Args:
        problem: the problem. Its follower is asked 2·directions + 1 times at most (directions are
            used in whole blocks), apart from any budget. A follower may carry two facts that are
            used here: `reach`, how far outside of X it answers, and `tolerance`, how accurately.
        x: the point, in X.
        delta: the δ of the gap G_δ.
        directions: how many directions.
        confidence: how often the interval must hold the true gap.
        sampler: where to look; orthonormal blocks by default, which need far fewer directions than
            independent ones.
        among: how many certificates this one will be chosen from.
        seed: makes it repeatable. The directions are fresh also under the seed of the search.

    Example:
        >>> import bizol
        >>> from bizol.reproduction.instances import BOX, tracking_instance
        >>> instance = tracking_instance(BOX)
        >>> certificate = certify(instance.problem, instance.start, delta=0.08, seed=1)
        >>> certificate.queries, certificate.interval[0] <= certificate.gap <= certificate.interval[1]
        (401, True)

    """
    if not is_real(confidence) or not 0 < confidence < 1:
        raise ArgumentError("certify", "confidence", f"must be in (0, 1), got {confidence!r}.")
    seed = as_seed(seed)
    estimate = estimate_hypergradient(
        problem, x, delta=delta, directions=directions, sampler=sampler, seed=seed
    )
    feasible_set = problem.feasible_set
    risk = (1 - confidence) / (2 * as_size(among, "certify", "among"))  # of each end
    vertex = feasible_set.minimize_linear(estimate.value)
    toward = estimate.at - vertex
    gap = float(toward @ estimate.value)
    sampling = _upper_limit(feasible_set, estimate, risk) - gap
    slope = norm(estimate.anchor.grad_y)
    rounding = 4 * float(np.finfo(np.float64).eps) * norm(estimate.anchor.response)
    tolerance = float(getattr(problem.response, "tolerance", 0.0)) + rounding
    follower = feasible_set.diameter * estimate.at.size * tolerance * slope / delta
    low = max(0.0, _cross_fitted(feasible_set, estimate, risk) - follower)
    return Certificate(
        at=estimate.at,
        delta=delta,
        gap=gap,
        interval=(min(low, gap), gap + sampling + follower),
        confidence=confidence,
        hypergradient=Hypergradient(estimate.at, estimate.value),
        response_gradient=slope,
        diameter=feasible_set.diameter,
        vertex=vertex,
        parts=ErrorParts(
            sampling=sampling,
            smoothing=_smoothing_part(problem, estimate, slope),
            follower=follower,
        ),
        directions=(estimate.queries - 1) // 2,
        queries=estimate.queries,
        seed=seed,
    )


def _upper_limit(
    feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float, rounds: int = 10
) -> float:
    """Return the largest upper t-limit of ⟨x − z, g_δ⟩ over z, by Frank–Wolfe ascent on this convex
    function of z.

    Starts at the vertices that the mean, every sample, and every sample mirrored at the mean would
    choose.
    """
    samples, mean = estimate.samples, estimate.value
    reach = _quantile(risk, len(samples) - 1) / sqrt(len(samples))
    centered = (samples - mean) / sqrt(len(samples) - 1)
    best = 0.0  # z = x
    for start in [mean, *samples, *(2 * mean - samples)]:
        toward, value = estimate.at - feasible_set.minimize_linear(start), -np.inf
        for _ in range(rounds):
            scores = centered @ toward
            spread = float(np.linalg.norm(scores))
            limit = float(toward @ mean) + reach * spread
            if limit <= value + 1e-12 * abs(value):
                break
            value = limit
            best = max(best, _lengthened(samples @ toward, risk, 1))
            slope = mean + reach * (scores @ centered) / spread if spread > 0 else mean
            toward = estimate.at - feasible_set.minimize_linear(slope)
    return best


def _cross_fitted(feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float) -> float:
    """Return a lower confidence limit of the gap: each half of the samples judges the vertex the other half chose."""
    halves = np.array_split(estimate.samples, 2)
    if min(map(len, halves)) < 2:
        return 0.0
    judged = []
    for chooser, judge in (halves, halves[::-1]):
        toward = estimate.at - feasible_set.minimize_linear(chooser.mean(axis=0))
        judged.append(_lengthened(judge @ toward, risk, -1))
    return (
        judged[0] + judged[1]
    ) / 2  # errors may be fully correlated: standard errors add up, not their squares


def rounded_up(value: float) -> str:
    """Return a number of four digits that is not smaller."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    digits = 10.0 ** (floor(log10(abs(value))) - 3)
    return f"{ceil(value / digits) * digits:.4g}"


def _smoothing_part(problem: Problem, estimate: HypergradientEstimate, slope: float) -> float:
    if not is_known(problem) or structure(problem).searched:
        return nan
    omega = set_variation(structure(problem), estimate.at, estimate.delta)
    return problem.feasible_set.diameter * slope * omega.value


def _lengthened(scores: Point, risk: float, sign: int) -> float:
    """Return the upper (sign 1) or lower (−1) confidence limit of the mean of the scores.

    Student's t, and where the scores are skewed to that side the second-order correction of Hall
    (1992): the mean of a few such scores lies on the wrong side more often than t allows. It only
    ever lengthens.
    """
    count, mean = len(scores), float(scores.mean())
    spread = float(scores.std(ddof=1))
    if spread == 0:
        return mean
    quantile = _quantile(risk, count - 1)
    skewness = sign * float((((scores - mean) / spread) ** 3).mean())
    correction = max(0.0, skewness) * (1 + 2 * quantile**2) / (6 * sqrt(count))
    return mean + sign * (quantile + correction) * spread / sqrt(count)


def _quantile(risk: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - risk))
