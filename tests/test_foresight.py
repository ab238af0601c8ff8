"""Foresight: few queries, any set, any units, any library, and never worse than its best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, final

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol import EvaluationError, Foresight, Objective, Problem
from bizol.feasible_sets.protocol import projection
from bizol.methods.foresight import settings
from bizol.methods.foresight.descent import _onto_region, descend
from bizol.methods.foresight.places import between
from bizol.methods.foresight.planning import planned
from bizol.methods.foresight.policy import _resize
from bizol.methods.foresight.state import ForesightState
from bizol.problem import UnansweredError
from bizol.reproduction.instances import (
    BALL,
    BOX,
    response_dominated_instance,
    tracking_instance,
)
from bizol.run.recorder import Recorder
from bizol.sensitivity import Secant, remember
from bizol.testing import check_method
from tests.problems import Array, affine, saturated

SETS: dict[str, bizol.FeasibleSet] = {
    "box": bizol.Box(-np.ones(4), np.ones(4)),
    "ball": bizol.Ball(np.zeros(4), 1.5),
    "simplex": bizol.Simplex(4),
    "l1": bizol.L1Ball(np.zeros(4), 1.0),
    "polytope": bizol.Polytope(
        A_ub=np.ones((1, 4)), b_ub=[1.0], lower=-np.ones(4), upper=np.ones(4)
    ),
    "hull": bizol.ConvexHull(np.vstack([np.eye(4), -np.eye(4), np.full(4, 0.7)])),
    "product": bizol.Product([bizol.Simplex(2), bizol.Ball(np.zeros(2), 1.0)]),
}
every_set = pytest.mark.parametrize("name", SETS)


# The lowest values known: benchmarks/queries.py, reference(...), best of 14 starts and the start of
# the instance, descents with exact gradients.
LOWEST = {
    "box, calibrated": 11.252632719118976,
    "ball, calibrated": 4.349715443738677,
    "box, dominated": 0.6285759300279082,
    "ball, dominated": 0.5828754538473787,
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracked:
    """A tracking problem, n = 20 and m = 200, with its start and the lowest value known."""

    problem: Problem
    start: Array
    lowest: float

    def value(self, x: Array) -> float:
        """Return φ(x, y(x)) without noise."""
        return float(self.problem.objective.value(x, self.problem.response(x)))

    def gap(self, value: float) -> float:
        """Return the normalized gap: one at the start, zero at the lowest value known."""
        return (value - self.lowest) / (self.value(self.start) - self.lowest)


def tracked(kind: str) -> Tracked:
    """Return the instance with the paper's constants or the response-dominated one."""
    instance = {
        "box, calibrated": lambda: tracking_instance(BOX),
        "ball, calibrated": lambda: tracking_instance(BALL),
        "box, dominated": lambda: response_dominated_instance("box"),
        "ball, dominated": lambda: response_dominated_instance("ball"),
    }[kind]()
    return Tracked(problem=instance.problem, start=instance.start, lowest=LOWEST[kind])


class Watched:
    """A follower that remembers what it was asked, and can be noisy or strict about X."""

    def __init__(self, problem: Problem, *, noise: float = 0.0) -> None:
        self.problem, self.noise = problem, noise
        self.points: list[Array] = []
        self.values: list[float] = []
        self.rng = np.random.default_rng(3)

    def __call__(self, x: Array) -> Array:
        assert self.problem.feasible_set.contains(x), "asked outside of X"
        y = (
            self.problem.response(x[None])[0]
            if self.problem.vectorized
            else self.problem.response(x)
        )
        y = y * (1 + self.noise * self.rng.standard_normal(y.shape))
        self.points.append(x.copy())
        self.values.append(float(self.problem.objective.values(x[None], y[None])[0]))
        return np.asarray(y)

    def asked(self) -> Problem:
        return replace(self.problem, response=self, vectorized=False)


def kinked(n: int) -> Problem:
    """Return a problem with kinks everywhere whose objective misleads who does not know it."""
    rng = np.random.default_rng(5)
    gains, offsets = rng.standard_normal((4 * n, n)), rng.standard_normal(4 * n)
    return Problem(
        Objective(lambda x, y: float(x.sum() + y @ y / 2), lambda x, y: 1 + 0 * x, lambda x, y: y),
        response=lambda x: np.abs(gains @ x + offsets),
        feasible_set=bizol.Box(-2 * np.ones(n), 2 * np.ones(n)),
    )


