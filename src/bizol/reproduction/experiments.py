"""The experiments of Section V, cell by cell: an instance, a method, ten runs, and what is measured
along them.

Cells are independent of each other. Each is computed in a process of its own with one thread, so
that its numbers are the same whatever else is computed beside it, and kept on disk under the hash
of its configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from math import sqrt
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

import bizol
from bizol.directions import Sphere
from bizol.methods import VZO, BiZOL
from bizol.randomness import CERTIFICATE, generator
from bizol.reproduction import paper
from bizol.reproduction.instances import BALL, BOX, GRID, Constants, tracking_instance
from bizol.reproduction.lockstep import queries_per_iteration, run_together
from bizol.reproduction.measures import (
    Crossings,
    clarke_gaps,
    estimator_noise,
    hyperobjective,
    saturation,
    validation_gaps,
)

Experiment = Literal["box", "ball", "grid"]
MethodName = Literal["Bi-ZOL", "VZO"]
METHODS: tuple[MethodName, ...] = ("Bi-ZOL", "VZO")
Key = tuple[MethodName, int, int, int]  # method, B, n, m
NUMBERS = (
    "experiments.py",
    "instances.py",
    "lockstep.py",
    "measures.py",
    "paper.py",
)  # of this room
APART = (
    "report",
    "reproduction",
    "verification",
    "cli.py",
    "testing.py",
)  # rooms that no number rests on, but these


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All that determines the numbers of one cell."""

    constants: Constants
    n: int
    m: int
    method: MethodName
    batch: int
    seeds: int
    budget: int
    closely: bool  # gaps and diagnostics too, not the hyperobjective alone
    delta: float = paper.DELTA
    step: float = paper.STEP
    validation: int = paper.VALIDATION

    @property
    def key(self) -> str:
        """The hash of the configuration, and of the code that turns it into numbers."""
        told = json.dumps([asdict(self), code(), np.__version__], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:24]

    @property
    def effort(self) -> float:
        """Roughly how many seconds it takes, for a bar that does not jump."""
        iterations = self.budget / (2 * self.batch)
        asked = 1.5e-6 * self.budget * sqrt(self.n * self.m / 4000)
        looked_at = 2e-5 + 4e-5 * (self.method == "Bi-ZOL") if self.closely else 0.0
        return 0.02 + self.seeds * (asked + (1e-5 + looked_at) * iterations)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was measured along the runs of a cell: rows are iterates, columns are runs."""

    queries: NDArray[np.int64]  # spent before each iterate
    values: NDArray[np.float64]  # φ̃(x_k)
    validation: NDArray[np.float64]  # Ĝ_δ^val(x_k); empty where it was not asked for, as all below
    clarke: NDArray[np.float64]  # G^c(x_k)
    saturated: NDArray[np.float64]  # fraction of capacities that bind at x_k
    crossings: NDArray[
        np.float64
    ]  # fraction of ± pairs that cross a boundary, mean number of switches
    noise: NDArray[
        np.float64
    ]  # variance of one direction's estimate, (x_0 and the last decisions, Bi-ZOL and VZO)

    @property
    def finals(self) -> NDArray[np.float64]:
        """The mean over the last ten iterates of each run, as the paper has it."""
        return np.asarray(self.values[-10:].mean(axis=0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How much is run: everything else is the paper's."""

    seeds: int = paper.RUNS
    budget: int = 10_000

    def cells(self, experiment: Experiment) -> dict[Key, Cell]:
        """Return the cells of an experiment by (method, B, n, m)."""
        if experiment == "grid":
            keys = [
                (name, paper.GRID_BATCH, n, m)
                for n in paper.UPPER
                for m in paper.LOWER
                for name in METHODS
            ]
        else:
            keys = [(name, batch, 20, 200) for batch in paper.BATCHES for name in METHODS]
        constants = {"box": BOX, "ball": BALL, "grid": GRID}[experiment]
        return {
            (name, batch, n, m): Cell(
                constants=constants,
                n=n,
                m=m,
                method=name,
                batch=batch,
                seeds=self.seeds,
                budget=self.budget,
                closely=experiment != "grid",
            )
            for name, batch, n, m in keys
        }


