"""Queries on real engines: the same bits everywhere, and a follower that misbehaves costs its own
query alone."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import dask
import distributed
import loky
import numpy as np
import pytest

import bizol
from bizol import BiZOL, MemoryBiZOL, Retries, Status
from bizol.evaluation import Batch, BreakerError, Durable, Execution, Ledger, isolation
from bizol.evaluation.engine import Engine
from bizol.evaluation.failures import Breaker
from bizol.evaluation.journal.file import Journal
from bizol.evaluation.question import Question
from bizol.methods.two_point.probing import probes_at
from bizol.methods.two_point.stepping import keep_answered
from bizol.processes import die_with_parent
from tests.misbehaving import Logging, Misbehaving, Unreliable, saturate
from tests.problems import Array, saturated
from tests.processes import alive, gone, until

METHOD = BiZOL(delta=0.1, step=0.1, batch=3)
AT_ONCE = Retries(wait=0.0)
ENGINES = ("threads", "processes", "loky", "dask")


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Executor]]:
    """One of each; Dask with worker processes, and with its own silent retries off."""
    context = get_context("forkserver")
    with (
        ThreadPoolExecutor(4) as threads,
        ProcessPoolExecutor(4, mp_context=context, initializer=die_with_parent) as processes,
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # a worker that leaves after idle seconds while work arrives is a warning, and here an error
        # that ends the pool
        pool = loky.get_reusable_executor(4, timeout=600)
        yield {
            "threads": threads,
            "processes": processes,
            "loky": pool,
            "dask": client.get_executor(pure=False),
        }
        pool.shutdown(wait=True, kill_workers=True)


def reference(**changes: Any) -> bizol.Solution:
    return bizol.minimize(saturated(**changes), method=METHOD, budget=60, seed=0)


def same(left: bizol.Solution, right: bizol.Solution) -> bool:
    """Whether two runs are the same to the last bit."""
    return all(
        np.array_equal(getattr(left.history, name), getattr(right.history, name), equal_nan=True)
        for name in left.history.columns
    ) and all(
        np.array_equal(getattr(left, which).x, getattr(right, which).x)
        for which in ("best", "last", "drawn")
    )


# --- engines


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_bits_for_any_number_of_workers(
    engines: dict[str, Executor], engine: str, isolate: bool
) -> None:
    for workers in (1, 2, 4):
        solution = bizol.minimize(
            saturated(response=saturate),
            method=METHOD,
            budget=60,
            seed=0,
            executor=engines[engine],
            workers=workers,
            isolate=isolate,
        )
        assert same(solution, reference())


def test_threads_of_our_own_and_processes_of_our_own_give_the_same_bits_too() -> None:
    for options in (
        {"workers": 3},
        {"isolate": True},
        {"workers": 2, "isolate": True, "timeout": 60.0},
    ):
        solution = bizol.minimize(saturated(), method=METHOD, budget=60, seed=0, **options)
        assert same(solution, reference())


def test_a_vectorized_follower_is_asked_at_once_here_and_row_by_row_elsewhere() -> None:
    sizes: list[int] = []

    def respond(x: Array) -> Array:
        sizes.append(len(x))
        return saturate(x)

    problem = saturated(response=respond, vectorized=True)
    here = bizol.minimize(problem, method=METHOD, budget=60, seed=0, retries=AT_ONCE)
    assert set(sizes) == {1, 6, 7}  # the first query alone, and the observation at the end
    sizes.clear()
    there = bizol.minimize(problem, method=METHOD, budget=60, seed=0, workers=2)
    assert set(sizes) == {1}
    assert same(here, reference())
    assert same(there, reference())


def test_no_more_than_workers_queries_are_under_way(tmp_path: Path) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def respond(x: Array) -> Array:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.005)
        with lock:
            now[0] -= 1
        return saturate(x)

    with ThreadPoolExecutor(8) as executor:
        bizol.minimize(
            saturated(response=respond), method=METHOD, budget=60, executor=executor, workers=3
        )
    assert most[0] == 3


def test_answers_that_come_back_in_another_order_change_nothing() -> None:
    def respond(x: Array) -> Array:
        time.sleep(float(abs(x[0] * 1e5 % 1)) * 0.01)
        return saturate(x)

    assert same(
        bizol.minimize(saturated(response=respond), method=METHOD, budget=60, seed=0, workers=4),
        reference(),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": 3}, r"minimize\(executor=\.\.\.\) must have submit"),
        ({"workers": 0}, r"minimize\(workers=\.\.\.\) must be a positive integer, got 0"),
        ({"timeout": 1.0}, r"minimize\(timeout=\.\.\.\) needs isolate=True"),
        ({"timeout": -1.0, "isolate": True}, r"minimize\(timeout=\.\.\.\) must be a positive"),
        ({"retries": 3}, r"minimize\(retries=\.\.\.\) must be bizol.Retries"),
        (
            {"on_unknown": "guess"},
            r"minimize\(on_unknown=\.\.\.\) must be 'ask' or 'stop', got 'guess'",
        ),
        ({"repeats": 0}, r"minimize\(repeats=\.\.\.\) must be a positive integer"),
    ],
)
def test_options_that_cannot_be_right(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bizol.minimize(saturated(), budget=60, **options)


def test_an_engine_that_does_not_tell_its_size_needs_workers() -> None:
    class Engine:
        def submit(self) -> None: ...

    with pytest.raises(ValueError, match=r"give minimize\(workers=\.\.\.\)"):
        bizol.minimize(saturated(), budget=60, executor=Engine())  # type: ignore[arg-type]


# --- followers that misbehave

POINTS = np.array(
    [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [1.0, 0.3, 0.3], [0.4, 0.4, 0.4], [0.5, 0.5, 0.5]]
)


def gather(durable: Durable, points: Array) -> tuple[Any, Any]:
    """Return the responses to a batch, and which of them there are."""
    answers = durable.answer(Batch(0, points, [(row, 0) for row in range(len(points))]))
    whole = np.ones(len(points), dtype=bool)
    return answers.responses, whole if answers.answered is None else answers.answered


def new_journal(path: Path) -> Journal:
    """Return a journal that is of nothing in particular."""
    journal = Journal.own(path, create=True)
    journal.identify({})
    return journal


FATES = {
    "ValueError": ("error", "ValueError: no such market"),
    "unpicklable": ("error", "UntransportableError: one"),
    "junk": ("error", "TypeError"),
    "infinite": ("infinite", "not finite"),
    "shape": ("shape", "must have the size of the first one, 3, got 7"),
    "sys.exit": ("error", "SystemExit: 3"),
    "os._exit": ("died", "exit code 3"),
    "segfault": ("died", "SIGSEGV"),
    "hang": ("timeout", "no answer within 0.5 seconds"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_whatever_a_follower_does_it_costs_its_own_query_alone(
    engines: dict[str, Executor], engine: str, tmp_path: Path
) -> None:
    """The table of misbehaviors, each between two queries that are innocent."""
    ways = list(FATES)
    points = np.array(
        [[1.0 if row % 2 else 0.1, (row // 2) / 10, 0.3] for row in range(2 * len(ways) + 1)]
    )
    execution = Execution(
        executor=engines[engine],
        workers=2,
        isolate=True,
        timeout=0.5,
        retries=Retries(engine=0, follower=0, breaker=1.0),
    )
    with new_journal(tmp_path / "run.bizol") as journal:
        problem = saturated(response=Misbehaving(tuple(ways)))
        with Durable(problem, Ledger(), execution=execution, journal=journal) as durable:
            responses, answered = gather(durable, points)
        failed = {
            event.key[1] // 2: event.info for event in journal.events() if event.kind == "fail"
        }
    assert answered.tolist() == (points[:, 0] < 0.9).tolist()
    assert np.array_equal(responses[answered], saturate(points[answered]))
    assert durable.queries == len(points)
    for number, (kind, info) in enumerate(FATES.values()):
        assert failed[number].startswith(f"{kind}: ")
        assert info in failed[number]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_killed_in_the_middle_of_a_batch_costs_one_query_which_is_asked_again(
    engines: dict[str, Executor], engine: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    problem = saturated(response=Logging(log, seconds=0.02, slow_from=0.9))
    execution = Execution(executor=engines[engine], workers=2, isolate=True, retries=AT_ONCE)

    def kill() -> None:
        mark = POINTS[2].tobytes().hex()
        until(lambda: any(mark in line for line in _lines(log)))
        lines = [line for line in _lines(log) if mark in line]
        time.sleep(0.1)
        os.kill(int(lines[0].split()[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with new_journal(tmp_path / "run.bizol") as journal:
        with Durable(problem, Ledger(), execution=execution, journal=journal) as durable:
            responses, answered = gather(durable, POINTS)
        failed = [(event.key, event.info) for event in journal.events() if event.kind == "fail"]
    killer.join()
    assert answered.all()
    assert np.array_equal(responses, saturate(POINTS))
    assert failed == [((0, 2, 0, 0), "died: the process of the query ended: SIGKILL")]
    assert durable.queries == 6
    assert len(_lines(log)) == 6  # one execution more than queries, and nobody else's


def test_a_dask_worker_that_is_killed_costs_what_it_was_doing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    problem = saturated(response=Logging(log, seconds=0.02, slow_from=0.9))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        execution = Execution(executor=executor, workers=2, retries=AT_ONCE)
        durable = Durable(problem, Ledger(), execution=execution)

        def kill() -> None:
            mark = POINTS[2].tobytes().hex()
            until(lambda: any(mark in line for line in _lines(log)))
            lines = [line for line in _lines(log) if mark in line]
            time.sleep(0.2)
            os.kill(int(lines[0].split()[0]), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        responses, answered = gather(durable, POINTS)
        killer.join()
    assert answered.all()
    assert np.array_equal(responses, saturate(POINTS))
    assert durable.queries == len(_lines(log)) == 6


def test_a_pool_that_breaks_ends_the_run_and_another_one_takes_it_up(tmp_path: Path) -> None:
    """Not isolated, a process that dies takes its pool along; what was answered is in the
    journal."""
    path, log = tmp_path / "run.bizol", tmp_path / "log"
    problem = saturated(response=Logging(log))
    options: Any = {"method": METHOD, "seed": 0, "retries": AT_ONCE, "journal": path}
    with ProcessPoolExecutor(
        2, mp_context=get_context("forkserver"), initializer=die_with_parent
    ) as pool:
        bizol.minimize(problem, budget=21, executor=pool, **options)
        for process in list(pool._processes.values()):
            process.kill()
        broken = bizol.minimize(problem, budget=60, executor=pool, **options)
    assert broken.status in (Status.UNANSWERED, Status.FAILING)
    assert "Broken" in broken.message
    whole = bizol.minimize(problem, budget=200, **options)
    plain = bizol.minimize(saturated(), method=METHOD, budget=200, seed=0)
    assert np.array_equal(whole.history.value, plain.history.value[: len(whole.history)])
    assert (
        len(_lines(log)) <= plain.queries
    )  # nothing was answered twice; what a broken pool refused was never asked


def test_a_hanging_query_takes_its_whole_process_group_along(tmp_path: Path) -> None:
    execution = Execution(isolate=True, timeout=1.0, retries=Retries(engine=0))
    problem = saturated(response=_Nested(tmp_path / "pid"))
    _, answered = gather(Durable(problem, Ledger(), execution=execution), POINTS[:1])
    assert not answered.any()
    gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("workers", [None, 2])
def test_the_processes_of_isolated_queries_end_with_the_run(
    tmp_path: Path, workers: int | None
) -> None:
    problem = saturated(response=Logging(tmp_path / "log"))
    bizol.minimize(problem, method=METHOD, budget=14, seed=0, isolate=True, workers=workers)
    processes = {int(line.split()[0]) for line in _lines(tmp_path / "log")}
    assert os.getpid() not in processes
    for pid in processes:
        gone(pid)


def test_a_follower_that_cannot_travel_is_refused_with_a_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = saturated(response=threading.Lock().acquire)
    with pytest.raises(
        ValueError, match=r"cannot send the follower to another process .*define it in a module"
    ):
        bizol.minimize(problem, budget=60, isolate=True)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ValueError, match=r"cannot send the follower.*install cloudpickle"):
        isolation.pack(Question(lambda x: x, vectorized=False, seeded=False))
    assert isolation.pack(Question(saturate, vectorized=False, seeded=False))
    monkeypatch.setattr(saturate, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "saturate", saturate, raising=False)
    with pytest.raises(ValueError, match="it is defined in a script"):
        isolation.pack(Question(saturate, vectorized=False, seeded=False))


def test_a_follower_that_cannot_be_unpacked_is_an_error_of_the_query() -> None:
    outcome = isolation.ask_child(b"not a pickle", POINTS[0], None, timeout=None)
    assert (outcome.kind, "cannot be unpacked" in outcome.info) == ("error", True)


def test_a_child_that_rested_for_long_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = isolation.pack(Question(_answer_with_pid, vectorized=False, seeded=True))
    first, second = (isolation.ask_child(packed, POINTS[0], None, timeout=None) for _ in range(2))
    assert first.response[0] == second.response[0]
    clock = time.monotonic()
    monkeypatch.setattr(isolation, "monotonic", lambda: clock + 31)
    third = isolation.ask_child(packed, POINTS[0], None, timeout=None)
    assert third.response[0] != first.response[0]
    gone(int(first.response[0]))
    isolation.dismiss(packed)
    gone(int(third.response[0]))


def test_what_a_child_does_from_its_first_to_its_last_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a thread here, as what happens in another process is not seen: the follower, a query, bad
    ones, the end."""
    monkeypatch.setattr(isolation, "die_with_parent", lambda parent: None)

    def conversation(*messages: bytes) -> list[bytes]:
        ours, theirs = socket.socketpair()
        thread = threading.Thread(target=isolation._serve, args=(theirs.detach(), os.getppid()))
        thread.start()
        with Connection(ours.detach()) as line:
            replies = []
            for message in messages:
                line.send_bytes(message)
                replies.append(line.recv_bytes())
        thread.join()
        return replies

    x = POINTS[0].tobytes()
    ready, answer, junk = conversation(
        isolation.pack(Question(_sometimes, vectorized=False, seeded=True)),
        b"null\n" + x,
        b"7\n" + x,
    )
    assert json.loads(ready.partition(b"\n")[0]) == {"kind": "ok", "info": "", "shape": [0]}
    header, _, body = answer.partition(b"\n")
    assert json.loads(header) == {"kind": "ok", "info": "", "shape": [3]}
    assert np.array_equal(np.frombuffer(body), saturate(POINTS[0]))
    assert b"odd luck" in junk
    (refused,) = conversation(b"not a pickle")
    assert b"cannot be unpacked here" in refused


