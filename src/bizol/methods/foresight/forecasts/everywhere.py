"""The forecast of the response everywhere in X, from all answers at once.

Every component is a Gaussian process with one shared kernel: a trend of at most second degree and
what is left of it, smooth or rough, over some length (C. Rasmussen and C. Williams, 2006). Which
kernel it is, the answers say: the one that makes them most likely. A quadratic response is
recognized in this way, as its trend leaves nothing. Where answers repeat a limit, what the
component would be without it is what the other answers say, but beyond the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, pi
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, Responses
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight.forecasts.hinges import Matrix
from bizol.methods.foresight.forecasts.kernels import (
    CONSTANT,
    FAMILIES,
    Kernel,
    factorize,
    most_likely,
    solve,
    squared_distances,
    whiten,
)
from bizol.methods.foresight.forecasts.latent import Known
from bizol.methods.foresight.forecasts.protocol import Kinks, PullBack
from bizol.methods.foresight.settings import (
    BENDS,
    EVERYWHERE_ANSWERS,
    EVERYWHERE_DIMENSION,
    EVERYWHERE_WORK,
    FEATURES,
    GROWTH,
    JURORS,
    LENGTHS,
    NOISES,
    TRENDS,
)
from bizol.problem import Anchor
from bizol.records import assign


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One function of those the answers leave possible: random waves and a random plane."""

    waves: Matrix  # (f, n)
    phases: Point  # (f,)
    heights: Matrix  # (f, m)
    slopes: Matrix  # (n, m)

    def values(self, points: Points) -> Matrix:
        """Return the function before it knows the answers (k, m)."""
        waves = np.cos(points @ self.waves.T + self.phases)
        return np.asarray(waves @ self.heights + points @ self.slopes)


class _Unlimited(NamedTuple):
    """The response without limits at a decision."""

    response: Point
    pull_back: Callable[[Point], Point]  # d ↦ Jᵀd
    gradients: Callable[[NDArray[np.intp]], Matrix]  # of some components


