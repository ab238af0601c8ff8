"""The journal: nothing that was answered is lost or asked again, whatever happens to the process or
to the file."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

import bizol
from bizol import BiZOL, Journal, JournalError, Retries, Status
from bizol.evaluation import Event
from bizol.evaluation.journal import name_in_code
from bizol.evaluation.journal.file import _as_row
from bizol.followers import Outside
from tests.chaos import damage, leave_behind, storm
from tests.misbehaving import Unreliable, saturate
from tests.problems import Array, Counting, quadratic, saturated

METHOD = BiZOL(delta=0.1, step=0.1, batch=3)


def run(path: Path | None, budget: int = 60, **changes: Any) -> bizol.Solution:
    options: Any = {"method": METHOD, "seed": 0} | {
        k: v for k, v in changes.items() if k in OPTIONS
    }
    problem = saturated(**{k: v for k, v in changes.items() if k not in OPTIONS})
    return bizol.minimize(problem, budget=budget, journal=path, **options)


OPTIONS = ("method", "seed", "workers", "isolate", "retries", "repeats", "on_unknown", "x0", "stop")


def same(left: bizol.Solution, right: bizol.Solution) -> bool:
    """Whether two runs are the same to the last bit."""
    return all(
        np.array_equal(getattr(left.history, name), getattr(right.history, name), equal_nan=True)
        for name in left.history.columns
    ) and all(
        np.array_equal(getattr(left, which).x, getattr(right, which).x)
        and np.array_equal(getattr(left, which).y, getattr(right, which).y)
        for which in ("best", "last", "drawn")
    )


# --- resuming


def test_a_finished_run_is_read_and_not_asked(tmp_path: Path) -> None:
    first = run(tmp_path / "run.bizol")
    follower = Counting(saturate)
    second = run(tmp_path / "run.bizol", response=_lambda(follower))
    assert same(first, second)
    assert same(first, run(None))
    assert follower.asked == []


@pytest.mark.parametrize(
    "method", [METHOD, bizol.VZO(0.1, 0.1, 3), bizol.MemoryBiZOL(0.1, batch=2), bizol.Foresight()]
)
def test_a_run_may_be_cut_anywhere_and_goes_on_to_the_same_end(tmp_path: Path, method: Any) -> None:
    whole = run(None, method=method)
    for cut in (1, 6, 7, 8, 31):
        path, asked = tmp_path / f"{cut}.bizol", Counting(saturate)

        def respond(x: Array, cut: int = cut, asked: Counting = asked) -> Any:
            if len(asked.asked) == cut:
                raise KeyboardInterrupt
            return asked(x)

        cut_off = run(path, method=method, response=lambda x, respond=respond: respond(x))
        assert cut_off.status is Status.INTERRUPTED
        assert same(run(path, method=method, response=lambda x, asked=asked: asked(x)), whole)
        assert len(asked.asked) == whole.queries


@pytest.mark.parametrize("method", [METHOD, bizol.VZO(0.1, 0.1, 3)])
def test_more_budget_goes_on_where_a_finished_run_ended(tmp_path: Path, method: Any) -> None:
    follower = Counting(saturate)
    run(tmp_path / "run.bizol", 62, method=method, response=lambda x: follower(x))
    longer = run(tmp_path / "run.bizol", 120, method=method, response=lambda x: follower(x))
    assert len(follower.asked) == longer.queries <= 120
    whole = run(None, 120, method=method)
    gaps = whole.history.gap_estimate
    assert np.array_equal(
        longer.history.gap_estimate[: longer.iterations], gaps[: longer.iterations]
    )
    assert (
        longer.iterations >= whole.iterations - 1
    )  # VZO's observation of its first end was paid for


def test_the_default_method_is_resumed_by_any_number_of_workers(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    first = run(path, method=None, workers=3)
    assert first.method == bizol.Foresight(workers=3)
    assert same(run(path, method=None, workers=2), first)
    assert same(run(path, method=None), first)
    with pytest.raises(JournalError, match="Foresight"):
        run(path, method=bizol.Foresight(workers=2))


def test_the_seed_is_in_the_journal(tmp_path: Path) -> None:
    first = run(tmp_path / "run.bizol", seed=None)
    assert same(run(tmp_path / "run.bizol", seed=None), first)
    assert Journal(tmp_path / "run.bizol").spec["seed"] == first.seed


def test_failures_and_noise_are_replayed_as_they_were(tmp_path: Path) -> None:
    options: Any = {
        "response": Unreliable(0.3, noise=0.01),
        "retries": Retries(wait=0),
        "repeats": 2,
    }
    whole = run(None, 300, **options)
    assert whole.unanswered > 0
    for budget in (80, 150, 300):
        resumed = run(tmp_path / "run.bizol", budget, workers=1 + budget % 4, **options)
    assert same(resumed, whole)
    assert resumed.unanswered == whole.unanswered


def test_queries_that_were_sent_when_the_process_died_are_asked_again_or_listed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.bizol"

    def respond(x: Array) -> Array:
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(x)
        return saturate(x)

    asked: list[Array] = []
    run(path, response=lambda x: respond(x))
    assert [query.id for query in Journal(path).pending()] == ["0.2+.0"]
    stopped = run(path, response=lambda x: saturate(x), on_unknown="stop")
    assert stopped.status is Status.WAITING
    assert [query.id for query in stopped.pending] == ["0.2+.0"]
    assert "0.2+.0" in stopped.message
    copy = tmp_path / "copy.bizol"
    shutil.copy(path, copy)
    assert same(run(path, response=lambda x: saturate(x)), run(None))
    Journal(copy).tell({"0.2+.0": saturate(stopped.pending[0].x)})
    assert same(run(copy, response=lambda x: saturate(x), on_unknown="stop"), run(None))


@pytest.mark.parametrize("moment", ["before", "after", "within"])
@pytest.mark.parametrize("workers", [None, 3])
def test_an_interrupt_in_the_middle_of_writing_neither_loses_nor_doubles_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, workers: int | None
) -> None:
    append, index = Journal.append, Journal._index
    whole = run(None)
    for at in (4, 9, 17):
        path, calls = tmp_path / f"{at}.bizol", [0]

        def interrupted(
            self: Journal, *events: Event, at: int = at, calls: list[int] = calls
        ) -> None:
            calls[0] += 1
            if calls[0] == at and moment == "before":
                raise KeyboardInterrupt
            append(self, *events)
            if calls[0] == at and moment == "after":
                raise KeyboardInterrupt

        def halfway(self: Journal, *arguments: Any, at: int = at, calls: list[int] = calls) -> None:
            if calls[0] == at and moment == "within":
                calls[0] += 1
                raise KeyboardInterrupt
            index(self, *arguments)

        monkeypatch.setattr(Journal, "append", interrupted)
        monkeypatch.setattr(Journal, "_index", halfway)
        assert run(path, workers=workers).status is Status.INTERRUPTED
        monkeypatch.undo()
        assert same(run(path), whole)
        outcomes = Counter(
            (event.key, event.attempt) for event in Journal(path).events() if event.kind == "ok"
        )
        assert set(outcomes.values()) == {1}
        assert outcomes.total() == whole.queries


# --- another run, another file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"method": BiZOL(delta=0.2, step=0.1, batch=3)},
            r"method: BiZOL\(delta=0.1.* in the journal, BiZOL\(delta=0.2",
        ),
        ({"seed": 1}, "seed: 0 in the journal, 1 now"),
        ({"repeats": 2}, "repeats: 1 in the journal, 2 now"),
        ({"feasible_set": bizol.Box(-np.ones(3), 2 * np.ones(3))}, "set: Box"),
        ({"response": lambda x: x}, "follower: .*lambda"),
        (
            {
                "objective": bizol.Objective(lambda x, y: 0.0, lambda x, y: x, lambda x, y: y),
                "n": 3,
            },
            "objective: Objective",
        ),
        ({"n": 4}, "n: 3 in the journal, 4 now"),
    ],
)
def test_the_journal_of_another_run_is_refused_with_the_difference(
    tmp_path: Path, changes: Any, message: str
) -> None:
    run(tmp_path / "run.bizol", response=saturate)
    with pytest.raises(JournalError, match=message):
        run(tmp_path / "run.bizol", **({"response": saturate} | changes))


def test_a_replay_that_goes_another_way_is_explained_at_the_first_query(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    run(path)
    tilted = quadratic(0.25)
    copy = bizol.Objective(tilted.value, tilted.grad_x, tilted.grad_y)
    with pytest.raises(
        JournalError, match=r"query 1\.0\.0 has .* as entry 0, .* in the journal.* another problem"
    ):
        run(path, objective=copy)


def test_a_decision_of_another_size_is_explained_too(tmp_path: Path) -> None:
    from bizol.evaluation import Query
    from bizol.evaluation.register import refuse_other_query

    with pytest.raises(JournalError, match="has 2 entries, 3 in the journal"):
        refuse_other_query(Query(key=(0, 0, 0, 0), x=np.zeros(2)), np.zeros(3))


def test_two_coordinators_cannot_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    run(path, 14)
    with (
        Journal.own(path),
        pytest.raises(JournalError, match="is being written by another process, and only one may"),
    ):
        run(path)
    script = f"""