def _sometimes(x: Array, seed: int | None) -> Array:
    if seed is not None:
        raise RuntimeError("odd luck")
    return saturate(x)


# --- the end of a coordinator

COORDINATOR = """
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
import bizol, loky
from distributed import Client, LocalCluster
from tests.misbehaving import Logging
from tests.problems import saturated

if __name__ == "__main__":
    # Those who were started in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, engine = Path(sys.argv[1]), sys.argv[2]
    seconds, slow = float(sys.argv[3]), float(sys.argv[4])
    cluster = lambda: LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    pools = {"threads": lambda: None, "loky": lambda: loky.get_reusable_executor(2),
        "dask": lambda: Client(cluster()).get_executor(pure=False)}
    pool = pools.get(engine, lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")))()
    options = {"executor": pool, "workers": 2, "isolate": engine != "processes"}
    problem = saturated(response=Logging(folder / "log", seconds, slow))
    solution = bizol.minimize(problem, budget=1000, seed=0, method=bizol.BiZOL(0.1, 0.1, 3),
        journal=folder / "run.bizol", **options)
    print(solution.status.name, flush=True)
"""


def coordinator(
    folder: Path, engine: str, seconds: float, slow_from: float = np.inf
) -> subprocess.Popen[str]:
    script = folder / "coordinator.py"
    script.write_text(COORDINATOR)
    command = [sys.executable, str(script), str(folder), engine, str(seconds), str(slow_from)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    )


