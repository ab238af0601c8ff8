"""How stationary is a point? Frank–Wolfe gaps, exact for followers of known structure, certified by queries for all.

smooth    G^sm(x) = max_z ⟨x − z, ∇φ̃(x)⟩                       Definition 3
Clarke    G^c(x)  = min_{g ∈ ∂^c φ̃(x)} max_z ⟨x − z, g⟩        Definition 4
Bi-ZOL    G_δ(x)  = max_z ⟨x − z, g_δ(x)⟩                       Definition 5
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, Points, as_positive, as_size, as_vector, is_real, to_numpy
from bizol.clarke import anchor_at, clarke_subdifferential, set_variation, structure
from bizol.directions import Directions, OrthonormalBlocks
from bizol.evaluation import Evaluator
from bizol.feasible_sets import FeasibleSet
from bizol.followers import Hull, SetVariation
from bizol.problem import Anchor, Problem
from bizol.randomness import as_seed, generator
from bizol.sensitivity import Hypergradient


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HypergradientEstimate:
    """g_δ(x) from fresh queries: independent, unbiased samples, their mean and its standard error."""

    at: Point
    delta: float
    anchor: Anchor
    samples: Points  # (k, n), independent; each the mean over one batch of directions
    queries: int

    @property
    def value(self) -> Point:
        """The mean of the samples."""
        return np.asarray(self.samples.mean(axis=0))

    @property
    def standard_error(self) -> Point:
        """The standard error of every coordinate of the mean."""
        return np.asarray(self.samples.std(axis=0, ddof=1) / sqrt(len(self.samples)))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """What separates the certificate from the truth about the original problem, part by part.

    Attributes:
        sampling: how far the upper end of the interval lies above the gap that was measured.
        smoothing: D ‖d_y‖ ω(x, δ), what Proposition 5 adds for the Clarke gap; NaN for a black box.
        follower: D n τ ‖d_y‖ / δ, the most that a follower solved to tolerance τ can add; part of the interval.

    """

    sampling: float
    smoothing: float
    follower: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """What fresh queries say about the Bi-ZOL Frank–Wolfe gap G_δ(x) at one point.

    The gap of averaged samples is biased upward (Jensen: the largest of noisy numbers), and the lowest of many such
    gaps downward. The interval knows both:

    - its upper end is the largest, over z in X, of the upper t-limit of ⟨x − z, g_δ⟩. It holds because the z that
      attains the true gap is a fixed point of X, whose own t-limit is exceeded only with the stated risk: no union
      bound is needed. (The largest is found by ascent from many starts, as the limit is a convex function of z);
    - its lower end is cross-fitted: one half of the samples chooses z, the other half evaluates it, and the other way
      round; each is unbiased for something that is at most the gap;
    - with `among=k` both are widened (Bonferroni) so that the lowest of k certificates still means what it says.

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
        return f"({self.delta:g}, {self.epsilon:.4g})-Bi-ZOL stationary at {self.confidence:.0%}"

    def __str__(self) -> str:
        low, high = self.interval
        smoothing = (
            "unknown, the follower is a black box" if np.isnan(self.parts.smoothing) else f"{self.parts.smoothing:.4g}"
        )
        lines = {
            "statement": self.statement,
            "gap": f"{self.gap:.6g}   in [{low:.4g}, {high:.4g}]",
            "sampling": f"{self.parts.sampling:.4g}",
            "smoothing": smoothing,
            "follower": f"{self.parts.follower:.4g}",
            "queries": f"{self.queries} ({self.directions} directions, seed {self.seed})",
        }
        return "\n".join(f"{name:>13}: {text}" for name, text in lines.items())


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactGap:
    """A Frank–Wolfe gap computed from the follower's structure."""

    at: Point
    kind: Literal["smooth", "Clarke", "Bi-ZOL"]
    gap: float
    hypergradient: Hypergradient  # the (sub)gradient that attains it
    vertex: Point


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClarkeBound:
    """Proposition 5: G^c(x) ≤ G_δ(x) + D ‖d_y‖ ω(x, δ), from a certificate."""

    at: Point
    epsilon: float  # x is ε-Clarke Frank–Wolfe stationary
    confidence: float
    variation: SetVariation

    @property
    def statement(self) -> str:
        """What follows, in a sentence."""
        hedge = " if the search for pieces missed none" if self.variation.kind == "search" else ""
        return f"{self.epsilon:.4g}-Clarke Frank–Wolfe stationary at {self.confidence:.0%}{hedge}"