class TestQueries:
    @pytest.mark.parametrize("kind", LOWEST)
    def test_a_hundred_queries_are_enough_for_a_thousandth_and_three_hundred_for_a_ten_thousandth(
        self, kind: str
    ) -> None:
        """Median of five seeded runs, n=20, m=200: the same numbers every time."""
        case = tracked(kind)
        for budget, wanted in ((100, 1e-3), (300, 1e-4)):
            reached = [
                bizol.minimize(case.problem, case.start, budget=budget, seed=seed).value
                for seed in range(5)
            ]
            # Below zero the lowest value known would be wrong.
            assert -1e-9 <= case.gap(float(np.median(reached))) <= wanted

    def test_an_affine_response_is_solved_within_two_rounds_of_its_directions(self) -> None:
        rng = np.random.default_rng(0)
        problem = affine(rng.standard_normal((7, 5)))
        jacobian = np.array([problem.response(axis) for axis in np.eye(5)]).T
        exact = np.linalg.solve(np.eye(5) + jacobian.T @ jacobian, 0.5 * jacobian.sum(axis=0))
        assert np.abs(exact).max() < 1  # inside the box
        assert bizol.minimize(problem, budget=13, seed=0).x == pytest.approx(exact, abs=1e-4)

    @pytest.mark.parametrize("kind", ["box, calibrated", "box, dominated"])
    def test_a_run_ends_where_a_certificate_confirms_it(self, kind: str) -> None:
        """Fresh queries: of the gap at the start, less than a thousandth is left at 95 %."""
        case = tracked(kind)
        solution = bizol.minimize(case.problem, case.start, budget=300, seed=0)
        before = bizol.certify(case.problem, case.start, delta=0.005, seed=1)
        after = bizol.certify(case.problem, solution.x, delta=0.005, seed=1)
        assert after.interval[1] < 1e-3 * before.gap

    def test_it_needs_far_fewer_queries_than_the_method_it_grew_from(self) -> None:
        case = tracked("box, calibrated")
        paper = bizol.BiZOL(0.08, 0.1, 10)
        few = bizol.minimize(case.problem, case.start, budget=60, seed=0)
        many = bizol.minimize(case.problem, case.start, budget=3_000, seed=0, method=paper)
        assert case.gap(few.value) < 1e-2 < case.gap(many.value)


class TestLaws:
    @every_set
    @pytest.mark.parametrize("workers", [1, 4])
    def test_it_keeps_the_laws_of_a_method_on_every_set(self, name: str, workers: int) -> None:
        rng = np.random.default_rng(1)
        problem = affine(rng.standard_normal((6, 4)), feasible_set=SETS[name])
        check_method(Foresight(workers=workers), problem, iterations=25, seed=2)

    @every_set
    def test_it_asks_within_the_set_alone_and_returns_the_best_it_has_seen(self, name: str) -> None:
        rng = np.random.default_rng(1)
        watched = Watched(affine(rng.standard_normal((6, 4)), feasible_set=SETS[name]))
        solution = bizol.minimize(watched.asked(), budget=60, seed=0)
        assert solution.value == min(watched.values)
        assert np.array_equal(solution.x, watched.points[int(np.argmin(watched.values))])
        assert solution.queries == len(watched.values) == 60

    def test_what_a_descent_found_last_is_not_lost_when_the_next_begins(self) -> None:
        problem, method = saturated(3), Foresight()
        states = bizol.iterate(problem, method, 0.9 * np.ones(3), seed=0)
        state = next(state for state in states if state.turn == "try")
        tired = replace(state, stalled=99, height=1e9)  # so that no gain counts
        after = method.tell(
            tired, np.array([problem.response(point) for point in method.ask(tired)])
        )
        assert after.turn == "look"
        assert after.move is not None
        assert after.move.landed is not None
        assert after.move.landed.value < after.move.value
        recorder = Recorder(state.x, np.random.default_rng(0))
        recorder.record_move(after.move, to=after.x, queries=1)
        assert recorder.lowest() == after.move.landed.value
        assert not recorder.observed

    @every_set
    def test_it_finds_the_minimum_on_every_set(self, name: str) -> None:
        """Against plain Frank–Wolfe with exact gradients; the reduced problem is convex here."""
        rng = np.random.default_rng(1)
        jacobian, feasible_set = rng.standard_normal((6, 4)), SETS[name]
        problem = affine(jacobian, feasible_set=feasible_set)
        x = feasible_set.center
        for k in range(20_000):
            gradient = x + jacobian.T @ (jacobian @ x - 0.5)
            x = x + 2 / (k + 2) * (feasible_set.minimize_linear(gradient) - x)
        lowest = problem.objective.value(x, jacobian @ x)
        found = bizol.minimize(problem, budget=60, seed=0).value
        assert found <= lowest + 1e-4 * (1 + abs(lowest))

    @given(
        x_scales=st.tuples(*3 * [st.integers(-40, 40)]),
        y_scale=st.integers(-40, 40),
        value_scale=st.integers(-40, 40),
    )
    def test_units_change_nothing(
        self, x_scales: tuple[int, ...], y_scale: int, value_scale: int
    ) -> None:
        """Powers of two scale floating-point numbers exactly, so the runs agree to the last bit."""
        a, b, c = 2.0 ** np.array(x_scales), 2.0**y_scale, 2.0**value_scale
        plain = saturated(3)
        objective = plain.objective
        scaled = Problem(
            Objective(
                lambda x, y: c * objective.value(x / a, y / b),
                lambda x, y: c / a * objective.grad_x(x / a, y / b),
                lambda x, y: c / b * objective.grad_y(x / a, y / b),
            ),
            lambda x: b * plain.response(x / a),
            bizol.Box(-a * np.ones(3), a * np.ones(3)),
        )
        ours = bizol.minimize(plain, 0.3 * np.ones(3), budget=30, seed=0)
        theirs = bizol.minimize(scaled, 0.3 * a * np.ones(3), budget=30, seed=0)
        assert np.array_equal(theirs.x / a, ours.x)
        assert theirs.value / c == ours.value

    def test_several_workers_are_asked_at_a_time_and_help(self) -> None:
        case = tracked("box, dominated")
        problem, start = case.problem, case.start
        method = Foresight(workers=8)
        states = islice(bizol.iterate(problem, method, start, seed=0), 12)
        assert {len(method.ask(state)) for state in states} == {8}
        alone = bizol.minimize(problem, start, budget=12, seed=0).value
        together = bizol.minimize(problem, start, budget=12 * 8, seed=0, method=method).value
        assert together < alone

    def test_runs_differ_by_seed_alone(self) -> None:
        case = tracked("box, dominated")
        values = [
            bizol.minimize(case.problem, case.start, budget=30, seed=seed).value
            for seed in (0, 0, 1)
        ]
        assert values[0] == values[1] != values[2]

    @pytest.mark.parametrize("workers", [0, 1.5, True])
    def test_workers_are_counted(self, workers: Any) -> None:
        with pytest.raises(ValueError, match="positive integer"):
            Foresight(workers=workers)

    def test_responses_stay_in_their_library(self) -> None:
        def phi(x: Any, y: Any) -> float:
            return float(x @ x + strict.sum((y - 0.5) ** 2))

        problem = Problem(
            Objective(phi, lambda x, y: 2 * x, lambda x, y: 2 * (y - 0.5)),
            lambda x: strict.asarray(np.minimum(2 * x, 0.7)),
            bizol.Box(-np.ones(3), np.ones(3)),
        )
        ours = replace(
            problem,
            response=lambda x: np.minimum(2 * x, 0.7),
            objective=Objective(
                lambda x, y: float(x @ x + ((y - 0.5) ** 2).sum()),
                lambda x, y: 2 * x,
                lambda x, y: 2 * (y - 0.5),
            ),
        )
        theirs = bizol.minimize(problem, budget=25, seed=0)
        # Forecasts by pieces are for NumPy alone, so the ways differ, and the ends hardly.
        assert theirs.x == pytest.approx(bizol.minimize(ours, budget=25, seed=0).x, abs=1e-7)
        assert type(theirs.y).__module__.startswith("array_api_strict")


