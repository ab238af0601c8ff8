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
from bizol.problem.follower import tolerance_of
from bizol.randomness import as_seed
from bizol.sensitivity import Hypergradient, frank_wolfe_gap
from bizol.structure.clarke import set_variation
from bizol.structure.protocols import is_structure_known, structure_of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """The errors that separate the certificate from the gap of the original problem.

    Attributes:
        sampling: how far the upper end of the interval lies above the gap that was measured.
        smoothing: D ‖d_y‖ ω(x, δ), what Proposition 5 adds for the Clarke gap; NaN where the
            follower is a black box or its pieces can only be searched for (`transfer` does that).
        follower: D n τ ‖d_y‖ / δ, the most that a follower solved to tolerance τ adds through its
            differences, with τ at least the rounding of the response. The interval includes it.

    """

    sampling: float
    smoothing: float
    follower: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """A confidence interval for the Bi-ZOL Frank–Wolfe gap G_δ(x) at one point, from fresh queries.

    The gap of averaged samples is biased upward (Jensen: the largest of noisy numbers), and the
    lowest of many such gaps downward. The interval accounts for both:

    - its upper end is the largest, over z in X, of the upper t-limit of ⟨x − z, g_δ⟩. It holds
      because the z that attains the true gap is a fixed point of X, whose own t-limit is exceeded
      only with the stated risk: no union bound is needed. (The largest is found by ascent from many
      starts, as the limit is a convex function of z);
    - its lower end is cross-fitted: one half of the samples chooses z, the other half evaluates it,
      and the other way round; each is unbiased for a number that is at most the gap;
    - with `among=k` both are widened (Bonferroni), so that you may choose the lowest of k
      certificates and its confidence still holds.

    The limits are Student's, widened where the samples are skewed, so the confidence is
    approximate. No interval of this kind accounts for what no sample shows: a steep kink that only
    one direction in hundreds meets may be missed. If you expect such kinks, use more directions or
    a smaller δ.

    Attributes:
        at: the point.
        delta: the δ of the gap.
        gap: the gap of the averaged samples, the paper's validation gap.
        interval: (low, high), holds G_δ(x) with the stated confidence.
        confidence: the confidence.
        hypergradient: the averaged samples.
        response_gradient: ‖d_y(x)‖.
        diameter: D, the diameter of the feasible set.
        vertex: the z that attains the gap.
        parts: the parts of the error.
        directions: how many directions were used.
        queries: how many queries it cost, which no budget counts.
        seed: pass it to `certify` to repeat the certificate.

    """

    at: Point
    delta: float
    gap: float
    interval: tuple[float, float]
    confidence: float
    hypergradient: Hypergradient
    response_gradient: float
    diameter: float
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
        parameters = f"({self.delta:g}, {rounded_up(self.epsilon)})"
        return f"{parameters}-Bi-ZOL stationary at {100 * self.confidence:g} %"

    def __str__(self) -> str:
        low, high = self.interval
        smoothing = f"{self.parts.smoothing:.4g}"
        if isnan(self.parts.smoothing):
            smoothing = "unknown without the follower's structure"
        lines = {
            "statement": self.statement,
            "gap": f"{self.gap:.6g}   in [{low:.4g}, {high:.4g}]",
            "sampling": f"{self.parts.sampling:.4g}",
            "smoothing": smoothing,
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
    check: bool = True,
) -> Certificate:
    """Certify with fresh queries how stationary x is.

    Args:
        problem: the problem. Its follower is asked at most 2·directions + 1 times (directions are
            used in whole blocks); no budget counts these queries. A follower may have two
            attributes that are used here: `reach`, how far outside of X it answers, and
            `tolerance`, how accurately.
        x: the point, in X.
        delta: the δ of the gap G_δ.
        directions: how many directions.
        confidence: the probability with which the interval must hold the true gap.
        sampler: draws the directions; orthonormal blocks by default, which need far fewer
            directions than independent ones.
        among: how many certificates you will choose this one from.
        seed: makes the certificate repeatable. The directions are fresh even if you pass the seed
            of the run that found x.
        check: compare the gradients of the objective with finite differences of its value at x,
            before more than the response at x is asked.

    Example:
        >>> import bizol
        >>> from bizol.reproduction.instances import BOX, tracking_instance
        >>> instance = tracking_instance(BOX)
        >>> certificate = certify(instance.problem, instance.start, delta=0.08, seed=1)
        >>> low, high = certificate.interval
        >>> certificate.queries, low <= certificate.gap <= high
        (401, True)

    """
    if not is_real(confidence) or not 0 < confidence < 1:
        raise ArgumentError("certify", "confidence", f"must be in (0, 1), got {confidence!r}.")
    seed = as_seed(seed)
    estimate = estimate_hypergradient(
        problem, x, delta=delta, directions=directions, sampler=sampler, seed=seed, check=check
    )
    feasible_set = problem.feasible_set
    risk = (1 - confidence) / (2 * as_size(among, "certify", "among"))  # of each end
    vertex, measured = frank_wolfe_gap(feasible_set, estimate.at, estimate.value)
    gap = float(measured)
    sampling = _find_upper_limit(feasible_set, estimate, risk) - gap
    slope = norm(estimate.anchor.grad_y)
    rounding = 4 * float(np.finfo(np.float64).eps) * norm(estimate.anchor.response)
    tolerance = (tolerance_of(problem.response) or 0.0) + rounding
    follower = feasible_set.diameter * estimate.at.size * tolerance * slope / delta
    low = max(0.0, _cross_fit_lower_limit(feasible_set, estimate, risk) - follower)
    at = estimate.at.copy()  # the caller's to write to
    return Certificate(
        at=at,
        delta=delta,
        gap=gap,
        interval=(min(low, gap), gap + sampling + follower),
        confidence=confidence,
        hypergradient=Hypergradient(at, estimate.value),
        response_gradient=slope,
        diameter=feasible_set.diameter,
        vertex=vertex,
        parts=ErrorParts(
            sampling=sampling,
            smoothing=_compute_smoothing_part(problem, estimate, slope),
            follower=follower,
        ),
        directions=(estimate.queries - 1) // 2,
        queries=estimate.queries,
        seed=seed,
    )


