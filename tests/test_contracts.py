"""What followers, methods, executors and states may offer: declared once, read once, checked."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL, Retries
from bizol.arrays import ArgumentError
from bizol.evaluation.engine import Execution, workers_of
from bizol.evaluation.journal import AnswerError
from bizol.followers import Command, Http, Outside
from bizol.methods.protocol import batches_of, radius_of, remark_of
from bizol.problem import follower as contract
from bizol.testing import check_follower, check_method
from tests.misbehaving import Unreliable, saturate
from tests.problems import Array, Counting, quadratic, saturated

BOX = bizol.Box(-np.ones(3), np.ones(3))
METHODS: list[Any] = [
    BiZOL(delta=0.1, step=0.1, batch=3),
    bizol.VZO(delta=0.1, step=0.1, batch=3),
    bizol.MemoryBiZOL(delta=0.1, batch=3),
    bizol.MemoryBiZOL(delta=0.1, batch=3, one_sided=True),
    bizol.Foresight(),
    bizol.Foresight(workers=3),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)


@dataclass
class Saying:
    """A follower that says something of itself."""

    answer: Callable[[Array], Any] = saturate

    def __call__(self, x: Array) -> Any:
        return self.answer(x)


def saying(answer: Callable[[Array], Any] = saturate, **members: Any) -> Any:
    follower = Saying(answer)
    vars(follower).update(members)
    return follower


class TestFollowers:
    def test_a_function_says_nothing_and_everything_has_a_default(self) -> None:
        assert contract.tolerance_of(saturate) is None
        assert contract.reach_of(saturate) == inf
        assert not contract.takes_seed(saturate)
        assert not contract.is_outside(saturate)
        assert contract.remarks_of(saturate) == ""
        contract.close(saturate)

    def test_what_is_said_is_read(self) -> None:
        closed: list[bool] = []
        said = saying(
            tolerance=1e-3,
            reach=0.5,
            takes_seed=True,
            outside=True,
            remarks=lambda: "warm",
            close=lambda: closed.append(True),
        )
        assert contract.tolerance_of(said) == 1e-3
        assert contract.reach_of(said) == 0.5
        assert contract.takes_seed(said)
        assert contract.is_outside(said)
        assert contract.remarks_of(said) == "warm"
        contract.close(said)
        assert closed == [True]
        assert contract.tolerance_of(saying(tolerance=None)) is None

    @pytest.mark.parametrize("value", ["a lot", -1.0, np.nan, True])
    def test_what_makes_no_sense_is_refused(self, value: Any) -> None:
        with pytest.raises(ValueError, match=r"follower\.tolerance must be a number, 0 or more"):
            contract.tolerance_of(saying(tolerance=value))
        with pytest.raises(ValueError, match=r"follower\.reach must be a number, 0 or more"):
            contract.reach_of(saying(reach=value))

    def test_a_wrapper_that_passes_on_what_another_has_is_understood(self) -> None:
        class Wrapper:
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            def __getattr__(self, name: str) -> Any:
                return getattr(self._inner, name)

        wrapped = Wrapper(saying(tolerance=0.5, takes_seed=True, reach=2.0))
        assert contract.tolerance_of(wrapped) == 0.5
        assert contract.takes_seed(wrapped)
        assert contract.reach_of(wrapped) == 2.0
        assert contract.remarks_of(saying(remarks="a text")) == ""

    def test_ready_followers_say_what_they_are(self) -> None:
        assert contract.takes_seed(Command([sys.executable]))
        assert contract.takes_seed(Http("https://example.org"))
        assert contract.is_outside(Outside())

    def test_a_seed_is_given_to_those_who_are_said_to_take_one(self) -> None:
        seeds: list[Any] = []

        def respond(x: Array, seed: int | None = None) -> Array:
            seeds.append(seed)
            return saturate(x)

        method = METHODS[0]
        bizol.minimize(saturated(response=respond), method=method, budget=7, seed=0)
        assert set(seeds) == {None}
        seeds.clear()
        bizol.minimize(saturated(response=respond, seeded=True), method=method, budget=7, seed=0)
        assert len(set(seeds)) == 4  # the anchor, and one for each pair
        assert saturated(response=Unreliable(0.0)).is_seeded
        assert not saturated(response=Unreliable(0.0), seeded=False).is_seeded
        assert replace(saturated(), response=Unreliable(0.0)).is_seeded
        assert not replace(saturated(response=Unreliable(0.0)), response=saturate).is_seeded

    def test_the_reach_bounds_a_certificate(self) -> None:
        problem = saturated(response=saying(reach=0.05))
        with pytest.raises(ValueError, match=r"delta must be at most 0\.05"):
            bizol.certify(problem, np.zeros(3), delta=0.1)


class TestCheckFollower:
    def test_it_passes_what_is_true(self) -> None:
        noisy = Unreliable(0.0, noise=0.1)  # with one seed throughout it is a function of x
        check_follower(noisy, BOX, delta=0.1)
        told = saying(limiting_jacobians=lambda x, tolerance=1e-9: [_jacobian(x)], reach=0.2)
        check_follower(told, BOX, delta=0.1)

    @pytest.mark.parametrize(
        ("members", "law"),
        [
            ({"reach": 0.01}, r"it answers within δ = 0\.1 of the set; its reach is 0\.01"),
            ({"outside": True}, "it answers when it is called, and not from outside"),
            ({"tolerance": "small"}, r"follower\.tolerance must be a number"),
            ({"limiting_jacobians": lambda x: []}, "tells at least one Jacobian"),
            ({"limiting_jacobians": lambda x: [np.eye(2)]}, r"matrices of shape \(3, 3\)"),
            ({"limiting_jacobians": lambda x: [np.eye(3)]}, "tells how answers change"),
        ],
    )
    def test_it_finds_what_is_not(self, members: dict[str, Any], law: str) -> None:
        with pytest.raises(AssertionError, match=law):
            check_follower(saying(**members), BOX, delta=0.1)

    def test_a_follower_that_cannot_be_closed_twice_is_found(self) -> None:
        closed: list[bool] = []

        def close() -> None:
            assert not closed, "already closed"
            closed.append(True)

        with pytest.raises(AssertionError, match="close may be called twice"):
            check_follower(saying(close=close), BOX, delta=0.1)

    def test_a_follower_that_stays_closed_is_found(self) -> None:
        closed: list[bool] = []

        def respond(x: Array) -> Array:
            if closed:
                raise RuntimeError("closed")
            return saturate(x)

        with pytest.raises(AssertionError, match=r"after it was closed: .*RuntimeError: closed"):
            check_follower(saying(respond, close=lambda: closed.append(True)), BOX, delta=0.1)

    @pytest.mark.parametrize("options", [{}, {"retries": Retries()}], ids=["direct", "durable"])
    def test_a_run_closes_its_follower_when_it_ends(self, options: Any) -> None:
        closed: list[bool] = []
        problem = saturated(response=saying(close=lambda: closed.append(True)))
        bizol.minimize(problem, budget=10, seed=0, **options)
        assert closed == [True]

    def test_a_follower_that_does_not_keep_to_its_seed_is_found(self) -> None:
        chance = np.random.default_rng(0)
        careless = saying(lambda x: saturate(x))
        with pytest.raises(AssertionError, match="the same question has the same answer"):
            check_follower(
                lambda x, seed: careless(x) + chance.standard_normal(3), BOX, delta=0.1, seeded=True
            )


def _jacobian(x: Array) -> Array:
    return np.diag(np.where(np.abs(2 * x + 0.25) < 1, 2.0, 0.0))


class TestMethods:
    @every_method
    def test_every_method_of_ours_keeps_its_contract(self, method: Any) -> None:
        check_method(method, saturated(), iterations=6)

    def test_what_a_method_does_not_offer_has_a_default(self) -> None:
        state = bizol.Foresight().start(saturated(), seed=0)
        assert radius_of(bizol.Foresight(), state) is None
        assert remark_of(state) == ""
        assert remark_of(object()) == ""
        assert list(batches_of(bizol.Foresight())(state, 0.0).slots) == [(0, 0)]
        assert radius_of(METHODS[0], METHODS[0].start(saturated(), seed=0)) == 0.1

    @pytest.mark.parametrize(
        ("member", "other", "law"),
        [
            ("slots", lambda m, s: [(0, 0)] * 7, "a name of its own"),
            ("slots", lambda m, s: [(0, 0)], "names every query, got 1"),
            ("slots", lambda m, s: list(m.slots(s))[::-1], r"slot \(0, 0\) is the decision itself"),
            ("radius", lambda m, s: -1.0, r"radius is positive, got -1\.0"),
            (
                "tell_some",
                lambda m, s, r, a: replace(m.tell(s, r), x=0 * s.x),
                "does what tell does",
            ),
        ],
    )
    def test_an_offer_that_is_not_kept_is_found(self, member: str, other: Any, law: str) -> None:
        method = METHODS[0]
        members = {
            name: getattr(method, name)
            for name in ("start", "ask", "tell", "tell_some", "slots", "radius")
        } | {member: lambda *given: other(method, *given)}
        broken: Any = type("Broken", (), {k: staticmethod(v) for k, v in members.items()})()
        with pytest.raises(AssertionError, match=law):
            check_method(broken, saturated(feasible_set=bizol.Box([0.1] * 3, [1.0] * 3)))


class Elsewhere(Executor):
    """An executor of one's own that says how many queries it takes at a time."""

    def __init__(self, workers: int) -> None:
        self.max_workers = workers
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, *arguments: Any, **options: Any) -> Any:
        return self._pool.submit(*arguments, **options)


