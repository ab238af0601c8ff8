"""A follower that is a program: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO, Any, final

from bizol.arrays import ArgumentError, Point, as_positive

KEPT = 10_000  # characters of what a program says on standard error, the last ones

# Programs are started through this line on Linux, so that the kernel ends them with the process
# that asks them.
_LAUNCH = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execvp(sys.argv[1], sys.argv[1:])"
)
_here = threading.local()
_running: weakref.WeakSet[_Program] = weakref.WeakSet()


@final
@dataclass(frozen=True, slots=True)
class Command:
    """Ask a program: a line of JSON in, a line of JSON out.

    It is sent `{"x": [...], "seed": null}` for every query, and answers `{"y": [...]}`, or
    `{"error": "why"}`. It is started directly, no shell reads the command. One process per thread
    is kept and asked again and again; with `once`, each query has a process of its own, whose last
    line is the answer. What it writes on standard error is kept in the journal.

    Args:
        command: the program and its arguments.
        once: start the program anew for every query.
        timeout: seconds after which a program that does not answer is killed, with all it started.
        folder: where it runs; the current folder by default.

    Example:
        >>> import numpy as np, sys
        >>> echo = "import json; print(json.dumps({'y': json.loads(input())['x']}))"
        >>> Command([sys.executable, "-c", echo], once=True)(np.array([1.0, 2.0]))
        [1.0, 2.0]

    """

    command: tuple[str, ...]
    once: bool = False
    timeout: float | None = None
    folder: str | None = None

    def __init__(
        self,
        command: list[str] | tuple[str, ...],
        once: bool = False,
        timeout: float | None = None,
        folder: str | None = None,
    ) -> None:
        if (
            isinstance(command, str)
            or not command
            or not all(isinstance(part, str) for part in command)
        ):
            raise ArgumentError(
                "Command",
                "command",
                f"must be a program and its arguments, as a list, got {command!r}.",
            )
        if timeout is not None:
            as_positive(timeout, "Command", "timeout")
        object.__setattr__(self, "command", tuple(command))
        object.__setattr__(self, "once", bool(once))
        object.__setattr__(self, "timeout", timeout)
        object.__setattr__(self, "folder", folder)

    def __call__(self, x: Point, seed: int | None = None) -> Any:
        """Ask about one decision."""
        program: _Program | None = getattr(_here, "programs", {}).get(self)
        if self.once or program is None or not program.alive:
            program = _Program(self)
            if not self.once:
                _here.__dict__.setdefault("programs", {})[self] = program
        try:
            answer = program.ask({"x": x.tolist(), "seed": seed}, self.timeout, last=self.once)
        except OSError:
            _here.remarks = program.remarks()
            program.end()
            raise
        _here.remarks = program.remarks()
        if self.once:
            program.end()
        return _as_response(answer)

    def remarks(self) -> str:
        """Return what the program said on standard error, in this thread, at the last query."""
        return str(getattr(_here, "remarks", ""))

    def close(self) -> None:
        """End the processes that were kept."""
        for program in list(_running):
            if program.of == self:
                program.end()


@final
class _Program:
    """A running program, and a thread that listens to it."""

    def __init__(self, of: Command) -> None:
        folder = Path(of.folder or ".")
        if (
            shutil.which(of.command[0]) is None
            and shutil.which(str((folder / of.command[0]).absolute())) is None
        ):
            raise FileNotFoundError(
                f"there is no program {of.command[0]!r} (in {folder.absolute()})"
            )
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCH] if sys.platform == "linux" else []
        self.of = of
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`); a pipe could be full, or read too late
        self._heard = 0  # of it
        self._process = subprocess.Popen(
            [*launcher, *of.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            start_new_session=True,
        )
        self._input: Any = self._process.stdin
        self._said: SimpleQueue[bytes | None] = SimpleQueue()
        listener = threading.Thread(
            target=_listen, args=(self._process.stdout, self._said.put), daemon=True
        )
        listener.start()
        self.end = weakref.finalize(self, _end, self._process, listener, self._errors)
        _running.add(self)

    @property
    def alive(self) -> bool:
        return self.end.alive and self._process.poll() is None

    def ask(self, question: dict[str, Any], timeout: float | None, *, last: bool) -> str:
        try:
            self._input.write(json.dumps(question).encode() + b"\n")
            self._input.flush()
            if last:
                self._input.close()
        except BrokenPipeError as error:
            raise self._dead() from error
        until = None if timeout is None else monotonic() + timeout
        answer = b""
        while True:
            try:
                line = self._said.get(
                    timeout=None if until is None else max(0.0, until - monotonic())
                )
            except Empty as error:
                raise TimeoutError(f"no answer within {timeout:g} seconds") from error
            if line is None:
                break
            if line.strip():
                answer = line
                if not last:
                    return answer.decode()
        if last and self._process.wait() == 0 and answer:
            return answer.decode()
        raise self._dead()

    def remarks(self) -> str:
        """Return and forget what was said on the side."""
        if not self.end.alive:
            return ""
        said = self._murmured()
        self._heard += len(said)
        return said.decode(errors="replace")[-KEPT:]

    def _murmured(self) -> bytes:
        """Read where the program does not notice: it shares its place in the file with us."""
        descriptor = self._errors.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size - self._heard, self._heard)

    def _dead(self) -> ChildProcessError:
        code = self._process.wait()
        said = self._murmured().decode(errors="replace").strip()[-500:]
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ChildProcessError(
            f"the program ended without an answer: {name}" + (f": {said}" if said else "")
        )


def _listen(stream: IO[bytes], take: Any) -> None:
    with stream:
        for line in stream:
            take(line)
    take(None)


def _end(process: subprocess.Popen[bytes], listener: threading.Thread, errors: IO[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    listener.join(1)
    errors.close()


def _as_response(answer: str) -> Any:
    """Return the response in a line of JSON, or raise what it says instead."""
    try:
        said = json.loads(answer)
    except json.JSONDecodeError as error:
        raise ValueError(f"the answer is not JSON: {answer.strip()[:200]!r}") from error
    if isinstance(said, dict) and "error" in said:
        raise RuntimeError(str(said["error"]))
    if not isinstance(said, dict) or not isinstance(said.get("y"), list):
        raise ValueError(f'the answer must be {{"y": [...]}}, got {answer.strip()[:200]!r}')
    return said["y"]
