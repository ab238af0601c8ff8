"""Projections onto polyhedra: exact, a function of the point, and right in other units too."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import bizol
from bizol.arrays import Point, Points
from bizol.feasible_sets import (
    FeasibleSet,
    dual_active_set,
    hull_projection,
    polytope_projection,
)
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.dual_active_set import find_nearest_in_polyhedron
from bizol.feasible_sets.polytope_projection import InteriorPoint, resolve_ties, to_standard_form
from bizol.feasible_sets.protocol import projection, rescale
from bizol.followers import VariationalEquilibrium
from bizol.testing import check_feasible_set

seeds = st.integers(0, 2**32 - 1)
DISTANCES = [1e-3, 0.1, 1.0, 30.0, 1e5]  # of targets from the center, in diameters


# --- references that share nothing with the library


def subsets(count: int, largest: int) -> Iterator[list[int]]:
    sizes = range(min(count, largest) + 1)
    return map(list, chain.from_iterable(combinations(range(count), size) for size in sizes))


def rows_of(polytope: bizol.Polytope) -> tuple[Points, Point]:
    """Return all constraints as inequalities of unit length."""
    axes = np.eye(polytope.dimension)
    rows = np.vstack([polytope.A_ub, polytope.A_eq, -polytope.A_eq, axes, -axes])
    sides = np.concatenate(
        [polytope.b_ub, polytope.b_eq, -polytope.b_eq, polytope.upper, -polytope.lower]
    )
    length = np.linalg.norm(rows, axis=1)
    kept = (length > 0) & np.isfinite(sides)
    return rows[kept] / length[kept, None], sides[kept] / length[kept]


def nearest_by_enumeration(polytope: bizol.Polytope, point: Point) -> Point:
    """Return the best feasible point among the projections onto all planes of active constraints.

    The nearest point is the projection onto the plane of independent constraints that are active
    there, so it is among them.
    """
    rows, sides = rows_of(polytope)
    best, least = polytope.center, np.inf
    for chosen in subsets(len(rows), polytope.dimension):
        normals = rows[chosen]
        candidate = point - np.linalg.pinv(normals, rcond=1e-9) @ (normals @ point - sides[chosen])
        distance = float(np.linalg.norm(candidate - point))
        if distance < least and (rows @ candidate - sides).max() <= 1e-10 * polytope.diameter:
            best, least = candidate, distance
    return best


def nearest_in_hull_by_enumeration(points: Points, target: Point) -> Point:
    """Return the best of the projections onto affine hulls of some points that lie between them."""
    best: Point = points[0]
    least = np.inf
    for chosen in subsets(len(points), points.shape[1] + 1):
        if not chosen:
            continue
        base = points[chosen[0]]
        edges = points[chosen[1:]] - base
        shares = np.linalg.pinv(edges.T, rcond=1e-9) @ (target - base)
        candidate = base + shares @ edges
        distance = float(np.linalg.norm(candidate - target))
        if shares.min(initial=0) > -1e-10 and shares.sum() < 1 + 1e-10 and distance < least:
            best, least = candidate, distance
    return best


def nearest_by_clarabel(polytope: bizol.Polytope, point: Point) -> Point:
    """Return the nearest point by an interior-point solver, in units of the distance."""
    clarabel = pytest.importorskip("clarabel")
    rows, sides = rows_of(polytope)
    size = float(np.linalg.norm(point - polytope.center))
    n = polytope.dimension
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    problem = clarabel.DefaultSolver(
        sparse.csc_matrix(np.eye(n)),
        (polytope.center - point) / size,
        sparse.csc_matrix(rows),
        (sides - rows @ polytope.center) / size,
        [clarabel.NonnegativeConeT(len(rows))],
        settings,
    )
    return polytope.center + size * np.asarray(problem.solve().x)


def assert_projects(feasible_set: Any, point: Point, accuracy: float = 1e-9) -> Point:
    """Assert what holds for every projection, and return it."""
    given = point.copy()
    nearest = np.asarray(feasible_set.project(point))
    assert np.array_equal(point, given)
    assert nearest is not point
    assert feasible_set.contains(nearest, 1e-9)
    assert feasible_set.project(nearest) == pytest.approx(nearest, rel=1e-14, abs=1e-14)
    if isinstance(feasible_set, bizol.Polytope | bizol.ConvexHull):
        assert np.array_equal(feasible_set.project(nearest), nearest)
    away = point - nearest
    farthest = feasible_set.minimize_linear(-away)
    gain = away @ (farthest - nearest)  # not positive at the nearest point
    size = feasible_set.diameter
    assert gain <= accuracy * size * np.linalg.norm(away) + (accuracy * size) ** 2
    return nearest


def direction(rng: np.random.Generator, n: int) -> Point:
    vector = rng.standard_normal(n)
    return np.asarray(vector / np.linalg.norm(vector))


# --- polytopes to try


def small_polytope(seed: int, kind: str) -> bizol.Polytope:
    """Return a polytope of one to three dimensions with a point in it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    whole = kind in ("ties", "equalities with ties")

    def draw(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    inside = draw(n)
    rows = draw(int(rng.integers(1, 5)), n)
    sides = rows @ inside + np.abs(draw(len(rows)))
    lower = inside - np.abs(draw(n)) - 0.5 * (not whole)
    upper = inside + np.abs(draw(n)) + 0.5 * (not whole)
    options: dict[str, Any] = {}
    if kind.startswith("equalities"):
        equal = draw(int(rng.integers(1, n + 1)), n)
        equal = np.vstack([equal, equal[:1] - 2 * equal[-1:]])  # one depends on the others
        options = {"A_eq": equal, "b_eq": equal @ inside}
    if kind == "repeated rows":
        rows = np.vstack([rows, rows[:1], 3 * rows[:1]])
        sides = np.concatenate([sides, sides[:1], 3 * sides[:1]])
    if "fixed coordinates" in kind:
        fixed = rng.random(n) < 0.5
        lower = np.where(fixed, inside, lower)
        upper = np.where(fixed, inside, upper)
    if kind == "thin":
        sides[0] = rows[0] @ inside + rng.choice([0.0, 1e-3])
        rows = np.vstack([rows, -rows[:1]])
        sides = np.append(sides, -rows[0] @ inside)
    return bizol.Polytope(rows, sides, lower=lower, upper=upper, **options)


KINDS = (
    "generic",
    "ties",
    "equalities",
    "equalities with ties",
    "repeated rows",
    "fixed coordinates",
    "equalities and fixed coordinates",
    "thin",
)


def random_polytope(n: int, rows: int, seed: int = 0) -> bizol.Polytope:
    rng = np.random.default_rng(seed)
    return bizol.Polytope(rng.standard_normal((rows, n)), np.full(rows, 2.0), lower=-1, upper=1)


def monotone_polytope(n: int = 12) -> bizol.Polytope:
    """Return {1 ≥ x₁ ≥ … ≥ xₙ ≥ 0}, whose faces meet in many ties."""
    return bizol.Polytope(np.diff(np.eye(n), axis=0), np.zeros(n - 1), lower=0, upper=np.ones(n))


def transport_polytope() -> bizol.Polytope:
    """Return shipments from three depots to four customers: dependent equalities and ties."""
    depots = [np.kron(row, np.ones(4)) for row in np.eye(3)]
    customers = [np.tile(column, 3) for column in np.eye(4)]
    return bizol.Polytope(A_eq=np.array(depots + customers), b_eq=[4, 4, 4, 3, 3, 3, 3], lower=0)


def octahedron() -> bizol.Polytope:
    """Return {‖x‖₁ ≤ 1} by its 32 sides, without bounds; 16 of them meet in every vertex."""
    signs = np.sign(np.array(list(np.ndindex(*(2,) * 5))) - 0.5)
    return bizol.Polytope(signs, np.ones(32))


POLYTOPES: dict[str, Callable[[], bizol.Polytope]] = {
    "generic": lambda: random_polytope(20, 20),
    "one row": lambda: random_polytope(24, 1),
    "large": lambda: random_polytope(100, 50),
    "no bounds": lambda: bizol.Polytope(
        np.random.default_rng(1).standard_normal((60, 8)), np.ones(60)
    ),
    "monotone": monotone_polytope,
    "transport": transport_polytope,
    "octahedron": octahedron,
    "simplex": lambda: bizol.Polytope(A_eq=np.ones((1, 9)), b_eq=[1], lower=0),
}
every_polytope = pytest.mark.parametrize("name", POLYTOPES)


# --- polytopes


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_the_nearest_point_is_the_best_of_all_active_sets(kind: str, seed: int) -> None:
    polytope = small_polytope(seed, kind)
    rng = np.random.default_rng(seed)
    for distance in (0.1, 1.0, 30.0):
        size = distance * max(polytope.diameter, 1.0)
        point = polytope.center + size * direction(rng, polytope.dimension)
        nearest = polytope.project(point)
        reference = nearest_by_enumeration(polytope, point)
        assert np.abs(nearest - reference).max() <= 1e-9 * max(polytope.diameter, 1.0)
        if polytope.diameter > 0:  # a set of one point has it up to the rounding of its equations
            assert polytope.contains(nearest, 1e-9)
        assert (nearest >= polytope.lower).all()
        assert (nearest <= polytope.upper).all()
        assert np.array_equal(polytope.project(nearest), nearest)


@every_polytope
@pytest.mark.parametrize("distance", DISTANCES)
def test_no_point_of_a_polytope_is_nearer(name: str, distance: float) -> None:
    polytope = POLYTOPES[name]()
    rng = np.random.default_rng(4)
    for _ in range(20):
        start = polytope.minimize_linear(rng.standard_normal(polytope.dimension))
        step = distance * polytope.diameter * direction(rng, polytope.dimension)
        assert_projects(polytope, start + step, 1e-11)


@every_polytope
@pytest.mark.parametrize("distance", [0.1, 1.0, 30.0])
def test_another_solver_finds_the_same_point(name: str, distance: float) -> None:
    polytope = POLYTOPES[name]()
    rng = np.random.default_rng(5)
    for _ in range(5):
        size = distance * polytope.diameter
        point = polytope.center + size * direction(rng, polytope.dimension)
        reference = nearest_by_clarabel(polytope, point)
        away = np.linalg.norm(polytope.project(point) - reference)
        assert away <= 1e-5 * max(size, polytope.diameter)
        # It is no nearer than the square root of what the other solver gains by being outside.
        assert np.linalg.norm(point - polytope.project(point)) <= (
            np.linalg.norm(point - reference) * (1 + 1e-8) + 1e-8 * polytope.diameter
        )


@every_polytope
def test_a_point_inside_comes_back_unchanged(name: str) -> None:
    polytope = POLYTOPES[name]()
    rng = np.random.default_rng(6)
    vertices = [
        polytope.minimize_linear(cost) for cost in rng.standard_normal((9, len(polytope.lower)))
    ]
    for weights in rng.dirichlet(np.ones(9), 20):
        point = np.clip(weights @ vertices, polytope.lower, polytope.upper)
        nearest = polytope.project(point)
        assert np.array_equal(nearest, point)
        assert nearest is not point


@every_polytope
def test_the_projection_does_not_depend_on_what_was_asked_before(name: str) -> None:
    rng = np.random.default_rng(7)
    first, second = POLYTOPES[name](), POLYTOPES[name]()
    n = first.dimension
    points = [
        first.center + distance * first.diameter * direction(rng, n)
        for distance in (0.1, 0.5, 2.0, 1e4)
        for _ in range(8)
    ]
    forth = [first.project(point) for point in points]
    back = [second.project(point) for point in points[::-1]][::-1]
    fresh = [POLYTOPES[name]().project(point) for point in points]
    assert np.array_equal(forth, fresh)
    assert np.array_equal(back, fresh)
    twin = pickle.loads(pickle.dumps(first))
    assert np.array_equal([twin.project(point) for point in points], fresh)


@every_polytope
def test_what_the_interior_point_solver_says_does_not_depend_on_what_it_said_before(
    name: str,
) -> None:
    rng = np.random.default_rng(23)
    polytope = POLYTOPES[name]()
    points = polytope.center + polytope.diameter * rng.standard_normal((10, polytope.dimension))

    def guess(targets: Points) -> list[Point]:
        onto = POLYTOPES[name]()._projection
        form = to_standard_form(onto._constraints, polytope.center)
        return [onto._guess(form, target).point for target in targets]

    assert np.array_equal(guess(points), guess(points[::-1])[::-1])
    assert np.array_equal(guess(points)[-1], guess(points[-1:])[0])


def test_the_interior_point_solver_is_set_up_once_and_not_for_targets_close_to_the_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_up = polytope_projection._set_up_solver
    count: list[float] = []

    def counted(*given: Any) -> Any:
        count.append(1)
        return set_up(*given)

    monkeypatch.setattr(polytope_projection, "_set_up_solver", counted)
    rng = np.random.default_rng(24)
    for name in ("generic", "one row", "transport", "simplex", "large"):
        polytope = POLYTOPES[name]()
        n = polytope.dimension
        for _ in range(10):
            start = polytope.minimize_linear(rng.standard_normal(n))
            polytope.project(start + 0.02 * polytope.diameter * direction(rng, n))
    assert not count
    for _ in range(3):
        polytope.project(polytope.center + 10 * polytope.diameter * direction(rng, n))
    assert len(count) == 1


@pytest.mark.parametrize("name", ["generic", "monotone", "transport"])
def test_threads_get_the_same_bits(name: str) -> None:
    shared = POLYTOPES[name]()
    rng = np.random.default_rng(8)
    points = shared.center + shared.diameter * rng.standard_normal((300, shared.dimension))
    alone = [POLYTOPES[name]().project(point) for point in points[:10]]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared.project, points))  # the first calls set it up
        again = list(pool.map(shared.project, points[::-1]))[::-1]
    assert np.array_equal(together[:10], alone)
    assert np.array_equal(together, again)
    assert np.array_equal(together, [shared.project(point) for point in points])