@pytest.mark.parametrize("engine", ["threads", "processes", "isolated", "loky", "dask"])
def test_nobody_is_left_one_second_after_the_coordinator_was_killed(
    tmp_path: Path, engine: str
) -> None:
    with coordinator(
        tmp_path, engine, 0.3, slow_from=0.05
    ) as process:  # the second query takes a minute
        until(lambda: len(_lines(tmp_path / "log")) >= 3)
        time.sleep(0.5)
        process.kill()
    time.sleep(1.0)
    workers = {int(pid) for line in _lines(tmp_path / "log") for pid in line.split()[:2]} - {
        os.getpid(),
        1,
    }
    left = [pid for pid in workers if alive(pid)]
    asked = len(_lines(tmp_path / "log"))
    assert left == []
    time.sleep(0.5)
    assert len(_lines(tmp_path / "log")) == asked


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_with_a_solution_and_a_journal(
    tmp_path: Path, how: signal.Signals
) -> None:
    with coordinator(tmp_path, "threads", 0.2) as process:
        until(lambda: len(_lines(tmp_path / "log")) >= 12)
        process.send_signal(how)
        assert process.stdout is not None
        assert process.stdout.read().strip() == "INTERRUPTED"
        assert process.wait(10) == 0
    workers = {int(line.split()[0]) for line in _lines(tmp_path / "log")}
    assert not any(alive(pid) for pid in workers)
    journal = Journal(tmp_path / "run.bizol")
    if how is signal.SIGINT:
        assert journal.pending() == []  # what was under way was waited for
    answered = sum(event.kind == "ok" for event in journal.events())
    (tmp_path / "log").unlink()
    problem = saturated(response=Logging(tmp_path / "log"))
    resumed = bizol.minimize(problem, budget=60, method=METHOD, journal=tmp_path / "run.bizol")
    assert same(resumed, reference())
    assert len(_lines(tmp_path / "log")) == resumed.queries - answered


