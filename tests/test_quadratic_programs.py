"""Quadratic programs: against two other solvers, where constraints tie, and where none fit."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol.followers import QuadraticProgram
from bizol.structure import KnownStructure
from tests.problems import Array

seeds = st.integers(0, 9999)


def program(
    seed: int, m: int = 6, n: int = 3, equalities: int = 1, c: int = 10
) -> QuadraticProgram:
    """A random program; P is definite along the equalities only."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m - min(equalities, 1)))
    inside = 0.2 * rng.standard_normal(m)
    G = rng.standard_normal((c, m))
    A = rng.standard_normal((equalities, m))
    parts: dict[str, Any] = {
        "P": root @ root.T,
        "q": rng.standard_normal(m),
        "Q": rng.standard_normal((m, n)),
        "G": G,
        "h": G @ inside + rng.uniform(0.2, 1.0, c),
        "S": 0.1 * rng.standard_normal((c, n)),
    }
    if equalities:
        parts |= {"A": A, "b": A @ inside, "T": 0.1 * rng.standard_normal((equalities, n))}
    return QuadraticProgram(**parts)


def by_clarabel(follower: QuadraticProgram, x: Array) -> Array:
    """The same program by another solver."""
    import clarabel
    from scipy.sparse import csc_matrix

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.ZeroConeT(len(follower.b)), clarabel.NonnegativeConeT(len(follower.h))]
    rows = csc_matrix(np.vstack([follower.A, follower.G]))
    right = np.concatenate([follower.b + follower.T @ x, follower.h + follower.S @ x])
    cost = follower.q + follower.Q @ x
    solver = clarabel.DefaultSolver(
        csc_matrix(np.triu(follower.P)), cost, rows, right, cones, settings
    )
    return np.array(solver.solve().x)


def assert_optimal(follower: QuadraticProgram, x: Array) -> None:
    """The optimality conditions, by hand, to the tolerance the follower states."""
    y, multipliers = follower._solve(x)
    scale = max(1.0, np.abs(y).max(), multipliers.max(initial=0.0)) * 100
    room = follower.h + follower.S @ x - follower.G @ y
    assert multipliers.min(initial=0.0) >= 0
    assert room.min(initial=0.0) >= -follower.tolerance * scale
    assert np.abs(multipliers * room).max(initial=0.0) <= follower.tolerance * scale
    assert (
        np.abs(follower.A @ y - follower.b - follower.T @ x).max(initial=0.0)
        <= follower.tolerance * scale
    )
    pull = follower.P @ y + follower.q + follower.Q @ x + follower.G.T @ multipliers
    if len(follower.A):
        pull = pull - follower.A.T @ np.linalg.lstsq(follower.A.T, pull, rcond=None)[0]
    assert np.abs(pull).max() <= follower.tolerance * scale


@given(seed=seeds, equalities=st.integers(0, 3))
def test_the_response_is_optimal_and_what_another_solver_says(seed: int, equalities: int) -> None:
    follower = program(seed, equalities=equalities)
    x = np.random.default_rng(seed + 1).standard_normal(3) * 0.3
    try:
        follower(x)
    except bizol.ResponseError:
        return  # moved equalities may contradict the inequalities; another test looks at that
    assert_optimal(follower, x)
    reference = by_clarabel(follower, x)
    ours, other = (
        float(y @ follower.P @ y / 2 + (follower.q + follower.Q @ x) @ y)
        for y in (follower(x), reference)
    )
    assert ours == pytest.approx(other, abs=1e-6 * max(1.0, abs(other)))
    assert follower(x) == pytest.approx(reference, abs=1e-4 * max(1.0, np.abs(reference).max()))


@given(seed=seeds)
def test_jacobians_are_finite_differences_inside_a_piece(seed: int) -> None:
    follower = program(seed)
    x = np.random.default_rng(seed + 2).standard_normal(3) * 0.2
    step = 1e-6
    near = [x, *(x + step * sign * axis for axis in np.eye(3) for sign in (1, -1))]
    try:
        labels = {follower.pieces(point).labels for point in near}
    except bizol.ResponseError:
        return
    if len(labels) > 1 or len(next(iter(labels))) > 1:
        return  # a kink is near
    differences = np.array(
        [(follower(x + step * axis) - follower(x - step * axis)) / (2 * step) for axis in np.eye(3)]
    )
    (jacobian,) = follower.limiting_jacobians(x)
    assert jacobian == pytest.approx(differences.T, abs=1e-5 * max(1.0, np.abs(jacobian).max()))


