"""Full shelves and composite functions: solutions from formulas, gradients, both halves."""

# ruff: noqa: D103 (test names are sentences)

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import cells
from benchmarks.peers.problems import build, names, shelves
from benchmarks.peers.problems.composite import HIGHEST
from benchmarks.peers.sets import sample
from benchmarks.peers.solvers import Oracle
from benchmarks.peers.solvers.bayesian import Frame, torch_objective
from bizol.arrays import Point

SHELVES = [name for name in names() if name.startswith(("shelves-", "retailers-"))]
COMPOSITE = [name for name in names() if name.startswith("af-")]
SOLVED = [name for name in (*SHELVES, *COMPOSITE) if build(name).solution is not None]


@pytest.mark.parametrize("name", [*SHELVES, *COMPOSITE])
def test_the_gradients_of_the_objective_are_its_differences(name: str) -> None:
    case = build(name)
    objective = case.problem.objective
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = sample(case.problem.feasible_set, rng)
        y = np.asarray(case.problem.response(x))
        dx, dy = rng.standard_normal(x.size), rng.standard_normal(y.size)
        h = 1e-6
        by_x = (objective.value(x + h * dx, y) - objective.value(x - h * dx, y)) / (2 * h)
        by_y = (objective.value(x, y + h * dy) - objective.value(x, y - h * dy)) / (2 * h)
        size = max(1.0, abs(objective.value(x, y)))
        assert objective.grad_x(x, y) @ dx == pytest.approx(by_x, rel=1e-6, abs=1e-6 * size)
        assert objective.grad_y(x, y) @ dy == pytest.approx(by_y, rel=1e-6, abs=1e-6 * size)


@pytest.mark.parametrize("name", SOLVED)
def test_formulas_give_the_references(name: str) -> None:
    case = build(name)
    assert case.solution is not None
    assert case.problem.feasible_set.contains(case.solution)
    assert case.value(case.solution) == pytest.approx(case.reference, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", SOLVED)
def test_nothing_near_or_far_from_a_solution_is_better(name: str) -> None:
    case = build(name)
    box, rng = case.problem.feasible_set, np.random.default_rng(1)
    assert case.solution is not None
    for scale in (1.0, 1e-1, 1e-2, 1e-4, 1e-6):
        for _ in range(100):
            moved = case.solution + scale * (sample(box, rng) - case.solution)
            assert case.value(moved) >= case.value(case.solution) - 1e-12


def test_the_best_of_a_fine_grid_is_next_to_the_best_prices_of_two_retailers() -> None:
    for name in ("shelves-all-2", "shelves-some-2", "shelves-sums-2"):
        case = build(name)
        axis = np.linspace(0.0, shelves.TOP, 181)
        lowest = min(case.value(np.array([u, v])) for u in axis for v in axis)
        # φ changes by less than 15 for each unit of a price.
        assert case.reference <= lowest <= case.reference + 15 * (axis[1] - axis[0])


@pytest.mark.parametrize("name", [name for name in SHELVES if "sums" not in name])
def test_as_many_shelves_are_full_as_the_name_says(name: str) -> None:
    case = build(name)
    solution = case.solution
    assert solution is not None

    def orders(prices: Point) -> Point:
        return np.asarray(case.problem.response(prices))

    # A full shelf is as full at lower prices, and no longer at higher ones.
    each = np.arange(solution.size)
    lower = np.array([orders(solution - 1e-6 * (each == i))[i] for i in each])
    higher = np.array([orders(solution + 1e-6 * (each == i))[i] for i in each])
    at = orders(solution)
    full = (lower <= at + 1e-12) & (higher < at - 1e-9)
    out = at == 0  # priced out, which raises the demand of others: once, among fifty
    assert (full | out).sum() == (solution.size // 2 if "some" in name else solution.size)
    assert (solution[out] == shelves.TOP).all()
    assert out.sum() == (name == "shelves-some-50")


def test_both_halves_have_every_kind_and_every_size_of_shelves() -> None:
    for split in ("tune", "report"):
        half = [name.split("-") for name in SHELVES if build(name).split == split]
        assert {kind for family, kind, _ in half if family == "shelves"} == {"all", "some", "sums"}
        assert {size for family, _, size in half if family == "shelves"} == {"2", "6", "20", "50"}


def test_the_drawn_functions_vary_like_their_kernel() -> None:
    """The mean square over points and components is the variance, 2, give or take a draw."""
    rng = np.random.default_rng(2)
    for name in ("af-gp-1", "af-gp-2"):
        case = build(name)
        drawn = np.array(
            [case.problem.response(sample(case.problem.feasible_set, rng)) for _ in range(500)]
        )
        assert 1.0 < np.mean(drawn**2) < 3.5


def test_the_target_of_the_first_drawn_problem_is_where_its_first_function_is_largest() -> None:
    case, rng = build("af-gp-1"), np.random.default_rng(3)
    highest = case.problem.response(HIGHEST)[0]
    for scale in (1.0, 0.1, 0.01):
        for _ in range(300):
            other = HIGHEST + scale * (sample(case.problem.feasible_set, rng) - HIGHEST)
            assert case.problem.response(other)[0] < highest + 1e-4


@pytest.mark.parametrize("name", ["tolls-parallel-a", "cournot-small-ball", "muu-quy-2003-2"])
def test_composite_bayesian_optimization_sees_exact_gradients(name: str) -> None:
    torch = pytest.importorskip("torch")
    case = build(name)
    frame = Frame(Oracle(case, 1))
    rng = np.random.default_rng(4)
    points = torch.tensor(rng.uniform(0.05, 0.95, (3, 1, case.dimension)), requires_grad=True)
    size = np.asarray(case.problem.response(case.start)).size
    responses = torch.tensor(rng.standard_normal((2, 3, 1, size)), requires_grad=True)
    outer = torch_objective(frame)
    assert outer(responses, points).shape == (2, 3, 1)
    assert torch.autograd.gradcheck(outer, (responses, points), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", ["shelves-sums-6", "tracking-saturated-a", "tracking-n5"])
def test_responses_are_affine_on_the_cells_that_references_are_searched_on(name: str) -> None:
    case, rng = build(name), np.random.default_rng(5)
    form = cells.clipped_form(case.problem.response)
    assert form is not None
    for _ in range(5):
        x = sample(case.problem.feasible_set, rng)
        cell = cells.cell_at(form, x, rng.random(form.offset.size) < 0.5)
        assert (cell.normals @ x <= cell.limits + 1e-9).all()
        # As far as the cell goes along a random line, and a little less.
        direction = rng.standard_normal(x.size)
        rates = cell.normals @ direction
        reach = np.min((cell.limits - cell.normals @ x)[rates > 0] / rates[rates > 0], initial=1.0)
        for at in (x, x + 0.999 * reach * direction):
            np.testing.assert_allclose(
                cell.slope @ at + cell.level, case.problem.response(at), atol=1e-12
            )


def test_a_search_from_cell_to_cell_finds_the_best_prices_of_two_markets() -> None:
    case, rng = build("shelves-sums-2"), np.random.default_rng(6)
    found = [
        case.value(cells.search_cells(case.value, case.problem, begin, rng))
        for begin in (sample(case.problem.feasible_set, rng) for _ in range(8))
    ]
    assert min(found) == pytest.approx(case.reference, abs=1e-8)
