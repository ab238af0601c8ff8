"""The experiments of Section V, cell by cell.

A cell is an instance, a method, ten runs, and what is measured along them. Cells are independent of
each other. Each is computed in a process of its own with one thread, so that its numbers do not
depend on what else is computed at the same time, and kept on disk under the hash of its
configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from bizol.directions import Sphere
from bizol.methods import VZO, BiZOL
from bizol.processes import interrupts_held, serve_parent
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
from bizol.reproduction.sources import digest_sources

Experiment = Literal["box", "ball", "grid"]
MethodName = Literal["Bi-ZOL", "VZO"]
METHODS: tuple[MethodName, ...] = ("Bi-ZOL", "VZO")
Key = tuple[MethodName, int, int, int]  # method, B, n, m


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Everything that determines the numbers of one cell."""

    constants: Constants
    n: int
    m: int
    method: MethodName
    batch: int
    seeds: int
    budget: int
    closely: bool  # measure gaps and diagnostics too, not the hyperobjective alone
    delta: float = paper.DELTA
    step: float = paper.STEP
    validation: int = paper.VALIDATION

    @property
    def key(self) -> str:
        """The hash of the configuration, and of the code that turns it into numbers."""
        written = json.dumps([asdict(self), code(), np.__version__], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:24]

    @property
    def effort(self) -> float:
        """Roughly how many seconds the cell takes, so that a progress bar moves evenly."""
        iterations = self.budget / (2 * self.batch)
        queries = 1.5e-6 * self.budget * sqrt(self.n * self.m / 4000)
        per_iteration = 1e-5
        if self.closely:
            per_iteration += 2e-5
            if self.method == "Bi-ZOL":  # validation gaps are measured along its runs only
                per_iteration += 4e-5
        return 0.02 + self.seeds * (queries + per_iteration * iterations)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was measured along the runs of a cell: rows are iterates, columns are runs.

    Attributes:
        queries: Queries spent before each iterate.
        values: The hyperobjective φ̃(x_k).
        validation: The validation gap Ĝ_δ^val(x_k); empty where it was not measured, as are those
            below.
        clarke: The Clarke gap G^c(x_k).
        saturated: The fraction of capacities that bind at x_k.
        crossings: The fraction of ± pairs that cross a boundary, and the mean number of switches.
        noise: The variance of the estimate from one direction; rows are x_0 and the last decision
            of each run, columns are Bi-ZOL and VZO.

    """

    queries: NDArray[np.int64]
    values: NDArray[np.float64]
    validation: NDArray[np.float64]
    clarke: NDArray[np.float64]
    saturated: NDArray[np.float64]
    crossings: NDArray[np.float64]
    noise: NDArray[np.float64]

    @property
    def finals(self) -> NDArray[np.float64]:
        """The mean over the last ten iterates of each run, as in the paper."""
        return np.asarray(self.values[-10:].mean(axis=0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How many runs and queries; everything else is the paper's."""

    seeds: int = paper.RUNS
    budget: int = 10_000

    def cells(self, experiment: Experiment) -> dict[Key, Cell]:
        """Return the cells of an experiment by (method, B, n, m)."""
        if experiment == "grid":
            sizes = product(paper.UPPER, paper.LOWER)
            keys = [(name, paper.GRID_BATCH, n, m) for n, m in sizes for name in METHODS]
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
    measured = Measured(
        queries=queries_per_iteration(method) * np.arange(len(decisions)),
        values=hyperobjective(instance, decisions),
        validation=np.empty(0),
        clarke=np.empty(0),
        saturated=np.empty(0),
        crossings=np.empty(0),
        noise=np.empty(0),
    )
    if not cell.closely:
        return measured
    measured = replace(
        measured,
        saturated=saturation(instance, decisions),
        crossings=np.array([crossings.frequency, crossings.switches]),
    )
    if cell.constants.radius is None:  # exact Clarke gaps need a box response
        measured = replace(measured, clarke=clarke_gaps(instance, decisions))
    if cell.method == "Bi-ZOL":
        directions = _draw_validation_directions(cell)
        ends = np.vstack([decisions[0, :1], decisions[-1]])  # x_0 is the same in all runs
        measured = replace(
            measured,
            validation=validation_gaps(instance, decisions, directions, cell.delta),
            noise=estimator_noise(instance, ends, directions[0], cell.delta),
        )
    return measured


def _draw_validation_directions(cell: Cell) -> NDArray[np.float64]:
    """Return directions that the methods have not seen, (runs, B_val, n)."""
    blocks = [
        Sphere().draw(generator(seed, *CERTIFICATE), 1, cell.validation, cell.n)
        for seed in range(cell.seeds)
    ]
    return np.concatenate(blocks)


@final
@dataclass(frozen=True, slots=True)
class Store:
    """A folder of measured cells, one file each, named by what determines it."""

    folder: Path

    def load(self, cell: Cell) -> Measured | None:
        """Return what was measured of a cell, or None where the file is missing or damaged."""
        try:
            with self.path(cell).open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return Measured(**{field.name: kept[field.name] for field in fields(Measured)})
        except Exception:  # NumPy and zipfile raise many kinds of errors on damaged files
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
    """Have the pool measure the cells, and yield each one when it is on disk."""
    # The longest first, so that no worker is left alone with a long one at the end.
    longest_first = sorted(cells, key=lambda cell: -cell.effort)
    with interrupts_held():
        waiting = {
            pool.submit(_measure_and_save, cell, store.path(cell)): cell for cell in longest_first
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
        ProcessPoolExecutor(
            jobs, mp_context=get_context("spawn"), initializer=serve_parent
        ) as pool,
    ):
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _measure_and_save(cell: Cell, path: Path) -> None:
    save(measure(cell), path)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Have the processes started meanwhile compute with one thread.

    The order of the terms of a sum is then always the same.
    """
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
def code(root: Path = Path(__file__).parents[1]) -> str:
    """Return a digest of the sources that `measure` rests on."""
    return digest_sources("bizol.reproduction.experiments", root)
