"""One query in a process of its own: whatever it does there, plain data comes back.

A follower that crashes, hangs, leaves with `os._exit` or raises what cannot be pickled costs its
own query and nothing else, on every engine alike, because the child is started inside the worker,
wherever that is. A child is kept for the next query of its thread, as starting Python takes longer
than most answers; it is replaced when it died, when it was killed at the time limit, and after a
while without work.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from time import monotonic, sleep
from typing import Any, final

import numpy as np

from bizol.arrays import Point, to_numpy
from bizol.evaluation.outcomes import Outcome, attempt, in_words

IDLE = 60.0  # seconds without work after which a child leaves; it is no longer trusted after half of them

_START = "import sys; sys.path[:] = {path!r}; from bizol.evaluation.isolation import _serve; _serve({fd}, {parent})"
_here = threading.local()
_children: weakref.WeakSet[_Child] = weakref.WeakSet()


def guarded(follower: bytes, x: Point, seed: int | None, timeout: float | None) -> Outcome:
    """Ask the packed follower in this thread's child; the clock of the time limit starts when the child is ready."""
    child: _Child | None = getattr(_here, "child", None)
    if child is None or not child.serves(follower):
        if child is not None:
            child.kill()
        child = _here.child = _Child(follower)
    outcome = child.ask(x, seed, timeout)
    if outcome.kind in ("died", "timeout"):
        child.kill()
        _here.child = None
    return outcome


def pack(follower: Any) -> bytes:
    """Return the follower as bytes another process understands, or say why there are none."""
    try:
        import cloudpickle as pickler  # brought by loky and dask; it also takes lambdas and what a script defines
    except ImportError:
        pickler = pickle
    try:
        packed: bytes = pickler.dumps(follower)
        if pickler is pickle and b"__main__" in packed:
            raise pickle.PicklingError("it is defined in a script")
    except Exception as error:
        raise ValueError(
            f"minimize(isolate=True) cannot send the follower to another process ({type(error).__name__}: {error}): "
            f"define it in a module, or install cloudpickle."
        ) from error
    return packed


def dismiss(follower: bytes) -> None:
    """End the children of this process that serve the follower, whatever they are doing."""
    for child in list(_children):
        if child.follower == follower:
            child.kill()


def die_with_parent(parent: int | None = None) -> None:
    """Let the kernel end this process when its parent dies (on Linux; elsewhere it lives on until
    it is idle).

    Worth giving to a pool of one's own,
    `ProcessPoolExecutor(initializer=bizol.evaluation.die_with_parent)`: otherwise its workers
    survive a coordinator that was killed.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if parent is not None and os.getppid() != parent:
            os._exit(1)  # it died before it could be watched


@cache
def follow_parent() -> None:
    """End this process, a worker of somebody's pool, when its parent is gone: it would wait for work for ever."""
    parent, starter = os.getppid(), parent_process()
    watched = getattr(
        starter, "_sentinel", None
    )  # tells of a parent that was gone before this was called

    def watch() -> None:
        while os.getppid() == parent and not (watched is not None and wait([watched], 0)):
            sleep(0.3)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@final
class _Child:
    """A process that answers one query after the other, and the line to it."""

    def __init__(self, follower: bytes) -> None:
        self.follower = follower
        ours, theirs = socket.socketpair()
        with theirs:
            script = _START.format(path=sys.path, fd=theirs.fileno(), parent=os.getpid())
            self._process = subprocess.Popen(
                [sys.executable, "-c", script],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a process group of its own, to be killed as a whole
            )
        self._line = Connection(ours.detach())
        self._ready = False
        self._used = monotonic()
        self._end = weakref.finalize(self, _end, self._process, self._line)
        _children.add(self)

    def serves(self, follower: bytes) -> bool:
        rested = monotonic() - self._used
        return (
            self._end.alive
            and self.follower == follower
            and rested < IDLE / 2
            and self._process.poll() is None
        )

    def ask(self, x: Point, seed: int | None, timeout: float | None) -> Outcome:
        try:
            if not self._ready:
                self._line.send_bytes(self.follower)
                trouble = self._next(None)
                if trouble is None or trouble.info:
                    return trouble or self._dead()
                self._ready = True
            header = json.dumps(seed).encode()
            self._line.send_bytes(header + b"\n" + x.tobytes())
            outcome = self._next(timeout)
        except (EOFError, OSError):
            return self._dead()
        self._used = monotonic()
        if outcome is None:
            return Outcome("timeout", info=f"no answer within {timeout:g} seconds")
        return outcome

    def kill(self) -> None:
        self._end()

    def _next(self, timeout: float | None) -> Outcome | None:
        """Return what the child says next, None when it says nothing in time."""
        with _watched(self._process.pid) as death:
            ready = wait([self._line, *death], timeout)
        if not ready:
            return None
        if self._line not in ready and not self._line.poll():
            raise EOFError
        header, _, body = self._line.recv_bytes().partition(b"\n")
        said = json.loads(header)
        response = np.frombuffer(body).reshape(said["shape"]) if said["kind"] == "ok" else None
        return Outcome(said["kind"], response, said["info"])

    def _dead(self) -> Outcome:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return Outcome("died", info=f"the process of the query ended: {name}")
        return Outcome("died", info="the process of the query hung up")


class _watched:  # noqa: N801 (a context manager, used as a verb)
    """Something to wait for that is ready when the process has ended; nothing where the system has no such thing."""

    def __init__(self, process: int) -> None:
        self._fd = os.pidfd_open(process) if hasattr(os, "pidfd_open") else None

    def __enter__(self) -> list[int]:
        return [] if self._fd is None else [self._fd]

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)


def _end(process: subprocess.Popen[bytes], line: Connection) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    line.close()


def _serve(descriptor: int, parent: int) -> None:
    """Be a child: take the follower, then answer until there is nothing more to answer."""
    die_with_parent(parent)
    os.set_inheritable(descriptor, False)
    line = Connection(descriptor)
    with suppress(EOFError, ConnectionError):
        try:
            respond = pickle.loads(line.recv_bytes())
            _say(line, Outcome("ok", np.zeros(0)))
        except Exception as error:
            _say(
                line,
                Outcome("error", info=f"the follower cannot be unpacked here: {in_words(error)}"),
            )
            return
        while line.poll(IDLE):
            header, _, body = line.recv_bytes().partition(b"\n")
            _say(line, _as_numbers(attempt(respond, np.frombuffer(body), json.loads(header))))


def _as_numbers(outcome: Outcome) -> Outcome:
    try:
        return (
            Outcome("ok", to_numpy(outcome.response), outcome.info)
            if outcome.kind == "ok"
            else outcome
        )
    except Exception as error:
        return Outcome("error", info=in_words(error))


def _say(line: Connection, outcome: Outcome) -> None:
    response = outcome.response
    header = {
        "kind": outcome.kind,
        "info": outcome.info,
        "shape": None if response is None else response.shape,
    }
    body = b"" if response is None else np.ascontiguousarray(response).tobytes()
    line.send_bytes(json.dumps(header).encode() + b"\n" + body)