import bizol, time
own = bizol.Journal.own({str(path)!r})
print('mine', flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"mine\n"
        with pytest.raises(JournalError, match="only one may"):
            run(path)
        assert len(list(Journal(path).events())) > 10  # reading is free
        other.kill()
    assert same(run(path), run(None))


def test_the_lock_is_not_held_by_an_orphan(tmp_path: Path) -> None:
    """A child that was forked while the journal was open outlives its parent, and holds nothing."""
    path = tmp_path / "run.bizol"
    run(path, 14)
    script = f"""
import os, time, bizol
journal = bizol.Journal.own({str(path)!r})
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(60)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        orphan = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        try:
            assert same(run(path), run(None))
        finally:
            os.kill(orphan, signal.SIGKILL)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a database, but a text of some length" * 100, "file is not a database"),
        (b"", "nothing was written to it yet"),
    ],
)
def test_something_else_is_not_taken_for_a_journal(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=message):
        Journal(path)
    if content:
        with pytest.raises(JournalError, match=message):
            run(path)
        assert path.read_bytes() == content


def test_another_database_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    with pytest.raises(JournalError, match="is not a journal of bizol"):
        run(path)
    with pytest.raises(JournalError, match="There is no journal at"):
        Journal(tmp_path / "nowhere")
    with pytest.raises(JournalError, match="There is no journal at"):
        Journal.own(tmp_path / "nowhere")
    with pytest.raises(JournalError, match="cannot be written: unable to open"):
        run(tmp_path / "no" / "such" / "folder.bizol")


def test_a_journal_with_more_in_it_than_ours_is_refused(tmp_path: Path) -> None:
    """A trigger could run when we write; a stranger's journal may have one."""
    path = tmp_path / "run.bizol"
    run(path, 14)
    with sqlite3.connect(path) as file:
        file.execute("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END")
    file.close()
    with pytest.raises(JournalError, match="is not a journal of bizol, or it is damaged"):
        run(path)


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="has format 2; this version of bizol reads format 1"):
        Journal.own(tmp_path / "run.bizol", create=True).identify({"format": 2})


