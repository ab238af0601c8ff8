"""The benchmark of peers: cases are well-formed, queries are counted exactly, runs resume."""

# ruff: noqa: D103 (test names are sentences)

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import bizol
from benchmarks.peers import profiles, references, run
from benchmarks.peers.problems import Case, build, names
from benchmarks.peers.problems import references as best_known
from benchmarks.peers.runs import Job, read_runs
from benchmarks.peers.sets import FEASIBLE, project, sample
from benchmarks.peers.solvers import (
    PEERS,
    SOLVERS,
    BudgetSpent,
    Oracle,
    Peer,
    UnsuitableError,
    bayesian,
    run_solver,
)
from benchmarks.peers.solvers.ours import ABLATIONS

KINDS = {"box", "simplex", "ball", "polytope"}
NEEDS_DATA = {"ridge-weights", "elastic-net", "weighted-lasso", "logistic-ridge"}
KNOWN = {  # published optima
    "bard-1988-1": 17.0,
    "bard-1988-2": -6600.0,
    "shimizu-aiyoshi-1981": 225.0,
    "aiyoshi-shimizu-1984": 0.0,
    "clark-westerberg-1990": 5.0,
    "muu-quy-2003-1": -2.0769,
    "visweswaran-1996": -1.2099,
    "colson-2002-5": 2.75,
    "outrata-1994-a": 3.2077,
    "af-gp-1": 0.0,
    "af-langermann": -4.15581,
    "af-rosenbrock": 0.0,
    "af-environment": 0.0,
}
QUIET = Console(quiet=True)


@cache
def case_of(name: str) -> Case:
    if name in NEEDS_DATA:
        pytest.importorskip("sklearn")
    return build(name)


every_case = pytest.mark.parametrize("name", names())


@every_case
def test_a_case_is_a_problem_with_a_feasible_start_and_a_reference(name: str) -> None:
    case = case_of(name)
    assert case.name == name
    assert case.problem.feasible_set.contains(case.start)
    assert bizol.check(case.problem, case.start).dimensions[0] == case.dimension
    assert isfinite(case.reference)
    assert case.source
    assert type(case.problem.feasible_set).__name__.lower() in case.tags & KINDS


@every_case
def test_the_follower_answers_a_little_outside_of_the_set(name: str) -> None:
    case = case_of(name)
    width = case.problem.feasible_set.diameter / np.sqrt(case.dimension)
    bizol.check(case.problem, case.start, delta=0.1 * width)


@every_case
def test_no_feasible_point_beats_the_reference(name: str) -> None:
    case = case_of(name)
    rng = np.random.default_rng(7)
    points = [sample(case.problem.feasible_set, rng) for _ in range(200)]
    assert all(case.problem.feasible_set.contains(x) for x in points)
    slack = 1e-9 * max(1.0, abs(case.reference))
    assert case.reference <= min(case.value(x) for x in points) + slack
    assert case.reference < case.value(case.start) - 1e-6 * max(1.0, abs(case.reference))


@every_case
def test_the_reference_is_attained_at_a_feasible_point(name: str) -> None:
    case = case_of(name)
    x = np.array(best_known()[name].x)
    assert case.problem.feasible_set.contains(x, FEASIBLE)
    assert case.value(x) == pytest.approx(case.reference, rel=1e-9, abs=1e-9)


@every_case
def test_residuals_are_the_roots_of_the_objective(name: str) -> None:
    case = case_of(name)
    if case.residuals is None:
        return
    for seed in range(5):
        x = sample(case.problem.feasible_set, np.random.default_rng(seed))
        residuals = case.residuals(x, case.problem.response(x))
        assert residuals @ residuals == pytest.approx(case.value(x), rel=1e-12)


@pytest.mark.parametrize(("name", "value"), KNOWN.items())
def test_references_agree_with_published_optima(name: str, value: float) -> None:
    # A little more than half a unit of the last printed digit.
    printed = 6e-3 if name == "colson-2002-5" else 6e-5
    assert case_of(name).reference == pytest.approx(value, abs=printed)


def test_both_halves_have_every_kind_of_set_and_every_family() -> None:
    families = {
        "tracking",
        "mpqp",
        "literature",
        "hyperparameters",
        "tolls",
        "prices",
        "game",
        "allocation",
        "shelves",
        "composite",
    }
    pytest.importorskip("sklearn")
    cases = [case_of(name) for name in names()]
    for split in ("tune", "report"):
        half = [case for case in cases if case.split == split]
        assert abs(2 * len(half) - len(cases)) <= 3
        assert set().union(*(case.tags for case in half)) >= KINDS | families | {
            "kinks",
            "smooth",
            "multimodal",
        }


@pytest.mark.parametrize(
    "name", ["allocation-a", "charging", "muu-quy-2003-2", "cournot-small-ball", "tracking-n5"]
)
def test_no_random_point_is_nearer_than_the_projection(name: str) -> None:
    chosen = case_of(name).problem.feasible_set
    rng = np.random.default_rng(3)
    for _ in range(20):
        point = chosen.center + chosen.diameter * rng.standard_normal(chosen.dimension)
        nearest = project(chosen, point)
        assert chosen.contains(nearest)
        others = np.array([sample(chosen, rng) for _ in range(20)])
        # The variational inequality.
        assert ((point - nearest) @ (others - nearest).T <= 1e-7 * chosen.diameter**2).all()


