"""What belongs to the process as a whole: children, the parent, signals, the warnings filter."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import parent_process
from multiprocessing.connection import wait
from time import sleep
from typing import Any, Generic, Literal, Protocol, TypeVar, final

# --- the warnings filter

_FILTER = threading.RLock()


@contextmanager
def filtered_warnings(action: Literal["error", "ignore"]) -> Iterator[None]:
    """Ignore warnings, or raise them, within the block; one thread at a time.

    `warnings.catch_warnings` saves and restores a list that belongs to the whole process. Two
    threads that enter and leave it in turns restore each other's filters, so all of the package
    goes through this one lock.
    """
    with _FILTER, warnings.catch_warnings():
        warnings.simplefilter(action)
        yield


# --- ending with the parent


def die_with_parent(parent: int | None = None) -> None:
    """Let the kernel kill this process when its parent dies (on Linux; elsewhere nothing happens).

    Give it to a pool of your own, `ProcessPoolExecutor(initializer=die_with_parent)`; otherwise
    its workers outlive a coordinator that was killed.

    Args:
        parent: who the parent should be; where it is another, it died before this call.

    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if parent is not None and os.getppid() != parent:
            os._exit(1)


@cache
def follow_parent() -> None:
    """End this process, a worker of a pool, soon after its parent is gone; on every system."""
    parent = os.getppid()
    starter = parent_process()
    sentinel: int | None = None if starter is None else starter.sentinel  # loky's has none
    sentinels = [] if sentinel is None else [sentinel]  # ready also if the parent is gone already

    def watch() -> None:
        while os.getppid() == parent and not (sentinels and wait(sentinels, 0)):
            sleep(0.3)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve_parent() -> None:
    """Initialize a worker of a pool of ours: leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    follow_parent()


LAUNCH = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)  # it died before it was watched
os.execvp(sys.argv[2], sys.argv[2:])
"""


def launcher() -> list[str]:
    """Return what to put before a command, so that a program not of ours dies with this process."""
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", "-c", LAUNCH, str(os.getpid())]


# --- children that are kept


@final
class ChildProcess:
    """A process in a group of its own, killed as a whole: by `end`, or when nobody holds it."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.popen = subprocess.Popen(command, start_new_session=True, **options)
        self._closing: list[Callable[[], object]] = []
        self.end = weakref.finalize(self, _end, self.popen, self._closing)

    def when_ended(self, close: Callable[[], object]) -> None:
        """Have something closed after the process was killed."""
        self._closing.append(close)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.end.alive and self.popen.poll() is None

    def wait_for_exit(self, timeout: float | None = None) -> str:
        """Return how the process ended: the name of a signal, or its exit code.

        Raises:
            subprocess.TimeoutExpired: when it has not ended by then.

        """
        code = self.popen.wait(timeout)
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[bytes], closing: list[Callable[[], object]]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for close in closing:
        with suppress(OSError):
            close()


class Child(Protocol):
    """What is kept: something that serves a key, and can be ended."""

    @property
    def process(self) -> ChildProcess:
        """The process behind it."""
        ...


K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Child)


class _Here(threading.local):
    """What belongs to a thread."""

    def __init__(self) -> None:
        self.children: dict[Any, Any] = {}


@final
class KeptChildren(Generic[K, C]):
    """Children that wait for the next question: at most one per key and thread.

    Starting a process takes longer than most answers do. A child belongs to the thread that asked
    for it, so no two questions meet in it.

    Args:
        single: keep one child per thread, that of the last key.

    """

    def __init__(self, *, single: bool = False) -> None:
        self._single = single
        self._here = _Here()
        self._all: weakref.WeakKeyDictionary[C, K] = weakref.WeakKeyDictionary()

    def get(self, key: K, start: Callable[[], C], *, fit: Callable[[C], bool]) -> C:
        """Return this thread's child for a key; a new one where there is none, or it is not fit."""
        mine: dict[K, C] = self._here.children
        child = mine.get(key)
        if child is not None and not (child.process.alive and fit(child)):
            child.process.end()
            child = None
        if child is None:
            for other in list(mine):
                if self._single or not mine[other].process.alive:
                    mine.pop(other).process.end()
            child = mine[key] = start()
            self._all[child] = key
        return child

    def end(self, key: K) -> None:
        """End the children for a key, of all threads, whatever they are doing."""
        for child, of in list(self._all.items()):
            if of == key:
                child.process.end()
        self._here.children.pop(key, None)


# --- signals


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back: processes started meanwhile never get it, this one gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def terminable(error: BaseException) -> Iterator[None]:
    """Let SIGTERM raise an error, where nobody else handles it and this is the main thread."""
    unhandled = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if threading.current_thread() is not threading.main_thread() or not unhandled:
        yield
        return

    def end(*_: object) -> None:
        raise error

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@final
class _OneThread:
    """How many are within `one_thread` now, and what restores the threads after the last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.within = 0
        self.restore: Callable[[], None] = lambda: None


_one_thread = _OneThread()


@cache
def _linear_algebra() -> Any:
    import scipy.linalg  # noqa: F401  # its library is another than NumPy's, and must be there
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Do linear algebra on one thread within the block.

    More threads make small matrices slower, several times where other processes use the cores, and
    change the last digits of sums. The number of threads belongs to the process, so blocks of
    different threads count how many there are, and the last one restores it.
    """
    state = _one_thread
    with state.lock:
        if state.within == 0:
            state.restore = _linear_algebra().limit(limits=1).restore_original_limits
        state.within += 1
    try:
        yield
    finally:
        with state.lock:
            state.within -= 1
            if state.within == 0:
                state.restore()