def test_a_point_is_all_there_is() -> None:
    for single in (
        bizol.Polytope(A_eq=[[1, 1], [1, -1]], b_eq=[7, -1]),
        bizol.Polytope(lower=[3, 4], upper=[3, 4]),
        bizol.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [3, -3, 4, -4]),
        bizol.Polytope([[1, 1]], [7], lower=[3, 4]),
    ):
        for point in ([0.0, 0.0], [3.0, 4.1], [1e9, -1e9], [1e300, 0.0]):
            nearest = single.project(np.array(point))
            assert nearest == pytest.approx([3, 4], abs=1e-13)
            assert single.contains(nearest)
            assert np.array_equal(single.project(nearest), nearest)


def test_a_point_is_found_to_the_last_digit_where_its_center_is_not() -> None:
    """What a linear solver found of this set, a number of 0.003, is off by 3e-17."""
    single = small_polytope(5304, "equalities")
    assert single.diameter == 0
    assert single.contains(single.project(np.ones(1)))


def test_fixed_coordinates_stay_where_they_are() -> None:
    polytope = bizol.Polytope([[1, 1, 1]], [4], lower=[0, 2, 0], upper=[3, 2, 3])
    nearest = polytope.project(np.array([2.0, 9.0, 2.0]))
    assert nearest == pytest.approx([1, 2, 1], abs=1e-14)
    assert nearest[1] == 2
    assert polytope.project(np.array([1.0, -5.0, 0.5])).tolist() == [1, 2, 0.5]