def test_a_first_row_that_says_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    with Journal.own(path, create=True) as journal:
        journal.identify({})
    with sqlite3.connect(path) as file:
        row = _as_row(1, Event("spec", info="[3]"))
        file.execute("DELETE FROM events")
        file.execute(f"INSERT INTO events VALUES ({', '.join('?' * 13)})", row)
    file.close()
    with pytest.raises(JournalError, match="does not say what it is the journal of"):
        Journal(path)
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM events")
    file.close()
    with pytest.raises(JournalError, match="its first row is missing"):
        Journal(path)


def test_a_journal_of_the_first_format_is_read_for_ever(tmp_path: Path) -> None:
    """A file written by the first release; it must open, replay and hold the same answers."""
    path = tmp_path / "run.bizol"
    shutil.copy(Path(__file__).parent / "data" / "format-1.bizol", path)
    journal = Journal(path)
    assert journal.spec["method"] == "BiZOL(delta=0.1, step=0.1, batch=3, directions=Sphere())"
    answers = [event for event in journal.events() if event.kind == "ok"]
    assert len(answers) == 22
    assert all(
        np.array_equal(np.frombuffer(event.y), saturate(np.frombuffer(event.x)))
        for event in answers
    )


# --- damage


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with part of it in the main file and part in the log, as a killed process leaves
    it."""
    folder = tmp_path_factory.mktemp("original")
    leave_behind(folder)
    assert (folder / "run.bizol-wal").stat().st_size > 0
    return folder


def test_a_cut_or_flipped_journal_opens_as_a_prefix_or_is_refused(
    original: Path, tmp_path: Path
) -> None:
    assert damage(original, tmp_path, rounds=300, seed=0)["silently wrong"] == 0


def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """The limit on the size of a file stands in for the disk; the run goes on when there is room
    again."""
    script = f"""