def test_an_interrupt_between_writing_and_sending_leaves_nothing_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that the journal says was sent is sent, and its answer is waited for."""
    submit, calls = Engine.submit, itertools.count()

    def interrupted(self: Engine, group: Any) -> Any:
        if next(calls) == 9:
            raise KeyboardInterrupt
        return submit(self, group)

    monkeypatch.setattr(Engine, "submit", interrupted)
    path = tmp_path / "run.bizol"
    options: Any = {"method": METHOD, "budget": 60, "seed": 0, "journal": path}
    problem = saturated(response=saturate)
    assert bizol.minimize(problem, workers=2, **options).status is Status.INTERRUPTED
    assert Journal(path).pending() == []
    assert same(bizol.minimize(problem, **options), reference())


def test_sigterm_is_left_to_those_who_care_for_it() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:

        def respond(x: Array) -> Array:
            if not heard:
                os.kill(os.getpid(), signal.SIGTERM)
            return saturate(x)

        solution = bizol.minimize(
            saturated(response=respond), method=METHOD, budget=60, seed=0, retries=AT_ONCE
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard
    assert same(solution, reference())


# --- what is done about failures


def test_a_query_that_fails_once_is_asked_again_and_paid_again() -> None:
    failed: set[bytes] = set()

    def respond(x: Array) -> Array:
        if x[0] > 0.05 and x.tobytes() not in failed:
            failed.add(x.tobytes())
            raise RuntimeError("not now")
        return saturate(x)

    solution = bizol.minimize(
        saturated(response=respond),
        method=METHOD,
        budget=60,
        seed=0,
        retries=Retries(wait=0, breaker=1.0),
    )
    assert solution.unanswered == 0
    assert solution.queries <= 60
    assert len(failed) > 3
    plain = reference()
    assert np.array_equal(solution.history.value, plain.history.value[: len(solution.history)])
    assert solution.queries >= solution.history.queries[-1]
    assert solution.history.queries[-1] > plain.history.queries[len(solution.history) - 1]


@pytest.mark.parametrize(("error", "same_seed"), [(RuntimeError, False), (ConnectionError, True)])
def test_a_follower_that_failed_gets_another_seed_an_engine_that_failed_the_same(
    error: Any, same_seed: bool
) -> None:
    seeds: list[int] = []

    def respond(x: Array, seed: int) -> Array:
        seeds.append(seed)
        if len(seeds) == 1:
            raise error("bad luck")
        return saturate(x)

    problem = saturated(response=respond, seeded=True)
    gather(Durable(problem, Ledger(), execution=Execution(retries=AT_ONCE)), POINTS[:1])
    assert (seeds[0] == seeds[1]) is same_seed


def test_the_number_of_attempts_depends_on_the_class_of_the_failure() -> None:
    retries = Retries()
    assert [retries.again(["died"] * k) for k in (1, 3, 4)] == [True, True, False]
    assert [retries.again(["timeout", "lost", "error"]), retries.again(["error", "infinite"])] == [
        True,
        False,
    ]
    assert [retries.pause(k) for k in (0, 1, 2, 20)] == [0.0, 0.1, 0.2, 60.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": -1}, r"Retries\(engine=\.\.\.\) must be a count"),
        ({"follower": 1.5}, r"Retries\(follower=\.\.\.\) must be a count"),
        ({"wait": -1}, r"Retries\(wait=\.\.\.\) must be seconds"),
        ({"breaker": 0}, r"Retries\(breaker=\.\.\.\) must be a share"),
    ],
)
def test_a_policy_that_cannot_be_right(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Retries(**arguments)


def _Broken(plus: int) -> Any:  # noqa: N802 (a follower)
    """Fails at the + side of the first `plus` directions of iteration 0."""
    state = METHOD.start(saturated(), seed=0)
    bad = {row.tobytes() for row in METHOD.ask(state)[1 : plus + 1]}

    def respond(x: Array) -> Array:
        if x.tobytes() in bad:
            raise RuntimeError("never")
        return saturate(x)

    return respond


def test_a_failed_side_drops_its_pair_and_the_estimate_is_a_mean_over_the_others() -> None:
    state = METHOD.start(saturated(), seed=0)
    responses = saturate(METHOD.ask(state))
    answered = np.array([True, True, False, True, True, True, True])
    responses[2] = np.nan  # must not be read
    told = METHOD.tell_some(state, responses, answered)
    where = probes_at(METHOD, state)
    kept = where.directions[[0, 2]]
    by_hand = bizol.sensitivity.Sensitivity(
        at=state.x,
        radius=0.1,
        directions=kept,
        differences=saturate(0.1 * kept) - saturate(-0.1 * kept),
    )
    gradient = state.x + by_hand.pull_back(saturate(state.x) - 0.5)
    assert told.move is not None
    assert told.move.hypergradient.value == pytest.approx(gradient, abs=1e-15)
    solution = bizol.minimize(
        saturated(response=_Broken(plus=1)),
        method=METHOD,
        budget=60,
        seed=0,
        retries=Retries(wait=0.0),
    )
    assert (solution.unanswered, solution.status) == (1, Status.BUDGET_SPENT)
    assert "1 queries were not answered and left out" in solution.message


def test_with_too_few_pairs_the_iteration_is_drawn_again_and_the_anchor_is_not_asked_again() -> (
    None
):
    asked: list[bytes] = []
    respond = _Broken(plus=2)

    def counting(x: Array) -> Array:
        asked.append(x.tobytes())
        return np.asarray(respond(x))

    solution = bizol.minimize(
        saturated(response=counting),
        method=METHOD,
        budget=60,
        seed=0,
        retries=Retries(wait=0.0),
        workers=2,
    )
    assert solution.unanswered == 2
    assert (
        solution.history.queries[0] == 7 + 2 + 6
    )  # a batch, two asked again, a batch without its anchor
    assert asked.count(np.zeros(3).tobytes()) == 1
    assert len(asked) == solution.queries
    state = METHOD.start(saturated(), seed=0)
    again = METHOD.tell_some(state, saturate(METHOD.ask(state)), np.arange(7) < 2)
    assert again.move is None
    assert (METHOD.ask(again)[1:] != METHOD.ask(state)[1:]).any()
    assert set(METHOD.slots(again)) & set(METHOD.slots(state)) == {(0, 0)}


def test_a_redraw_costs_its_new_queries_alone() -> None:
    solution = bizol.minimize(
        saturated(response=_Broken(plus=2)),
        method=METHOD,
        budget=15,
        seed=0,
        retries=Retries(wait=0.0),
    )
    assert (solution.iterations, solution.queries) == (1, 15)


def test_a_run_cut_within_a_round_spends_the_budget_as_one_that_was_not(tmp_path: Path) -> None:
    """Two queries fail; a budget of 8 does not cover both again. Cut after five, the other two come
    first."""
    broken, asked = _Broken(plus=2), [0]

    def respond(x: Array) -> Array:
        asked[0] += 1
        if asked[0] == 6:
            raise KeyboardInterrupt
        return np.asarray(broken(x))

    options: Any = {
        "method": METHOD,
        "seed": 0,
        "retries": AT_ONCE,
        "budget": 8,
        "journal": tmp_path / "run.bizol",
    }
    assert bizol.minimize(saturated(response=respond), **options).status is Status.INTERRUPTED
    resumed = bizol.minimize(saturated(response=respond), **options)
    assert (resumed.status, resumed.queries) == (Status.BUDGET_SPENT, 7)


def test_a_failed_anchor_ends_the_run_with_everything_and_another_session_asks_it_again(
    tmp_path: Path,
) -> None:
    ill = True
    third = reference().history

    def respond(x: Array) -> Array:
        if ill and abs(saturated().objective.value(x, saturate(x)) - third.value[2]) < 1e-15:
            raise RuntimeError("ill")
        return saturate(x)

    options: Any = {
        "method": METHOD,
        "budget": 60,
        "seed": 0,
        "retries": Retries(wait=0.0),
        "journal": tmp_path / "run.bizol",
    }
    solution = bizol.minimize(saturated(response=respond), **options)
    assert (solution.status, solution.iterations) == (Status.UNANSWERED, 2)
    assert "did not answer at the current decision. RuntimeError: ill" in solution.message
    assert np.array_equal(solution.history.value, third.value[:2])
    ill = False
    whole = bizol.minimize(saturated(response=respond), **options)
    assert whole.status is Status.BUDGET_SPENT
    assert np.array_equal(whole.history.value, third.value[: len(whole.history)])


def test_a_method_that_needs_every_answer_says_so() -> None:
    class Needy:
        start, ask = METHOD.start, METHOD.ask

        def tell(self, state: Any, responses: Any) -> Any:
            return METHOD.tell(state, responses)

    solution = bizol.minimize(
        saturated(response=_Broken(plus=1)),
        method=Needy(),
        budget=60,
        seed=0,
        retries=Retries(wait=0.0),
    )
    assert solution.status is Status.UNANSWERED
    assert "Needy needs every answer. RuntimeError: never" in solution.message
    assert same(
        bizol.minimize(saturated(), method=Needy(), budget=60, seed=0, retries=Retries()),
        reference(),
    )


def test_when_most_queries_fail_the_run_ends_instead_of_spending_the_budget() -> None:
    asked: list[Array] = []

    def respond(x: Array) -> Array:
        asked.append(x)
        if len(asked) > 21:
            raise RuntimeError("power cut")
        return saturate(x)

    solution = bizol.minimize(
        saturated(response=respond), method=METHOD, budget=1000, seed=0, retries=AT_ONCE
    )
    assert solution.status is Status.FAILING
    assert "RuntimeError: power cut" in solution.message
    assert len(asked) < 45


def test_a_vectorized_follower_that_fails_fails_for_the_batch_and_is_asked_again() -> None:
    asked: list[int] = []

    def respond(x: Array) -> Any:
        asked.append(len(x))
        if len(asked) == 2:
            raise RuntimeError("bad luck")
        if len(asked) == 4:
            return saturate(x)[:1] if len(x) > 1 else saturate(x)[0]
        return saturate(x)

    options: Any = {
        "method": METHOD,
        "budget": 60,
        "seed": 0,
        "retries": Retries(wait=0, breaker=1.0),
    }
    solution = bizol.minimize(saturated(response=respond, vectorized=True), **options)
    assert asked[:5] == [1, 6, 6, 7, 7]
    assert np.array_equal(
        solution.history.value, reference().history.value[: len(solution.history)]
    )

    def flat(x: Array) -> Any:
        return saturate(x)[0]

    failing = bizol.minimize(
        saturated(response=flat, vectorized=True), **(options | {"retries": AT_ONCE})
    )
    assert "it must have (1, m), got (3,)" in failing.message


def test_an_objective_that_fails_ends_the_run_as_ever_and_the_end_may_stay_unobserved() -> None:
    calls = [0]

    def gradient(x: Array, y: Array) -> Array:
        calls[0] += 1
        return y - 0.5 if calls[0] < 4 else np.full(3, np.nan)

    objective = bizol.Objective(lambda x, y: float(x @ x), lambda x, y: 2 * x, gradient)
    with pytest.raises(
        bizol.EvaluationError, match="hypergradient of iteration 3 is not finite"
    ) as caught:
        bizol.minimize(
            saturated(objective=objective),
            method=METHOD,
            budget=60,
            seed=0,
            workers=2,
            check=False,
        )
    assert caught.value.points is not None
    assert len(caught.value.points) == 7
    end = bizol.minimize(saturated(), method=METHOD, budget=10, seed=0).last.x.tobytes()

    def respond(x: Array) -> Array:
        if x.tobytes() == end:
            raise RuntimeError("closed")
        return saturate(x)

    solution = bizol.minimize(
        saturated(response=respond), method=METHOD, budget=10, seed=0, retries=AT_ONCE
    )
    assert (solution.status, solution.iterations) == (Status.UNANSWERED, 1)
    assert "did not answer at the final decision. RuntimeError: closed" in solution.message


def test_the_breaker_looks_at_the_last_two_batches() -> None:
    breaker = Breaker(0.5)
    for failed, attempts in ((0, 10), (6, 6)):
        breaker.next_batch()
        for number in range(attempts):
            breaker.count(failed=number < failed)
        breaker.check("bad luck")
    breaker.next_batch()
    with pytest.raises(
        BreakerError, match="6 of the last 6 queries failed, the last one so: bad luck"
    ):
        breaker.check("bad luck")


def test_the_breaker_looks_at_twenty_attempts_where_batches_are_small() -> None:
    breaker = Breaker(0.5)
    for number in range(30):
        breaker.next_batch()
        breaker.count(failed=number >= 10 and number % 4 > 0)  # three quarters of the last
        if number < 23:
            breaker.check("bad luck")  # 10 of 21 at most
    with pytest.raises(BreakerError, match="15 of the last 21 queries failed"):
        breaker.check("bad luck")


@pytest.mark.parametrize("error", [RuntimeError, PermissionError])
def test_a_follower_that_died_does_not_cost_the_default_method_its_budget(
    error: type[Exception],
) -> None:
    """It asks one question at a time."""
    asked: list[Array] = []

    def respond(x: Array) -> Array:
        asked.append(x)
        if len(asked) > 10:
            raise error("power cut")
        return saturate(x)

    solution = bizol.minimize(saturated(response=respond), budget=200, seed=0, retries=AT_ONCE)
    assert solution.status is Status.FAILING
    assert len(asked) < 25


def test_a_follower_that_never_answers_is_not_asked_for_long() -> None:
    asked: list[Array] = []

    def respond(x: Array) -> Array:
        asked.append(x)
        raise RuntimeError("nobody home")

    solution = bizol.minimize(
        saturated(response=respond), method=METHOD, budget=1000, seed=0, retries=AT_ONCE
    )
    assert solution.status is Status.FAILING
    assert len(asked) == 5


def test_a_budget_that_does_not_cover_retries_ends_the_run_before_they_are_asked(
    tmp_path: Path,
) -> None:
    options: Any = {
        "method": METHOD,
        "seed": 0,
        "retries": AT_ONCE,
        "journal": tmp_path / "run.bizol",
    }
    solution = bizol.minimize(saturated(response=_Broken(plus=2)), budget=8, **options)
    assert (solution.status, solution.queries) == (Status.BUDGET_SPENT, 7)
    assert "2 failed queries cannot be asked again" in solution.message
    more = bizol.minimize(saturated(response=_Broken(plus=2)), budget=60, **options)
    options.pop("journal")
    assert same(more, bizol.minimize(saturated(response=_Broken(plus=2)), budget=60, **options))


@pytest.mark.parametrize(
    "method",
    [
        METHOD,
        bizol.VZO(0.1, 0.1, 3),
        MemoryBiZOL(0.1, 0.1, 3),
        MemoryBiZOL(0.1, 0.1, 3, one_sided=True),
    ],
)
def test_every_two_point_method_goes_on_without_what_failed(method: Any) -> None:
    """A run ends where its anchor fails for good, as one in five does. Of sixteen seeds, some run
    goes beyond three iterations with a chance of 99.98 %."""
    unanswered, iterations = 0, 0
    for seed in range(16):
        runs = [
            bizol.minimize(
                saturated(response=Unreliable(0.2)),
                method=method,
                budget=100,
                seed=seed,
                retries=Retries(follower=0, wait=0),
                workers=workers,
            )
            for workers in (None, 4)
        ]
        assert same(*runs)
        unanswered += runs[0].unanswered
        iterations = max(iterations, runs[0].iterations)
    assert unanswered > 20
    assert iterations > 3


def test_the_estimate_stays_unbiased_when_a_fifth_of_the_queries_fail() -> None:
    """Means of 4000 estimates, with and without failures, differ by less than 4 standard errors in
    each of 3 entries.

    Independent, so that the chance of failing a true claim is below 2e-4.
    """
    rng = np.random.default_rng(0)
    jacobian = rng.standard_normal((3, 3))
    x = np.array([0.2, -0.1, 0.3])
    weights = np.array([1.0, -2.0, 0.5])

    def estimates(rate: float, first: int) -> Array:
        found = []
        for seed in range(first, first + 4000):
            state = METHOD.start(saturated(), x, seed=seed)
            where = probes_at(METHOD, state)
            while True:
                rows = np.tanh(METHOD.ask(state) @ jacobian.T)
                part = keep_answered(where, rows, np.append(True, rng.random(6) >= rate))
                if part is not None:
                    break
                state = METHOD.tell_some(state, rows, np.arange(7) < 1)
                where = probes_at(METHOD, state)
            kept, answers = part
            count = len(kept.directions)
            found.append(
                bizol.sensitivity.Sensitivity(
                    at=x,
                    radius=0.1,
                    directions=kept.directions,
                    differences=answers[1 : count + 1] - answers[count + 1 :],
                ).pull_back(weights)
            )
        return np.array(found)

    failing, whole = estimates(0.2, 0), estimates(0.0, 4000)
    errors = np.sqrt(failing.var(axis=0) / 4000 + whole.var(axis=0) / 4000)
    assert (np.abs(failing.mean(axis=0) - whole.mean(axis=0)) < 4 * errors).all()


# ---


class _Nested:
    """A follower that starts a process of its own and never comes back."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def __call__(self, x: Array) -> Array:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.note.write_text(str(process.pid))
        process.wait()
        return x


def _answer_with_pid(x: Array, seed: int | None) -> Array:
    return np.array([float(os.getpid())])


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