class TestThrift:
    """Queries that would teach nothing are not asked."""

    @staticmethod
    def bottom() -> Iterator[ForesightState]:
        """Run φ = y² with y = x on [−1, 1] from its minimum, where no forecast sees a way down."""
        objective = Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y)
        return bizol.iterate(
            Problem(objective, np.copy, bizol.Box([-1.0], [1.0])), Foresight(), [0.0], seed=0
        )

    def test_explorations_do_not_repeat_a_question(self) -> None:
        """On a line there are two ways to go, and six explorations with the same view."""
        state, points = next(self.bottom()), [0.0]
        state = Foresight().tell(state, Foresight().ask(state))
        for _ in range(6):
            state = replace(state, turn="explore", radius=1.0)
            points.append(float(Foresight().ask(state)[0, 0]))
            state = Foresight().tell(state, Foresight().ask(state))
        assert np.diff(np.sort(points)).min() > 1e-4

    def test_a_trial_goes_no_farther_than_twenty_radii(self) -> None:
        problem, method = saturated(3), Foresight()
        states = bizol.iterate(problem, method, 0.9 * np.ones(3), seed=0)
        state = next(state for state in states if state.turn == "try" and planned(state, 1).trials)
        for radius, cut in ((1.0, False), (1e-3, True)):
            narrow = replace(state, radius=radius)
            step = np.abs(method.ask(narrow)[0] - state.x).max() / 2  # [−1, 1] has width 2
            # The cube of this half side is about as large as the ball.
            assert (step == pytest.approx(20 * radius * min(1, 2 / np.sqrt(3)))) == cut
            assert planned(narrow, method.workers).gain > 0

    def test_where_there_is_no_way_down_in_any_direction_the_next_descent_begins_soon(self) -> None:
        states = list(islice(self.bottom(), 9))
        assert states[-1].descents == 1

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_no_two_workers_are_asked_the_same(self, n: int) -> None:
        method = Foresight(workers=8)
        for state in islice(bizol.iterate(saturated(n), method, seed=0), 8):
            queries = method.ask(state)
            assert len(np.unique(queries, axis=0)) == 8

    def test_a_trial_is_not_asked_where_the_answer_is_known(self) -> None:
        problem, method = saturated(3), Foresight()
        states = bizol.iterate(problem, method, 0.9 * np.ones(3), seed=0)
        state = next(state for state in states if state.turn == "try" and planned(state, 1).trials)
        at = method.ask(state)[0]
        known = problem.objective.anchor(at, problem.response(at))
        again = method.ask(replace(state, observed=(*state.observed, known)))[0]
        assert np.linalg.norm(again - at) > 1e-6

    def test_directions_that_a_set_does_not_have_are_not_explored(self) -> None:
        """On a simplex n − 1 directions are all there is."""
        rng, method = np.random.default_rng(1), Foresight()
        problem = affine(rng.standard_normal((6, 4)), feasible_set=bizol.Simplex(4))
        states = list(islice(bizol.iterate(problem, method, seed=0), 40))
        plans = [planned(state, method.workers) for state in states]
        assert max(plan.sensitivity.rank for plan in plans) == 3
        assert sum(plan.complete for plan in plans) > 20
        for state, plan in zip(states, plans, strict=True):
            assert (np.linalg.norm(plan.queries[0] - state.x) > 1e-9) == (
                state.turn in ("try", "explore", "leap")
            )

    def test_two_answers_a_rounding_error_apart_say_nothing_of_a_slope(self) -> None:
        problem, method = saturated(3), Foresight()
        state = next(
            state for state in bizol.iterate(problem, method, seed=0) if state.turn == "explore"
        )
        plan = planned(state, method.workers)
        for away, learned in ((1e-14, 0), (1e-3, 1)):
            object.__setattr__(state, "_plan", replace(plan, queries=(state.x + away)[None]))
            after = method.tell(state, problem.response(state.x + away)[None])
            assert len(after.secants) - len(state.secants) == learned