FULL = Setting()
QUICK = Setting(seeds=2)


def measure(cell: Cell) -> Measured:
    """Run a cell and measure along its runs."""
    instance = tracking_instance(cell.constants, n=cell.n, m=cell.m)
    make = BiZOL if cell.method == "Bi-ZOL" else VZO
    method = make(delta=cell.delta, step=cell.step, batch=cell.batch)
    crossings = Crossings(instance.follower)
    decisions = run_together(
        instance.problem,
        method,
        instance.start,
        seeds=range(cell.seeds),
        budget=cell.budget,
        watch=crossings if cell.closely else None,
    )
    none = np.empty(0)
    validated = noise = clarke = none
    if cell.closely and cell.method == "Bi-ZOL":
        directions = np.concatenate(
            [
                Sphere().draw(
                    generator(seed, *CERTIFICATE), 1, cell.validation, cell.n
                )  # unseen by the methods
                for seed in range(cell.seeds)
            ]
        )
        validated = validation_gaps(instance, decisions, directions, cell.delta)
        noise = estimator_noise(
            instance, np.vstack([decisions[0, :1], decisions[-1]]), directions[0], cell.delta
        )
    if cell.closely and cell.constants.radius is None:
        clarke = clarke_gaps(instance, decisions)
    return Measured(
        queries=queries_per_iteration(method) * np.arange(len(decisions)),
        values=hyperobjective(instance, decisions),
        validation=validated,
        clarke=clarke,
        saturated=saturation(instance, decisions) if cell.closely else none,
        crossings=np.array([crossings.frequency, crossings.switches]) if cell.closely else none,
        noise=noise,
    )


@final
@dataclass(frozen=True, slots=True)
class Store:
    """A folder of measured cells, one file each, named by what determines it."""

    folder: Path

    def load(self, cell: Cell) -> Measured | None:
        """Return what was kept of a cell; nothing when there is none or the file is damaged."""
        try:
            with self.path(cell).open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return Measured(**{field.name: kept[field.name] for field in fields(Measured)})
        except Exception:  # a file can be damaged in more ways than there are names for
            return None

    def path(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        return self.folder / f"{cell.key}.npz"


def save(measured: Measured, path: Path) -> None:
    """Write what was measured into a file, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez_compressed(
            file, **{field.name: getattr(measured, field.name) for field in fields(Measured)}
        )
    part.replace(path)


def measure_all(cells: Iterable[Cell], store: Store, pool: Executor) -> Iterator[Cell]:
    """Have the pool measure the cells, and yield each one when it is kept."""
    longest_first = sorted(
        cells, key=lambda cell: -cell.effort
    )  # so that no worker is left alone at the end
    with unheard():
        waiting = {
            pool.submit(_measure_and_keep, cell, store.path(cell)): cell for cell in longest_first
        }
    for done in as_completed(waiting):
        done.result()
        yield waiting[done]


@contextmanager
def workers(jobs: int) -> Iterator[Executor]:
    """Yield a pool of processes that compute with one thread each and end when their parent does.

    Whatever ends the block early, what is under way is finished and what is waiting is dropped.
    """
    with (
        _single_threaded(),
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_serve) as pool,
    ):
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def unheard() -> Iterator[None]:
    """Hold Ctrl-C back: processes started meanwhile never hear it, this one hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _measure_and_keep(cell: Cell, path: Path) -> None:
    save(measure(cell), path)


def _serve() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Have the processes started meanwhile compute with one thread: the order of a sum is then always the same."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@cache
def code(root: Path = Path(bizol.__file__).parent) -> str:
    """Return a digest of the sources that numbers rest on: all of the package but what only draws and prints."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if parts[0] not in APART or (parts[0] == "reproduction" and parts[-1] in NUMBERS):
            digest.update("/".join(parts).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
