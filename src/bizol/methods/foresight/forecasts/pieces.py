"""The forecast by pieces: every component on its own, by one or two planes between limits.

Followers have limits, so their responses have kinks. One kink of one component is a hinge, the
larger or the smaller of two planes (L. Breiman, 1993); a floor or a ceiling is a value that
answers repeat exactly. The kinks of different components are independent, so about 2(n + 1)
answers determine the 2ᵐ pieces that meet where every component has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.methods.foresight.forecasts.hinges import Answered, Mask, Matrix, fit_hinges
from bizol.methods.foresight.forecasts.protocol import Kinks
from bizol.methods.foresight.settings import (
    ALWAYS,
    APART,
    KEPT,
    OVERHEAD,
    PIECES_ANSWERS,
    PIECES_DIMENSION,
    PIECES_WORK,
    PLANES,
    REPEATED,
    RIDGE,
    SURPLUS,
    WORK,
)
from bizol.problem import Anchor
from bizol.records import assign

NO_TEMPERATURE = 1e-150  # its square is a number, and no answer has such a digit


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Kink:
    """One kind of kink of the pieces, smooth: each adds counts · √(argument² + t²)."""

    which: NDArray[np.intp]  # (k,), the components, as rows of the pieces
    rows: Matrix  # (k, n), the gradients of the arguments
    argument: Point  # (k,)
    root: Point  # (k,)
    counts: Point  # (k,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The change of some components: clip(max(ℓ₁, ℓ₂), floor, ceiling), or min in place of max.

    With a temperature t, kinks are smooth: max(a, b) = (a + b + |a − b|)/2 with √((a − b)² + t²) in
    place of |a − b|, and limits in the same way (C. Chen and O. Mangasarian, 1996).
    """

    components: NDArray[np.intp]
    slopes: Matrix  # (2, c, n), of the two planes
    heights: Matrix  # (2, c), of the two planes at x, above y(x)
    signs: Point  # (c,), 1 where the larger plane counts, −1 where the smaller one does
    floors: Point  # (c,), above y(x); −inf where there is none
    ceilings: Point  # (c,)
    spreads: Point  # (c,), how much the answers differ: the unit of temperatures
    start: Point  # (c,), y(x)
    at: Point  # x, in units
    temperature: float = 0.0
    # Computed once, for many evaluations: mean and difference of both planes, which components have
    # limits, squared temperatures, and what the pieces say of x itself, above y(x): zero where they
    # explain it.
    _turns: Point = field(init=False, repr=False)  # (c,), the signs, 0 where there is no kink
    _rows: Matrix = field(init=False, repr=False)  # (2c, n)
    _levels: Point = field(init=False, repr=False)  # (2c,)
    _limited: tuple[NDArray[np.intp], NDArray[np.intp]] = field(init=False, repr=False)
    _soft: Point = field(init=False, repr=False)  # (c,)
    _origin: Point = field(init=False, repr=False)  # (c,)
    # The latest step and what is there: several things are asked of it in turn.
    _latest: tuple[Point, tuple[Point, Matrix, list[_Kink]]] | None = field(
        init=False, repr=False, default=None
    )

    def __post_init__(self) -> None:
        differences = self.slopes[0] - self.slopes[1], self.heights[0] - self.heights[1]
        turns = np.where(differences[0].any(axis=1) | (differences[1] != 0), self.signs, 0.0)
        hinge = self.signs * (self.signs * self.heights).max(axis=0)
        assign(
            self,
            _turns=turns,
            _rows=np.concatenate([self.slopes.mean(axis=0), turns[:, None] / 2 * differences[0]]),
            _levels=np.concatenate([self.heights.mean(axis=0), turns / 2 * differences[1]]),
            _limited=(
                np.flatnonzero(self.floors > -np.inf),
                np.flatnonzero(self.ceilings < np.inf),
            ),
            _soft=np.maximum(self.temperature * self.spreads / 2, NO_TEMPERATURE) ** 2,
            _origin=np.clip(hinge, self.floors, self.ceilings),
        )

    def change(self, step: Point) -> Point:
        """Return the expected change of the components."""
        return self.linearized(step)[0]

    def linearized(self, step: Point) -> tuple[Point, Callable[[Point], Point]]:
        """Return the expected change and d ↦ Jᵀd with its Jacobian J at x + step."""
        value, slopes, _ = self._evaluate(step)
        return value - self._origin, lambda covector: np.asarray(covector @ slopes)

    def kinks(self, step: Point, covector: Point) -> Kinks:
        """Return the kinks at x + step, where the gradient of φ by the components is given."""
        _, _, found = self._evaluate(step)
        return Kinks(
            rows=np.concatenate([kink.rows for kink in found]),
            arguments=np.concatenate([kink.argument for kink in found]),
            roots=np.concatenate([kink.root for kink in found]),
            weights=np.concatenate([covector[kink.which] * kink.counts for kink in found]),
        )

    def jacobian(self, step: Point) -> Matrix:
        """Return the Jacobian (c, n) at x + step."""
        return self._evaluate(step)[1]

    def _evaluate(self, step: Point) -> tuple[Point, Matrix, list[_Kink]]:
        """Return the pieces above y(x), their Jacobian, and their kinks."""
        if self._latest is not None and np.array_equal(self._latest[0], step):
            return self._latest[1]
        count = len(self.signs)
        planes = self._rows @ step + self._levels
        half = planes[count:]
        root = np.sqrt(half * half + self._soft)
        value = planes[:count] + self._turns * root
        rows = self._rows[count:]
        slopes = self._rows[:count] + (self._turns * half / root)[:, None] * rows
        found = [_Kink(np.arange(count), rows, half, root, self._turns.copy())]
        for which, ends, sign in (
            (self._limited[0], self.floors, 1.0),
            (self._limited[1], self.ceilings, -1.0),
        ):
            if not which.size:
                continue
            gap = sign * (value[which] - ends[which]) / 2
            root = np.sqrt(gap * gap + self._soft[which])
            share = np.ones(count)
            share[which] = (1 + gap / root) / 2  # 1 between the limits, 0 beyond them
            for kink in found:
                kink.counts[:] *= share[kink.which]
            found.append(
                _Kink(which, sign * slopes[which] / 2, gap, root, np.full(len(which), sign))
            )
            value[which] = ends[which] + sign * (gap + root)
            slopes = slopes * share[:, None]
        assign(self, _latest=(step, (value, slopes, found)))
        return value, slopes, found

    def softened(self, temperature: float) -> Pieces:
        """Return the same with another temperature."""
        return replace(self, temperature=temperature)

    def restricted(self, chosen: Mask) -> Pieces:
        """Return the forecast of the chosen ones of its components."""
        return Pieces(
            self.components[chosen],
            self.slopes[:, chosen],
            self.heights[:, chosen],
            self.signs[chosen],
            self.floors[chosen],
            self.ceilings[chosen],
            self.spreads[chosen],
            self.start[chosen],
            self.at,
            self.temperature,
        )

    def without(self, components: NDArray[np.intp]) -> Pieces:
        """Return the forecast of the others of its components."""
        return self.restricted(~np.isin(self.components, components))

    def seen_from(self, z: Point, now: Point) -> Pieces:
        """Return the same pieces around another decision, with its answer (m,)."""
        way, rise = z - self.at, now[self.components] - self.start
        return replace(
            self,
            heights=self.slopes @ way + self.heights - rise,
            floors=self.floors - rise,
            ceilings=self.ceilings - rise,
            start=now[self.components],
            at=z,
        )

    def responses(self, steps: Points) -> Matrix:
        """Return the components (q, c) at steps (q, n), with sharp kinks."""
        planes = self.slopes @ steps.T + self.heights[:, :, None]
        hinges = self.signs[:, None] * (self.signs[:, None] * planes).max(axis=0)
        said = np.clip(hinges, self.floors[:, None], self.ceilings[:, None])
        return np.asarray((said + self.start[:, None]).T)

    def explains(self, steps: Points, answers: Matrix) -> Mask:
        """Return of which components all answers (k, m) are explained."""
        off = self.responses(steps) - answers[:, self.components]
        return np.asarray(np.abs(off).max(axis=0) <= KEPT * self.spreads)

    def proven(self, steps: Points, answers: Matrix) -> Mask:
        """Return which components explain all answers, although few answers determine them.

        Each of their planes explains at least two answers more than it has parameters.
        """
        planes = self.slopes @ steps.T + self.heights[:, :, None] + self.start[:, None]
        values = answers[:, self.components].T
        low, high = self.floors + self.start, self.ceilings + self.start
        between = (values > low[:, None]) & (values < high[:, None])
        near = (np.abs(planes - values) <= KEPT * self.spreads[:, None]) & between
        least = near.sum(axis=2).min(axis=0)
        return np.asarray(self.explains(steps, answers) & (least >= steps.shape[1] + SURPLUS))

    def joined(self, other: Pieces) -> Pieces:
        """Return the forecast of the components of both, seen from the same decision."""
        return replace(
            self,
            components=np.concatenate([self.components, other.components]),
            slopes=np.concatenate([self.slopes, other.slopes], axis=1),
            heights=np.concatenate([self.heights, other.heights], axis=1),
            signs=np.concatenate([self.signs, other.signs]),
            floors=np.concatenate([self.floors, other.floors]),
            ceilings=np.concatenate([self.ceilings, other.ceilings]),
            spreads=np.concatenate([self.spreads, other.spreads]),
            start=np.concatenate([self.start, other.start]),
        )


