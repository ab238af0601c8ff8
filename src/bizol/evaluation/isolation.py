"""One query in a process of its own: whatever it does there, plain data comes back.

A follower that crashes, hangs, leaves with `os._exit` or raises what cannot be pickled costs its
own query and nothing else, on every engine alike, because the child is started inside the worker,
wherever that is. A child is kept for the next query of its thread; it is replaced when it died,
when it was killed at the time limit, and after a while without work.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, Protocol, final

import numpy as np

from bizol.arrays import Point, to_numpy
from bizol.evaluation.outcomes import Outcome, failure_of, in_words
from bizol.processes import ChildProcess, KeptChildren, die_with_parent

IDLE = 60.0  # seconds without work after which a child leaves; it is trusted for half of them

_START = (
    "import sys; sys.path[:] = {path!r}; "
    "from bizol.evaluation.isolation import _serve; _serve({fd}, {parent})"
)


class Attempts(Protocol):
    """What is packed and sent to a child: a follower that turns every failure into an outcome."""

    def attempt(self, x: Point, seed: int | None) -> Outcome:
        """Ask about one decision."""
        ...


def ask_child(packed: bytes, x: Point, seed: int | None, *, timeout: float | None) -> Outcome:
    """Ask a packed follower in this thread's child; the time limit counts from when it is ready."""
    child = _kept.get(packed, lambda: _Child(packed), fit=lambda child: child.rested < IDLE / 2)
    outcome = child.ask(x, seed, timeout)
    if outcome.kind in ("died", "timeout"):
        child.process.end()
    return outcome


def pack(follower: Attempts) -> bytes:
    """Return the follower as bytes another process understands, or say why there are none."""
    try:
        pickler: Any = import_module("cloudpickle")  # of loky and dask; takes lambdas, scripts too
    except ImportError:
        pickler = pickle
    try:
        packed: bytes = pickler.dumps(follower)
        if pickler is pickle and b"__main__" in packed:
            raise pickle.PicklingError("it is defined in a script")
    except Exception as error:
        raise ValueError(
            f"minimize(isolate=True) cannot send the follower to another process "
            f"({type(error).__name__}: {error}): define it in a module, or install cloudpickle."
        ) from error
    return packed


def dismiss(packed: bytes) -> None:
    """End the children of this process that serve a follower, whatever they are doing."""
    _kept.end(packed)


@final
class _Child:
    """A process that answers one query after the other, and the line to it."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        ours, theirs = socket.socketpair()
        with theirs:
            script = _START.format(path=sys.path, fd=theirs.fileno(), parent=os.getpid())
            self.process = ChildProcess(
                [sys.executable, "-c", script],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._line = Connection(ours.detach())
        self._ready = False
        self._used = monotonic()
        self.process.when_ended(self._line.close)

    @property
    def rested(self) -> float:
        """Seconds since the last answer."""
        return monotonic() - self._used

    def ask(self, x: Point, seed: int | None, timeout: float | None) -> Outcome:
        try:
            if not self._ready:
                self._line.send_bytes(self._packed)
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

    def _next(self, timeout: float | None) -> Outcome | None:
        """Return what the child says next, None when it says nothing in time."""
        with _death_of(self.process.popen.pid) as death:
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
            exit_ = self.process.wait_for_exit(1)
            return Outcome("died", info=f"the process of the query ended: {exit_}")
        return Outcome("died", info="the process of the query hung up")


_kept: KeptChildren[bytes, _Child] = KeptChildren(single=True)


@contextmanager
def _death_of(process: int) -> Iterator[list[int]]:
    """Yield what is ready when a process has ended; nothing where the system has no such thing."""
    if not hasattr(os, "pidfd_open"):
        yield []
        return
    descriptor = os.pidfd_open(process)
    try:
        yield [descriptor]
    finally:
        os.close(descriptor)


def _serve(descriptor: int, parent: int) -> None:
    """Be a child: take the follower, then answer until there is nothing more to answer."""
    die_with_parent(parent)
    os.set_inheritable(descriptor, False)
    line = Connection(descriptor)
    with suppress(EOFError, ConnectionError):
        try:
            follower: Attempts = pickle.loads(line.recv_bytes())
            _say(line, Outcome("ok", np.zeros(0)))
        except Exception as error:
            why = f"the follower cannot be unpacked here: {in_words(error)}"
            _say(line, Outcome("error", info=why))
            return
        while line.poll(IDLE):
            header, _, body = line.recv_bytes().partition(b"\n")
            outcome = follower.attempt(np.frombuffer(body), json.loads(header))
            _say(line, _as_numbers(outcome))


def _as_numbers(outcome: Outcome) -> Outcome:
    try:
        if outcome.kind == "ok":
            return Outcome("ok", to_numpy(outcome.response), outcome.info)
        return outcome
    except Exception as error:
        return failure_of(error)


def _say(line: Connection, outcome: Outcome) -> None:
    response = outcome.response
    shape = None if response is None else response.shape
    header = {"kind": outcome.kind, "info": outcome.info, "shape": shape}
    body = b"" if response is None else np.ascontiguousarray(response).tobytes()
    line.send_bytes(json.dumps(header).encode() + b"\n" + body)