def test_the_oracle_counts_exactly_and_stops_at_the_budget() -> None:
    case = case_of("tracking-n5")
    oracle = Oracle(case, 3)
    first = oracle.value(case.start)
    assert oracle.response(case.start).shape == case.problem.response(case.start).shape
    oracle.value(case.start + 100.0)  # outside: counted, and not the best whatever its value
    assert oracle.best == [first, first, first]
    with pytest.raises(BudgetSpent):
        oracle.value(case.start)
    assert oracle.queries == 3


def test_what_is_not_feasible_is_never_the_best() -> None:
    oracle = Oracle(case_of("falk-liu-1995"), 2)
    oracle.value(np.array([5.0, 5.0]))
    assert oracle.best == [inf]
    oracle.value(np.array([1.0, 1.0]))
    assert oracle.best[-1] == pytest.approx(-2.0)


@pytest.mark.parametrize(
    "name", ["tracking-n5", "muu-quy-2003-2", "bard-1988-1", "allocation-a", "cournot-small-ball"]
)
@pytest.mark.parametrize("solver", PEERS)
def test_a_solver_keeps_the_budget_and_begins_at_the_start(
    solver: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bayesian optimization thinks for seconds before it asks.
    for constant in ("SAMPLES", "RAW", "RESTARTS", "STEPS"):
        monkeypatch.setattr(bayesian, constant, 4)
    peer = PEERS[solver]
    if peer.package is not None:
        pytest.importorskip(peer.package)
    case = case_of(name)
    budget = (4 if solver == "composite-bo" else 12) * (case.dimension + 1)
    oracle = Oracle(case, budget)
    try:
        run_solver(peer, oracle, 0)
    except UnsuitableError:
        assert solver == "dfo-ls"
        assert case.residuals is None
        return
    assert budget / 2 < oracle.queries <= budget
    assert oracle.best[-1] <= case.value(case.start) + 1e-9
    if name == "tracking-n5":
        assert oracle.best[-1] < case.value(case.start) - 0.1


def _trace(solver: str, name: str, multiple: int = 8) -> list[tuple[int, float]]:
    budget = multiple * (case_of(name).dimension + 1)
    return run.carry_out(Job(case=name, solver=solver, seed=0, budget=budget)).trace


@pytest.mark.parametrize("solver", ABLATIONS)
def test_the_default_without_a_part_is_another_method_and_the_part_comes_back(solver: str) -> None:
    """On a case that needs the part."""
    elsewhere = {
        "no-pieces": "shelves-all-2",
        "no-leaps": "shelves-all-2",
        "no-projections": "shimizu-aiyoshi-1981",
    }
    name = elsewhere.get(solver, "allocation-a")
    whole = _trace("bizol", name)
    assert _trace(solver, name) != whole
    assert _trace("bizol", name) == whole


def test_the_same_seed_gives_the_same_run() -> None:
    job = Job(case="tracking-n5", solver="slsqp", seed=1, budget=60)
    assert run.carry_out(job).trace == run.carry_out(job).trace


def test_a_solver_that_crashes_is_recorded_and_keeps_what_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(oracle: Oracle, seed: int) -> None:
        oracle.value(np.array([1.0]))  # the solution itself
        raise RuntimeError("no memory left")

    monkeypatch.setitem(SOLVERS, "random", Peer(solve=crash))
    record = run.carry_out(Job(case="bard-1988-1", solver="random", seed=0, budget=10))
    assert (record.status, record.message) == ("failed", "RuntimeError: no memory left")
    assert profiles.solved_at(record, 0.1) == 1


def test_runs_that_failed_or_may_take_longer_now_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    job = Job(case="bard-1988-1", solver="random", seed=0, budget=10)
    whole = run.carry_out(job)
    for status, seconds, again in (
        ("failed", 1.0, 1),
        ("late", 1.0, 1),
        ("late", 60.0, 0),
        ("done", 1.0, 0),
    ):
        path.write_text(json.dumps({**asdict(whole), "status": status, "seconds": seconds}) + "\n")
        assert run.carry_out_all([job], path, workers=1, limit=60.0, console=QUIET) == again


def test_of_two_budgets_the_profiles_show_the_larger() -> None:
    runs = [
        run.carry_out(Job(case="bard-1988-1", solver="random", seed=0, budget=budget))
        for budget in (9, 4)
    ]
    assert profiles.longest(runs) == runs[:1]


def test_every_case_counts_the_same_however_many_seeds_it_was_run_with() -> None:
    solved = run.carry_out(Job(case="bard-1988-1", solver="l-bfgs-b", seed=0, budget=60))
    other = run.carry_out(Job(case="falk-liu-1995", solver="l-bfgs-b", seed=0, budget=60))
    unsolved = replace(other, trace=[])
    assert profiles.solved_at(solved, 1e-2) < 60
    three = [replace(solved, seed=seed) for seed in range(3)]
    assert profiles.share([*three, unsolved], 1e-2, 30, cases=2) == pytest.approx(0.5)
    # What was not run is unsolved.
    assert profiles.share(three, 1e-2, 30, cases=4) == pytest.approx(0.25)
    # One seed tells nothing about the others.
    assert isnan(profiles.share_error([*three, unsolved], 1e-2, 30, cases=2))
    assert profiles.table([*three, unsolved]).endswith("| – |\n")
    at, rising = profiles.curve([unsolved, *three], 1e-2, cases=2)
    assert at[-1] < 30
    assert rising == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    one_of_three = [*three[:1], *(replace(each, trace=[]) for each in three[1:])]
    # The variance of the mean of (1, 0, 0) is 1/9; the other case has none, and each is half of the
    # share.
    both = [*one_of_three, unsolved, replace(unsolved, seed=1)]
    assert profiles.share_error(both, 1e-2, 30, cases=2) == pytest.approx(1 / 6)


def test_solvers_that_come_to_a_ball_from_outside_are_brought_back() -> None:
    """SLSQP linearizes the ball; what it proposes outside would not count."""
    record = run.carry_out(Job(case="cournot-small-ball", solver="slsqp", seed=0, budget=40))
    assert profiles.solved_at(record, 1e-3) <= 30


def test_the_page_says_which_half_is_which() -> None:
    text = (Path(__file__).parents[2] / "docs" / "peers.md").read_text()
    reported, tuned = text.split("\nReported: ")[1].split("\nUsed for tuning: ")
    for split, listed in (("report", reported), ("tune", tuned)):
        found = {name.strip(" .\n") for name in listed.split(",")}
        assert found == {name for name in names() if build(name).split == split}


def test_runs_resume_where_they_stopped(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    jobs = run.plan(["bard-1988-1"], ["random", "l-bfgs-b"], seeds=2, multiple=5, split=None)
    settings: dict[str, Any] = {"workers": 1, "limit": 60.0, "console": QUIET}
    assert run.carry_out_all(jobs[:3], path, **settings) == 3
    path.write_text(path.read_text()[:-20])  # interrupted in the middle of a line
    assert run.carry_out_all(jobs, path, **settings) == 2
    assert {record.job for record in read_runs(path)} == set(jobs)
    assert run.carry_out_all(jobs, path, **settings) == 0


def test_gaps_fall_and_end_where_the_trace_ends() -> None:
    record = run.carry_out(Job(case="bard-1988-1", solver="l-bfgs-b", seed=0, budget=100))
    gaps = [record.gaps[str(count)] for count in (2, 4, 6, 10, 16, 20, 30, 60, 100)]
    assert gaps == sorted(gaps, reverse=True)
    assert record.value == record.trace[-1][1]
    assert gaps[-1] == pytest.approx((record.trace[-1][1] - 17) / (record.start - 17), abs=1e-9)


def test_a_profile_counts_the_runs_that_are_solved(tmp_path: Path) -> None:
    runs = [
        run.carry_out(Job(case=name, solver=solver, seed=0, budget=60))
        for name in ("bard-1988-1", "falk-liu-1995")
        for solver in ("l-bfgs-b", "dfo-ls")
        if PEERS[solver].installed
    ]
    local = [record for record in runs if record.solver == "l-bfgs-b"]
    assert profiles.share(local, 1e-2, 0.1, cases=2) == 0.0
    solved = [record.gaps["60"] <= 1e-2 for record in local]
    assert profiles.share(local, 1e-2, 100, cases=2) == np.mean(solved)
    assert "l-bfgs-b | 2 | 0 | 0 |" in profiles.table(runs)
    if PEERS["dfo-ls"].installed:
        # One objective is not a sum of squares.
        assert "dfo-ls | 2 | 0 | 1 |" in profiles.table(runs)
    pytest.importorskip("matplotlib")
    assert all(path.exists() for path in profiles.draw(runs, tmp_path, "profile"))


def test_better_values_of_runs_become_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "REFERENCES", tmp_path / "references.json")
    made = run.carry_out(Job(case="bard-1988-1", solver="random", seed=0, budget=5))
    record = replace(made, value=16.0, x=[1.5])
    (tmp_path / "runs.jsonl").write_text(json.dumps(asdict(record)) + "\n")
    changes = references.keep(references.from_runs(tmp_path / "runs.jsonl"))
    assert changes["bard-1988-1"] == (case_of("bard-1988-1").reference, 16.0)
    written = json.loads((tmp_path / "references.json").read_text())
    assert written["bard-1988-1"] == {"value": 16.0, "x": [1.5]}


def test_the_paper_methods_are_the_papers() -> None:
    case = case_of("tracking-n5")
    oracle, by_hand = Oracle(case, 42), Oracle(case, 42)
    run_solver(PEERS["paper-b10"], oracle, 0)
    # [−1, 1]ⁿ: half the diameter over √n is one.
    method = bizol.BiZOL(delta=0.08, step=0.1, batch=10)
    bizol.minimize(by_hand.problem, case.start, method=method, budget=42, seed=0)
    assert oracle.best == by_hand.best
