"""The loop: budgets, reproducibility, endings, and what is kept when something goes wrong."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol import VZO, BiZOL, EvaluationError, Status
from tests.problems import Array, Counting, affine, saturated

METHODS = [BiZOL, VZO]


# --- budget


@given(
    kind=st.sampled_from(METHODS),
    budget=st.integers(1, 120),
    batch=st.integers(1, 12),
    growing=st.booleans(),
    vectorized=st.booleans(),
)
def test_the_budget_is_a_hard_ceiling_and_the_count_is_right(
    kind: Any, budget: int, batch: int, growing: bool, vectorized: bool
) -> None:
    follower = Counting(lambda x: np.clip(x, -0.5, 0.5))
    problem = saturated(response=follower, vectorized=vectorized)
    method = kind(delta=0.1, step=0.1, batch=(lambda k: batch + k) if growing else batch)
    if budget < 2 * batch + (kind is BiZOL):
        with pytest.raises(ValueError, match="must cover one iteration"):
            bizol.minimize(problem, method=method, budget=budget, seed=0)
        assert follower.asked == []
        return
    solution = bizol.minimize(problem, method=method, budget=budget, seed=0)
    assert len(follower.asked) == solution.queries <= budget
    assert solution.history.queries[-1] == solution.queries
    assert solution.status is Status.BUDGET_SPENT


@pytest.mark.parametrize("budget", [1, 2, 3, 20, 47])
@pytest.mark.parametrize("workers", [2, 4])
def test_the_default_method_spends_every_budget_to_the_last_query(
    budget: int, workers: int
) -> None:
    """One at a time, and several as long as they fit: what is left then observes nothing new."""
    solution = bizol.minimize(saturated(), method=bizol.Foresight(), budget=budget, seed=1)
    assert solution.queries == budget
    if budget >= workers:
        method = bizol.Foresight(workers=workers)
        several = bizol.minimize(saturated(), method=method, budget=budget, seed=1).queries
        assert budget - workers < several <= budget


def test_whole_iterations_only_and_the_rest_observes_the_last_decision() -> None:
    method = BiZOL(delta=0.1, step=0.1, batch=10)
    exact = bizol.minimize(saturated(), method=method, budget=42, seed=0)
    assert (exact.queries, exact.iterations, exact.last.observed) == (42, 2, False)
    more = bizol.minimize(saturated(), method=method, budget=45, seed=0)
    assert (more.queries, more.iterations, more.last.observed) == (43, 2, True)
    assert np.array_equal(more.last.x, exact.last.x)
    assert np.array_equal(more.last.y, saturated().response(more.last.x))


# --- reproducibility


@pytest.mark.parametrize("kind", METHODS)
def test_vectorized_or_not_gives_the_same_bits(kind: Any) -> None:
    runs = [
        bizol.minimize(
            saturated(vectorized=vectorized), method=kind(0.1, 0.1, 4), budget=500, seed=3
        )
        for vectorized in (False, True)
    ]
    assert np.array_equal(runs[0].x, runs[1].x)
    assert np.array_equal(runs[0].last.x, runs[1].last.x)
    assert np.array_equal(runs[0].drawn.x, runs[1].drawn.x)
    for name in runs[0].history.columns:
        assert np.array_equal(
            getattr(runs[0].history, name), getattr(runs[1].history, name), equal_nan=True
        )


def test_the_reported_seed_repeats_the_run() -> None:
    first = bizol.minimize(saturated(), budget=100)
    again = bizol.minimize(saturated(), budget=100, seed=first.seed)
    assert np.array_equal(first.last.x, again.last.x)
    assert first.drawn.iteration == again.drawn.iteration
    assert bizol.minimize(saturated(), budget=100).seed != first.seed


def test_minimize_walks_where_iterate_walks() -> None:
    method = BiZOL(0.1, 0.1, 3)
    walked = [state.x for state in itertools.islice(bizol.iterate(saturated(), method, seed=5), 11)]
    assert np.array_equal(
        bizol.minimize(saturated(), method=method, budget=70, seed=5).last.x, walked[-1]
    )


def test_a_larger_budget_continues_the_same_run() -> None:
    method = BiZOL(0.1, 0.1, 3)
    short = bizol.minimize(saturated(), method=method, budget=70, seed=5)
    long = bizol.minimize(saturated(), method=method, budget=140, seed=5)
    assert np.array_equal(short.history.value[:10], long.history.value[:10])


# --- what comes out


def test_best_is_the_lowest_observed_pair() -> None:
    solution = bizol.minimize(saturated(), method=BiZOL(0.1, 0.3, 1), budget=301, seed=2)
    row = int(np.nanargmin(solution.history.value))
    assert solution.best.iteration == solution.history.iteration[row]
    assert solution.value == solution.history.value[row]
    assert np.array_equal(solution.y, saturated().response(solution.x))
    assert solution.value == saturated().objective.value(solution.x, solution.y)


def test_vzo_observes_no_iterate_until_a_query_is_left_for_the_last() -> None:
    blind = bizol.minimize(saturated(), method=VZO(0.1, 0.1, 5), budget=100, seed=0)
    assert np.isnan(blind.value)
    assert blind.y is None
    assert np.array_equal(blind.x, blind.last.x)
    seen = bizol.minimize(saturated(), method=VZO(0.1, 0.1, 5), budget=101, seed=0)
    assert np.array_equal(seen.x, blind.x)
    assert seen.value == saturated().objective.value(seen.x, saturated().response(seen.x))


def test_the_drawn_iterate_is_uniform_over_the_decisions_moves_were_made_at() -> None:
    """χ² over 8 cells with 4,000 runs; the 1 − 10⁻⁶ quantile of χ²(7) is 40.5 (seeds fixed)."""
    problem = saturated(1)
    method = BiZOL(0.1, 0.1, 1)
    counts = np.zeros(8)
    for seed in range(4000):
        solution = bizol.minimize(problem, method=method, budget=24, seed=seed)
        counts[solution.drawn.iteration] += 1
        assert solution.iterations == 8
    assert ((counts - 500) ** 2 / 500).sum() < 40.5


def test_the_drawn_iterate_is_one_of_the_run() -> None:
    method = BiZOL(0.1, 0.1, 2)
    walked = [state.x for state in itertools.islice(bizol.iterate(saturated(), method, seed=9), 20)]
    drawn = bizol.minimize(saturated(), method=method, budget=100, seed=9).drawn
    assert np.array_equal(drawn.x, walked[drawn.iteration])
    assert drawn.value == saturated().objective.value(drawn.x, drawn.y)


def test_the_default_solves_an_affine_problem() -> None:
    rng = np.random.default_rng(0)
    jacobian: Array = rng.standard_normal((6, 4)) / 2
    problem = affine(jacobian)
    solution = bizol.minimize(problem, budget=60, seed=0)
    optimum = np.linalg.solve(np.eye(4) + jacobian.T @ jacobian, jacobian.T @ np.full(6, 0.5))
    assert np.abs(optimum).max() < 1  # inside the box
    best = problem.objective.value(optimum, problem.response(optimum))
    start = problem.objective.value(np.zeros(4), problem.response(np.zeros(4)))
    assert (solution.value - best) / (start - best) < 1e-6


# --- endings


def test_stop_ends_the_run_where_it_says() -> None:
    solution = bizol.minimize(
        saturated(),
        method=BiZOL(0.1, 0.1, 1),
        budget=1000,
        seed=0,
        stop=lambda state: state.iteration == 4,
    )
    assert (solution.iterations, solution.queries, solution.status) == (4, 12, Status.STOPPED)
    assert solution.message == Status.STOPPED.value


def test_stop_may_end_a_run_before_it_begins() -> None:
    solution = bizol.minimize(saturated(), budget=100, stop=lambda state: True)
    assert (solution.iterations, solution.queries, len(solution.history)) == (0, 0, 0)
    assert np.isnan(solution.value)
    assert np.array_equal(solution.x, np.zeros(3))
    assert "not observed" in str(solution)


def failing_after(count: int, failure: Any) -> Any:
    asked = itertools.count()

    def respond(x: Array) -> Any:
        if next(asked) < count:
            return np.clip(2 * x + 0.25, -1, 1)
        return failure(x)

    return respond


def raise_(error: BaseException) -> Any:
    raise error


def test_a_keyboard_interrupt_ends_with_what_was_found() -> None:
    problem = saturated(response=failing_after(50, lambda x: raise_(KeyboardInterrupt())))
    solution = bizol.minimize(problem, method=BiZOL(0.1, 0.1, 2), budget=1000, seed=0)
    assert (solution.status, solution.iterations, solution.queries) == (Status.INTERRUPTED, 10, 51)
    assert len(solution.history) == 10


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (lambda x: np.full(3, np.nan), r"The response to query 52 is not finite\."),
        (lambda x: np.array([0.0, np.inf, 0.0]), r"The response to query 52 is not finite\."),
        (
            lambda x: np.zeros(4),
            r"The response to query 52 must have the size of the first one, 3, got 4\.",
        ),
        (lambda x: 1.0, r"The response to query 52 must be a vector \(m,\), got shape \(\)"),
        (
            lambda x: np.zeros((1, 3)),
            r"The response to query 52 must be a vector \(m,\), got shape \(1, 3\)",
        ),
        (lambda x: None, r"The follower failed at query 52: TypeError: it returned None"),
        (
            lambda x: raise_(ZeroDivisionError("no market")),
            r"failed at query 52: ZeroDivisionError: no market",
        ),
    ],
)
def test_a_failed_response_names_the_query_and_loses_nothing(failure: Any, message: str) -> None:
    problem = saturated(response=failing_after(52, failure))
    with pytest.raises(EvaluationError, match=message) as caught:
        bizol.minimize(problem, method=BiZOL(0.1, 0.1, 2), budget=1000, seed=0)
    partial = caught.value.solution
    assert partial is not None
    assert (partial.status, partial.iterations, partial.queries) == (Status.FAILED, 10, 53)
    assert partial.message.startswith(Status.FAILED.value)
    whole = bizol.minimize(saturated(), method=BiZOL(0.1, 0.1, 2), budget=50, seed=0)
    assert np.array_equal(partial.history.value, whole.history.value)
    assert np.array_equal(partial.x, whole.x)
    assert caught.value.points is not None  # the two answers of the batch that broke are there too
    assert caught.value.responses is not None
    assert len(caught.value.points) == len(caught.value.responses) == 2
    assert np.array_equal(caught.value.points[0], partial.last.x)


def test_an_objective_that_fails_midway_loses_nothing_either() -> None:
    calls = itertools.count()

    def gradient(x: Array, y: Array) -> Array:
        return y - 0.5 if next(calls) < 5 else np.full(3, np.nan)

    objective = bizol.Objective(lambda x, y: float(x @ x), lambda x, y: 2 * x, gradient)
    with pytest.raises(
        EvaluationError, match="hypergradient of iteration 5 is not finite in coordinate 0"
    ) as caught:
        bizol.minimize(
            saturated(objective=objective),
            method=BiZOL(0.1, 0.1, 2),
            budget=100,
            seed=0,
            check=False,
        )
    assert caught.value.solution is not None
    assert caught.value.solution.iterations == 5  # one evaluation of φ for each answer


def test_a_set_that_cannot_take_a_nan_is_not_blamed_for_it() -> None:
    class Strict:
        dimension, diameter, center = 3, 2.0, np.zeros(3)

        def minimize_linear(self, cost: Array) -> Array:
            if not np.isfinite(cost).all():
                raise RuntimeError("what is that?")
            return np.where(cost < 0, 0.5, -0.5)

        def contains(self, point: Array, tolerance: float = 1e-9) -> bool:
            return True

    objective = bizol.Objective(lambda x, y: 0.0, lambda x, y: x, lambda x, y: np.full(3, np.nan))
    problem, method = (
        saturated(objective=objective, feasible_set=Strict()),
        BiZOL(delta=0.1, step=0.1, batch=3),
    )
    with pytest.raises(
        EvaluationError, match="hypergradient of iteration 0 is not finite in coordinate 0"
    ):
        bizol.minimize(problem, method=method, budget=100, check=False)


def test_a_set_that_fails_by_itself_says_so() -> None:
    class Broken:
        dimension, diameter, center = 3, 2.0, np.zeros(3)

        def minimize_linear(self, cost: Array) -> Array:
            raise RuntimeError("out of order")

        def contains(self, point: Array, tolerance: float = 1e-9) -> bool:
            return True

    with pytest.raises(RuntimeError, match="out of order") as caught:
        bizol.minimize(
            saturated(feasible_set=Broken()), method=BiZOL(delta=0.1, step=0.1, batch=3), budget=100
        )
    assert caught.value.solution.queries > 0  # type: ignore[attr-defined]


def test_directions_too_large_to_remember_are_drawn_again() -> None:
    n = 120_000
    method = BiZOL(0.1, 0.1, 10)
    states = itertools.islice(bizol.iterate(saturated(n, vectorized=True), method, seed=0), 2)
    first, second = states
    assert second.move is not None
    assert np.array_equal(method.ask(first), method.ask(method.start(saturated(n), seed=0)))


def test_iterate_lets_failures_through() -> None:
    problem = saturated(response=failing_after(3, lambda x: np.full(3, np.nan)))
    states = bizol.iterate(problem, BiZOL(0.1, 0.1, 1), seed=0)
    next(states), next(states)
    with pytest.raises(EvaluationError, match="query 3 is not finite") as caught:
        next(states)
    assert caught.value.solution is None


# --- mistakes are caught before a query is spent


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, r"minimize\(budget=\.\.\.\) must be a positive integer, got 0"),
        ({"budget": 2.5}, r"minimize\(budget=\.\.\.\) must be a positive integer, got 2.5"),
        (
            {"budget": 20, "method": BiZOL(0.1, 0.1, 10)},
            r"minimize\(budget=\.\.\.\) must cover one iteration of BiZOL.*, 21 queries, got 20",
        ),
        ({"x0": [5, 5, 5]}, r"x0 must lie in the feasible set"),
        ({"seed": -1}, r"seed must be a non-negative integer or None, got -1"),
        ({"stop": 3}, r"minimize\(stop=\.\.\.\) must be a function of the state, got 3"),
    ],
)
def test_bad_arguments_cost_no_query(arguments: Any, message: str) -> None:
    follower = Counting(lambda x: x)
    with pytest.raises(ValueError, match=message):
        bizol.minimize(saturated(response=follower), **({"budget": 100} | arguments))
    assert follower.asked == []


def test_only_a_problem_can_be_minimized() -> None:
    with pytest.raises(
        ValueError, match=r"minimize\(problem=\.\.\.\) must be a bizol.Problem, got 3"
    ):
        bizol.minimize(3, budget=10)  # type: ignore[arg-type]


def test_a_misshapen_gradient_shows_after_one_query() -> None:
    follower = Counting(lambda x: x)
    objective = bizol.Objective(lambda x, y: 0.0, lambda x, y: x[:2], lambda x, y: y)
    message = r"Objective\(grad_x=\.\.\.\) must return shape \(3,\), the shape of x, got \(2,\)"
    with pytest.raises(EvaluationError, match=message):
        bizol.minimize(saturated(response=follower, objective=objective), budget=100)
    assert len(follower.asked) == 1


# --- nothing is lost, whatever goes wrong


def test_a_schedule_is_not_asked_beyond_the_run() -> None:
    radii = [0.1] * 10
    solution = bizol.minimize(
        saturated(), method=BiZOL(lambda k: radii[k], 0.1, 2), budget=50, seed=0
    )
    assert solution.iterations == 10


@pytest.mark.parametrize(
    ("changes", "method", "kind"),
    [
        ({}, BiZOL(lambda k: 0.1 if k < 5 else -1.0, 0.1, 2), ValueError),
        ({}, BiZOL(lambda k: ([0.1] * 5)[k], 0.1, 2), IndexError),
        (
            {
                "objective": bizol.Objective(
                    lambda x, y: None if abs(x[0]) > 0.4 else 1.0,
                    lambda x, y: x - 9,
                    lambda x, y: y,
                )
            },
            BiZOL(0.1, 0.1, 2),
            EvaluationError,
        ),
    ],
)
def test_any_exception_carries_the_run(changes: Any, method: Any, kind: Any) -> None:
    with pytest.raises(kind) as caught:
        bizol.minimize(saturated(**changes), method=method, budget=500, seed=0, check=False)
    solution = caught.value.solution
    assert solution.iterations >= 5
    assert solution.status is Status.FAILED
    assert np.isfinite(solution.value)
    assert "this exception's `solution`" in caught.value.__notes__[0]


def test_an_objective_that_fails_leaves_the_answers_of_the_batch() -> None:
    objective = bizol.Objective(lambda x, y: "much", lambda x, y: x, lambda x, y: y)
    with pytest.raises(EvaluationError, match=r"must return a number, got 'much'") as caught:
        bizol.minimize(
            saturated(objective=objective, vectorized=True), method=BiZOL(0.1, 0.1, 2), budget=50
        )
    assert caught.value.solution is not None
    objective = bizol.Objective(lambda x, y: 0.0, lambda x, y: x, lambda x, y: np.full(3, np.nan))
    problem = saturated(objective=objective)
    with pytest.raises(EvaluationError, match="hypergradient of iteration 0") as caught:
        bizol.minimize(problem, method=BiZOL(0.1, 0.1, 2), budget=50, check=False)
    assert caught.value.points is not None
    assert len(caught.value.points) == 5


@pytest.mark.parametrize("method", [3, BiZOL, object()])
def test_something_that_is_no_method_is_refused_at_once(method: Any) -> None:
    with pytest.raises(
        ValueError, match=r"method must have start, ask and tell, as bizol.BiZOL\(\.\.\.\) has"
    ):
        bizol.minimize(saturated(), method=method, budget=50)
    with pytest.raises(ValueError, match="method must have start, ask and tell"):
        bizol.iterate(saturated(), method)
    with pytest.raises(ValueError, match=r"problem must be a bizol.Problem, got 3"):
        bizol.iterate(3, BiZOL(0.1, 0.1, 1))  # type: ignore[arg-type]


def test_the_final_decision_is_the_best_when_it_is() -> None:
    """The response is the decision, φ falls all the way: the decision after the last move is the
    lowest."""
    problem = affine(np.eye(2))
    solution = bizol.minimize(problem, [1.0, 1.0], method=BiZOL(0.1, 0.1, 4), budget=10, seed=0)
    assert solution.best.iteration == solution.last.iteration
    assert np.array_equal(solution.best.x, solution.last.x)
    assert solution.value == solution.history.value[-1] < solution.history.value[0]


def test_of_equal_values_the_first_is_the_best() -> None:
    flat = bizol.Objective(lambda x, y: 1.0, lambda x, y: x + 3, lambda x, y: 0 * y)
    solution = bizol.minimize(saturated(objective=flat), budget=100, seed=0, check=False)
    assert solution.best.iteration == 0


def test_the_default_method_is_the_one_that_needs_the_fewest_queries() -> None:
    assert bizol.minimize(saturated(), budget=5, seed=0).method == bizol.Foresight()
    assert bizol.minimize(saturated(), budget=9, seed=0, workers=3).method == bizol.Foresight(
        workers=3
    )


class Rough:
    """A follower that states how accurate it is."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def __call__(self, x: Any) -> Any:
        return np.clip(x, -0.5, 0.5)