def test_what_was_asked_before_changes_no_bit() -> None:
    follower, rng = program(5, m=12, c=30, equalities=2), np.random.default_rng(0)
    points = rng.uniform(-0.3, 0.3, (60, 3))
    fresh = np.array([pickle.loads(pickle.dumps(follower))(x) for x in points])
    forth = np.array([follower(x) for x in points])
    back = np.array([follower(x) for x in points[::-1]])[::-1]
    with ThreadPoolExecutor(4) as pool:
        threads = np.array(list(pool.map(follower, points)))
    for answers in (forth, back, follower(points), threads):
        assert np.array_equal(fresh, answers)


def test_a_remembered_piece_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    follower = program(7)
    first = follower(np.zeros(3))
    monkeypatch.setattr(QuadraticProgram, "_by_interior_point", None)
    assert np.array_equal(follower(np.zeros(3)), first)


@pytest.mark.parametrize("copies", [2, 5])
def test_constraints_that_tie_do_no_harm(copies: int) -> None:
    """The same constraints several times over, and an equality as two inequalities."""
    rng = np.random.default_rng(3)
    G = rng.standard_normal((6, 4))
    line = rng.standard_normal((1, 4))
    inside = 0.1 * rng.standard_normal(4)
    parts: dict[str, Any] = {
        "P": np.eye(4),
        "q": rng.standard_normal(4),
        "Q": 2 * rng.standard_normal((4, 2)),
    }
    limits = G @ inside + 0.3
    plain = QuadraticProgram(**parts, G=G, h=limits, A=line, b=line @ inside)
    tied = QuadraticProgram(
        **parts,
        G=np.vstack([G] * copies + [line, -line]),
        h=np.concatenate([limits] * copies + [line @ inside, -line @ inside]),
    )
    for x in rng.uniform(-1, 1, (50, 2)):
        assert tied(x) == pytest.approx(plain(x), abs=1e-9)
        assert_optimal(tied, x)