@final
@dataclass(frozen=True, slots=True, eq=False)
class Everywhere:
    """The forecast of the response from all answers, of all components at once.

    Without limits, ŷ_j(u) = μ_j + σ_j Σ_i k(u, x_i) α_ij.
    """

    kernel: Kernel
    points: Points  # (k, n), x_i in units of the diameter of X, around its center
    weights: Matrix  # α (k, m)
    latent: Matrix  # (k, m), the answers as multiples of σ above μ; beyond the limits where at one
    factor: Matrix  # of the matrix of the kernel's values, lower triangle
    means: Point  # μ (m,)
    spreads: Point  # σ (m,)
    floors: Point  # (m,), −inf where there is none
    ceilings: Point  # (m,)
    variances: Point  # (m,)
    center: Point
    diameter: float
    at: Point  # x, in units
    start: Point  # y(x) (m,)
    fitted: int  # the iteration of the latest answers
    looked: int  # the iteration in which the kernel was chosen
    temperature: float = 0.0
    draw: Draw | None = None
    kinked: bool = field(init=False)  # whether there are limits
    # The latest step and what is there: several things are asked of it in turn.
    _latest: tuple[Point, _Unlimited] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        kinked = bool(np.isfinite(self.floors).any() or np.isfinite(self.ceilings).any())
        assign(self, kinked=kinked)

    @property
    def size(self) -> int:
        """How many answers the forecast was fitted to."""
        return len(self.points)

    def change(self, step: Point) -> Point:
        """Return the expected y(x + step) − y(x)."""
        return self.linearized(step)[0]

    def linearized(self, step: Point) -> tuple[Point, PullBack]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        there = self._unlimited(step)
        response, inside = self._between_limits(there.response)
        return response - self.start, lambda covector: there.pull_back(covector * inside)

    def _unlimited(self, step: Point) -> _Unlimited:
        """Return the response without limits."""
        if self._latest is not None and np.array_equal(self._latest[0], step):
            return self._latest[1]
        u = (self.at + step - self.center) / self.diameter
        offsets = u - self.points
        along = self.points @ u
        squares = np.einsum("kn,kn->k", offsets, offsets)
        rough, slope = self.kernel.rough(squares)
        a, b = TRENDS[self.kernel.trend], BENDS[self.kernel.bend]
        value = (rough + CONSTANT + along * (a + b * along)) @ self.weights
        draw = self.draw
        if draw is not None:
            angles = draw.waves @ u + draw.phases
            value = value + np.cos(angles) @ draw.heights + u @ draw.slopes

        def pull_back(covector: Point) -> Point:
            matter = covector * self.spreads
            each = self.weights @ matter
            back = (each * slope) @ offsets + (each * (a + 2 * b * along)) @ self.points
            if draw is not None:
                back = back - (np.sin(angles) * (draw.heights @ matter)) @ draw.waves
                back = back + draw.slopes @ matter
            return np.asarray(back / self.diameter)

        def gradients(which: NDArray[np.intp]) -> Matrix:
            each = self.weights.T[which]
            back = (each * slope) @ offsets + (each * (a + 2 * b * along)) @ self.points
            if draw is not None:
                back = back - (np.sin(angles) * draw.heights.T[which]) @ draw.waves
                back = back + draw.slopes.T[which]
            return np.asarray(self.spreads[which, None] * back / self.diameter)

        found = _Unlimited(self.means + self.spreads * value, pull_back, gradients)
        assign(self, _latest=(step, found))
        return found

    def kinks(self, step: Point, covector: Point) -> Kinks:
        """Return the limits near x + step, where the gradient of φ by the response is given."""
        there = self._unlimited(step)
        value = there.response.copy()
        share = np.ones(len(value))  # of its slope that a component keeps between its limits
        found: list[tuple[Matrix, Point, Point, Point]] = []
        below = np.zeros(0, dtype=np.intp)
        for ends, sign in ((self.floors, 1.0), (self.ceilings, -1.0)):
            which = np.flatnonzero(np.isfinite(ends))
            half = sign * (value[which] - ends[which]) / 2
            root = np.sqrt(half * half + self._soft(which))
            inside = np.ones(len(value))
            inside[which] = (1 + half / root) / 2
            for _, _, _, weights in found:
                weights *= inside[below]
            rows = (sign / 2 * share[which])[:, None] * there.gradients(which)
            found.append((rows, half, root, sign * covector[which]))
            value[which] = ends[which] + sign * (half + root)
            below, share = which, share * inside
        parts = [np.concatenate(each) for each in zip(*found, strict=True)]
        return Kinks(rows=parts[0], arguments=parts[1], roots=parts[2], weights=parts[3])

    def jacobian(self, step: Point) -> Responses:
        """Return J (m, n) at x + step."""
        there = self._unlimited(step)
        _, inside = self._between_limits(there.response)
        return there.gradients(np.arange(len(self.spreads))) * np.reshape(inside, (-1, 1))

    def curvature(self, step: Point, covector: Point) -> Points:
        """Return Σ_j d_j ∇²ŷ_j at x + step, without that of the limits."""
        _, inside = self._between_limits(self._unlimited(step).response)
        u = (self.at + step - self.center) / self.diameter
        offsets = u - self.points
        slope, bend = self.kernel.bends(np.einsum("kn,kn->k", offsets, offsets))
        matter = covector * inside * self.spreads
        each = self.weights @ matter
        whole = (offsets.T * (each * bend)) @ offsets
        whole += 2 * BENDS[self.kernel.bend] * (self.points.T * each) @ self.points
        whole += (each @ slope) * np.eye(len(step))
        if self.draw is not None:
            waves = self.draw.waves
            heights = np.cos(waves @ u + self.draw.phases) * (self.draw.heights @ matter)
            whole -= (waves.T * heights) @ waves
        return np.asarray(whole / self.diameter**2)

    def _soft(self, which: NDArray[np.intp]) -> Point:
        return np.asarray(np.maximum(self.temperature * self.spreads[which] / 2, 1e-150) ** 2)

    def responses(self, places: Points) -> Responses:
        """Return the expected responses (q, m) at decisions in units (q, n)."""
        values = self.latents((places - self.center) / self.diameter)
        return np.clip(self.means + self.spreads * values, self.floors, self.ceilings)

    def latents(self, points: Points) -> Matrix:
        """Return the expected responses without limits, as multiples of σ above μ."""
        values = self.kernel.values(squared_distances(points, self.points), points @ self.points.T)
        values = values @ self.weights
        return values if self.draw is None else values + self.draw.values(points)

    def _between_limits(self, value: Point) -> tuple[Point, Point | float]:
        """Return the response between its limits, and its derivative; smooth with a temperature."""
        if not self.kinked:
            return value, 1.0
        value = value.copy()
        inside = np.ones(len(value))
        for limits_, sign in ((self.floors, 1.0), (self.ceilings, -1.0)):
            which = np.flatnonzero(np.isfinite(limits_))
            half = sign * (value[which] - limits_[which]) / 2
            root = np.sqrt(half * half + self._soft(which))
            value[which] = limits_[which] + sign * (half + root)
            inside[which] *= (1 + half / root) / 2
        return value, inside

    def softened(self, temperature: float) -> Everywhere:
        """Return the same with smooth limits."""
        return replace(self, temperature=temperature)

    def seen_from(self, z: Point, now: Point) -> Everywhere:
        """Return the same around another decision, with its answer."""
        return replace(self, at=z, start=now)

    def miss(self, matters: Point) -> float:
        """Return how far the forecast of each answer by the others is off, if components matter so.

        Relative to how much the answers differ; by leaving out one after the other.
        """
        inverse = whiten(self.factor, np.eye(len(self.factor)))
        precision = np.einsum("ik,ik->k", inverse, inverse)  # the diagonal of K⁻¹
        off = self.weights / precision[:, None] * matters
        size = (self.latent - self.latent.mean(axis=0)) * matters
        return float(np.linalg.norm(off) / max(float(np.linalg.norm(size)), 1e-300))

    def drawn(self, rng: np.random.Generator) -> Everywhere:
        """Return one of the responses that the answers leave possible.

        A random function of the kernel, corrected by what it misses of the answers (J. Wilson et
        al., 2020). The curvature of the trend is not random: answers determine it first.
        """
        n, m = self.points.shape[1], self.weights.shape[1]
        family, length = FAMILIES[self.kernel.family], LENGTHS[self.kernel.length]
        waves = rng.standard_normal((FEATURES, n)) / length
        if family < inf:
            waves /= np.sqrt(rng.gamma(family, 1 / family, (FEATURES, 1)))
        phases = rng.uniform(0, 2 * pi, FEATURES)
        sizes = np.sqrt(self.variances)
        heights = rng.standard_normal((FEATURES, m)) * np.sqrt(2 / FEATURES) * sizes
        slopes = rng.standard_normal((n, m)) * np.sqrt(TRENDS[self.kernel.trend]) * sizes
        draw = Draw(waves, phases, heights, slopes)
        weights = solve(self.factor, whiten(self.factor, self.latent - draw.values(self.points)))
        return replace(self, draw=draw, weights=weights)