class TestExecutors:
    def test_an_executor_that_states_its_workers_is_believed(self) -> None:
        assert workers_of(Elsewhere(3)) == 3
        with ThreadPoolExecutor(5) as pool:
            assert workers_of(pool) == 5
        assert workers_of(object()) is None
        assert Execution(executor=Elsewhere(3)).width == 3
        assert Execution(executor=Elsewhere(3), workers=2).width == 2
        solution = bizol.minimize(saturated(), budget=30, seed=0, executor=Elsewhere(3))
        assert solution.method == bizol.Foresight(workers=3)


class TestOnce:
    """What is dear or may be noticed happens once."""

    @every_method
    @pytest.mark.parametrize("options", [{}, {"retries": Retries()}], ids=["direct", "durable"])
    def test_the_method_is_asked_once_an_iteration_and_phi_once_an_answer(
        self, method: Any, options: Any
    ) -> None:
        asked: list[int] = []
        evaluated: list[bytes] = []

        def value(x: Array, y: Array) -> float:
            evaluated.append(x.tobytes())
            return float(quadratic().value(x, y))

        objective = replace(quadratic(), value=value)
        follower = Counting(saturate)
        problem = saturated(objective=objective, response=follower)
        budget = 35 if isinstance(method, bizol.Foresight) else 29
        members = {name: getattr(method, name) for name in dir(method) if name[0] != "_"}

        def ask(state: Any) -> Any:
            asked.append(state.iteration)
            return method.ask(state)

        counted: Any = type(
            "Counted",
            (),
            {k: staticmethod(v) for k, v in members.items() if callable(v)}
            | {"ask": staticmethod(ask)},
        )()
        solution = bizol.minimize(
            problem, method=counted, budget=budget, seed=0, check=False, **options
        )
        assert asked[: solution.iterations] == list(range(solution.iterations))
        assert len(asked) <= solution.iterations + 1  # one more, which the budget did not cover
        if isinstance(method, bizol.Foresight):
            return  # it evaluates φ at forecasts too
        points = [x.tobytes() for x in follower.asked]
        where = points if isinstance(method, bizol.VZO) else [solution.last.x.tobytes()]
        assert all(evaluated.count(each) <= points.count(each) for each in {*where})
        first = points[0]
        assert evaluated.count(first) == 1

    def test_what_was_remembered_does_not_outlive_its_run(self) -> None:
        """The first batch breaks after the first answer; then φ changes."""
        weight = [1.0]
        objective = bizol.Objective(
            lambda x, y: weight[0] * float(y @ y),
            lambda x, y: 0 * x,
            lambda x, y: 2 * weight[0] * y,
        )
        broken = saturated(objective=objective, response=_fails_at_the_second())
        with pytest.raises(bizol.EvaluationError):
            bizol.minimize(broken, method=METHODS[0], budget=20, seed=0)
        weight[0] = 100.0
        first = np.zeros(3), saturate(np.zeros(3))
        assert objective.anchor(*first).value == pytest.approx(100 * 3 * 0.25**2)
        weight[0] = 1.0
        broken = replace(broken, response=_fails_at_the_second())
        states = bizol.iterate(broken, METHODS[0], seed=0)  # nobody says when it is over
        next(states)
        with pytest.raises(bizol.EvaluationError):
            next(states)
        weight[0] = 100.0
        again = bizol.minimize(saturated(objective=objective), method=METHODS[0], budget=20, seed=0)
        assert again.history.value[0] == pytest.approx(100 * 3 * 0.25**2)

    def test_a_problem_may_be_used_again_and_by_others_in_between(self) -> None:
        """What was remembered of the first answer is used where it belongs, and nowhere else."""
        problem = saturated()
        problem.objective.examine(np.zeros(3), np.ones(3))
        other = problem.objective.anchor(np.zeros(3), np.zeros(3))
        assert other.value == pytest.approx(0.375)
        assert problem.objective.anchor(np.zeros(3), np.ones(3)).value == pytest.approx(0.375)
        assert problem.objective.anchor(np.ones(3), np.ones(3)).value == pytest.approx(1.875)
        solutions = [bizol.minimize(problem, budget=40, seed=0) for _ in range(2)]
        assert np.array_equal(solutions[0].x, solutions[1].x)