def test_rows_that_say_nothing_do_nothing() -> None:
    polytope = bizol.Polytope(
        [[0.0, 0.0], [1e-10, 1e-10]], [1.0, 1.0], A_eq=[[0, 0]], b_eq=[0], lower=0, upper=[4, 3]
    )
    assert polytope.project(np.array([9.0, -1.0])).tolist() == [4, 0]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.0, 1e6])
def test_units_and_origins_do_not_change_a_projection(size: float, shift: float) -> None:
    """Far from the origin, coordinates are known to their own rounding."""
    plain = monotone_polytope(6)
    move = shift * size * np.linspace(1, 2, 6)
    rows = plain.A_ub / size
    moved = bizol.Polytope(rows, rows @ move, lower=move, upper=size + move)
    rng = np.random.default_rng(9)
    for distance in (0.05, 0.5, 3.0):
        point = plain.center + distance * plain.diameter * direction(rng, 6)
        nearest = moved.project(size * point + move)
        assert moved.contains(nearest, 1e-9)
        difference = (nearest - move) / size - plain.project(point)
        assert np.abs(difference).max() <= 1e-11 + 1e-14 * shift


@pytest.mark.parametrize("name", ["generic", "monotone", "transport", "octahedron", "no bounds"])
@pytest.mark.parametrize("far", [1e8, 1e17, 1e300])
def test_far_points_have_a_projection(name: str, far: float) -> None:
    polytope = POLYTOPES[name]()
    rng = np.random.default_rng(10)
    for _ in range(10):
        toward = direction(rng, polytope.dimension)
        point = polytope.center + far * polytope.diameter * toward
        nearest = polytope.project(point)
        assert polytope.contains(nearest, 1e-9)
        assert np.array_equal(polytope.project(nearest), nearest)
        best = toward @ polytope.minimize_linear(-toward)
        assert toward @ nearest >= best - 3e-8 * polytope.diameter