class TestTrust:
    """What a failed trial teaches: first the directions, then the distance."""

    def test_after_a_trial_that_failed_all_directions_are_learned_first(self) -> None:
        problem, method, n = kinked(6), Foresight(), 6
        states = list(islice(bizol.iterate(problem, method, seed=0), 40))
        first = next(index for index, state in enumerate(states) if state.learning)
        rank = planned(states[first], method.workers).sensitivity.rank
        turns = [state.turn for state in states[first : first + n - rank + 1]]
        assert rank < n - 1
        assert turns == ["explore"] * (n - rank) + ["try"]
        assert planned(states[first + n - rank], method.workers).sensitivity.rank == n
        assert not states[first + n - rank].learning

    def test_learning_ends_where_no_more_directions_are_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(settings, "WORK", 1)  # sixty vectors are kept of eighty
        states = list(islice(bizol.iterate(kinked(80), Foresight(), seed=0), 100))
        begun = next(index for index, state in enumerate(states) if state.learning)
        ended = next(index for index in range(begun, 100) if not states[index].learning)
        ranks = [planned(states[index], 1).sensitivity.rank for index in (ended - 1, ended)]
        assert ranks == [59, 60]
        assert sum(planned(state, 1).trials for state in states[62:]) > 5

    def test_after_a_trial_that_knew_all_and_failed_trials_stay_within_the_radius(self) -> None:
        method = Foresight()
        states = list(islice(bizol.iterate(kinked(6), method, seed=0), 60))
        at = next(index for index, state in enumerate(states) if state.cautious)
        before, plan = states[at - 1], planned(states[at - 1], method.workers)
        assert before.turn == "try"
        assert plan.complete
        assert states[at].radius == pytest.approx(0.5 * plan.length)
        assert states[at].damping == 0.0
        trials = [
            (state, planned(state, method.workers))
            for state in states[at:]
            if planned(state, method.workers).trials
        ]
        assert len(trials) > 5
        steps = [
            np.abs(plan.queries[0] / state.space.units - state.z).max() / state.radius
            for state, plan in trials
        ]
        side = 2 / np.sqrt(6)  # of the cube that is about as large as the ball
        assert max(steps) <= side * (1 + 1e-9)
        assert max(steps) > 0.9 * side

    def test_a_region_shrinks_only_where_everything_is_known_within_it(self) -> None:
        method = Foresight()
        states = list(islice(bizol.iterate(kinked(6), method, seed=0), 300))
        shrunk = kept = 0
        for state, after in pairwise(states):
            plan = planned(state, method.workers)
            if not (state.cautious and plan.trials and after.descents == state.descents):
                continue
            assert after.anchor is not None
            assert state.anchor is not None
            if after.anchor is not state.anchor:
                continue  # it was not a failure
            known = plan.complete and (plan.sensitivity.distances <= 2 * state.radius).all()
            shrunk, kept = shrunk + bool(known), kept + (not known)
            wanted = min(0.5 * state.radius, plan.length) if known else state.radius
            assert after.radius == pytest.approx(max(wanted, 1e-7 * state.space.diameter))
        assert shrunk > 3
        assert kept > 3

    def test_explorations_are_about_as_wide_as_the_region(self) -> None:
        states = islice(bizol.iterate(kinked(6), Foresight(), seed=0), 60)
        exploring = [state for state in states if state.cautious and state.turn == "explore"]
        shares = [
            np.linalg.norm(Foresight().ask(s)[0] / s.space.units - s.z) / s.radius
            for s in exploring
        ]
        assert max(shares) == pytest.approx(0.7)
        assert np.median(shares) > 0.5

    def test_a_region_grows_with_a_good_step_and_shrinks_around_a_short_one(self) -> None:
        method = Foresight()
        state = next(s for s in bizol.iterate(kinked(6), method, seed=0) if s.cautious)
        plan = planned(state, method.workers)
        for share, ratio, wanted in (
            (1.0, 0.8, 2.0),
            (1.0, 0.5, 1.0),
            (0.2, 0.5, 0.5),
            (0.2, 0.8, 0.5),
        ):
            tried = replace(plan, length=share * state.radius)
            assert _resize(state, tried, ratio).radius == pytest.approx(wanted * state.radius)

    def test_before_a_descent_is_given_up_one_question_is_asked_twice(self) -> None:
        """And costs nothing: it takes the place of the last trial that a descent has."""
        problem, method = saturated(3), Foresight()
        states = list(islice(bizol.iterate(problem, method, seed=0), 5))
        stuck = replace(states[4], stalled=4, noise=None, turn="try", radius=0.1)
        assert stuck.anchor is not None
        worse = problem.response(stuck.anchor.at)[None] + 1.0
        after = method.tell(stuck, worse)
        assert (after.turn, after.descents) == ("echo", 0)
        same = (
            method.tell(after, after.anchor.response[None]) if after.anchor is not None else after
        )
        assert (same.noise, same.turn) == (0.0, "leap")