def fit_everywhere(
    observed: Sequence[Anchor],
    here: Anchor,
    space: InUnits,
    *,
    before: Everywhere | None = None,
    age: int = 0,
) -> Everywhere | None:
    """Fit the response everywhere; None where responses are not NumPy arrays, or X too large.

    Args:
        observed: the answers so far, the oldest first.
        here: the decision, and the answer there.
        space: X in the method's units.
        before: the forecast as it was before; its kernel is kept for some time.
        age: how many iterations there were.

    """
    n, now = here.at.size, here.response
    if not isinstance(now, np.ndarray) or n > EVERYWHERE_DIMENSION or space.diameter == 0:
        return None
    chosen = _some(observed, here, space.units)
    if len(chosen) < 3 or len(chosen) * now.size > EVERYWHERE_WORK:
        return None
    places = np.array([each.at for each in chosen]) / space.units
    points = (places - space.center) / space.diameter
    known = Known.gather(places, np.array([each.response for each in chosen]))
    kernel = Kernel() if before is None else before.kernel
    squares, products = squared_distances(points, points), points @ points.T
    first = np.argsort(-np.abs(here.grad_y) * known.spreads, kind="stable")
    if before is not None:
        known = known.compared(before, points)
    look = before is None or age >= GROWTH * before.looked
    if look:
        jurors = first[:JURORS]
        latent = known.beyond(kernel.matrix(squares, products, noise=NOISES[1]), jurors)
        kernel = most_likely(kernel, squares, products, latent[:, jurors])
    matrix = kernel.matrix(squares, products)
    factor = factorize(matrix)
    while factor is None and kernel.noise + 1 < len(NOISES):
        kernel = replace(kernel, noise=kernel.noise + 1)
        matrix = kernel.matrix(squares, products)
        factor = factorize(matrix)
    if factor is None:
        return None
    # Where limits are the same as before, answers are where they were expected; now and then all
    # that matter are looked at again.
    order = np.argsort(~known.moved[first], kind="stable")
    again = first[order][: JURORS if look else min(JURORS, int(known.moved.sum()))]
    latent = known.beyond(matrix, again)
    white = whiten(factor, latent)
    return Everywhere(
        kernel=kernel,
        points=points,
        weights=solve(factor, white),
        latent=latent,
        factor=factor,
        means=known.means,
        spreads=known.spreads,
        floors=known.floors,
        ceilings=known.ceilings,
        variances=(white**2).mean(axis=0),
        center=space.center,
        diameter=space.diameter,
        at=here.at / space.units,
        start=now,
        fitted=age,
        looked=age if look or before is None else before.looked,
    )


def _some(observed: Sequence[Anchor], here: Anchor, units: Point) -> list[Anchor]:
    """Return the answers to use: the nearest, and others of all times; none twice."""
    seen: dict[bytes, Anchor] = {}
    for each in observed:
        seen.setdefault(each.at.tobytes(), each)
    each_one = list(seen.values())
    if len(each_one) <= EVERYWHERE_ANSWERS:
        return each_one
    distances = [float(np.linalg.norm((each.at - here.at) / units)) for each in each_one]
    order = np.argsort(distances, kind="stable")
    half = EVERYWHERE_ANSWERS // 2
    rest = np.sort(order[half:])
    spread = rest[np.linspace(0, len(rest) - 1, EVERYWHERE_ANSWERS - half).astype(int)]
    return [each_one[index] for index in np.sort(np.concatenate([order[:half], spread]))]