def test_a_wedge_with_a_very_small_angle() -> None:
    """The tip of {0 ≤ y ≤ εx, x ≤ 1}, with ε from moderate to hardly more than rounding."""
    for slope in (1e-2, 1e-4, 1e-6, 1e-9):
        wedge = bizol.Polytope([[-slope, 1.0]], [0.0], lower=0, upper=[1, 1])
        assert wedge.project(np.array([-1.0, 1e-3])) == pytest.approx([0, 0], abs=1e-9)
        assert wedge.project(np.array([0.5, -1.0])) == pytest.approx([0.5, 0], abs=1e-9)
        above = np.array([0.5, 1.0])
        along = np.array([1.0, slope]) / np.hypot(1, slope)
        nearest = min(float(above @ along), float(np.hypot(1, slope))) * along
        assert wedge.project(above) == pytest.approx(nearest, abs=1e-11)
        hull = bizol.ConvexHull(np.array([[0, 0], [1, 0], [1, slope]]))
        assert hull.project(above) == pytest.approx(nearest, abs=1e-11)


@pytest.mark.parametrize("height", [1e-2, 1e-5, 1e-7, 1e-8])
def test_a_flat_triangle(height: float) -> None:
    """Above its left side, the long side that is found first is nearly as near."""
    target = np.array([0.1, 1.0])
    along = np.array([0.5, height]) / np.hypot(0.5, height)
    nearest = float(target @ along) * along
    hull = bizol.ConvexHull(np.array([[0, 0], [1, 0], [0.5, height]]))
    assert hull.project(target) == pytest.approx(nearest, abs=1e-14)
    rows = [[-height, 0.5], [height, 0.5]]
    polytope = bizol.Polytope(np.array(rows), [0, height], lower=[0, 0])
    assert polytope.project(target) == pytest.approx(nearest, abs=1e-12)