class TestTrouble:
    def test_an_answer_that_the_objective_is_not_defined_at_is_a_bad_one(self) -> None:
        """φ = y² − log y, y = x − 0.5 on [0, 2]: no value left of 0.5, where a trial goes first."""
        problem = Problem(
            Objective(
                lambda x, y: float(y @ y - np.log(y[0])) if y[0] > 0 else np.nan,
                lambda x, y: 0 * x,
                lambda x, y: 2 * y - 1 / y,
            ),
            lambda x: x - 0.5 if x[0] > 1.15 else -np.ones(1),
            bizol.Box([0.0], [2.0]),
        )
        solution = bizol.minimize(problem, [1.9], budget=40, seed=0)
        # To the right of the cliff at 1.15.
        assert solution.value == pytest.approx(0.65**2 - np.log(0.65), abs=1e-2)
        assert "not defined" in solution.message
        with pytest.raises(EvaluationError, match="finite"):
            bizol.minimize(problem, [0.1], budget=40, seed=0)

    def test_rounding_is_not_noise(self) -> None:
        case = tracked("box, dominated")
        watched = Watched(case.problem, noise=1e-16)
        solution = bizol.minimize(watched.asked(), case.start, budget=300, seed=0)
        assert "noise" not in solution.message

    def test_what_was_answered_around_a_decision_that_was_not_is_kept(self) -> None:
        problem, method = saturated(3), Foresight(workers=4)
        start = method.start(problem, seed=0)
        responses = np.array([problem.response(point) for point in method.ask(start)])
        after = method.tell_some(start, responses, np.array([False, True, True, True]))
        assert len(after.observed) == 3
        assert after.best is not None
        assert after.best.value == min(
            problem.objective.values(method.ask(start)[1:], responses[1:])
        )

    def test_what_is_asked_is_the_methods_own_whoever_asked_before(self) -> None:
        state = Foresight().start(saturated(3), seed=0)
        assert [len(Foresight(workers=w).ask(state)) for w in (1, 4, 1)] == [1, 4, 1]

    def test_more_workers_than_the_budget_covers(self) -> None:
        assert bizol.minimize(saturated(3), budget=5, workers=8, seed=0).queries == 5

    @pytest.mark.parametrize(("noise", "reached"), [(1e-4, 1e-3), (1e-2, 3e-2)])
    def test_noise_is_noticed_said_and_lived_with(self, noise: float, reached: float) -> None:
        case = tracked("box, dominated")
        watched = Watched(case.problem, noise=noise)
        solution = bizol.minimize(watched.asked(), case.start, budget=300, seed=0)
        assert case.gap(case.value(solution.x)) < reached
        assert "noise limits" in solution.message
        silent = bizol.minimize(case.problem, case.start, budget=300, seed=0)
        assert "noise" not in silent.message

    def test_an_objective_that_is_not_defined_everywhere_is_kept_where_it_is(self) -> None:
        """φ = −Σ log y has no value at forecasts below zero, which a linear forecast will make."""
        problem = Problem(
            Objective(
                lambda x, y: float(10 * x @ x - np.log(y).sum()) if (y > 0).all() else np.nan,
                lambda x, y: 20 * x,
                lambda x, y: -1 / y,
            ),
            lambda x: np.exp(3 * x),
            bizol.Box(-np.ones(3), np.ones(3)),
        )
        assert bizol.minimize(problem, budget=60, seed=0).x == pytest.approx(
            np.full(3, 0.15), abs=1e-3
        )
        assert bizol.minimize(problem, np.ones(3), budget=60, seed=0).x == pytest.approx(
            np.full(3, 0.15), abs=1e-2
        )

    def test_a_forecast_that_was_wrong_is_trusted_less_and_one_that_was_right_more(self) -> None:
        problem, method = saturated(3), Foresight()
        states = bizol.iterate(problem, method, 0.9 * np.ones(3), seed=0)
        state = replace(next(state for state in states if state.turn == "try"), damping=1.0)
        right = method.tell(state, problem.response(method.ask(state)))
        wrong = method.tell(state, np.full((1, 3), 50.0))
        assert right.damping < 1.0 < wrong.damping
        assert wrong.radius < right.radius

    def test_gradients_and_answers_that_are_not_finite_are_named(self) -> None:
        bad = Objective(lambda x, y: 0.0, lambda x, y: x, lambda x, y: np.full(3, np.nan))
        with pytest.raises(EvaluationError, match="grad_y"):
            bizol.minimize(saturated(objective=bad), budget=10)
        method = Foresight()
        state = method.start(saturated(), seed=0)
        with pytest.raises(EvaluationError, match="not finite"):
            method.tell(state, np.full((1, 3), np.inf))

    def test_a_descent_that_is_over_begins_elsewhere(self) -> None:
        """Two valleys, the lower one far from the start, 0.9: φ = (y² − 1)² + 0.2 y with y = x."""
        problem = Problem(
            Objective(
                lambda x, y: float((y[0] ** 2 - 1) ** 2 + 0.2 * y[0]),
                lambda x, y: 0 * x,
                lambda x, y: 4 * y * (y**2 - 1) + 0.2,
            ),
            lambda x: 1.0 * x,
            bizol.Box([-1.5], [1.5]),
        )
        local = bizol.minimize(problem, [0.9], budget=3, seed=0)
        assert local.value > 0
        assert bizol.minimize(problem, [0.9], budget=20, seed=0).value == pytest.approx(
            -0.2, abs=0.01
        )

    def test_a_descent_begins_far_from_what_was_asked_and_every_third_one_at_the_best(self) -> None:
        problem, method = saturated(2), Foresight()
        *_, state = islice(bizol.iterate(problem, method, 0.9 * np.ones(2), seed=0), 8)
        begun = []
        for _ in range(3):
            tired = replace(state, stalled=99, leaps=settings.LEAPS, height=1e9, turn="explore")
            state = method.tell(tired, problem.response(method.ask(tired)))
            begun.append(state)
            for _ in range(2):
                state = method.tell(state, problem.response(method.ask(state)))
        asked = np.array([each.at for each in begun[0].observed])
        gap = np.linalg.norm(asked - begun[0].x, axis=1).min()
        rng = np.random.default_rng(0)
        anywhere = [np.linalg.norm(asked - rng.uniform(-1, 1, 2), axis=1).min() for _ in range(200)]
        assert gap > np.quantile(anywhere, 0.75)
        assert [each.turn for each in begun] == ["look", "look", "explore"]
        assert begun[2].best is not None
        assert begun[2].anchor is begun[2].best
        assert begun[2].best.value == min(each.value for each in begun[2].observed)

    def test_a_descent_that_falls_behind_is_given_up(self) -> None:
        """It came less than a third of the way to the best in the last n + 3 iterations."""
        problem, method = saturated(2), Foresight()
        *_, state = islice(bizol.iterate(problem, method, 0.9 * np.ones(2), seed=0), 8)
        assert state.best is not None
        ahead = replace(state.best, value=-1e6)
        watched = replace(
            state,
            best=ahead,
            milestone=(state.iteration - 4, 1e6),
            turn="explore",
            leaps=settings.LEAPS,
        )
        hopeless = replace(watched, milestone=(state.iteration - 4, 1.0))
        too_early = replace(hopeless, milestone=(state.iteration - 3, 1.0))
        after = [
            method.tell(each, problem.response(method.ask(each)))
            for each in (watched, hopeless, too_early)
        ]
        assert [each.descents for each in after] == [0, 1, 0]

    def test_a_trial_without_an_answer_counts_as_a_bad_one(self) -> None:
        problem, method = saturated(3), Foresight(workers=4)
        states = bizol.iterate(problem, method, 0.9 * np.ones(3), seed=0)
        state = replace(next(state for state in states if state.turn == "try"), damping=1.0)
        responses = problem.response(method.ask(state))
        none = method.tell_some(state, responses, np.zeros(4, dtype=bool))
        assert np.array_equal(none.x, state.x)
        assert none.cautious
        assert none.radius == 0.5 * planned(state, method.workers).length
        assert len(none.observed) == len(state.observed)
        first = method.tell_some(state, responses, np.array([False, True, True, True]))
        assert (first.cautious, first.radius) == (none.cautious, none.radius)
        assert len(first.observed) == len(state.observed) + 3
        whole = method.tell(state, responses)
        assert np.array_equal(method.tell_some(state, responses, np.ones(4, dtype=bool)).x, whole.x)

    def test_a_descent_without_a_first_answer_begins_elsewhere_and_a_run_without_one_ends(
        self,
    ) -> None:
        problem, method = saturated(3), Foresight()
        nothing = np.zeros(1, dtype=bool)
        start = method.start(problem, seed=0)
        with pytest.raises(UnansweredError, match="first decision"):
            method.tell_some(start, np.zeros((1, 3)), nothing)
        *_, state = islice(bizol.iterate(problem, method, seed=0), 6)
        looking = replace(state, anchor=None, turn="look", x=np.full(3, 0.5))
        elsewhere = method.tell_some(looking, np.zeros((1, 3)), nothing)
        assert elsewhere.turn == "look"
        assert elsewhere.move is None
        assert elsewhere.iteration == state.iteration + 1
        assert not np.array_equal(elsewhere.x, looking.x)
        assert elsewhere.best is state.best

    def test_an_echo_without_an_answer_is_not_asked_for_again(self) -> None:
        problem, method = saturated(3), Foresight()
        *_, state = islice(bizol.iterate(problem, method, seed=0), 6)
        echo = replace(state, turn="echo", radius=1e-6, noise=None)
        after = method.tell_some(echo, np.zeros((1, 3)), np.zeros(1, dtype=bool))
        assert after.noise == 0.0
        assert after.turn != "echo"
        assert method.tell(echo, problem.response(method.ask(echo))).noise == 0.0

    def test_a_follower_that_answers_no_question_twice_is_asked_on(self) -> None:
        problem, asked = saturated(3), set[bytes]()

        def respond(x: Array) -> Array:
            if x.tobytes() in asked:
                raise RuntimeError("I told you")
            asked.add(x.tobytes())
            return np.asarray(problem.response(x))

        once = replace(problem, response=respond, vectorized=False)
        solution = bizol.minimize(
            once, budget=300, seed=0, retries=bizol.Retries(follower=0, wait=0.0, breaker=1.0)
        )
        assert 0 < solution.unanswered < 10

    @pytest.mark.parametrize(
        "feasible_set",
        [
            bizol.Polytope(A_ub=[[1, 1, 1, 1]], b_ub=[1], lower=0),
            bizol.ConvexHull(
                np.random.default_rng(0).uniform(0, 0.3, (7, 4))
                * (np.arange(28).reshape(7, 4) % 3 > 0)
            ),
        ],
    )
    def test_bounds_are_kept_to_the_last_bit(self, feasible_set: bizol.FeasibleSet) -> None:
        """Followers may refuse a price of −1e-18.

        On these sets every second query was below zero by rounding.
        """

        def respond(x: Array) -> Array:
            assert (x >= 0).all()
            return np.minimum(x + 0.3 * x[::-1], 0.3)

        aim = np.array([-0.2, 0.1, 0.3, -0.1])
        objective = bizol.Objective(
            lambda x, y: (y - aim) @ (y - aim), lambda x, y: 0 * x, lambda x, y: 2 * (y - aim)
        )
        problem = bizol.Problem(objective, respond, feasible_set)
        assert bizol.minimize(problem, budget=150, seed=0).queries == 150

    def test_between_two_decisions_is_within_their_range_to_the_last_bit(self) -> None:
        rng = np.random.default_rng(0)
        one, other = rng.standard_normal((2, 1000))
        point = between(one, other, 1.0)  # one + (other − one) is beyond the other in some of them
        assert (point >= np.minimum(one, other)).all()
        assert (point <= np.maximum(one, other)).all()
        assert between(np.zeros(2), np.ones(2), 0.25) == pytest.approx([0.25, 0.25])

    def test_a_decision_without_gradients_may_be_the_best_one(self) -> None:
        """φ = Σ√|y| has none at its minimum."""

        def slope(y: Array) -> Array:
            with np.errstate(divide="ignore"):
                return np.asarray(0.5 / np.sqrt(y))

        objective = bizol.Objective(
            lambda x, y: float(np.sqrt(y).sum()), lambda x, y: 0 * x, lambda x, y: slope(y)
        )
        follower = lambda x: np.where(x < 1e-3, 0.0, x)  # noqa: E731
        problem = bizol.Problem(objective, follower, bizol.Box([0, 0], [1, 1]))
        solution = bizol.minimize(problem, budget=60, seed=0)
        assert solution.value == 0.0
        assert "The objective or its gradients were not defined" in solution.message

    def test_every_fifth_query_may_fail(self) -> None:
        """Seeded: of 120 queries some thirty fail for good, and the minimum is still found."""
        problem, rng = saturated(4), np.random.default_rng(0)

        def failing(x: Array) -> Array:
            if len(asked) > 1 and rng.random() < 0.2:
                raise RuntimeError("out of order")
            asked.append(x)
            return np.asarray(problem.response(x))

        asked: list[Array] = []
        unreliable = replace(problem, response=failing, vectorized=False)
        solution = bizol.minimize(
            unreliable, budget=120, seed=0, retries=bizol.Retries(follower=0, wait=0.0, breaker=1.0)
        )
        assert solution.unanswered > 10
        # And nothing about estimates, of which there are none.
        assert "left out." in solution.message
        assert solution.queries == 120
        assert solution.value == pytest.approx(
            bizol.minimize(problem, budget=120, seed=0).value, abs=1e-4
        )

    def test_a_set_of_one_point_is_no_trouble(self) -> None:
        point = saturated(feasible_set=bizol.Box(np.ones(3), np.ones(3)))
        assert np.array_equal(bizol.minimize(point, budget=9, seed=0).x, np.ones(3))

    def test_it_needs_a_problem(self) -> None:
        with pytest.raises(ValueError, match=r"must be a bizol\.Problem"):
            Foresight().start(3)  # type: ignore[arg-type]