def estimate_hypergradient(
    problem: Problem,
    x: ArrayLike,
    *,
    delta: float,
    directions: int = 200,
    sampler: Directions | None = None,
    block: int | None = None,
    seed: int | None = None,
) -> HypergradientEstimate:
    """Estimate g_δ(x), eq. (5), from 2·directions + 1 fresh queries.

    Args:
        problem: whose follower is asked.
        x: where.
        delta: the smoothing radius.
        directions: how many directions; each costs two queries.
        sampler: where to look; orthonormal blocks by default, `Sphere()` for the paper's.
        block: how many directions are drawn together and averaged into one independent sample. By default as many as
            leave eight samples, and at most n.
        seed: makes it repeatable.

    """
    point = _feasible(problem, x)
    as_size(directions, "directions")
    reach = float(getattr(problem.response, "reach", np.inf))
    if as_positive(delta, "delta") > reach:
        raise ValueError(f"delta must be at most {reach:g}, how far outside of X this follower answers, got {delta:g}.")
    size = max(1, min(point.size, directions // 8)) if block is None else as_size(block, "block")
    if directions < 2 * size:
        raise ValueError(
            f"directions must make at least two independent blocks of {size}, got {directions}; "
            f"ask for more directions or a smaller block."
        )
    count = directions // size  # independent samples
    drawn = (sampler or OrthonormalBlocks()).draw(generator(as_seed(seed), 0), count, size, point.size)
    probes = delta * drawn.reshape(-1, point.size)
    evaluator = Evaluator(problem)
    responses = evaluator.evaluate(np.concatenate([point[None], point + probes, point - probes]))
    anchor = problem.objective.anchor(point, responses[0, ...])
    differences = responses[1 : len(probes) + 1, ...] - responses[len(probes) + 1 :, ...]
    slopes = to_numpy(differences @ anchor.grad_y).reshape(count, size) / (2 * delta)
    samples = anchor.grad_x + point.size / size * np.einsum("kb,kbn->kn", slopes, drawn)
    return HypergradientEstimate(at=point, delta=delta, anchor=anchor, samples=samples, queries=evaluator.queries)


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
        problem: the problem. Its follower is asked 2·directions + 1 times at most (directions are used in whole
            blocks), apart from any budget. A follower may carry two facts that are used here: `reach`, how far outside
            of X it answers, and `tolerance`, how accurately.
        x: the point, in X.
        delta: the δ of the gap G_δ.
        directions: how many directions.
        confidence: how often the interval must hold the true gap.
        sampler: where to look; orthonormal blocks by default, which need far fewer directions than independent ones.
        among: how many certificates this one will be chosen from.
        seed: makes it repeatable; not the seed of the search, or the queries would not be fresh.

    Example:
        >>> import bizol
        >>> from bizol.reproduction.instances import BOX, tracking_instance
        >>> instance = tracking_instance(BOX)
        >>> certificate = certify(instance.problem, instance.start, delta=0.08, seed=1)
        >>> certificate.queries, certificate.interval[0] <= certificate.gap <= certificate.interval[1]
        (401, True)

    """
    if not is_real(confidence) or not 0 < confidence < 1:
        raise ValueError(f"certify(confidence=...) must be in (0, 1), got {confidence!r}.")
    seed = as_seed(seed)
    estimate = estimate_hypergradient(problem, x, delta=delta, directions=directions, sampler=sampler, seed=seed)
    feasible_set = problem.feasible_set
    risk = (1 - confidence) / (2 * as_size(among, "certify(among=...)"))  # of each end
    vertex = feasible_set.minimize_linear(estimate.value)
    toward = estimate.at - vertex
    gap = float(toward @ estimate.value)
    sampling = _upper_limit(feasible_set, estimate, risk) - gap
    slope = float(np.linalg.norm(to_numpy(estimate.anchor.grad_y)))
    tolerance = float(getattr(problem.response, "tolerance", 0.0))
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
        parts=ErrorParts(sampling=sampling, smoothing=_smoothing_part(problem, estimate, slope), follower=follower),
        directions=(estimate.queries - 1) // 2,
        queries=estimate.queries,
        seed=seed,
    )


def smooth_gap(problem: Problem, x: ArrayLike, tolerance: float = 1e-9) -> ExactGap:
    """Return the smooth Frank–Wolfe gap of Definition 3; x must not be on a kink of the response."""
    point = _feasible(problem, x)
    hull = clarke_subdifferential(problem, point, tolerance)
    if len(hull.generators) > 1:
        raise ValueError(
            f"The response has a kink at this x ({len(hull.generators)} pieces meet), so there is no gradient; "
            f"bizol.clarke_gap is defined there."
        )
    return _exact("smooth", problem.feasible_set, Hypergradient(point, hull.generators[0]))


def bizol_gap(problem: Problem, x: ArrayLike, *, delta: float) -> ExactGap:
    """Return the Bi-ZOL Frank–Wolfe gap of Definition 5, with g_δ computed from the follower's structure."""
    point = _feasible(problem, x)
    smoothed = structure(problem).smoothed(point, as_positive(delta, "delta"))
    anchor = anchor_at(problem, point)
    gradient = Hypergradient(point, anchor.grad_x + smoothed.jacobian.T @ anchor.grad_y)
    return _exact("Bi-ZOL", problem.feasible_set, gradient)


def clarke_gap(problem: Problem, x: ArrayLike, *, tolerance: float = 1e-9, accuracy: float = 1e-9) -> ExactGap:
    """Return the Clarke Frank–Wolfe gap of Definition 4, an exact min–max over the hull of the limiting gradients.

    By cutting planes: a linear program over the weights of the hull with the vertices found so far, one more vertex
    from the feasible set, until both agree to `accuracy`. Ends after finitely many on a polytope; works for any set.

    Args:
        problem: with a follower of known structure.
        x: the point, in X.
        tolerance: how near a kink counts as on it.
        accuracy: the difference, relative to the gap's scale, at which the bounds count as equal.

    """
    point = _feasible(problem, x)
    hull = clarke_subdifferential(problem, point, tolerance)
    return _exact("Clarke", problem.feasible_set, _best_subgradient(problem.feasible_set, hull, accuracy))


def transfer(
    certificate: Certificate, problem: Problem | None = None, *, variation: float | None = None
) -> ClarkeBound:
    """Turn a Bi-ZOL certificate into a bound on the Clarke gap, Proposition 5, eq. (24).

    Args:
        certificate: what was certified.
        problem: its problem, when the follower's structure is known: ω(x, δ) is then computed.
        variation: an upper bound on ω(x, δ) from elsewhere, for a black box: 0 at a δ-regular point of a piecewise
            affine response, L δ for a response with L-Lipschitz Jacobian.

    """
    if (problem is None) == (variation is None):
        raise ValueError(
            "transfer() needs the problem, or a bound on the set variation (variation=...): one of the two."
        )
    if variation is not None:
        if not is_real(variation) or not 0 <= variation < np.inf:
            raise ValueError(f"transfer(variation=...) must be finite and not negative, got {variation!r}.")
        omega = SetVariation(value=float(variation), kind="upper bound")
    else:
        assert problem is not None
        omega = set_variation(structure(problem), certificate.at, certificate.delta)
    bias = certificate.diameter * certificate.response_gradient * omega.value
    return ClarkeBound(
        at=certificate.at, epsilon=certificate.epsilon + bias, confidence=certificate.confidence, variation=omega
    )


def _feasible(problem: Problem, x: ArrayLike) -> Point:
    point = as_vector(x, "x", size=problem.feasible_set.dimension)
    if not problem.feasible_set.contains(point):
        raise ValueError("x must lie in the feasible set: stationarity is defined for its points only.")
    return point


def _exact(kind: Literal["smooth", "Clarke", "Bi-ZOL"], feasible_set: FeasibleSet, gradient: Hypergradient) -> ExactGap:
    vertex = feasible_set.minimize_linear(gradient.value)
    gap = float(gradient.value @ (gradient.at - vertex))
    return ExactGap(at=gradient.at, kind=kind, gap=gap, hypergradient=gradient, vertex=vertex)


def _best_subgradient(feasible_set: FeasibleSet, hull: Hull, accuracy: float, most: int = 2000) -> Hypergradient:
    from scipy.optimize import linprog

    count = len(hull.generators)
    if count == 1:
        return Hypergradient(hull.at, hull.generators[0])
    weights = np.full(count, 1 / count)
    scale = max(float(np.abs(hull.generators).max()) * feasible_set.diameter, 1e-300)
    best, upper = hull.generators.mean(axis=0), np.inf
    cuts: list[Point] = []
    for _ in range(most):
        gradient = weights @ hull.generators
        toward = hull.at - feasible_set.minimize_linear(gradient)
        if toward @ gradient < upper:
            best, upper = gradient, float(toward @ gradient)
        cuts.append(hull.generators @ toward / scale)  # the gap is at least ⟨cut, weights⟩
        master = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.column_stack([np.array(cuts), -np.ones(len(cuts))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * count + [(None, None)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        before, weights = weights, master.x[:-1] / master.x[:-1].sum()
        if upper / scale - master.fun <= accuracy or np.abs(weights - before).max() <= 1e-12:
            break
    return Hypergradient(hull.at, best)


def _upper_limit(feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float, rounds: int = 10) -> float:
    """Return the largest upper t-limit of ⟨x − z, g_δ⟩ over z, by Frank–Wolfe ascent on this convex function of z.

    Starts at the vertices that the mean, every sample, and every sample mirrored at the mean would choose.
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
            slope = mean + reach * (scores @ centered) / spread if spread > 0 else mean
            toward = estimate.at - feasible_set.minimize_linear(slope)
        best = max(best, value)
    return best


def _cross_fitted(feasible_set: FeasibleSet, estimate: HypergradientEstimate, risk: float) -> float:
    """Return a lower confidence limit of the gap: each half of the samples judges the vertex the other half chose."""
    halves = np.array_split(estimate.samples, 2)
    if min(map(len, halves)) < 2:
        return 0.0
    judged = []
    for chooser, judge in (halves, halves[::-1]):
        toward = estimate.at - feasible_set.minimize_linear(chooser.mean(axis=0))
        scores = judge @ toward
        judged.append(float(scores.mean()) - _quantile(risk, len(scores) - 1) * _standard_error(scores))
    return (judged[0] + judged[1]) / 2  # errors may be fully correlated: standard errors add up, not their squares


def _smoothing_part(problem: Problem, estimate: HypergradientEstimate, slope: float) -> float:
    try:
        omega = set_variation(structure(problem), estimate.at, estimate.delta)
    except ValueError:  # a black box, or too many pieces to list
        return nan
    return problem.feasible_set.diameter * slope * omega.value


def _standard_error(scores: Point) -> float:
    return float(scores.std(ddof=1)) / sqrt(len(scores))


def _quantile(risk: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - risk))