# --- the dual active set method by itself


def solve_by_dual_method(polytope: bizol.Polytope, point: Point, **hints: Any) -> Point:
    rows, sides = rows_of(polytope)
    options = {"near": polytope.center, "active": np.zeros(len(rows), dtype=bool)} | hints
    return find_nearest_in_polyhedron(
        rows, sides, point, equalities=0, tolerance=1e-12 * polytope.diameter, **options
    )


@pytest.mark.parametrize("name", ["generic", "monotone", "octahedron", "transport"])
def test_the_dual_method_needs_no_good_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    polytope = POLYTOPES[name]()
    rng = np.random.default_rng(11)
    for distance in (0.1, 3.0):
        size = distance * polytope.diameter
        point = polytope.center + size * direction(rng, polytope.dimension)
        expected = polytope.project(point)
        rows, _ = rows_of(polytope)
        nothing = solve_by_dual_method(polytope, point)
        everything = solve_by_dual_method(polytope, point, active=np.ones(len(rows), dtype=bool))
        wrong = solve_by_dual_method(polytope, point, active=rng.random(len(rows)) < 0.3)
        for found in (nothing, everything, wrong):
            assert np.abs(found - expected).max() <= 1e-11 * polytope.diameter

    def give_up(*_: Any) -> Any:
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", give_up)
    active = np.ones(len(rows_of(polytope)[0]), dtype=bool)
    assert solve_by_dual_method(polytope, point, active=active) == pytest.approx(expected)


def test_a_row_that_contradicts_another_is_left_out() -> None:
    """0 ≤ x ≤ −10⁻¹⁰ is not empty for a linear solver; y ≤ 1 is violated by less and still kept."""
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    found = find_nearest_in_polyhedron(
        rows,
        np.array([-1e-10, 0.0, 1.0, 0.0]),
        np.array([2.0, 1.0 + 5e-11]),
        equalities=0,
        tolerance=1e-12,
        near=np.zeros(2),
        active=np.zeros(4, dtype=bool),
    )
    assert found == pytest.approx([0, 1], abs=1e-9)
    assert found[1] <= 1 + 1e-12


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "equalities" in kind])
def test_the_dual_method_never_gives_up_an_equality(kind: str) -> None:
    for seed in range(40):
        polytope = small_polytope(seed, kind)
        form = to_standard_form(polytope._projection._constraints, polytope.center)
        rng = np.random.default_rng(seed)
        point = polytope.center + 3 * rng.standard_normal(polytope.dimension)
        expected = polytope.project(point)[form.moving]
        n, rows = form.lower.size, form.sides.size
        for share in (0.0, 0.5, 1.0):
            tight = rng.random(rows) < share
            at_lower, at_upper = rng.random((2, n)) < share
            near = form.center + rng.standard_normal(n)
            guess = InteriorPoint(near, tight, at_lower, at_upper)
            found = resolve_ties(form, point[form.moving], guess, 1e-12)
            assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("disabled", ["Newton's method", "all but the dual method"])
def test_every_method_finds_the_same_point(disabled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    for name in ("generic", "monotone", "transport", "no bounds"):
        plain, limited = POLYTOPES[name](), POLYTOPES[name]()
        points = plain.center + 0.3 * plain.diameter * rng.standard_normal((10, plain.dimension))
        expected = [plain.project(point) for point in points]
        with monkeypatch.context() as patch:
            if disabled == "Newton's method":
                patch.setattr(polytope_projection, "CLOSE", -1.0)
            else:
                patch.setattr(polytope_projection, "solve_for_forces", lambda *_: None)
            found = [limited.project(point) for point in points]
        assert np.abs(np.subtract(found, expected)).max() <= 1e-11 * plain.diameter


def test_what_newtons_method_cannot_solve_is_left_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polytope = monotone_polytope()
    points = polytope.center + 0.4 * np.random.default_rng(21).standard_normal((10, 12))
    expected = [polytope.project(point) for point in points]
    form = to_standard_form(polytope._projection._constraints, polytope.center)
    nothing = np.zeros(len(form.sides), dtype=bool)
    start = polytope_projection.ActiveConstraints(nothing, np.ones(12, dtype=bool), points[0])
    assert polytope_projection.solve_for_forces(form, points[0], start, 1e-12) is None
    monkeypatch.setattr(polytope_projection, "RIDGE", -10.0)  # no system is positive definite
    found = [polytope.project(point) for point in points]
    assert np.abs(np.subtract(found, expected)).max() <= 1e-11


def test_the_dual_method_ends_whatever_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_active_set, "STEPS_PER_ROW", 0)
    box = bizol.Polytope(lower=[0, 0], upper=[1, 1])
    assert solve_by_dual_method(box, np.array([2.0, 3.0])).tolist() == [2, 3]


# --- hulls


