"""Every set keeps the same laws, and its vertices agree with an independent reference."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import bizol
from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.composition import InUnits
from bizol.feasible_sets.linear_program import LinearProgram
from bizol.feasible_sets.protocol import polyhedron, projection, widths
from bizol.testing import check_feasible_set

RNG = np.random.default_rng(20)
SHAPE = (lambda root: root @ root.T + 0.1 * np.eye(3))(RNG.standard_normal((3, 3)))
HULL = RNG.standard_normal((7, 3))
A_UB, B_UB = RNG.standard_normal((8, 4)), np.ones(8)
CAPS = np.array([0.3, 1.0, 0.7, 0.2])

Support = Callable[[Point], float]  # cost → min ⟨cost, x⟩ over the set, computed some other way


def by_linprog(**constraints: Any) -> Support:
    return lambda cost: float(linprog(cost, **constraints).fun)


def by_dual_norm(center: Any, radius: float, q: float) -> Support:
    return lambda cost: float(cost @ np.asarray(center) - radius * np.linalg.norm(cost, q))


CENTER = np.array([1.0, -2.0, 0.5])
EXAMPLES: dict[str, tuple[FeasibleSet, Support]] = {
    "box": (
        bizol.Box([-1, 0, 2], [1, 0, 5]),
        lambda cost: min(float(cost @ corner) for corner in product([-1, 1], [0], [2, 5])),
    ),
    "ball": (bizol.Ball(CENTER, 2.0), by_dual_norm(CENTER, 2.0, 2)),
    "l1-ball": (
        bizol.L1Ball(CENTER, 2.0),
        lambda cost: min(
            float(cost @ (CENTER + sign * axis)) for axis in 2 * np.eye(3) for sign in (1, -1)
        ),
    ),
    "lp-ball, p=1": (bizol.LpBall(CENTER, 2.0, p=1), by_dual_norm(CENTER, 2.0, np.inf)),
    "lp-ball, p=1.5": (bizol.LpBall(CENTER, 2.0, p=1.5), by_dual_norm(CENTER, 2.0, 3)),
    "lp-ball, p=4": (bizol.LpBall(CENTER, 2.0, p=4), by_dual_norm(CENTER, 2.0, 4 / 3)),
    "lp-ball, p=inf": (bizol.LpBall(CENTER, 2.0, p=np.inf), by_dual_norm(CENTER, 2.0, 1)),
    "ellipsoid": (
        bizol.Ellipsoid(CENTER, SHAPE),
        lambda cost: float(cost @ CENTER - np.sqrt(cost @ SHAPE @ cost)),
    ),
    "simplex": (bizol.Simplex(4, total=3.0), by_linprog(A_eq=np.ones((1, 4)), b_eq=[3.0])),
    "simplex of one": (bizol.Simplex(1), lambda cost: float(cost[0])),
    "capped simplex": (
        bizol.CappedSimplex(CAPS, total=1.5),
        by_linprog(
            A_eq=np.ones((1, 4)), b_eq=[1.5], bounds=list(zip(np.zeros(4), CAPS, strict=True))
        ),
    ),
    "budget set": (
        bizol.BudgetSet(CAPS, total=1.5),
        by_linprog(
            A_ub=np.ones((1, 4)), b_ub=[1.5], bounds=list(zip(np.zeros(4), CAPS, strict=True))
        ),
    ),
    "convex hull": (
        bizol.ConvexHull(HULL),
        lambda cost: min(float(cost @ point) for point in HULL),
    ),
    "convex hull of one": (bizol.ConvexHull([[1.0, 2.0]]), lambda cost: float(cost @ [1.0, 2.0])),
    "polytope": (
        bizol.Polytope(A_UB, B_UB, lower=-2, upper=[1, 2, 3, 4]),
        by_linprog(A_ub=A_UB, b_ub=B_UB, bounds=[(-2, 1), (-2, 2), (-2, 3), (-2, 4)]),
    ),
    "polytope with equalities": (
        bizol.Polytope(A_ub=[[1, -1, 0]], b_ub=[0.5], A_eq=[[1, 1, 1]], b_eq=[1], lower=0),
        by_linprog(A_ub=[[1, -1, 0]], b_ub=[0.5], A_eq=[[1, 1, 1]], b_eq=[1]),
    ),
    "nuclear norm ball, wide": (
        bizol.NuclearNormBall((2, 3), 1.5),
        lambda cost: -1.5 * float(np.linalg.svd(cost.reshape(2, 3), compute_uv=False)[0]),
    ),
    "nuclear norm ball, tall": (
        bizol.NuclearNormBall((3, 2), 1.5),
        lambda cost: -1.5 * float(np.linalg.svd(cost.reshape(3, 2), compute_uv=False)[0]),
    ),
    "spectraplex": (
        bizol.Spectraplex(3, total=2.0),
        lambda cost: (
            2.0 * float(np.linalg.eigvalsh((cost.reshape(3, 3) + cost.reshape(3, 3).T) / 2)[0])
        ),
    ),
    "product": (
        bizol.Product([bizol.Simplex(2), bizol.Ball([0.0, 0.0], 3.0)]),
        lambda cost: float(cost[:2].min() - 3 * np.linalg.norm(cost[2:])),
    ),
    "product with a polytope": (
        bizol.Product([bizol.Simplex(2), bizol.Polytope(lower=[0, 0], upper=[1, 2])]),
        lambda cost: float(cost[:2].min() + min(cost[2], 0) + 2 * min(cost[3], 0)),
    ),
    "translated": (
        bizol.Translated(bizol.Simplex(3), shift=[1, 2, 3]),
        lambda cost: float(cost.min() + cost @ [1, 2, 3]),
    ),
    "scaled": (bizol.Scaled(bizol.Simplex(3), factor=2.5), lambda cost: float(2.5 * cost.min())),
    "mirrored": (
        bizol.Scaled(bizol.Simplex(3), factor=-2.5),
        lambda cost: float(-2.5 * cost.max()),
    ),
}

every_set = pytest.mark.parametrize(
    ("feasible_set", "support"), EXAMPLES.values(), ids=EXAMPLES.keys()
)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-9, 1.0, 1e9])


def vector(feasible_set: FeasibleSet, seed: int, scale: float = 1.0) -> Point:
    return scale * np.random.default_rng(seed).standard_normal(feasible_set.dimension)


@every_set
@given(seed=seeds, scale=scales)
def test_the_vertex_is_as_good_as_an_independent_reference_says(
    feasible_set: FeasibleSet, support: Support, seed: int, scale: float
) -> None:
    cost = vector(feasible_set, seed)
    vertex = feasible_set.minimize_linear(scale * cost)
    assert cost @ vertex == pytest.approx(support(cost), rel=1e-9, abs=1e-9)


@every_set
@given(seed=seeds, other=seeds)
def test_no_vertex_beats_the_minimizer(
    feasible_set: FeasibleSet, support: Support, seed: int, other: int
) -> None:
    cost = vector(feasible_set, seed)
    best = cost @ feasible_set.minimize_linear(cost)
    assert best <= cost @ feasible_set.minimize_linear(vector(feasible_set, other)) + 1e-9


@every_set
@given(seed=seeds, other=seeds, weight=st.floats(0, 1))
def test_mixtures_of_vertices_are_contained_and_within_the_diameter(
    feasible_set: FeasibleSet, support: Support, seed: int, other: int, weight: float
) -> None:
    first = feasible_set.minimize_linear(vector(feasible_set, seed))
    second = feasible_set.minimize_linear(vector(feasible_set, other))
    assert feasible_set.contains(weight * first + (1 - weight) * second)
    assert np.linalg.norm(first - second) <= feasible_set.diameter * (1 + 1e-12)
    if feasible_set.diameter > 0:
        beyond = (
            first
            + 1.01 * (first - feasible_set.center)
            + 1e-3 * feasible_set.diameter * np.sign(first - feasible_set.center)
        )
        assert not feasible_set.contains(beyond)


@every_set
def test_a_set_passes_its_own_conformance_check(
    feasible_set: FeasibleSet, support: Support
) -> None:
    check_feasible_set(feasible_set)


@every_set
def test_a_zero_cost_gets_a_point_of_the_set(feasible_set: FeasibleSet, support: Support) -> None:
    assert feasible_set.contains(feasible_set.minimize_linear(np.zeros(feasible_set.dimension)))


@every_set
def test_a_set_survives_pickling(feasible_set: FeasibleSet, support: Support) -> None:
    twin = pickle.loads(pickle.dumps(feasible_set))
    cost = vector(feasible_set, 1)
    assert np.array_equal(twin.minimize_linear(cost), feasible_set.minimize_linear(cost))
    if (onto := projection(feasible_set)) is not None:
        assert np.array_equal(twin.project(5 * cost), onto(5 * cost))


@every_set
@given(seed=seeds, other=seeds)
def test_projections_are_nonexpansive_and_leave_members_alone(
    feasible_set: FeasibleSet, support: Support, seed: int, other: int
) -> None:
    onto = projection(feasible_set)
    if onto is None:
        return
    p, q = vector(feasible_set, seed, 5.0), vector(feasible_set, other, 5.0)
    assert np.linalg.norm(onto(p) - onto(q)) <= np.linalg.norm(p - q) * (1 + 1e-9) + 1e-12
    assert onto(onto(p)) == pytest.approx(onto(p), abs=1e-9)
    inside = feasible_set.minimize_linear(p)
    assert onto(inside) == pytest.approx(inside, abs=1e-9)


@every_set
def test_a_set_in_units_of_its_own_is_one_too_and_about_as_wide_everywhere(
    feasible_set: FeasibleSet, support: Support
) -> None:
    even = InUnits(feasible_set)
    check_feasible_set(even)
    assert (projection(even) is None) == (projection(feasible_set) is None)
    wide = widths(feasible_set) / even.units
    assert ((wide < 1e-9) | ((wide > 0.7) & (wide < 1.5))).all()
    assert (np.frexp(even.units)[0] == 0.5).all()  # powers of two


@every_set
def test_a_polyhedron_knows_its_widths(feasible_set: FeasibleSet, support: Support) -> None:
    if not isinstance(feasible_set, bizol.Box | bizol.ConvexHull | bizol.Polytope):
        return
    extents = np.array([-support(-axis) - support(axis) for axis in np.eye(feasible_set.dimension)])
    assert (
        feasible_set.widths >= extents - 1e-9
    ).all()  # of a polytope, bounds that do not bind may be farther apart
    if not isinstance(feasible_set, bizol.Polytope):
        assert feasible_set.widths == pytest.approx(extents)


def test_a_coordinate_that_is_fixed_but_for_rounding_is_not_blown_up() -> None:
    even = InUnits(bizol.Box([5.0, 0.0], [5.0 + 1e-15, 1.0]))
    assert even.units[0] >= 0.5


def test_which_sets_offer_a_projection() -> None:
    without = {
        name for name, (feasible_set, _) in EXAMPLES.items() if projection(feasible_set) is None
    }
    assert without == {"lp-ball, p=1.5", "lp-ball, p=4"}  # these have no formula


@given(
    upper=arrays(np.float64, 5, elements=st.floats(0.1, 2)), share=st.floats(0.05, 0.95), seed=seeds
)
def test_capped_projections_solve_their_optimality_conditions(
    upper: Point, share: float, seed: int
) -> None:
    capped = bizol.CappedSimplex(upper, total=share * upper.sum())
    point = 2 * np.random.default_rng(seed).standard_normal(5)
    nearest = capped.project(point)
    assert nearest.sum() == pytest.approx(capped.total)
    free = (nearest > 1e-9) & (nearest < capped.upper - 1e-9)
    if free.any():
        level = (point - nearest)[free]
        assert np.ptp(level) < 1e-9  # the same multiplier for all that are free
        assert ((point - nearest)[nearest <= 1e-9] <= level[0] + 1e-9).all()
        assert ((point - nearest)[nearest >= capped.upper - 1e-9] >= level[0] - 1e-9).all()


# --- diameters: upper bounds everywhere, exact where the docstring says so


def test_diameters_in_closed_form() -> None:
    assert bizol.Box([0, 0], [3, 4]).diameter == 5
    assert bizol.Ball([0.0, 0.0], 2).diameter == 4
    assert bizol.LpBall(np.zeros(4), 1, p=np.inf).diameter == 4  # the cube's diagonal
    assert bizol.LpBall(np.zeros(4), 1, p=1.5).diameter == 2
    assert bizol.Simplex(5, total=2).diameter == pytest.approx(2 * np.sqrt(2))
    # 1,1,0,.. against 0,0,1,1,..
    assert bizol.CappedSimplex(np.ones(6), total=2).diameter == pytest.approx(2)
    # The budget does not bind.
    assert bizol.BudgetSet(np.ones(2), total=9).diameter == pytest.approx(np.sqrt(2))
    assert bizol.ConvexHull([[0, 0], [3, 4], [1, 1]]).diameter == 5
    assert bizol.Polytope(A_ub=[[1, 1]], b_ub=[1], lower=0).diameter == pytest.approx(np.sqrt(2))
    assert bizol.Product([bizol.Ball([0.0], 1.5), bizol.Ball([0.0], 2.0)]).diameter == 5


# --- the polytope keeps its solver, not its past


def transport_polytope() -> bizol.Polytope:
    """Return shipments from three depots to four customers.

    Vertices are degenerate, and there are ties when costs are whole numbers.
    """
    depots = [np.kron(row, np.ones(4)) for row in np.eye(3)]
    customers = [np.tile(column, 3) for column in np.eye(4)]
    return bizol.Polytope(A_eq=np.array(depots + customers), b_eq=[4, 4, 4, 3, 3, 3, 3], lower=0)


def random_polytope() -> bizol.Polytope:
    """Nothing degenerate, but vertices whose last digits depend on the way they are reached."""
    rng = np.random.default_rng(3)
    return bizol.Polytope(rng.standard_normal((24, 12)), np.full(24, 3.0), lower=-2, upper=2)


@pytest.mark.parametrize("make", [transport_polytope, random_polytope])
def test_the_vertex_of_a_polytope_does_not_depend_on_what_was_asked_before(
    make: Callable[[], bizol.Polytope],
) -> None:
    rng = np.random.default_rng(0)
    costs = np.concatenate(
        [rng.standard_normal((30, 12)), rng.integers(-1, 2, (30, 12)).astype(float)]
    )
    in_order, backwards = make(), make()
    forth = [in_order.minimize_linear(cost) for cost in costs]
    back = [backwards.minimize_linear(cost) for cost in costs[::-1]][::-1]
    fresh = [make().minimize_linear(cost) for cost in costs]
    assert np.array_equal(forth, fresh)
    assert np.array_equal(back, fresh)


def test_a_polytope_vertex_is_accurate_to_rounding() -> None:
    rng = np.random.default_rng(1)
    polytope = bizol.Polytope(rng.standard_normal((60, 30)), np.full(60, 5.0), lower=-2, upper=2)
    for cost in rng.standard_normal((20, 30)):
        vertex = polytope.minimize_linear(cost)
        active = np.sum(np.abs(polytope.A_ub @ vertex - 5.0) < 1e-12) + np.sum(
            np.abs(vertex) == 2.0
        )
        assert active == 30


def test_a_tiny_cost_is_not_mistaken_for_none() -> None:
    box = bizol.Polytope(lower=[-1, -1], upper=[1, 1])
    assert np.array_equal(box.minimize_linear(np.array([1e-12, -1e-12])), [-1, 1])


def test_the_center_of_a_polytope_keeps_its_distance() -> None:
    triangle = bizol.Polytope(A_ub=[[1, 1]], b_ub=[1], lower=0)
    radius = 1 / (2 + np.sqrt(2))  # of the circle inscribed in the triangle (0,0), (1,0), (0,1)
    assert triangle.center == pytest.approx([radius, radius])
    single = bizol.Polytope(A_eq=np.eye(2), b_eq=[3, 4])
    assert single.center == pytest.approx([3, 4])


# --- mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: bizol.Box([0, 2], [1, 1]),
            r"Box.*empty: in coordinate 1 the lower bound 2 exceeds the upper bound 1",
        ),
        (lambda: bizol.Box([0], [np.inf]), r"Box.*must be bounded, but coordinate 0 is not"),
        (
            lambda: bizol.Box([0, 0], [1]),
            r"Box\(upper=\.\.\.\) must be a vector of size 2, got shape \(1,\)",
        ),
        (
            lambda: bizol.Box([[0]], [1]),
            r"Box\(lower=\.\.\.\) must be a non-empty vector, got shape \(1, 1\)",
        ),
        (
            lambda: bizol.Box([np.nan], [1]),
            r"Box\(lower=\.\.\.\) must hold numbers, but entry \(0,\) is NaN",
        ),
        (lambda: bizol.Box(["a"], [1]), r"Box\(lower=\.\.\.\) must be an array of numbers"),
        (
            lambda: bizol.Box([], []),
            r"Box\(lower=\.\.\.\) must be a non-empty vector, got shape \(0,\)",
        ),
        (
            lambda: bizol.Ball([0], -1),
            r"Ball\(radius=\.\.\.\) must be a positive, finite number, got -1",
        ),
        (lambda: bizol.Ball([np.inf], 1), r"Ball\(center=\.\.\.\) must be finite"),
        (
            lambda: bizol.Ball([0], True),
            r"Ball\(radius=\.\.\.\) must be a positive, finite number, got True",
        ),
        (lambda: bizol.L1Ball([0], 0), r"L1Ball\(radius=\.\.\.\) must be a positive"),
        (
            lambda: bizol.LpBall([0], 1, p=0.5),
            r"LpBall\(p=\.\.\.\) must be in \[1, inf\], where the ball is convex",
        ),
        (
            lambda: bizol.Ellipsoid([0, 0], [[1, 2], [0, 1]]),
            r"Ellipsoid\(shape=\.\.\.\) must be a symmetric matrix",
        ),
        (
            lambda: bizol.Ellipsoid([0, 0], [[1, 0], [0, 0]]),
            r"must be positive definite, its smallest eigenvalue is 0",
        ),
        (
            lambda: bizol.Ellipsoid([0, 0], np.eye(3)),
            r"Ellipsoid\(shape=\.\.\.\) must be a matrix with 2 columns",
        ),
        (
            lambda: bizol.Simplex(0),
            r"Simplex\(dimension=\.\.\.\) must be a positive integer, got 0",
        ),
        (lambda: bizol.Simplex(2, total=0), r"Simplex\(total=\.\.\.\) must be a positive"),
        (
            lambda: bizol.CappedSimplex([0.1, 0.2], 1),
            r"CappedSimplex.*empty: the caps add up to 0.3",
        ),
        (
            lambda: bizol.BudgetSet([0.1, 0.0], 1),
            r"BudgetSet\(upper=\.\.\.\) must be positive, got 0 at coordinate 1",
        ),
        (
            lambda: bizol.ConvexHull(np.array([[0, np.inf], [1, 1]])),
            r"ConvexHull\(points=\.\.\.\) must be finite, but row 0",
        ),
        (
            lambda: bizol.ConvexHull([1, 2]),
            r"ConvexHull\(points=\.\.\.\) must be a non-empty matrix, got shape \(2,\)",
        ),
        (lambda: bizol.Polytope(lower=0), r"Polytope.*needs a matrix .* to know its dimension"),
        (
            lambda: bizol.Polytope(A_ub=[[1.0]]),
            r"Polytope\(A_ub=\.\.\., b_ub=\.\.\.\) must be given together",
        ),
        (lambda: bizol.Polytope([[1, 1]], [1]), r"Polytope.*must be bounded"),
        (lambda: bizol.Polytope([[1], [-1]], [0, -1]), r"Polytope.*is empty"),
        (
            lambda: bizol.Polytope(lower=[1, 1], upper=[0, 2]),
            r"Polytope.*is empty: in coordinate 0",
        ),
        (
            lambda: bizol.Polytope([[1, np.inf]], [1]),
            r"Polytope\(A_ub=\.\.\., b_ub=\.\.\.\) must be finite",
        ),
        (
            lambda: bizol.NuclearNormBall((2, 0)),
            r"NuclearNormBall\(shape=\.\.\.\) must be a positive integer, got 0",
        ),
        (lambda: bizol.NuclearNormBall(3), r"NuclearNormBall\(shape=\.\.\.\) must be a pair"),  # type: ignore[arg-type]
        (lambda: bizol.Spectraplex(-1), r"Spectraplex\(side=\.\.\.\) must be a positive integer"),
        (lambda: bizol.Product([]), r"Product\(factors=\.\.\.\) needs at least one set"),
        (
            lambda: bizol.Product([3]),  # type: ignore[list-item]
            r"Product\(factors=\.\.\.\) must hold feasible sets, but entry 0 is 3",
        ),
        (
            lambda: bizol.Translated(bizol.Simplex(2), [np.inf, 0]),
            r"Translated\(shift=\.\.\.\) must be finite",
        ),
        (
            lambda: bizol.Translated(bizol.Simplex(2), [1]),
            r"Translated\(shift=\.\.\.\) must be a vector of size 2",
        ),
        (
            lambda: bizol.Scaled(bizol.Simplex(2), 0),
            r"Scaled\(factor=\.\.\.\) must be finite and not zero, got 0",
        ),
    ],
)
def test_a_mistake_names_the_argument_the_rule_and_the_value(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_sets_keep_their_own_copy_of_what_they_were_given() -> None:
    lower = np.zeros(2)
    box = bizol.Box(lower, [1, 1])
    lower[0] = 7
    assert box.lower[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        box.lower[0] = 7


def test_a_polytope_says_what_it_is() -> None:
    assert repr(EXAMPLES["polytope"][0]) == "Polytope(8 inequalities, 0 equalities, dimension 4)"


# --- extremes


@pytest.mark.parametrize(
    "polytope",
    [
        bizol.Polytope([[0.0, 0.0]], [1.0], lower=[-1, 0], upper=[4, 3]),
        bizol.Polytope(A_eq=[[0.0, 0.0]], b_eq=[0.0], lower=[-1, 0], upper=[4, 3]),
        bizol.Polytope([[1e-10, 1e-10]], [1.0], lower=[-1, 0], upper=[4, 3]),
        bizol.Polytope(lower=[-1, 0], upper=[4, 3]),
    ],
)
def test_rows_that_say_nothing_leave_the_box(polytope: bizol.Polytope) -> None:
    assert polytope.minimize_linear(np.array([-1.0, -1.0])).tolist() == [4, 3]
    assert polytope.minimize_linear(np.array([1.0, 1.0])).tolist() == [-1, 0]


def test_a_row_of_zeros_that_contradicts_itself_is_empty() -> None:
    with pytest.raises(ValueError, match="is empty: a row of zeros"):
        bizol.Polytope([[0.0, 0.0]], [-1.0], lower=[-1, 0], upper=[4, 3])


def test_coordinates_of_very_different_size() -> None:
    """On {x ∈ [0, 2] × [0, 10¹²] : x₁ + 10⁻¹⁰ x₂ ≤ 1}, −x₁ − 10⁻¹⁰ x₂ is at least −1."""
    polytope = bizol.Polytope([[1, 1e-10]], [1], lower=0, upper=[2, 1e12])
    for cost in ([-1.0, -1e-10], [-1.0, 0.0], [0.0, -1.0]):
        vertex = polytope.minimize_linear(np.array(cost))
        assert (vertex >= 0).all()
        assert vertex[0] + 1e-10 * vertex[1] <= 1 + 1e-9
    assert polytope.minimize_linear(np.array([-1.0, -1e-10])) @ [-1.0, -1e-10] == pytest.approx(-1)


@pytest.mark.parametrize("unit", [1e-10, 1e-4, 1e6, 1e16])
@pytest.mark.parametrize("what", ["rows", "everything"])
def test_units_do_not_change_a_polytope(unit: float, what: str) -> None:
    size = unit if what == "everything" else 1.0
    plain = bizol.Polytope(A_UB, B_UB, lower=-2, upper=2)
    scaled = bizol.Polytope(unit * A_UB, unit * size * B_UB, lower=-2 * size, upper=2 * size)
    for cost in np.random.default_rng(0).standard_normal((5, 4)):
        assert scaled.minimize_linear(cost) / size == pytest.approx(
            plain.minimize_linear(cost), abs=1e-7
        )


def test_loose_bounds_do_not_blow_up_the_diameter() -> None:
    simplex = bizol.Polytope(A_eq=np.ones((1, 3)), b_eq=[1], lower=0, upper=1e6)
    assert simplex.diameter == pytest.approx(np.sqrt(3))
    assert not simplex.contains(np.array([0.5, 0.5, 1e-3]))


def test_the_center_of_a_polytope_cannot_be_moved() -> None:
    polytope = bizol.Polytope(lower=[0, 0], upper=[1, 1])
    with pytest.raises(ValueError, match="read-only"):
        polytope.center[0] = 7


@pytest.mark.parametrize("far", [1e3, 1e8, 1e17, 1e300])
def test_far_points_are_projected_onto_the_set(far: float) -> None:
    point = np.array([far, 0.3 * far, 0.0])
    for feasible_set in (
        bizol.Simplex(3),
        bizol.CappedSimplex(np.full(3, 0.6)),
        bizol.BudgetSet(np.full(3, 0.6)),
        bizol.L1Ball(np.zeros(3)),
        bizol.Box(np.zeros(3), np.ones(3)),
        bizol.Polytope(np.ones((1, 3)), [1], lower=0),
        bizol.ConvexHull(np.eye(3)),
    ):
        nearest = feasible_set.project(point)
        assert feasible_set.contains(nearest)
        assert nearest[0] >= nearest[1] >= nearest[2]


@pytest.mark.parametrize("shift", [1e6, 1e9, 1e12])
def test_a_set_moved_far_away_still_contains_its_center_and_vertices(shift: float) -> None:
    moved = bizol.Translated(bizol.Simplex(3), np.full(3, shift))
    assert moved.contains(moved.center)
    assert moved.contains(moved.minimize_linear(np.array([1.0, 2.0, 3.0])))
    assert not moved.contains(moved.center + 1e-2)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_costs_of_any_size_have_the_same_vertex(size: float) -> None:
    cost = np.array([3.0, -4.0, 1.0])
    for name in ("ball", "ellipsoid", "lp-ball, p=4", "box", "l1-ball"):
        feasible_set = EXAMPLES[name][0]
        assert feasible_set.minimize_linear(size * cost) == pytest.approx(
            feasible_set.minimize_linear(cost)
        )


def test_caps_that_just_add_up_are_accepted() -> None:
    caps = [0.1, 0.5, 0.3, 0.1]  # 0.9999999999999999 in floating point
    assert bizol.CappedSimplex(caps, 1.0).center == pytest.approx(caps)


def test_sizes_of_narrow_integer_types_do_not_overflow() -> None:
    assert bizol.Spectraplex(np.int8(12)).dimension == 144  # type: ignore[arg-type]
    assert bizol.NuclearNormBall((np.int8(100), np.int8(100))).dimension == 10_000  # type: ignore[arg-type]
    check_feasible_set(bizol.Simplex(np.int64(3)))  # type: ignore[arg-type]


def test_symmetry_is_judged_by_the_size_of_the_matrix() -> None:
    bizol.Ellipsoid([0, 0], np.array([[1, 1e-17], [2e-17, 1]]))
    with pytest.raises(ValueError, match="symmetric"):
        bizol.Ellipsoid([0, 0], np.array([[1, 0.05], [0, 1]]))


# --- ties, tolerances


def test_ties_go_where_the_comments_say() -> None:
    flat = np.ones(3)
    assert bizol.Simplex(3).minimize_linear(flat).tolist() == [1, 0, 0]
    assert bizol.CappedSimplex(np.full(3, 0.6)).minimize_linear(flat) == pytest.approx(
        [0.6, 0.4, 0]
    )
    assert bizol.L1Ball(np.zeros(3)).minimize_linear(flat).tolist() == [-1, 0, 0]
    assert bizol.LpBall(np.zeros(3), p=1).minimize_linear(flat).tolist() == [-1, 0, 0]
    assert bizol.ConvexHull([[1, 0], [0, 1]]).minimize_linear(np.ones(2)).tolist() == [1, 0]
    assert bizol.Box([0, 0], [1, 1]).minimize_linear(np.zeros(2)).tolist() == [0, 0]


def test_tolerances_are_relative_to_the_size_of_the_set() -> None:
    for size in (1e-6, 1.0, 1e6):
        for feasible_set in (
            bizol.Box([0, 0], [size, size]),
            bizol.Scaled(bizol.Box([0, 0], [1, 1]), size),
            bizol.Polytope(A_ub=[[1e3, 0.0]], b_ub=[1e3 * size], lower=0, upper=size),
        ):
            corner = np.array([size, size])
            assert feasible_set.contains(corner + 1e-8 * size, tolerance=1e-7)
            assert not feasible_set.contains(corner + 1e-6 * size, tolerance=1e-7)


def test_rounding_never_excludes_a_point_of_the_set() -> None:
    far = bizol.Box([1e9], [1e9 + 1e-6])
    assert far.contains(np.array([1e9 + 1e-6 + 2e-7]), tolerance=0.0)  # one unit in the last place


def test_what_the_caps_leave_cannot_move_far() -> None:
    assert bizol.CappedSimplex(np.ones(3), total=2.9).diameter <= 0.2 + 1e-12


@pytest.mark.parametrize(
    "feasible_set",
    [
        bizol.BudgetSet(CAPS, total=0.9),
        bizol.Translated(bizol.BudgetSet(CAPS, total=0.9), np.array([1.0, -2.0, 0.5, 3.0])),
        bizol.Scaled(bizol.Simplex(4, total=3.0), -2.0),
        bizol.Product([bizol.BudgetSet(CAPS, total=0.9), bizol.Box([0.0], [2.0])]),
    ],
)
def test_linear_constraints_describe_the_set_and_nothing_more(feasible_set: FeasibleSet) -> None:
    rows, rng = polyhedron(feasible_set), np.random.default_rng(0)
    assert rows is not None
    for cost in rng.standard_normal((20, feasible_set.dimension)):
        vertex = LinearProgram(rows).minimize(cost)
        best = cost @ feasible_set.minimize_linear(cost)
        assert cost @ vertex == pytest.approx(best, abs=1e-9)