import resource, bizol
from tests.problems import saturated
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    method = bizol.BiZOL(delta=0.1, step=0.1, batch=3)
    bizol.minimize(saturated(), method=method, budget=1000, seed=0,
        journal={str(tmp_path / "run.bizol")!r})
except bizol.JournalError as error:
    print(error, error.solution.queries)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert "could not be written" in done
    assert "what was written before is safe" in done
    spent = int(done.split()[-1])
    answered = sum(event.kind == "ok" for event in Journal(tmp_path / "run.bizol").events())
    assert spent - 7 <= answered <= spent
    follower = Counting(saturate)
    follower.answer = saturated().response
    resumed = run(tmp_path / "run.bizol", 300, response=_lambda(follower))
    assert same(resumed, run(None, 300))
    assert len(follower.asked) == resumed.queries - answered
    assert resource.getrlimit(resource.RLIMIT_FSIZE) != (60_000, 60_000)


def _lambda(follower: Any) -> Any:
    """A follower with the name of that of `tests.problems.saturated`."""

    def respond(x: Array) -> Any:
        return follower(x)

    respond.__qualname__ = name_in_code(saturated().response)
    return respond


# --- kill -9


def test_a_storm_of_kills_loses_nothing_repeats_nothing_and_ends_at_the_same_bits(
    tmp_path: Path,
) -> None:
    figures = storm(tmp_path, kills=25, seed=0)
    assert figures["kills"] >= 25
    for name in (
        "lost",
        "answered twice",
        "asked after the answer",
        "executions unaccounted for",
        "different",
    ):
        assert figures[name] == 0, name
    assert figures["restarted"] <= 4 * figures["kills"]


# --- answers from outside

OUTSIDE: Any = {"response": Outside(), "method": BiZOL(delta=0.1, step=0.1, batch=1)}


def test_answers_may_come_one_by_one_over_many_sessions(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    waiting = run(path, 30, **OUTSIDE)
    assert waiting.status is Status.WAITING
    while waiting.status is Status.WAITING:
        for query in reversed(waiting.pending):
            assert Journal(path).tell({query.id: saturate(query.x)}) == 1
        waiting = run(path, 30, **OUTSIDE)
    assert same(waiting, run(None, 30, method=OUTSIDE["method"]))
    assert Journal(path).pending() == []


def test_without_a_journal_nobody_can_be_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"needs minimize\(journal=\.\.\.\)"):
        run(None, 30, **OUTSIDE)
    with pytest.raises(RuntimeError, match="answers come from outside"):
        Outside()(np.zeros(3))