@given(
    seed=seeds,
    count=st.integers(1, 7),
    dimension=st.integers(1, 3),
    whole=st.booleans(),
)
def test_the_nearest_point_of_a_hull_is_the_best_of_all_faces(
    seed: int, count: int, dimension: int, whole: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((count, dimension))
    if whole:  # repeated points, points on a line
        points = rng.integers(-1, 2, (count, dimension)).astype(float)
    hull = bizol.ConvexHull(points)
    for distance in (0.1, 1.0, 30.0):
        target = hull.center + distance * max(hull.diameter, 1.0) * direction(rng, dimension)
        nearest = hull.project(target)
        reference = nearest_in_hull_by_enumeration(points, target)
        assert np.abs(nearest - reference).max() <= 1e-9 * max(hull.diameter, 1.0)
        assert np.array_equal(hull.project(nearest), nearest)


@pytest.mark.parametrize("distance", [0.01, 0.1, 1.0, 30.0, 1e8])
@pytest.mark.parametrize(("count", "dimension"), [(50, 10), (2000, 10), (60, 40)])
def test_no_point_of_a_hull_is_nearer(count: int, dimension: int, distance: float) -> None:
    rng = np.random.default_rng(13)
    hull = bizol.ConvexHull(rng.standard_normal((count, dimension)))
    for _ in range(2):
        start = hull.minimize_linear(rng.standard_normal(dimension))
        step = distance * hull.diameter * direction(rng, dimension)
        assert_projects(hull, start + step, 1e-11)


def test_a_point_in_a_hull_comes_back_unchanged() -> None:
    rng = np.random.default_rng(14)
    for points in (rng.standard_normal((40, 6)), rng.standard_normal((3, 6)), np.ones((2, 3))):
        hull = bizol.ConvexHull(points)
        for weights in rng.dirichlet(np.ones(len(points)), 20):
            point = weights @ points
            nearest = hull.project(point)
            assert np.array_equal(nearest, np.clip(point, points.min(axis=0), points.max(axis=0)))
            assert nearest is not point


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.0, 1e6])
def test_hulls_of_points_on_a_line_repeated_points_and_one_point(size: float, shift: float) -> None:
    move = size * shift * np.ones(3)
    line = np.linspace(0, 1, 50)[:, None] * np.array([1.0, 2.0, 2.0])
    segment = bizol.ConvexHull(size * np.vstack([line, line[::-1], line[:5]]) + move)
    target = np.array([2.0, -1.0, 0.0]) + np.array([0.5, 1.0, 1.0])  # at right angles to the middle
    tolerance = size * (1e-12 + 1e-15 * shift)
    assert segment.project(size * target + move) == pytest.approx(
        size * np.array([0.5, 1.0, 1.0]) + move, rel=0, abs=tolerance
    )
    beyond = size * 1e8 * np.array([1.0, 2.0, 2.0]) + move
    assert segment.project(beyond) == pytest.approx(size * line[-1] + move, rel=0, abs=tolerance)
    single = bizol.ConvexHull(size * np.ones((4, 3)) + move)
    for point in (np.zeros(3), 1e300 * np.ones(3)):
        assert single.project(point) == pytest.approx(size + move, rel=1e-15)


def test_coordinates_stay_in_the_range_of_the_points_to_the_last_bit() -> None:
    rng = np.random.default_rng(20)
    points = rng.uniform(0, 0.3, (9, 5)) * (rng.random((9, 5)) < 0.5)
    hull = bizol.ConvexHull(points)
    for target in 0.2 * rng.standard_normal((200, 5)):
        nearest = hull.project(target)
        assert (nearest >= points.min(axis=0)).all()
        assert (nearest <= points.max(axis=0)).all()


def test_a_hull_survives_pickling_and_depends_on_nothing_else() -> None:
    rng = np.random.default_rng(15)
    hull = bizol.ConvexHull(rng.standard_normal((30, 5)))
    targets = 2 * rng.standard_normal((30, 5))
    forth = [hull.project(target) for target in targets]
    twin = pickle.loads(pickle.dumps(hull))
    assert np.array_equal([twin.project(target) for target in targets[::-1]][::-1], forth)
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(list(pool.map(hull.project, targets)), forth)


def test_the_hull_method_ends_where_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(22)
    hull = bizol.ConvexHull(rng.standard_normal((40, 4)))
    targets = 3 * rng.standard_normal((20, 4))
    expected = [hull.project(target) for target in targets]
    monkeypatch.setattr(hull_projection, "OPTIMAL", -1.0)  # it never thinks that it is done
    found = [hull.project(target) for target in targets]
    assert np.abs(np.subtract(found, expected)).max() <= 1e-12
    monkeypatch.setattr(hull_projection, "CYCLES_PER_POINT", 0)
    first = hull.project(targets[0])
    assert np.abs(hull.points - first).max(axis=1).min() < 1e-14  # one of the points