def test_a_vertex_with_more_constraints_than_dimensions() -> None:
    """Many planes through one point: the apex of a cone, from outside and exactly on its kinks."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    G = np.column_stack([np.cos(angles), np.sin(angles), np.ones(24)])
    follower = QuadraticProgram(np.eye(3), np.zeros(3), -np.eye(3), G=G, h=np.ones(24))
    assert follower(np.array([0.0, 0.0, 5.0])) == pytest.approx([0, 0, 1], abs=1e-9)
    assert follower(np.array([0.01, 0.02, 5.0])) == pytest.approx([0, 0, 1], abs=1e-9)
    for x in np.random.default_rng(0).standard_normal((50, 3)) * 2:
        assert_optimal(follower, x)


def test_active_constraints_of_the_wrong_side_of_a_kink_are_corrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """y = min(x, 1) for each coordinate, beside the kink, with what is active on its other side."""
    follower = QuadraticProgram(np.eye(3), np.zeros(3), -np.eye(3), G=np.eye(3), h=np.ones(3))
    for guess in ([], [0, 1, 2], [1], [0, 2]):
        monkeypatch.setattr(
            QuadraticProgram,
            "_by_interior_point",
            lambda *given, guess=guess: ("", np.array(guess, dtype=np.int64)),
        )
        for off in (1e-4, 1e-6, 1e-8, -1e-8, -1e-6, -1e-4):
            x = 1 + off * np.array([1.0, -1.0, 2.0])
            fresh = pickle.loads(pickle.dumps(follower))
            assert np.abs(fresh(x) - np.minimum(x, 1)).max() <= 1.1 * follower.tolerance


def test_an_inequality_that_repeats_an_equality_does_no_harm() -> None:
    follower = QuadraticProgram(
        np.eye(2),
        [0, 0],
        -np.eye(2),
        G=[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
        h=[0.5, 1.0, -0.5],
        A=[[2.0, 0.0]],
        b=[1.0],
    )
    for x in np.random.default_rng(0).standard_normal((20, 2)) * 2:
        assert follower(x) == pytest.approx([0.5, min(x[1], 1.0)], abs=1e-9)


def test_constraints_that_nearly_coincide_are_solved_or_said_to_be_too_close() -> None:
    """Two planes at an angle of 1e-9 that both bind: their forces cannot be told apart."""
    G = np.array([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]])
    follower = QuadraticProgram(np.eye(2), [0, 0], -np.eye(2), G=G, h=[1.0, 1.0, 1e9])
    for x in ([5.0, 0.0], [5.0, 3.0], [5.0, -3.0]):
        try:
            assert follower(np.array(x)) == pytest.approx([1.0, x[1]], abs=1e-6)
        except bizol.ResponseError as error:
            assert "could not be solved accurately at x" in str(error)  # noqa: PT017


def test_without_inequalities_it_is_a_linear_map() -> None:
    follower = QuadraticProgram(
        np.diag([1.0, 2.0]), [0, 0], -np.eye(2), A=[[1.0, 1.0]], b=[1.0], T=[[1.0, 0.0]]
    )
    assert isinstance(follower, KnownStructure)
    assert follower(np.zeros(2)) == pytest.approx([2 / 3, 1 / 3])
    (jacobian,) = follower.limiting_jacobians(np.zeros(2))
    assert follower(np.array([0.3, -0.2])) == pytest.approx(
        follower(np.zeros(2)) + jacobian @ [0.3, -0.2]
    )


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_of_the_cost_do_not_matter(unit: float) -> None:
    plain = program(11)
    scaled = QuadraticProgram(
        unit * plain.P,
        unit * plain.q,
        unit * plain.Q,
        G=plain.G,
        h=plain.h,
        S=plain.S,
        A=plain.A,
        b=plain.b,
        T=plain.T,
    )
    for x in np.random.default_rng(0).uniform(-0.2, 0.2, (20, 3)):
        assert scaled(x) == pytest.approx(plain(x), abs=1e-8)


def test_a_linear_program_is_refused_and_the_reason_said() -> None:
    """y₁ + y₂ is paid for alike: every split is optimal, and a solver shows any of them."""
    parts: dict[str, Any] = {
        "q": [-1, -1],
        "Q": np.eye(2),
        "G": [[1, 1], [-1, 0], [0, -1]],
        "h": [1, 0, 0],
    }
    with pytest.raises(
        ValueError,
        match=r"the cost is flat along .* not unique or jumps, as that of a linear program",
    ):
        QuadraticProgram(np.zeros((2, 2)), **parts)
    unique = QuadraticProgram(np.zeros((2, 2)), **parts, regularization=1e-2)
    assert unique(np.zeros(2)) == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="has the eigenvalue -1"):
        QuadraticProgram(np.diag([1.0, -1.0]), **parts)
    # an equality that holds the flat direction still makes it unique
    assert QuadraticProgram(np.diag([1.0, 0.0]), **parts, A=[[0, 1]], b=[0.25])(
        np.zeros(2)
    ) == pytest.approx([0.75, 0.25])
    with pytest.raises(ValueError, match=r"the cost is flat along y = \[0. 1.\]"):
        QuadraticProgram(np.diag([1.0, 0.0]), **parts, A=[[1, 0]], b=[0.25])


def test_an_infeasible_lower_level_says_where_and_what_the_solver_said() -> None:
    # |y| ≤ x
    follower = QuadraticProgram([[1.0]], [0], [[1]], G=[[1], [-1]], h=[0, 0], S=[[1], [1]])
    assert follower(np.array([1.0])) == pytest.approx([-1.0])
    with pytest.raises(
        bizol.ResponseError, match=r"no feasible response at x = \[-1.\].*PIQP_PRIMAL_INFEASIBLE"
    ):
        follower(np.array([-1.0]))
    assert follower(np.array([0.5])) == pytest.approx([-0.5])


def narrow_gate() -> QuadraticProgram:
    """y₁ ≥ 0.4 and y₁ ≤ 0.5 + 2 x₂: nothing fits below x₂ = −0.05."""
    return QuadraticProgram(
        np.eye(2),
        [0, 0],
        -np.eye(2),
        G=[[1, 0], [-1, 0]],
        h=[0.5, -0.4],
        S=[[0.0, 2.0], [0.0, 0.0]],
    )


@pytest.mark.parametrize("vectorized", [False, True])
def test_infeasibility_costs_its_own_query_and_is_not_asked_again(vectorized: bool) -> None:
    gate, refused = narrow_gate(), []

    def follower(x: Array) -> Array:
        try:
            return gate(x)
        except bizol.ResponseError:
            if x.ndim == 1 or len(x) == 1:
                refused.append(tuple(x.ravel()))
            raise

    problem = bizol.Problem(
        bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y),
        follower,
        bizol.Box([-1, -0.05], [1, 1]),
        vectorized=vectorized,
    )
    method = bizol.BiZOL(delta=0.05, step=0.2, batch=4)
    solution = bizol.minimize(
        problem, [0.0, -0.04], method=method, budget=90, seed=1, retries=bizol.Retries(breaker=1)
    )
    assert solution.status is bizol.Status.BUDGET_SPENT
    assert solution.unanswered == len(refused) == len(set(refused)) > 0
    with pytest.raises(bizol.EvaluationError, match=r"no feasible response at x = .*PIQP says"):
        bizol.minimize(problem, [0.0, -0.05], method=method, budget=90, seed=1)


def test_on_a_kink_the_way_one_came_changes_no_bit() -> None:
    """Where two pieces meet, both are right to the tolerance.

    Which one is shown must not depend on what is remembered.
    """
    rng = np.random.default_rng(1)
    for seed in range(12):
        follower = program(seed, equalities=0)
        low, high = 0.3 * rng.standard_normal((2, 3))
        start, end = low, high
        if follower.pieces(low).labels == follower.pieces(high).labels:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if follower.pieces(middle).labels == follower.pieces(start).labels
                else (low, middle)
            )
        answers = []
        for way in ([], [start, low], [end, high], [end, start]):
            fresh = program(seed, equalities=0)
            for x in way:
                fresh(x)
            answers.append(fresh((low + high) / 2))
        assert all(np.array_equal(answers[0], answer) for answer in answers), seed


def test_a_solver_that_gives_up_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bizol.followers.quadratic_program.CORRECTIONS", 0)
    with pytest.raises(
        bizol.ResponseError, match=r"not be solved accurately at x = .*PIQP says PIQP_SOLVED after"
    ):
        program(2)(np.zeros(3))


@pytest.mark.parametrize("equalities", [0, 2])
def test_the_second_opinion_alone_would_do(
    monkeypatch: pytest.MonkeyPatch, equalities: int
) -> None:
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (10, 3))
    expected = program(4, equalities=equalities)(points)
    monkeypatch.setattr(QuadraticProgram, "_by_interior_point", QuadraticProgram._by_active_set)
    assert program(4, equalities=equalities)(points) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"G": [[1.0]]}, r"QuadraticProgram\(G=\.\.\., h=\.\.\.\) are given together"),
        ({"T": [[1.0]]}, r"QuadraticProgram\(A=\.\.\., b=\.\.\.\) are given together"),
        (
            {"A": [[1.0]], "b": [0.0], "T": [[1.0], [1.0]]},
            r"QuadraticProgram\(T=\.\.\.\) must have 1 rows, got 2",
        ),
        (
            {"A": [[1.0], [2.0]], "b": [0.0, 0.0]},
            r"QuadraticProgram\(A=\.\.\.\) must have independent rows",
        ),
        (
            {"regularization": -1.0},
            r"QuadraticProgram\(regularization=\.\.\.\) must be 0 or positive",
        ),
        ({"q": [np.inf]}, r"QuadraticProgram\(q=\.\.\.\) must be finite"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QuadraticProgram(**({"P": [[1.0]], "q": [0.0], "Q": [[1.0]]} | parts))
