"""A follower that is a program: JSON lines in, JSON lines out."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO, Any, ClassVar, final

from bizol.arrays import ArgumentError, Point, as_positive
from bizol.followers.json_lines import read_answer, write_question
from bizol.processes import ChildProcess, KeptChildren, launcher
from bizol.records import assign

KEPT = 10_000  # characters of what a program writes on standard error, the last ones
QUOTED = 500  # of them, in the message about a program that ended


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

    takes_seed: ClassVar[bool] = True

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
        words = not isinstance(command, str) and all(isinstance(part, str) for part in command)
        if not words or not command:
            what = f"must be a program and its arguments, as a list, got {command!r}."
            raise ArgumentError("Command", "command", what)
        if timeout is not None:
            as_positive(timeout, "Command", "timeout")
        assign(self, command=tuple(command), once=bool(once), timeout=timeout, folder=folder)

    def __call__(self, x: Point, seed: int | None = None) -> Any:
        """Ask about one decision."""
        if self.once:
            program = _Program(self)
        else:
            program = _kept.get(self, lambda: _Program(self), fit=lambda program: True)
        question = write_question(x, seed)
        try:
            answer = program.ask(question, self.timeout, last=self.once)
        except OSError:
            _here.remarks = program.remarks()
            program.process.end()
            raise
        _here.remarks = program.remarks()
        if self.once:
            program.process.end()
        return read_answer(answer)

    def remarks(self) -> str:
        """Return what the program wrote on standard error, in this thread, at the last query."""
        return str(_here.remarks)

    def close(self) -> None:
        """End the processes that were kept."""
        _kept.end(self)


@final
class _Program:
    """A running program, and a thread that listens to it."""

    def __init__(self, of: Command) -> None:
        name = of.command[0]
        folder = Path(of.folder or ".")
        if shutil.which(name) is None and shutil.which(str((folder / name).absolute())) is None:
            raise FileNotFoundError(f"there is no program {name!r} (in {folder.absolute()})")
        # Standard error goes to a file, as a pipe could be full, or read too late.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._reported = 0  # bytes of it that `remarks` has returned
        self.process = ChildProcess(
            [*launcher(), *of.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
        )
        popen = self.process.popen
        assert popen.stdin is not None
        self._input = popen.stdin
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        listener = threading.Thread(
            target=_listen, args=(popen.stdout, self._lines.put), daemon=True
        )
        listener.start()
        self.process.when_ended(self._input.close)
        self.process.when_ended(lambda: listener.join(1))
        self.process.when_ended(self._errors.close)

    def ask(self, question: bytes, timeout: float | None, *, last: bool) -> bytes:
        try:
            self._input.write(question + b"\n")
            self._input.flush()
            if last:
                self._input.close()
        except BrokenPipeError as error:
            raise self._ended() from error
        until = None if timeout is None else monotonic() + timeout
        answer = b""
        while True:
            try:
                left = None if until is None else max(0.0, until - monotonic())
                line = self._lines.get(timeout=left)
            except Empty as error:
                raise TimeoutError(f"no answer within {timeout:g} seconds") from error
            if line is None:
                break
            if line.strip():
                answer = line
                if not last:
                    return answer
        if last and self.process.popen.wait() == 0 and answer:
            return answer
        raise self._ended()

    def remarks(self) -> str:
        """Return what was written on standard error since the last time."""
        if not self.process.end.alive:
            return ""
        written = self._unread_errors()
        self._reported += len(written)
        return written.decode(errors="replace")[-KEPT:]

    def _unread_errors(self) -> bytes:
        # By position: the program shares its place in the file with us.
        descriptor = self._errors.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, size - self._reported, self._reported)

    def _ended(self) -> ChildProcessError:
        exit_ = self.process.wait_for_exit()
        written = self._unread_errors().decode(errors="replace").strip()[-QUOTED:]
        why = f": {written}" if written else ""
        return ChildProcessError(f"the program ended without an answer: {exit_}{why}")


class _Here(threading.local):
    """What belongs to a thread."""

    remarks: str = ""


_here = _Here()
_kept: KeptChildren[Command, _Program] = KeptChildren()


def _listen(stream: IO[bytes], take: Any) -> None:
    with stream:
        for line in stream:
            take(line)
    take(None)
