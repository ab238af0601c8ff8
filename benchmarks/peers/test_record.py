"""The record of runs, and regret."""

# ruff: noqa: D103 (test names are sentences)

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers import profiles, record, regret, run
from benchmarks.peers.problems import build
from benchmarks.peers.runs import Job, Run

QUIET = Console(quiet=True)
JOB = Job(case="tolls-parallel-a", solver="cobyqa", seed=0, budget=150)


@pytest.fixture(scope="module")
def made() -> list[Run]:
    return [
        run.carry_out(replace(JOB, seed=seed, solver=s))
        for s in ("cobyqa", "random")
        for seed in range(2)
    ]


def test_a_record_tells_the_same_profiles_and_regrets(made: list[Run], tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl.xz"
    record.write_record(made, path)
    kept = record.read_record(path)
    assert [one.job for one in kept] == [one.job for one in made]
    for one, other in zip(made, kept, strict=True):
        assert len(other.trace) <= min(len(one.trace), 67)
        for level in record.LEVELS:
            assert profiles.solved_at(one, level) == profiles.solved_at(other, level)
        for count in record.COUNTS:
            assert regret.regret(other, count) == pytest.approx(regret.regret(one, count), rel=2e-4)
        assert (other.value, other.x) == (one.value, None)
    record.write_record(reversed(kept), tmp_path / "again.xz")
    assert (tmp_path / "again.xz").read_bytes() == path.read_bytes()


def test_new_runs_replace_old_ones_of_the_same_job(made: list[Run], tmp_path: Path) -> None:
    path, source = tmp_path / "record.jsonl.xz", tmp_path / "runs.jsonl"
    record.write_record(made, path)
    source.write_text(json.dumps(asdict(replace(made[0], seconds=77.0))) + "\n")
    record.main(["--record", str(path), "--from", str(source)])
    kept = {one.job: one for one in record.read_record(path)}
    assert len(kept) == len(made)
    assert kept[made[0].job].seconds == 77.0
    record.main(["--record", str(path), "--fresh", "cobyqa"])
    assert {one.solver for one in record.read_record(path)} == {"random"}


def test_a_run_without_a_feasible_answer_can_be_kept(made: list[Run], tmp_path: Path) -> None:
    nothing = replace(made[0], value=None, trace=[], status="skipped")
    record.write_record([nothing], tmp_path / "record.xz")
    assert record.read_record(tmp_path / "record.xz") == [replace(nothing, x=None, gaps={})]


def test_there_need_not_be_a_record(tmp_path: Path) -> None:
    assert record.read_record(tmp_path / "none.xz") == []


def test_what_is_kept_is_not_made_again(made: list[Run], tmp_path: Path) -> None:
    jobs = [one.job for one in made]
    path = tmp_path / "runs.jsonl"
    count = run.carry_out_all(jobs, path, workers=1, limit=60.0, console=QUIET, kept=made[1:])
    assert count == 1


def test_random_starts_differ_by_seed_and_not_by_solver() -> None:
    case = build("af-rosenbrock")
    first, second, other = (
        run.begun(case, Job(case=case.name, solver=solver, seed=seed, budget=9, begin="random"))
        for solver, seed in (("bizol", 0), ("random", 0), ("bizol", 1))
    )
    assert (first.start == second.start).all()
    assert (first.start != other.start).all()
    assert case.problem.feasible_set.contains(first.start)


def test_regret_is_a_table_of_medians_that_resumes(tmp_path: Path) -> None:
    arguments = ["--out", str(tmp_path), "--solvers", "random", "--seeds", "3", "--jobs", "1"]
    regret.main([*arguments, "--no-record"])
    text = (tmp_path / "regret.md").read_text()
    assert text.count("| random | 3 | 0 |") == len(regret.CASES) == 5
    lines = (tmp_path / "runs.jsonl").read_text()
    regret.main([*arguments, "--no-record"])
    assert (tmp_path / "runs.jsonl").read_text() == lines
    assert (tmp_path / "regret.md").read_text() == text


def test_regret_is_what_is_left_after_so_many_queries() -> None:
    case = build("af-rosenbrock")
    made = run.carry_out(Job(case=case.name, solver="random", seed=0, budget=30, begin="random"))
    start = run.begun(case, made.job)
    assert made.start == case.value(start.start)
    assert regret.regret(made, 1) == pytest.approx(made.start)
    assert made.value is not None
    assert regret.regret(made, 100) == pytest.approx(made.value)