def _find_upper_limit(
    feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float, rounds: int = 10
) -> float:
    """Return the largest upper t-limit of ⟨x − z, g_δ⟩ over z in X.

    By Frank–Wolfe ascent on this convex function of z, from the vertices that the mean, every
    sample, and every sample mirrored at the mean would choose.
    """
    samples = estimate.samples
    mean = estimate.value
    reach = _student_quantile(risk, len(samples) - 1) / sqrt(len(samples))
    centered = (samples - mean) / sqrt(len(samples) - 1)
    best = 0.0  # z = x
    for start in [mean, *samples, *(2 * mean - samples)]:
        toward = estimate.at - feasible_set.minimize_linear(start)
        value = -np.inf
        for _ in range(rounds):
            scores = centered @ toward
            spread = float(np.linalg.norm(scores))
            limit = float(toward @ mean) + reach * spread
            if limit <= value + 1e-12 * abs(value):
                break
            value = limit
            best = max(best, _limit_mean(samples @ toward, risk, 1))
            slope = mean + reach * (scores @ centered) / spread if spread > 0 else mean
            toward = estimate.at - feasible_set.minimize_linear(slope)
    return best


def _cross_fit_lower_limit(
    feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float
) -> float:
    """Return a lower confidence limit of the gap.

    Each half of the samples evaluates the vertex that the other half chose.
    """
    halves = np.array_split(estimate.samples, 2)
    if min(map(len, halves)) < 2:
        return 0.0
    lower = []
    for chooser, evaluator in (halves, halves[::-1]):
        toward = estimate.at - feasible_set.minimize_linear(chooser.mean(axis=0))
        lower.append(_limit_mean(evaluator @ toward, risk, -1))
    # Errors may be fully correlated: standard errors add up, not their squares.
    return (lower[0] + lower[1]) / 2


def rounded_up(value: float) -> str:
    """Return the value, rounded up to four digits."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    digits = 10.0 ** (floor(log10(abs(value))) - 3)
    return f"{ceil(value / digits) * digits:.4g}"


def _compute_smoothing_part(
    problem: Problem, estimate: HypergradientEstimate, slope: float
) -> float:
    """Return D ‖d_y‖ ω(x, δ), or NaN where ω is unknown or would take a search."""
    if not is_structure_known(problem) or structure_of(problem).searched:
        return nan
    omega = set_variation(structure_of(problem), estimate.at, estimate.delta)
    return problem.feasible_set.diameter * slope * omega.value


def _limit_mean(scores: Point, risk: float, sign: int) -> float:
    """Return the upper (sign 1) or lower (−1) confidence limit of the mean of the scores.

    The limit is Student's. Where the scores are skewed to that side, the second-order correction of
    Hall (1992) is added, because the mean of a few such scores lies beyond the limit more often
    than t allows. The correction only ever widens the interval.
    """
    count = len(scores)
    mean = float(scores.mean())
    spread = float(scores.std(ddof=1))
    if spread == 0:
        return mean
    quantile = _student_quantile(risk, count - 1)
    skewness = sign * float((((scores - mean) / spread) ** 3).mean())
    correction = max(0.0, skewness) * (1 + 2 * quantile**2) / (6 * sqrt(count))
    return mean + sign * (quantile + correction) * spread / sqrt(count)


def _student_quantile(risk: float, freedom: int) -> float:
    """Return the number that Student's t exceeds with probability `risk`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - risk))