@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 0], [1, 0]], [[0, 0], [1, 0], [0, 1], [1, 1]]], ids=["same", "too many"]
)
def test_points_that_depend_on_each_other_have_affine_weights(points: Any) -> None:
    rows = np.array(points, dtype=float)
    weights = hull_projection._find_affine_weights(rows, np.array([0.25, 0.0]))
    assert weights.sum() == pytest.approx(1)
    assert weights @ rows == pytest.approx([0.25, 0])


# --- other units


def uneven_polytope(ratio: float = 1e6) -> bizol.Polytope:
    """Return {x ∈ [0, 1] × [0, ratio] × [0, 10] : x₁ + x₂ / ratio + x₃ / 10 ≤ 1}."""
    return bizol.Polytope([[1, 1 / ratio, 0.1]], [1], lower=0, upper=[1, ratio, 10])


@pytest.mark.parametrize("ratio", [8.0, 1e6])
def test_a_polytope_in_units_of_its_own_has_the_nearest_point_in_these_units(ratio: float) -> None:
    even = InUnits(uneven_polytope(ratio))
    assert even.units[1] / even.units[0] == pytest.approx(ratio, rel=0.5)
    written = bizol.Polytope(
        np.array([[1, 1 / ratio, 0.1]]) * even.units,
        [1],
        lower=0,
        upper=np.array([1, ratio, 10]) / even.units,
    )
    rng = np.random.default_rng(16)
    differs = []
    for _ in range(30):
        point = even.center + direction(rng, 3)
        nearest = assert_projects(even, point)
        assert nearest == pytest.approx(nearest_by_enumeration(written, point), abs=1e-9)
        scaled = even.original.project(point * even.units) / even.units  # type: ignore[attr-defined]
        differs.append(np.linalg.norm(scaled - nearest) > 1e-3)
    assert any(differs)  # scaling what is nearest in other units is not enough


UNEVEN_HULL = np.array([[0, 0, 0], [1, 0, 0], [0, 1e3, 1], [0.3, 1e3, 1e6], [1, 0, 1e6]])
UNEVEN: dict[str, FeasibleSet] = {
    "box": bizol.Box([0, -5], [1, 1e6]),
    "polytope": uneven_polytope(),
    "hull": bizol.ConvexHull(UNEVEN_HULL),
    "product": bizol.Product(
        [uneven_polytope(), bizol.Ball(np.ones(2), 1e3), bizol.Box([0, 0], [1, 9])]
    ),
    "product of polytopes": bizol.Product([uneven_polytope(), uneven_polytope(100.0)]),
    "translated": bizol.Translated(uneven_polytope(), [1, 2e6, 3]),
    "scaled": bizol.Scaled(uneven_polytope(), 3.0),
    "mirrored": bizol.Scaled(bizol.ConvexHull(UNEVEN_HULL), -0.25),
    "nested": bizol.Translated(
        bizol.Product([bizol.Scaled(uneven_polytope(), -2.0), bizol.Simplex(2, total=50.0)]),
        np.arange(5.0),
    ),
}


@pytest.mark.parametrize("feasible_set", UNEVEN.values(), ids=UNEVEN.keys())
def test_uneven_sets_project_in_units_of_their_own(feasible_set: FeasibleSet) -> None:
    even = InUnits(feasible_set)
    assert not (even.units == even.units[0]).all()
    assert projection(even) is not None
    check_feasible_set(even)
    check_feasible_set(feasible_set)
    rng = np.random.default_rng(17)
    for distance in (0.1, 1.0, 10.0):
        step = distance * even.diameter * direction(rng, even.dimension)
        assert_projects(even, even.center + step, 1e-8)
    twin = pickle.loads(pickle.dumps(even))
    assert np.array_equal(twin.project(even.center + step), even.project(even.center + step))


def test_the_set_in_units_is_made_once() -> None:
    even = InUnits(uneven_polytope())
    even.project(np.zeros(3))
    first = even._rescaled
    even.project(np.ones(3))
    assert even._rescaled is first
    assert first is not None


@pytest.mark.parametrize(
    "feasible_set",
    [
        bizol.Box([0, -5, 3], [1, 1e6, 4]),
        bizol.Ball(np.ones(3), 300.0),
        bizol.Simplex(4, total=100.0),
        bizol.Product([bizol.Ball([0.0, 0.0], 7.0), bizol.Box([0, 1], [100, 2])]),
        bizol.Translated(bizol.Box([0, 0], [1, 40]), [0.3, 0.7]),
        bizol.Scaled(bizol.Product([bizol.Simplex(3, 9.0), bizol.Box([0], [1])]), -3.0),
    ],
)
@given(seed=seeds)
def test_where_units_make_no_difference_scaling_gives_the_same_bits(
    feasible_set: Any, seed: int
) -> None:
    even = InUnits(feasible_set)
    point = 2 * np.random.default_rng(seed).standard_normal(even.dimension)
    scaled = feasible_set.project(point * even.units) / even.units
    # A sum that is scaled after it was rounded, as that with a shift is here, is the same sum.
    assert np.array_equal(even.project(point), scaled)