class TestMemory:
    @given(seed=st.integers(0, 1000))
    def test_secants_of_an_affine_response_give_its_jacobian(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        jacobian, points = rng.standard_normal((5, 3)), rng.standard_normal((9, 3))
        secants = [
            Secant(start=a, end=b, difference=jacobian @ (b - a)) for a, b in pairwise(points)
        ]
        known = remember(secants, points[0], scale=1.0, most=3, independence=1e-3)
        assert known.rank == 3
        step, covector = rng.standard_normal(3), rng.standard_normal(5)
        assert known.push(step) == pytest.approx(jacobian @ step)
        assert known.pull_back(covector) == pytest.approx(jacobian.T @ covector)
        assert known.directions @ known.directions.T == pytest.approx(np.eye(3), abs=1e-12)

    def test_the_secant_that_fits_the_neighborhood_is_believed(self) -> None:
        def secant(length: float, slope: float) -> Secant:
            return Secant(
                start=np.zeros(1), end=np.array([length]), difference=np.array([slope * length])
            )

        for scale, slope in ((1.0, 2.0), (0.01, 3.0), (100.0, 1.0)):
            secants = [secant(100.0, 1.0), secant(1.0, 2.0), secant(0.01, 3.0)]
            assert remember(secants, np.zeros(1), scale=scale, most=1).push(
                np.ones(1)
            ) == pytest.approx([slope])
        newest = remember([secant(1.0, 5.0), secant(1.0, 6.0)], np.zeros(1), scale=1.0, most=1)
        assert newest.push(np.ones(1)) == pytest.approx([6.0])

    def test_what_adds_too_little_is_left_out(self) -> None:
        nearly = np.array([1.0, 0.1])
        secants = [
            Secant(start=np.zeros(2), end=end, difference=end[:1])
            for end in (nearly / np.linalg.norm(nearly), np.eye(2)[0])
        ]
        assert remember(secants, np.zeros(2), scale=1.0, most=2).rank == 1
        assert remember(secants, np.zeros(2), scale=1.0, most=2, independence=0.05).rank == 2
        assert remember(secants, np.zeros(2), scale=1.0, most=1, independence=0.05).rank == 1

    def test_nothing_is_known_before_anything_was_asked(self) -> None:
        assert remember([], np.zeros(2), scale=1.0, most=2).rank == 0


class TestDescent:
    @every_set
    def test_it_minimizes_a_convex_function_over_every_set(self, name: str) -> None:
        rng, feasible_set = np.random.default_rng(3), SETS[name]
        root, shift = rng.standard_normal((4, 4)), rng.standard_normal(4)
        square = root @ root.T + 0.1 * np.eye(4)

        def function(u: Array) -> tuple[float, Array]:
            return float((u - shift) @ square @ (u - shift)) / 2, square @ (u - shift)

        u, value = descend(function, feasible_set.center, feasible_set, rounds=400)
        assert feasible_set.contains(u)
        assert value == function(u)[0]
        gradient = function(u)[1]
        gap = gradient @ (u - feasible_set.minimize_linear(gradient))
        assert gap <= 1e-3 * function(feasible_set.center)[0]

    def test_the_projection_onto_a_region_is_the_nearest_point_of_it_but_for_a_twentieth(
        self,
    ) -> None:
        box, corner = bizol.Box(np.zeros(2), np.ones(2)), np.zeros(2)
        onto = _onto_region(box.project, corner, 0.5)
        assert onto(np.array([10.0, -10.0])) == pytest.approx([0.5, 0.0], abs=0.025)
        assert onto(np.array([10.0, 10.0])) == pytest.approx([np.sqrt(0.125)] * 2, abs=0.02)
        assert np.array_equal(onto(np.array([0.3, -2.0])), [0.3, 0.0])

    @every_set
    def test_it_stays_within_a_region(self, name: str) -> None:
        """And gets at least nine tenths of what the best of many points there would gain."""
        rng, feasible_set = np.random.default_rng(3), SETS[name]
        slope, shift = rng.standard_normal(4), rng.standard_normal(4)

        def function(u: Array) -> tuple[float, Array]:
            return float(slope @ u + (u - shift) @ (u - shift) / 2), slope + u - shift

        x, radius = feasible_set.minimize_linear(shift) * 0.5 + feasible_set.center * 0.5, 0.3
        u, value = descend(function, x, feasible_set, rounds=200, within=radius)
        assert feasible_set.contains(u)
        assert value == function(u)[0]
        exact = projection(feasible_set) is not None
        assert 0.8 * radius < np.linalg.norm(u - x) <= (radius if exact else 1.2 * radius)
        corners = [feasible_set.minimize_linear(rng.standard_normal(4)) for _ in range(2_000)]
        mixed = np.array(
            [
                rng.dirichlet(np.ones(3)) @ np.array(corners)[rng.integers(0, 2_000, 3)]
                for _ in range(5_000)
            ]
        )
        steps = mixed - x
        steps *= np.minimum(1.0, radius / np.linalg.norm(steps, axis=1))[:, None]
        gains = [function(x)[0] - function(x + step)[0] for step in steps]
        assert function(x)[0] - value >= 0.9 * max(gains)

    def test_it_never_goes_up(self) -> None:
        start = np.zeros(2)
        for function in (lambda u: (float(u @ u), 2 * u), lambda u: (float(u @ u), -np.ones(2))):
            u, value = descend(function, start, bizol.Box([-1, -1], [1, 1]), rounds=5)
            assert value <= 0
            assert np.array_equal(u, start)