def test_the_same_answer_may_be_told_again_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.bizol"
    query = run(path, 30, **OUTSIDE).pending[0]
    answer = saturate(query.x)
    assert Journal(path).tell({query.id: answer}) == 1
    assert Journal(path).tell({query.id: answer}) == 0
    with pytest.raises(ValueError, match="was answered before, and differently"):
        Journal(path).tell({query.id: np.nextafter(answer, 2)})
    with pytest.raises(ValueError, match="was answered before, and differently"):
        Journal(path).tell({query.id: None})


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"7.0.0": [1.0, 2.0, 3.0]}, "'7.0.0' is not a query of this run"),
        ({"0.1+.0": "much"}, r"0\.1\+\.0 must be answered with numbers, got 'much'"),
        ({"0.1+.0": [1.0, np.nan]}, "must be answered with a vector of finite numbers"),
        ({"0.1+.0": []}, "must be answered with a vector of finite numbers"),
        ({"0.1+.0": 1.0}, "must be answered with a vector of finite numbers"),
        ({"0.1+.0": [1.0, 2.0]}, r"0\.1\+\.0 needs 3 numbers, got 2"),
    ],
)
def test_a_wrong_answer_is_refused_and_nothing_is_half_taken(
    tmp_path: Path, answers: Any, message: str
) -> None:
    path = tmp_path / "run.bizol"
    run(path, 30, **OUTSIDE)
    with pytest.raises(ValueError, match=message):
        Journal(path).tell({"0.0.0": [0.25, 0.25, 0.25]} | answers)
    assert [query.id for query in Journal(path).pending()] == ["0.0.0", "0.1+.0", "0.1-.0"]


def test_a_query_nobody_can_answer_is_told_to_be_so(tmp_path: Path) -> None:
    path, method = tmp_path / "run.bizol", BiZOL(delta=0.1, step=0.1, batch=2)
    pending = run(path, 30, response=Outside(), method=method).pending
    Journal(path).tell(
        {query.id: None if query.id == "0.2-.0" else saturate(query.x) for query in pending}
    )
    following = run(path, 30, response=Outside(), method=method)
    assert following.status is Status.WAITING
    assert (following.iterations, following.unanswered, following.queries) == (1, 1, 5)
    Journal(path).tell(
        {"1.0.0": None} | {query.id: saturate(query.x) for query in following.pending[1:]}
    )
    assert [query.id for query in run(path, 30, response=Outside(), method=method).pending] == [
        "1.0.0"
    ]


# --- any order of events


class Conversation(RuleBasedStateMachine):
    """Sessions that ask, tell any subset, are told nonsense, crash and reopen: the end is that of
    the plain run."""

    pending = Bundle("pending")

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.bizol"
        self.told: dict[str, bytes] = {}
        self.solution = self.session()

    def session(self) -> bizol.Solution:
        return run(self.path, 12, **OUTSIDE)

    @rule()
    def reopen(self) -> None:
        asked = [query.id for query in Journal(self.path).pending()]
        self.solution = self.session()
        now = [query.id for query in self.solution.pending]
        assert now == asked or not asked

    @precondition(lambda self: self.solution.pending)
    @rule(chosen=st.sets(st.integers(0, 2), min_size=1))
    def tell_some(self, chosen: set[int]) -> None:
        queries = [query for row, query in enumerate(self.solution.pending) if row in chosen]
        answers = {query.id: saturate(query.x) for query in queries}
        new = sum(name not in self.told for name in answers)
        assert Journal(self.path).tell(answers) == new
        self.told |= {name: answer.tobytes() for name, answer in answers.items()}

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def contradict(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.told)))
        with pytest.raises(ValueError, match="answered before"):
            Journal(self.path).tell({name: [9.0, 9.0, 9.0]})

    @rule()
    def crash_in_the_middle_of_writing(self) -> None:
        """A process that dies before its commit leaves nothing; one that dies after it leaves
        all."""
        script = f"""
import os, bizol
journal = bizol.Journal.own({str(self.path)!r})
journal._file.execute("BEGIN IMMEDIATE")
journal._file.execute("DELETE FROM events WHERE seq > 1")
os._exit(0)
"""
        subprocess.run([sys.executable, "-c", script], check=True)

    @invariant()
    def what_was_told_is_there(self) -> None:
        from bizol.evaluation.query import name_of

        answers = {name_of(e.key): e.y for e in Journal(self.path).events() if e.kind == "ok"}
        assert answers == self.told

    def teardown(self) -> None:
        while self.solution.status is Status.WAITING:
            Journal(self.path).tell(
                {query.id: saturate(query.x) for query in self.session().pending}
            )
            self.solution = self.session()
        assert same(self.solution, run(None, 12, method=OUTSIDE["method"]))
        self.folder.cleanup()


TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    max_examples=6, stateful_step_count=10, deadline=None, derandomize=True
)