class Slanted:
    """A set with widths and a projection: {x ∈ [0, 1] × [0, 100] : x₁ + x₂ / 100 ≤ 1}."""

    dimension = 2
    diameter = float(np.hypot(1, 100))
    center = np.array([0.25, 25.0])
    widths = np.array([1.0, 100.0])
    inner = bizol.Polytope([[1, 0.01]], [1], lower=0)

    def minimize_linear(self, cost: Point) -> Point:
        return self.inner.minimize_linear(cost)

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        return self.inner.contains(point, tolerance)

    def project(self, point: Point) -> Point:
        return self.inner.project(point)


def test_a_set_that_does_not_say_how_to_project_in_other_units_is_not_asked_to() -> None:
    class Rescalable(Slanted):
        def in_units(self, units: Point) -> Any:
            return self.inner.in_units(units)

    assert projection(InUnits(Slanted())) is None
    assert rescale(Slanted(), np.ones(2)) is None
    assert projection(InUnits(bizol.Product([bizol.Box([0], [1]), Slanted()]))) is None
    assert projection(InUnits(bizol.Translated(Slanted(), [1, 1]))) is None
    even = InUnits(Rescalable())
    check_feasible_set(even)
    expected = InUnits(Slanted.inner)
    for point in np.random.default_rng(18).standard_normal((10, 2)):
        assert even.project(point) == pytest.approx(expected.project(point))


def test_a_ball_has_no_projection_in_units_that_differ_and_one_in_those_that_do_not() -> None:
    both = bizol.Product([bizol.Ball([0.0, 0.0], 1.0), bizol.Box([0], [1])])
    assert rescale(both, np.array([1.0, 2.0, 1.0])) is None
    rescaled = rescale(both, np.array([2.0, 2.0, 8.0]))
    assert rescaled is not None
    assert rescaled.project(np.array([3.0, 4.0, 5.0])) == pytest.approx([0.3, 0.4, 0.125])


def test_a_set_without_projection_has_none_in_units_either() -> None:
    ball = bizol.LpBall(np.zeros(2), 1.0, p=3)
    assert projection(InUnits(ball)) is None
    assert projection(InUnits(bizol.Product([ball, bizol.Box([0], [100])]))) is None
    assert rescale(bizol.Scaled(ball, 2.0), np.ones(2)) is None


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ([1, 0, 1], r"Polytope.in_units\(units=\.\.\.\) must be positive, got 0 at coordinate 1"),
        ([1, 1], r"Polytope.in_units\(units=\.\.\.\) must be a vector of size 3"),
        ([1, np.inf, 1], r"Polytope.in_units\(units=\.\.\.\) must be finite"),
    ],
)
def test_units_that_are_none_are_refused(units: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        uneven_polytope().in_units(units)


# --- who uses them


@pytest.mark.parametrize(
    ("p", "same"),
    [
        (1, bizol.L1Ball([1.0, 2.0, 3.0], 2.0)),
        (2, bizol.Ball([1.0, 2.0, 3.0], 2.0)),
        (np.inf, bizol.Box([-1.0, 0.0, 1.0], [3.0, 4.0, 5.0])),
    ],
)
def test_three_lp_balls_have_a_projection(p: float, same: Any) -> None:
    ball = bizol.LpBall([1.0, 2.0, 3.0], 2.0, p=p)
    for point in 5 * np.random.default_rng(19).standard_normal((10, 3)):
        assert np.array_equal(ball.project(point), same.project(point))


def test_an_equilibrium_over_a_polytope() -> None:
    """Two firms with 3 units of capacity together; without it each would sell 2."""

    def marginal_loss(x: Point, y: Point) -> Point:
        return y - 2.0 - x

    shared = bizol.Polytope([[1, 1]], [3], lower=0, upper=np.full(2, 5.0))
    game = VariationalEquilibrium(operator=marginal_loss, strategies=shared, monotonicity=1.0)
    assert game(np.zeros(2)) == pytest.approx([1.5, 1.5], abs=1e-7)


def test_a_start_outside_is_told_how_far_it_is_off() -> None:
    triangle = bizol.Polytope([[1, 1]], [1], lower=0)
    problem = bizol.Problem(
        bizol.Objective(lambda x, y: 0.0, lambda x, y: 0 * x, lambda x, y: 0 * y),
        lambda x: x,
        triangle,
    )
    message = r"is 0\.707 away from it: the nearest point has 0\.5 in coordinate 0, not 1"
    with pytest.raises(ValueError, match=message):
        bizol.minimize(problem, [1.0, 1.0], budget=5)