def _fails_at_the_second() -> Callable[[Array], Array]:
    asked: list[Array] = []

    def respond(x: Array) -> Array:
        asked.append(x)
        if len(asked) > 1:
            raise RuntimeError("gone")
        return saturate(x)

    return respond


class TestWhatUsersGet:
    @every_method
    @pytest.mark.parametrize("vectorized", [False, True])
    def test_what_users_get_is_theirs_to_write_to(self, method: Any, vectorized: bool) -> None:
        problem = saturated(vectorized=vectorized)
        solution = bizol.minimize(problem, method=method, budget=30, seed=0)
        kept = solution.last.x.copy(), solution.drawn.x.copy()
        for iterate in (solution.best, solution.last, solution.drawn):
            iterate.x[...] = 7.0
            if iterate.y is not None:
                iterate.y[...] = 7.0
            if iterate is solution.best:
                assert np.array_equal(solution.last.x, kept[0])
                assert np.array_equal(solution.drawn.x, kept[1])
        for name in solution.history.columns:
            getattr(solution.history, name)[...] = 0
        again = bizol.minimize(problem, method=method, budget=30, seed=0)
        assert np.array_equal(again.last.x, kept[0])

    def test_a_certificate_and_a_pending_query_too(self, tmp_path: Path) -> None:
        certificate = bizol.certify(saturated(), np.zeros(3), delta=0.1, directions=16, seed=0)
        for array in (certificate.at, certificate.hypergradient.value, certificate.vertex):
            array[...] = 0.0
        problem = saturated(response=Outside())
        bizol.minimize(problem, budget=20, journal=tmp_path / "run.bizol", seed=0)
        bizol.Journal(tmp_path / "run.bizol").pending()[0].x[...] = 0.0


