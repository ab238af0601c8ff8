"""The nearest point of a polytope: a small quadratic program, solved exactly."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points
from bizol.feasible_sets.dual_active_set import find_nearest_in_polyhedron
from bizol.feasible_sets.hull_projection import pull_in
from bizol.feasible_sets.linear_program import LinearConstraints

Mask: TypeAlias = NDArray[np.bool_]

ROUNDS = 6  # of Newton's method; where it is of use, one to three are enough
CLOSE = 0.5  # in diameters from the center: targets for which Newton's method is of use
RIDGE = 1e-14  # added to the diagonal of Gram matrices of unit vectors, which may be singular
INDEPENDENT = 1e-10  # relative to the largest: equalities of smaller singular values are implied
FAR = 1e3  # in diameters from the center: targets beyond take two steps
ROUNDING = 16 * float(np.finfo(np.float64).eps)
PIQP = {
    "preconditioner_iter": 0,  # with it, the last digits depend on earlier answers
    "eps_abs": 1e-9,
    "eps_rel": 1e-9,
    "max_iter": 100,
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandardForm:
    """The polyhedron {x : rows x ≤ sides, lower ≤ x ≤ upper}, with equality in the first rows.

    Fixed coordinates are left out. Rows have length one, and equalities are orthonormal.
    """

    moving: Mask  # the coordinates that are left
    rows: Points
    sides: Point
    equalities: int
    lower: Point
    upper: Point
    center: Point  # a point of it

    def clip(self, point: Point) -> Point:
        """Return the nearest point within the bounds."""
        return np.minimum(np.maximum(point, self.lower), self.upper)

    def is_kept(self, excess: Point, tolerance: float) -> bool:
        """Whether all rows are satisfied, given rows x − sides."""
        if excess.size and excess.max() > tolerance:
            return False
        return not self.equalities or bool(excess[: self.equalities].min() >= -tolerance)


class ActiveConstraints(NamedTuple):
    """A guess of the constraints that hold with equality at the nearest point."""

    tight: Mask  # rows
    free: Mask  # coordinates that are at no bound
    point: Point  # the target, with the other coordinates at their bounds


class InteriorPoint(NamedTuple):
    """What an interior-point solver finds: about the nearest point, and what pushes there."""

    point: Point
    tight: Mask  # rows, of which equalities always are
    at_lower: Mask
    at_upper: Mask


@final
class PolytopeProjection:
    """The nearest point of a polytope, for one target after another.

    The nearest point is clip(target − Σ forces · rows, lower, upper), where the forces of the rows
    solve a small, piecewise linear system. Three methods find them, each where the one before does
    not: Newton's method, for targets close to the set; PIQP, an interior-point solver, which tells
    Newton's method which constraints are active; a dual active set method, where constraints tie.
    What Newton's method returns satisfies the optimality conditions.

    The answer is a function of the target, as no method starts from an earlier answer. Each thread
    has an interior-point solver of its own.

    Args:
        constraints: the polytope.
        center: a point of it.
        diameter: its size, or an upper bound.
        tolerance: how far beyond its constraints a point may be.
    """

    def __init__(
        self, constraints: LinearConstraints, center: Point, *, diameter: float, tolerance: float
    ) -> None:
        self._constraints = constraints
        self._center = center
        self._diameter = diameter
        self._tolerance = tolerance
        self._form: StandardForm | None = None
        self._here = threading.local()

    def __call__(self, target: Point) -> Point:
        """Return the point of the polytope nearest to the target."""
        form = self._form
        if form is None:
            form = self._form = to_standard_form(self._constraints, self._center)
        if form.lower.size == target.size:
            return self._project(form, target)
        nearest = self._constraints.lower.copy()
        if form.lower.size:
            nearest[form.moving] = self._project(form, target[form.moving])
        return nearest

    def _project(self, form: StandardForm, target: Point) -> Point:
        clipped = form.clip(target)
        excess = form.rows.dot(clipped) - form.sides
        if form.is_kept(excess, self._tolerance):
            return clipped
        if self._diameter <= self._tolerance:  # a single point
            return form.clip(form.center)
        offset = target - form.center
        distance = float(np.abs(offset).max()) / self._diameter
        if distance <= CLOSE:
            violated = excess > 0
            violated[: form.equalities] = True
            active = ActiveConstraints(violated, clipped == target, clipped)
            found = solve_for_forces(form, target, active, self._tolerance)
            if found is not None:
                return found
        if distance <= FAR:
            return self._search(form, target, self._tolerance)
        # Rounding errors of large numbers exceed the tolerance. So what is found is moved back
        # toward the target, where it is the nearest point still, and projected again.
        pulled = form.center + pull_in(offset, self._diameter)
        rounding = ROUNDING * float(np.abs(pulled).max())
        away = pulled - self._search(form, pulled, self._tolerance + rounding)
        shorter = away * (FAR / 2 * self._diameter / float(np.linalg.norm(away)))
        return self._search(form, pulled - away + shorter, self._tolerance)

    def _search(self, form: StandardForm, target: Point, tolerance: float) -> Point:
        """Ask the interior-point solver what is active, and make that exact."""
        guess = self._guess(form, target)
        bounded = np.where(guess.at_lower, form.lower, target)
        bounded = np.where(guess.at_upper, form.upper, bounded)
        active = ActiveConstraints(guess.tight, ~(guess.at_lower | guess.at_upper), bounded)
        found = solve_for_forces(form, target, active, tolerance)
        if found is None:
            found = form.clip(resolve_ties(form, target, guess, tolerance))
        return found

    def _guess(self, form: StandardForm, target: Point) -> InteriorPoint:
        solver = vars(self._here).get("solver")
        if solver is None:
            solver = self._here.solver = _set_up_solver(form, self._diameter)
        solver.update(c=(form.center - target) / self._diameter)
        solver.solve()
        result = solver.result
        tight = np.ones(form.sides.size, dtype=bool)
        if form.sides.size > form.equalities:
            tight[form.equalities :] = result.z_u > result.s_u  # more force than room
        point = form.center + self._diameter * result.x
        return InteriorPoint(point, tight, result.z_bl > result.s_bl, result.z_bu > result.s_bu)


def to_standard_form(constraints: LinearConstraints, center: Point) -> StandardForm:
    """Return the polyhedron without fixed coordinates, rows of zeros and dependent equalities."""
    moving = constraints.lower < constraints.upper
    fixed = np.where(moving, 0.0, constraints.lower)
    center = center[moving]
    rows_eq, sides_eq = _normalize(
        constraints.A_eq[:, moving], constraints.b_eq - constraints.A_eq @ fixed
    )
    if len(rows_eq):
        left, sizes, right = np.linalg.svd(rows_eq, full_matrices=False)
        count = int((sizes > INDEPENDENT * sizes[0]).sum())
        # The center satisfies the equalities up to rounding; what is missing is added.
        missing = left.T @ (sides_eq - rows_eq @ center)
        rows_eq = right[:count]
        center = center + (missing[:count] / sizes[:count]) @ rows_eq
        sides_eq = rows_eq @ center
    rows_ub, sides_ub = _normalize(
        constraints.A_ub[:, moving], constraints.b_ub - constraints.A_ub @ fixed
    )
    return StandardForm(
        moving=moving,
        rows=np.concatenate([rows_eq, rows_ub]),
        sides=np.concatenate([sides_eq, sides_ub]),
        equalities=len(rows_eq),
        lower=constraints.lower[moving],
        upper=constraints.upper[moving],
        center=center,
    )


def resolve_ties(
    form: StandardForm, target: Point, guess: InteriorPoint, tolerance: float
) -> Point:
    """Return the nearest point by the dual active set method, starting from a guess."""
    identity = np.eye(form.lower.size)
    above = np.isfinite(form.upper)
    below = np.isfinite(form.lower)
    active = np.concatenate([guess.tight, guess.at_upper[above], guess.at_lower[below]])
    return find_nearest_in_polyhedron(
        np.concatenate([form.rows, identity[above], -identity[below]]),
        np.concatenate([form.sides, form.upper[above], -form.lower[below]]),
        target,
        equalities=form.equalities,
        tolerance=tolerance,
        near=guess.point,
        active=active,
    )


def solve_for_forces(
    form: StandardForm, target: Point, active: ActiveConstraints, tolerance: float
) -> Point | None:
    """Return the nearest point by Newton's method, or None where it does not get there.

    The excess of the rows at x = clip(target − Σ forces · rows) is a piecewise linear function of
    the forces. With the tight rows N and the free coordinates F, its Jacobian is −N_F N_Fᵀ. At the
    nearest point no row is exceeded, and rows with a force are tight (the optimality conditions).
    """
    from scipy.linalg.lapack import dposv

    tight, free, point = active
    e = form.equalities
    excess = form.rows.dot(point) - form.sides
    forces = np.zeros(excess.size)
    for _ in range(ROUNDS):
        places = tight.nonzero()[0]
        if places.size == 0:
            return None
        normals = form.rows.take(places, 0)
        gram = (normals * free).dot(normals.T)
        gram.flat[:: places.size + 1] += RIDGE
        _, change, failed = dposv(gram, excess.take(places))
        if failed:
            return None
        pushing = forces.take(places) + change
        np.maximum(pushing[e:], 0.0, out=pushing[e:])
        moved = target - pushing.dot(normals)
        point = form.clip(moved)
        excess = form.rows.dot(point) - form.sides
        forces = np.zeros(excess.size)
        forces[places] = pushing
        tight = forces > 0
        tight[:e] = True
        if excess.max() <= tolerance and excess[tight].min(initial=0.0) >= -tolerance:
            return point
        free = point == moved
        tight |= excess > 0
    return None


def _normalize(rows: Points, sides: Point) -> tuple[Points, Point]:
    """Return the rows divided by their length, without those that are zero."""
    length = np.linalg.norm(rows, axis=1)
    kept = length > 0
    return rows[kept] / length[kept, None], sides[kept] / length[kept]


def _set_up_solver(form: StandardForm, size: float) -> Any:
    """Return a PIQP solver of the program in z = (x − center) / size, without its linear cost."""
    import piqp

    solver = piqp.DenseSolver()
    for name, value in PIQP.items():
        setattr(solver.settings, name, value)
    n = form.center.size
    sides = (form.sides - form.rows @ form.center) / size
    e = form.equalities
    equalities = (form.rows[:e], sides[:e]) if e else (None, None)
    inequalities = (form.rows[e:], None, sides[e:]) if e < sides.size else (None, None, None)
    lower = (form.lower - form.center) / size
    upper = (form.upper - form.center) / size
    solver.setup(np.eye(n), np.zeros(n), *equalities, *inequalities, lower, upper)
    return solver
