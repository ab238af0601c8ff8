"""The forecast of the response everywhere in X, from all answers at once.

Every component is a Gaussian process: a trend of at most second degree and what is left of it,
smooth or rough, over some length (C. Rasmussen and C. Williams, 2006). Which kernel it is, the
answers say: the one that makes them most likely. A quadratic response is recognized in this way, as
its trend leaves nothing. All components share one kernel, but for those that matter most to φ:
where X is small, each of these has its own, in which coordinates that it does not depend on do not
count. Where answers repeat a limit, what the component would be without it is what the other
answers say, but beyond the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, Responses
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight.forecasts.gaussian import Processes
from bizol.methods.foresight.forecasts.hinges import Matrix
from bizol.methods.foresight.forecasts.kernels import (
    Kernel,
    Pairs,
    factorize,
    most_likely,
    own_kernel,
)
from bizol.methods.foresight.forecasts.latent import Known
from bizol.methods.foresight.forecasts.protocol import Kinks, PullBack
from bizol.methods.foresight.settings import (
    EVERYWHERE_ANSWERS,
    EVERYWHERE_DIMENSION,
    EVERYWHERE_WORK,
    GROWTH,
    JURORS,
    NOISES,
    OWN,
    OWN_DIMENSION,
    OWN_SEARCHED,
)
from bizol.problem import Anchor
from bizol.records import assign


class _Unlimited(NamedTuple):
    """The response without limits at a decision."""

    response: Point
    pull_back: Callable[[Point], Point]  # d ↦ Jᵀd
    gradients: Callable[[NDArray[np.intp]], Matrix]  # of some components


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some components of the response, as multiples of σ above μ."""

    components: NDArray[np.intp]
    processes: Processes


@final
@dataclass(frozen=True, slots=True, eq=False)
class Everywhere:
    """The forecast of the response from all answers.

    Without limits, ŷ_j(u) = μ_j + σ_j p_j(u) with Gaussian processes p_j.
    """

    kernel: Kernel  # that components share
    points: Points  # (k, n), answers in units of the diameter of X, around its center
    parts: tuple[Part, ...]
    means: Point  # μ (m,)
    spreads: Point  # σ (m,)
    floors: Point  # (m,), −inf where there is none
    ceilings: Point  # (m,)
    center: Point
    diameter: float
    at: Point  # x, in units
    start: Point  # y(x) (m,)
    fitted: int  # the iteration of the latest answers
    looked: int  # the iteration in which kernels were chosen
    temperature: float = 0.0
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

    @property
    def latent(self) -> Matrix:
        """The answers (k, m) as multiples of σ above μ; beyond the limits where at one."""
        return self._whole([part.processes.latent for part in self.parts])

    @property
    def own(self) -> dict[int, Kernel]:
        """The components that have a kernel of their own, and these kernels."""
        found: dict[int, Kernel] = {}
        for part in self.parts[1:]:
            found.update(zip(part.components.tolist(), part.processes.kernels, strict=True))
        return found

    def _whole(self, parts: Sequence[Matrix]) -> Matrix:
        """Return the columns of all parts, each in its place."""
        whole = np.empty((len(parts[0]), len(self.means)))
        for part, columns in zip(self.parts, parts, strict=True):
            whole[:, part.components] = columns
        return whole

    def change(self, step: Point) -> Point:
        """Return the expected y(x + step) − y(x)."""
        return self.linearized(step)[0]

    def linearized(self, step: Point) -> tuple[Point, PullBack]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        there = self._unlimited(step)
        response, inside = self._between_limits(there.response)
        return response - self.start, lambda covector: there.pull_back(covector * inside)

    def _place(self, step: Point) -> Point:
        return (self.at + step - self.center) / self.diameter

    def _unlimited(self, step: Point) -> _Unlimited:
        """Return the response without limits."""
        if self._latest is not None and np.array_equal(self._latest[0], step):
            return self._latest[1]
        u, spreads, diameter = self._place(step), self.spreads, self.diameter
        seen = [(part.components, part.processes.look(u)) for part in self.parts]
        value = np.empty(len(self.means))
        for components, each in seen:
            value[components] = each.values

        def pull_back(covector: Point) -> Point:
            # No reference to the forecast, which refers to what is returned here: it would be freed
            # late.
            matter = covector * spreads
            parts = [each.pull_back(matter[components]) for components, each in seen]
            return np.asarray(sum(parts) / diameter)

        def gradients(which: NDArray[np.intp]) -> Matrix:
            if len(seen) == 1:
                rows = seen[0][1].gradients(which)
            else:
                rows = np.empty((len(which), len(u)))
                for components, each in seen:
                    there, places = np.nonzero(which[:, None] == components)
                    rows[there] = each.gradients(places)
            return np.asarray(spreads[which, None] * rows / diameter)

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
        u, matter = self._place(step), covector * inside * self.spreads
        parts = [part.processes.curvature(u, matter[part.components]) for part in self.parts]
        return np.asarray(sum(parts) / self.diameter**2)

    def _soft(self, which: NDArray[np.intp]) -> Point:
        return np.asarray(np.maximum(self.temperature * self.spreads[which] / 2, 1e-150) ** 2)

    def responses(self, places: Points) -> Responses:
        """Return the expected responses (q, m) at decisions in units (q, n)."""
        values = self.latents((places - self.center) / self.diameter)
        return np.clip(self.means + self.spreads * values, self.floors, self.ceilings)

    def latents(self, points: Points) -> Matrix:
        """Return the expected responses without limits, as multiples of σ above μ."""
        return self._whole([part.processes.values(points) for part in self.parts])

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
        off = self._whole([part.processes.left_out() for part in self.parts]) * matters
        latent = self.latent
        size = (latent - latent.mean(axis=0)) * matters
        return float(np.linalg.norm(off) / max(float(np.linalg.norm(size)), 1e-300))

    def drawn(self, rng: np.random.Generator) -> Everywhere:
        """Return one of the responses that the answers leave possible."""
        parts = [replace(part, processes=part.processes.drawn(rng)) for part in self.parts]
        return replace(self, parts=tuple(parts))


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
        before: the forecast as it was before; its kernels are kept for some time.
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
    first = np.argsort(-np.abs(here.grad_y) * known.spreads, kind="stable")
    if before is not None:
        known = known.compared(before, points)
    pairs = Pairs(points)
    kernel, own = (Kernel(), {}) if before is None else (before.kernel, before.own)
    look = before is None or age >= GROWTH * before.looked
    if look:
        jurors = first[:JURORS]
        latent = known.beyond(kernel.matrix(pairs, noise=NOISES[1]), jurors)
        kernel = most_likely(kernel, pairs, latent[:, jurors])
        some = first[:OWN].tolist() if n <= OWN_DIMENSION else []
        own = {
            each: own_kernel(
                _candidates(kernel, own.get(each), len(points), n), pairs, latent[:, each]
            )
            for each in sorted(some)
        }
        own = {each: found for each, found in own.items() if found != kernel}
    parts = _parts(known, pairs, (kernel, own), first, look=look)
    if parts is None:
        return None
    return Everywhere(
        kernel=parts[0].processes.kernels[0],
        points=points,
        parts=parts,
        means=known.means,
        spreads=known.spreads,
        floors=known.floors,
        ceilings=known.ceilings,
        center=space.center,
        diameter=space.diameter,
        at=here.at / space.units,
        start=now,
        fitted=age,
        looked=age if look or before is None else before.looked,
    )