def rough(tolerance: float) -> bizol.Problem:
    return saturated(response=Rough(tolerance), feasible_set=bizol.Box(-np.ones(3), np.ones(3)))


def test_a_radius_too_small_for_the_follower_is_warned_of_once_and_before_it_costs_anything() -> (
    None
):
    """n τ D / δ beyond a tenth: n = 3, D = 2√3."""
    needed = 3 * 1e-4 * np.sqrt(12) / 0.1
    with pytest.warns(
        UserWarning, match=r"δ = 0.01 is small for a follower .* accurate to 0.0001 .*Take δ ≥ 0.01"
    ) as said:
        bizol.minimize(rough(1e-4), method=BiZOL(0.01, 0.1, 2), budget=50, seed=0)
    assert len(said) == 1
    assert said[0].filename == __file__
    bizol.minimize(
        rough(1e-4), method=BiZOL(1.01 * needed, 0.1, 2), budget=50, seed=0
    )  # no warning: they are errors here
    bizol.minimize(rough(1e-4), budget=50, seed=0)  # nor for a method without a radius
    bizol.minimize(
        saturated(), method=BiZOL(1e-6, 0.1, 2), budget=50, seed=0
    )  # nor for a follower that states nothing


def test_a_radius_that_becomes_too_small_is_warned_of_then() -> None:
    shrinking = BiZOL(lambda k: 0.1 / 4**k, 0.1, 2)
    with pytest.warns(UserWarning, match="is small for a follower") as said:
        bizol.minimize(rough(1e-4), method=shrinking, budget=50, seed=0)
    assert len(said) == 1
