"""What belongs to the process as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
import weakref
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from bizol.processes import (
    ChildProcess,
    KeptChildren,
    die_with_parent,
    filtered_warnings,
    follow_parent,
    one_thread,
    serve_parent,
)


class TestWarnings:
    def test_a_program_and_an_estimator_asked_from_two_threads_leave_the_filter_alone(self) -> None:
        """With a lock each, they restore each other's filter, and it stays at `error`."""
        cvxpy = pytest.importorskip("cvxpy")
        pytest.importorskip("sklearn")
        from sklearn.linear_model import Ridge

        from bizol.followers import CvxpyFollower, FittedEstimator

        parameter, variable = cvxpy.Parameter(1), cvxpy.Variable(1)
        inside, other_inside = threading.Event(), threading.Event()

        class SlowRidge(Ridge):  # type: ignore[misc]  # sklearn is untyped here
            """Is still fitting when the other follower begins, and done before it ends."""

            def fit(self, *data: object) -> object:
                inside.set()
                other_inside.wait(1)  # in vain where the filter is guarded by one lock
                return super().fit(*data)

        class SlowProgram(cvxpy.Problem):  # type: ignore[misc, name-defined]  # untyped here
            def solve(self, *args: object, **options: object) -> object:
                other_inside.set()
                time.sleep(0.2)
                return super().solve(*args, **options)

        program = SlowProgram(cvxpy.Minimize(cvxpy.sum_squares(variable - parameter)))
        solver = CvxpyFollower(program, parameter, variable)
        learner = FittedEstimator(SlowRidge(), [[0.0], [1.0]], [0.0, 1.0], ("alpha",))
        with warnings.catch_warnings():
            warnings.resetwarnings()  # pytest's own filter is `error` already
            fitting = threading.Thread(target=learner, args=(np.zeros(1),))
            fitting.start()
            inside.wait(5)
            solving = threading.Thread(target=solver, args=(np.zeros(1),))
            solving.start()
            for thread in (fitting, solving):
                thread.join()
            assert warnings.filters == []

    def test_the_filter_may_be_set_within_itself(self) -> None:
        with filtered_warnings("error"):
            with filtered_warnings("ignore"):
                warnings.warn("ignored", stacklevel=1)
            with pytest.raises(UserWarning, match="raised"):
                warnings.warn("raised", stacklevel=1)


def _process_of_initialized(initializer: str) -> str:
    """Return a script that starts a pool, prints a worker's id, and is gone without a word."""
    return f"""
import os, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from bizol.processes import {initializer}
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer={initializer})
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), 9)
"""


def _is_gone(pid: int, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


class TestParents:
    @pytest.mark.parametrize("initializer", ["die_with_parent", "follow_parent", "serve_parent"])
    def test_a_worker_ends_with_the_process_that_started_it(
        self, initializer: str, tmp_path: object
    ) -> None:
        script = f"{tmp_path}/pool.py"
        with open(script, "w", encoding="utf-8") as file:  # noqa: PTH123 (a string is at hand)
            file.write(_process_of_initialized(initializer))
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
        assert _is_gone(int(run.stdout))

    def test_a_parent_that_is_gone_already_is_noticed(self) -> None:
        script = "from bizol.processes import die_with_parent; die_with_parent(1); print('alive')"
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout) == (1, "")

    @pytest.mark.parametrize("seconds", [0.0, 1.0])
    def test_a_program_not_of_ours_ends_with_its_parent(self, seconds: float) -> None:
        """Also where the parent is gone before the program has begun to look."""
        script = f"""
import os, subprocess, time
from bizol.processes import launcher
child = subprocess.Popen(launcher() + ["sleep", "60"])
print(child.pid, flush=True)
time.sleep({seconds})
os.kill(os.getpid(), 9)
"""
        # The program holds the pipe: where it lives on, this waits.
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=20
        )
        assert _is_gone(int(run.stdout))

    def test_the_initializers_can_be_sent_to_a_pool(self) -> None:
        for initializer in (die_with_parent, follow_parent, serve_parent):
            context = get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context, initializer=initializer) as pool:
                assert pool.submit(abs, -1).result() == 1


class _Sleeper:
    def __init__(self) -> None:
        self.process = ChildProcess(["sleep", "60"])


class TestChildren:
    def test_a_child_is_kept_for_the_next_question_of_its_thread_alone(self) -> None:
        kept = KeptChildren[str, _Sleeper]()
        first = kept.get("a", _Sleeper, fit=lambda child: True)
        assert kept.get("a", _Sleeper, fit=lambda child: True) is first
        other = kept.get("b", _Sleeper, fit=lambda child: True)
        elsewhere: list[_Sleeper] = []
        thread = threading.Thread(
            target=lambda: elsewhere.append(kept.get("a", _Sleeper, fit=lambda child: True))
        )
        thread.start()
        thread.join()
        assert elsewhere[0] is not first
        kept.end("a")
        assert [each.process.alive for each in (first, elsewhere[0], other)] == [False, False, True]
        kept.end("b")

    def test_a_child_that_is_dead_or_unfit_is_replaced(self) -> None:
        kept = KeptChildren[str, _Sleeper]()
        first = kept.get("a", _Sleeper, fit=lambda child: True)
        second = kept.get("a", _Sleeper, fit=lambda child: False)
        assert second is not first
        assert not first.process.alive
        second.process.popen.kill()
        second.process.popen.wait()
        third = kept.get("a", _Sleeper, fit=lambda child: True)
        assert third is not second
        kept.end("a")

    def test_a_single_child_makes_way_for_the_next_key_and_nothing_is_held(self) -> None:
        kept = KeptChildren[str, _Sleeper](single=True)
        first = kept.get("a", _Sleeper, fit=lambda child: True)
        second = kept.get("b", _Sleeper, fit=lambda child: True)
        assert [each.process.alive for each in (first, second)] == [False, True]
        held = weakref.ref(second)
        kept.end("b")
        del first, second
        assert held() is None

    def test_whatever_it_started_ends_with_it_and_what_it_held_is_closed(self) -> None:
        child = ChildProcess(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE)
        assert child.popen.stdout is not None
        grandchild = int(child.popen.stdout.readline())
        closed: list[str] = []
        child.when_ended(lambda: closed.append("line"))
        child.when_ended(child.popen.stdout.close)
        child.end()
        assert _is_gone(grandchild)
        assert closed == ["line"]
        assert child.popen.stdout.closed
        assert child.wait_for_exit() == "SIGKILL"

    def test_a_child_nobody_holds_is_ended(self) -> None:
        child = ChildProcess(["sleep", "60"])
        process = child.popen
        del child
        assert process.wait(5) == -9

    def test_an_exit_is_told_in_words(self) -> None:
        assert ChildProcess(["sh", "-c", "exit 3"]).wait_for_exit() == "exit code 3"


def test_linear_algebra_has_one_thread_until_the_last_block_ends() -> None:
    import scipy.linalg  # noqa: F401  # its library counts too
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("linear algebra has no second thread here")
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # not the last one
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}