def _candidates(shared: Kernel, before: Kernel | None, size: int, n: int) -> list[Kernel]:
    """Return from which kernels one component looks for its own, given so many answers."""
    near = shared if before is None else replace(before, family=shared.family)
    few = size <= OWN_SEARCHED * (n + 1)
    return [near, Kernel(family=shared.family)] if few else [near]


def _parts(
    known: Known,
    pairs: Pairs,
    kernels: tuple[Kernel, dict[int, Kernel]],
    first: NDArray[np.intp],
    *,
    look: bool,
) -> tuple[Part, ...] | None:
    """Return the Gaussian processes; None where numbers do not allow it.

    Where limits are the same as before, answers are where they were expected; now and then all
    components that matter are looked at again.
    """
    shared, own = kernels
    order = np.argsort(~known.moved[first], kind="stable")
    again = first[order][: JURORS if look else min(JURORS, int(known.moved.sum()))]
    found = _factorized(shared, pairs)
    if found is None:
        return None
    alone, factors, columns = [], [], []
    for component, kernel in own.items():
        made = _factorized(kernel, pairs)
        if made is None:
            continue
        latent = known.latent
        if look or known.moved[component]:
            latent = known.beyond(made[0].matrix(pairs), np.array([component]))
        alone.append((component, made[0]))
        factors.append(made[1])
        columns.append(latent[:, component])
    some = np.array([component for component, _ in alone], dtype=np.intp)
    rest = np.setdiff1d(np.arange(len(known.means)), some)
    latent = known.beyond(found[0].matrix(pairs), np.setdiff1d(again, some))
    parts = [
        Part(rest, Processes.fit((found[0],), pairs.points, [found[1]], latent[:, rest])),
    ]
    if alone:
        kernels_ = tuple(kernel for _, kernel in alone)
        processes = Processes.fit(kernels_, pairs.points, factors, np.column_stack(columns))
        parts.append(Part(some, processes))
    return tuple(parts)


def _factorized(kernel: Kernel, pairs: Pairs) -> tuple[Kernel, Matrix] | None:
    """Return the kernel, with more noise if need be, and the factor of its matrix."""
    factor = factorize(kernel.matrix(pairs))
    while factor is None and kernel.noise + 1 < len(NOISES):
        kernel = replace(kernel, noise=kernel.noise + 1)
        factor = factorize(kernel.matrix(pairs))
    return None if factor is None else (kernel, factor)


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
