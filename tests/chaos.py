"""What a journal is put through: coordinators that are killed, files that are cut and flipped."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bizol import Journal, JournalError
from bizol.evaluation import Event

STORM = """
import sys
from pathlib import Path
import bizol
from bizol import BiZOL, Retries
from tests.misbehaving import Unreliable
from tests.problems import saturated
folder, workers = Path(sys.argv[1]), int(sys.argv[2])
follower = Unreliable(0.08, noise=0.01, seconds=0.005, log=folder / "log")
journal = folder / "run.bizol" if workers else None
print("started", flush=True)
method = BiZOL(delta=0.1, step=0.1, batch=8)
solution = bizol.minimize(saturated(response=follower), method=method, budget=400, seed=5,
    retries=Retries(wait=0.0), journal=journal, workers=workers or None)
end = solution.last.x.tobytes() + solution.history.value.tobytes()
(folder / "end").write_text(end.hex())
"""


def storm(
    folder: Path, *, kills: int, seed: int, workers: int = 4, longest: float = 0.4
) -> dict[str, int]:
    """Kill a coordinator again and again, resume it, and count what was lost, repeated and
    restarted."""
    chance, figures = random.Random(seed), Counter[str]()
    (folder / "plain").mkdir()
    subprocess.run(
        [sys.executable, "-c", STORM, str(folder / "plain"), "0"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    truth = (folder / "plain" / "end").read_text()
    while figures["kills"] < kills:
        here = folder / f"run-{figures['runs']}"
        here.mkdir()
        before: dict[Any, bytes] = {}
        while not (here / "end").exists():
            process = subprocess.Popen(
                [sys.executable, "-c", STORM, str(here), str(workers)], stdout=subprocess.PIPE
            )
            assert process.stdout is not None
            process.stdout.readline()
            if figures["kills"] < kills:
                time.sleep(chance.random() * longest)
                process.kill()
            figures["kills"] += process.wait() == -signal.SIGKILL
            process.stdout.close()
            if not (here / "run.bizol").exists():
                continue
            try:
                events = list(Journal(here / "run.bizol").events())
            except JournalError as error:
                if not before and "nothing was written to it yet" in str(error):
                    continue
                figures["lost"] += (
                    len(before) + 1
                )  # a journal that does not open has lost all, and there was one
                continue
            answers = {
                (event.key, event.attempt): event.y
                for event in events
                if event.kind in ("ok", "fail")
            }
            figures["lost"] += sum(answers.get(key) != y for key, y in before.items())
            before = answers
        asks = Counter((event.key, event.attempt) for event in events if event.kind == "ask")
        outcomes = Counter(
            (event.key, event.attempt) for event in events if event.kind in ("ok", "fail")
        )
        figures["runs"] += 1
        figures["restarted"] += asks.total() - len(asks)
        figures["answered twice"] += outcomes.total() - len(outcomes)
        figures["asked after the answer"] += _asked_after_the_answer(events)
        figures["executions unaccounted for"] += max(
            0, len((here / "log").read_text().splitlines()) - asks.total()
        )
        figures["different"] += (here / "end").read_text() != truth
    return dict(figures)


def _asked_after_the_answer(events: list[Event]) -> int:
    answered, count = set(), 0
    for event in events:
        if event.kind == "ok":
            answered.add(event.key)
        count += event.kind == "ask" and event.key in answered
    return count


def leave_behind(folder: Path) -> None:
    """Make a journal with part of it in the main file and part in the log, as a killed process
    leaves it."""
    script = f"""
import os, sqlite3, bizol
from tests.misbehaving import saturate
from tests.problems import saturated
path = {str(folder / "run.bizol")!r}
options = dict(method=bizol.BiZOL(delta=0.1, step=0.1, batch=3), seed=0, journal=path)
bizol.minimize(saturated(response=saturate), budget=150, **options)
leave = lambda state: state.iteration == 35 and os._exit(0)
bizol.minimize(saturated(response=saturate), budget=300, stop=leave, **options)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def damage(original: Path, folder: Path, *, rounds: int, seed: int) -> Counter[str]:
    """Cut or flip the files of a journal at random, and count what opening them comes to."""
    reader = shutil.copytree(original, folder / "reference")
    truth = list(Journal(reader / "run.bizol").events())
    chance, found = random.Random(seed), Counter[str]()
    for number in range(rounds):
        copy = shutil.copytree(original, folder / f"copy-{number % 2}", dirs_exist_ok=True)
        (copy / "run.bizol-shm").unlink(missing_ok=True)
        path = copy / chance.choice(["run.bizol", "run.bizol", "run.bizol-wal"])
        content = bytearray(path.read_bytes())
        if chance.random() < 0.3:
            del content[chance.randrange(len(content)) :]
        else:
            for _ in range(chance.choice([1, 1, 1, 3])):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        try:
            with Journal.own(copy / "run.bizol") as journal:
                events = list(journal.events())
        except JournalError:
            found["refused"] += 1
            continue
        found[
            "whole"
            if events == truth
            else "prefix"
            if events == truth[: len(events)]
            else "silently wrong"
        ] += 1
    return found