def fit_pieces(
    observed: Sequence[Anchor],
    here: Anchor,
    *,
    units: Point | float = 1.0,
    before: Pieces | None = None,
    shift: int = 0,
) -> Pieces | None:
    """Fit pieces to the answers nearest to a decision.

    None where there are too few, where n or m is large, and where responses are not NumPy's.
    Pieces that explain the nearest answers are kept. Of the other components, those that matter
    most to φ are fitted, and some others in turn, as many as can be fitted in little time.

    Args:
        observed: the answers so far.
        here: the decision, and the answer there.
        units: the unit of steps along every coordinate.
        before: the pieces as they were fitted before.
        shift: whose turn it is.

    """
    n, now = here.at.size, here.response
    if not isinstance(now, np.ndarray):
        return None
    if n > PIECES_DIMENSION or len(observed) * now.size > WORK:
        return None
    steps = np.array([each.at - here.at for each in observed]).reshape(-1, n) / units
    distances = np.linalg.norm(steps, axis=1)
    nearest = np.argsort(distances, kind="stable")[: PIECES_ANSWERS[0] * n + PIECES_ANSWERS[1]]
    if len(nearest) < n // 2 + 3 or distances[nearest[-1]] == 0:
        return None
    scale = float(distances[nearest[-1]])
    answers = np.array([each.response for each in observed])
    spreads = np.ptp(answers[nearest], axis=0)
    moved, explained = None, np.zeros(len(now), dtype=bool)
    if before is not None:
        moved = before.seen_from(here.at / units, now)
        explained[moved.components] = moved.explains(steps[nearest], answers[nearest])
    open_ = np.flatnonzero((spreads > 0) & ~explained)
    matters = np.abs(here.grad_y) * spreads
    count = max(ALWAYS, int(PIECES_WORK // ((n + 1) ** 3 + OVERHEAD)))
    if open_.size:
        chosen = _in_turn(open_, matters, PLANES * count, shift)
        flat = _fit_planes(steps, answers, chosen, now=now, at=here.at / units)
        if flat is not None:
            moved = flat if moved is None else moved.without(flat.components).joined(flat)
            open_ = np.setdiff1d(open_, flat.components)
    chosen = _in_turn(open_, matters, count, shift)
    if not chosen.size:
        return moved
    unit = spreads[chosen]
    floors, ceilings = limits(steps, answers[:, chosen])
    data = Answered.gather(
        steps[nearest] / scale,
        ((answers[nearest][:, chosen] - now[chosen]) / unit).T,
        (floors - now[chosen]) / unit,
        (ceilings - now[chosen]) / unit,
    )
    first = None if before is None else _sides(before, here.at / units, steps[nearest], chosen)
    planes, signs = fit_hinges(data, first, shift)
    fitted = Pieces(
        components=chosen,
        slopes=planes[:, :, 1:] * unit[:, None] / scale,
        heights=planes[:, :, 0] * unit,
        signs=signs,
        floors=floors - now[chosen],
        ceilings=ceilings - now[chosen],
        spreads=unit,
        start=now[chosen],
        at=here.at / units,
    )
    return fitted if moved is None else moved.without(chosen).joined(fitted)


def _fit_planes(
    steps: Points, answers: Matrix, chosen: NDArray[np.intp], *, now: Point, at: Point
) -> Pieces | None:
    """Return the chosen components that are one plane between limits, wherever they were seen.

    That is, of which it explains all answers, although few of them determine it.
    """
    values = answers[:, chosen]
    floors, ceilings = limits(steps, values)
    between = (values > floors) & (values < ceilings)
    some = between.sum(axis=0) >= steps.shape[1] + SURPLUS
    chosen, values, between = chosen[some], values[:, some], between[:, some]
    floors, ceilings = floors[some], ceilings[some]
    if not chosen.size:
        return None
    length = np.abs(steps).max()
    rows = np.column_stack([np.ones(len(steps)), steps / length])
    width = rows.shape[1]
    counted = between.T.astype(np.float64)
    products = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    matrices = (counted @ products).reshape(-1, width, width)
    sums = np.einsum("cii->ci", matrices).max(axis=1)
    matrices[:, np.arange(width), np.arange(width)] += RIDGE * sums[:, None]
    planes, left = np.zeros((len(chosen), width)), values.T - now[chosen, None]
    for _ in range(2):  # the second time removes what was rounded and what the ridge has cost
        planes += np.linalg.solve(matrices, ((counted * left) @ rows)[..., None])[..., 0]
        left = values.T - now[chosen, None] - planes @ rows.T
    slopes = planes[:, 1:] / length
    found = Pieces(
        components=chosen,
        slopes=np.array([slopes, slopes]),
        heights=np.array([planes[:, 0], planes[:, 0]]),
        signs=np.ones(len(chosen)),
        floors=floors - now[chosen],
        ceilings=ceilings - now[chosen],
        spreads=np.ptp(values, axis=0),
        start=now[chosen],
        at=at,
    )
    proven = found.proven(steps, answers)
    return found.restricted(proven) if proven.any() else None


def _in_turn(open_: NDArray[np.intp], matters: Point, count: int, shift: int) -> NDArray[np.intp]:
    """Return the components to fit: half of them matter most, the others have their turn."""
    if len(open_) <= count:
        return open_
    first = open_[np.argsort(-matters[open_], kind="stable")]
    others = np.sort(first[count // 2 :])
    turn = np.arange(count - count // 2) + shift * (count - count // 2)
    return np.unique(np.concatenate([first[: count // 2], others[turn % len(others)]]))


def limits(steps: Points, answers: Matrix) -> tuple[Point, Point]:
    """Return the floor and the ceiling of every component; infinite where there is none.

    A limit is the lowest or highest answer, given exactly to decisions that are far apart.
    """
    lowest, highest = answers.min(axis=0), answers.max(axis=0)
    rounding = REPEATED * np.maximum(highest - lowest, np.abs(answers).max(axis=0))
    squares = np.einsum("kn,kn->k", steps, steps)
    apart = squares[:, None] + squares - 2 * steps @ steps.T
    far = (APART**2) * float(apart.max())
    found = []
    for end, missing in ((lowest, -np.inf), (highest, np.inf)):
        repeated = np.abs(answers - end) <= rounding  # (k, c)
        first = np.argmax(repeated, axis=0)
        reach = np.where(repeated.T, apart[first], 0.0).max(axis=1)
        found.append(np.where((reach > far) & (highest > lowest), end, missing))
    return found[0], found[1]


def _sides(before: Pieces, z: Point, steps: Points, chosen: NDArray[np.intp]) -> Matrix:
    """Return on which side (c, k) of the kinks of earlier pieces the answers are; NaN for none."""
    sides = np.full((len(chosen), len(steps)), np.nan)
    known, rows, found = np.intersect1d(chosen, before.components, return_indices=True)
    if known.size:
        there = steps + (z - before.at)
        difference = (before.slopes[0, found] - before.slopes[1, found]) @ there.T
        difference += (before.heights[0, found] - before.heights[1, found])[:, None]
        hinged = (before.slopes[0, found] != before.slopes[1, found]).any(axis=1)
        side = np.asarray(before.signs[found, None] * difference >= 0, dtype=np.float64)
        sides[rows[hinged]] = side[hinged]
    return sides
