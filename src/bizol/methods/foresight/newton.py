"""Newton's method for a known function with smooth kinks that become sharp.

A kink that is smooth at temperature t contributes w √(e² + t²), whose curvature w t²/√(e² + t²)³
says little away from the kink. So there is a second variable for each kink, z = e/√(e² + t²), and
Newton's method is applied to both, as for total variation (T. Chan, G. Golub and P. Mulet, 1999):
the curvature is then w (1 − z e/√·)/√·, with the z of the step before, and a few steps are enough
where the temperature falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple, Protocol, final

import numpy as np

from bizol.arrays import Point, Points, Response
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.linear_program import LinearConstraints
from bizol.feasible_sets.protocol import polyhedron, projection
from bizol.methods.foresight.forecasts import Kinks

SHARES = (1.0, 0.5, 0.2, 0.05, 0.01)  # of a Newton step that are tried
DECREASE = 1e-4  # of what the slope promises, at least (L. Armijo, 1966)
ROUNDING = 1e-14  # relative to the value: a smaller promise is none
SETTLED = 1e-3  # of the gain so far: a step that gains less is the last one at its temperature
NEAR = 0.1  # of the region: a Hessian is used again so near to where it was worked out
AGREES = 0.25  # from one, the ratio of gain and promise where a Hessian is used again
CUTS = 8  # tangent planes that one step adds, at most
CUBE = 2.0  # times the half side of the cube in a ball: about as large as the ball
AT_BOUND = 1e-9  # of the region: so near to a bound a coordinate is at it
OUTSIDE = 1e-8  # of the region: so near to the set a point is in it
PIQP = {
    "preconditioner_iter": 0,  # with it, the last digits depend on earlier answers
    "eps_abs": 1e-10,
    "eps_rel": 1e-10,
    "max_iter": 30,
}


class Seen(NamedTuple):
    """A function at a point."""

    value: float
    gradient: Point
    covector: Response | None  # the gradient by the response, if φ is defined


class Model(Protocol):
    """A function with smooth kinks at one temperature."""

    def look(self, u: Point) -> Seen:
        """Return the function at a point."""
        ...

    def kinks(self, u: Point, covector: Response | None) -> Kinks | None:
        """Return the kinks, None where there are none."""
        ...

    def hessian(self, u: Point, length: float) -> Points:
        """Return the Hessian without that of the kinks, from differences over a length."""
        ...


@final
class Region:
    """The part of a set that is searched: as far as a cube around a point reaches.

    Quadratic models are minimized over linear constraints. A set that is not described by any gets
    one for every point that turns out to be outside of it: the tangent plane at its projection
    (J. Kelley's cutting planes, 1960).
    """

    def __init__(self, feasible_set: FeasibleSet, center: Point, within: float) -> None:
        rows, onto = polyhedron(feasible_set), projection(feasible_set)
        assert onto is not None
        self.within = within
        self._onto = onto
        self._exact = rows is not None
        if rows is None:
            nowhere = np.full(len(center), inf)
            rows = LinearConstraints.bounds(-nowhere, nowhere)
        self._equal = rows.A_eq, rows.b_eq
        self._lower = np.maximum(rows.lower, center - within)
        self._upper = np.minimum(rows.upper, center + within)
        self._normals, self._sides = rows.A_ub, rows.b_ub

    def improve(self, hessian: Points, gradient: Point, u: Point) -> Point:
        """Return a minimizer v of the convex model gᵀ(v − u) + (v − u)ᵀH(v − u)/2, or about one."""
        if not 0 < float(np.abs(gradient).max()) < inf or self.within == 0:
            return u
        v = self._minimize(hessian, gradient, u)
        if self._exact:
            return v
        for _ in range(CUTS):
            nearest = self._onto(v)
            off = float(np.linalg.norm(v - nearest))
            if off <= OUTSIDE * self.within:
                return nearest
            normal = (v - nearest) / off
            self._normals = np.vstack([self._normals, normal])
            self._sides = np.append(self._sides, normal @ nearest)
            v = self._minimize(hessian, gradient, u)
        return self._onto(v)

    def settle(self, u: Point) -> Point:
        """Return the nearest point of the set: rounding may have led out of it."""
        return self._onto(u)

    def _minimize(self, hessian: Points, gradient: Point, u: Point) -> Point:
        import piqp

        slope, size = float(np.abs(gradient).max()), self.within
        solver = piqp.DenseSolver()
        for name, value in PIQP.items():
            setattr(solver.settings, name, value)
        (equal, totals), below = self._equal, len(self._sides) > 0
        solver.setup(
            hessian * (size / slope),
            gradient / slope,
            equal if len(totals) else None,
            (totals - equal @ u) / size if len(totals) else None,
            self._normals if below else None,
            None,
            (self._sides - self._normals @ u) / size if below else None,
            (self._lower - u) / size,
            (self._upper - u) / size,
        )
        solver.solve()
        step = size * solver.result.x
        if not np.isfinite(step).all():
            return u
        # An interior-point solver ends a hair before the bounds that are active.
        v = np.asarray(np.clip(u + step, self._lower, self._upper))
        v = np.where(v - self._lower <= AT_BOUND * size, self._lower, v)
        return np.where(self._upper - v <= AT_BOUND * size, self._upper, v)


def region_around(feasible_set: FeasibleSet, center: Point, within: float) -> Region | None:
    """Return the part of a set that is searched, None where it has no projection."""
    if projection(feasible_set) is None:
        return None
    side = min(1.0, CUBE / sqrt(len(center)))
    return Region(feasible_set, center, min(side * within, feasible_set.diameter))


def sharpen(
    models: Sequence[Model], begin: Point, region: Region, *, steps: int
) -> tuple[Point, float]:
    """Return a point as low as a few Newton steps for each model get it, and the last one's value.

    For models that come ever nearer to the last one: each begins where the one before has ended.
    Never returns a point that is worse than the first.
    """
    u, duals, hessian, where = begin, None, None, begin
    for model in models:
        value, gradient, covector = model.look(u)
        first = value
        for _ in range(steps):
            if hessian is None or np.abs(u - where).max() > NEAR * region.within:
                hessian, where = _convex(model.hessian(u, region.within)), u
            kinks = model.kinks(u, covector)
            whole = hessian
            if kinks is not None:
                ratios = kinks.arguments / kinks.roots
                duals = ratios if duals is None else duals
                curved = np.maximum(kinks.weights, 0.0) * (1 - duals * ratios) / kinks.roots
                whole = hessian + (kinks.rows.T * curved) @ kinks.rows
            step = region.improve(whole, gradient, u) - u
            slope = float(gradient @ step)
            promise = -slope - float(step @ whole @ step) / 2
            if not -slope > ROUNDING * abs(value):
                break
            if kinks is not None and duals is not None:
                moved = (1 - duals * ratios) / kinks.roots * (kinks.rows @ step)
                duals = np.clip(ratios + moved, -1.0, 1.0)
            before = value
            for share in SHARES:
                v = u + share * step
                seen = model.look(v)
                if seen.value <= value + DECREASE * share * slope:
                    u, (value, gradient, covector) = v, seen
                    break
            else:
                break
            gained = before - value
            if kinks is None and abs(gained - promise) > AGREES * promise:
                hessian = None
            if gained <= SETTLED * (first - value):
                break
    u = region.settle(u)
    value, start = models[-1].look(u).value, models[-1].look(begin).value
    return (u, value) if value < start else (begin, start)


def _convex(hessian: Points) -> Points:
    """Return the Hessian with negative curvature mirrored, and a little more than flat."""
    if not np.isfinite(hessian).all():
        return np.eye(len(hessian))
    sizes, directions = np.linalg.eigh((hessian + hessian.T) / 2)
    largest = float(np.abs(sizes).max()) or 1.0
    bounded = np.maximum(np.abs(sizes), 1e-10 * largest)
    return np.asarray((directions * bounded) @ directions.T)