class Backward:
    """A method without names for its queries, whose first row is not its decision."""

    inner = BiZOL(delta=0.1, step=0.3, batch=2)

    def __repr__(self) -> str:
        return "Backward()"

    def start(self, problem: Any, x0: Any = None, *, seed: int | None = None) -> Any:
        return self.inner.start(problem, x0, seed=seed)

    def ask(self, state: Any) -> Any:
        return self.inner.ask(state)[::-1]

    def tell(self, state: Any, responses: Any) -> Any:
        return self.inner.tell(state, responses[::-1])


def test_a_run_of_a_method_without_slots_can_be_continued(tmp_path: Path) -> None:
    """The end of the shorter run was observed beside the method's own queries."""
    options: Any = {"method": Backward(), "seed": 0, "journal": tmp_path / "run.bizol"}
    problem = saturated(response=saturate)
    assert bizol.minimize(problem, budget=11, **options).queries == 11
    longer = bizol.minimize(problem, budget=22, **options)
    plain = bizol.minimize(problem, budget=20, method=Backward(), seed=0)
    assert np.array_equal(longer.last.x, plain.last.x)


class TestErrors:
    def test_an_argument_error_names_its_parameters_and_survives_a_journey(self) -> None:
        with pytest.raises(ArgumentError) as caught:
            bizol.Box([1.0], [0.0])
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.owner, error.names) == ("Box", ("lower", "upper"))
        assert str(error) == str(caught.value)
        assert str(ArgumentError("x0", "", "must be.")) == "x0 must be."

    def test_an_answer_that_cannot_be_taken_names_its_query(self, tmp_path: Path) -> None:
        path = tmp_path / "run.bizol"
        bizol.minimize(saturated(response=Outside()), budget=20, journal=path, seed=0)
        for answers, query in (({"9.9.0": [1.0]}, "9.9.0"), ({"0.0.0": ["a"]}, "0.0.0")):
            with pytest.raises(AnswerError) as caught:
                bizol.Journal(path).tell(answers)
            assert caught.value.query == query
