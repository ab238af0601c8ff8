"""Runs whose every bit was written down: all methods, ten problems, three seeds, and the ways to
the follower.

`python -m tests.golden` writes `data/golden.json` anew, and the first half of a run of the default
method, `data/format-1-default.bizol`; do so only when a method is meant to change. Bits depend on
the processor, through the kernels that NumPy, its BLAS and PIQP choose; so the runs are made in a
process of their own that is told which to take, and the file says with which versions it was made.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import bizol
from bizol.followers import BoxProjection, QuadraticProgram
from bizol.methods import open_loop
from bizol.reproduction.instances import BALL, BOX, tracking_instance
from tests.misbehaving import Unreliable, saturate
from tests.problems import Array, braess, cournot, quadratic, saturated

GOLDEN = Path(__file__).parent / "data" / "golden.json"
PACKAGES = ("numpy", "scipy", "highspy", "piqp")
PINNED = {
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
# PIQP has no variable for it: it asks this module what the processor can do.
PINNED_PIQP = """
import sys, types
known = types.ModuleType("piqp.instruction_set")
known.avx512f, known.avx2 = False, True
sys.modules[known.__name__] = known
"""
BUDGET = 120
FIRST_HALF = 60
SEEDS = (0, 1, 2)

METHODS: dict[str, Any] = {
    "default": None,
    "Foresight, 3 at a time": bizol.Foresight(workers=3),
    "BiZOL": bizol.BiZOL(delta=0.05, step=0.1, batch=4),
    "BiZOL, blocks and schedules": bizol.BiZOL(
        delta=lambda k: 0.1 / (k + 1),
        step=open_loop(),
        batch=3,
        directions=bizol.directions.OrthonormalBlocks(),
    ),
    "VZO": bizol.VZO(delta=0.05, step=0.1, batch=4),
    "MemoryBiZOL": bizol.MemoryBiZOL(delta=0.05, batch=2),
    "MemoryBiZOL, one side, six slopes": bizol.MemoryBiZOL(
        delta=0.05, batch=2, one_sided=True, memory=6
    ),
}


def simplex() -> bizol.Problem:
    """Share out a total among five, each of whom is heard with a limit."""
    matrix = np.random.default_rng(1).standard_normal((7, 5))
    follower = BoxProjection(matrix, np.zeros(7), np.full(7, -0.4), np.full(7, 0.5))
    return bizol.Problem(quadratic(0.3), follower, bizol.Simplex(5, total=2.0))


def polytope() -> bizol.Problem:
    """A budget and an order among four."""
    chosen = bizol.Polytope(
        A_ub=[[1, 1, 1, 1], [1, -1, 0, 0], [0, 1, -1, 0]],
        b_ub=[2, 0.5, 0.5],
        lower=np.zeros(4),
        upper=np.ones(4),
    )
    return saturated(4, feasible_set=chosen)


def product() -> bizol.Problem:
    """Coordinates of unequal width."""
    chosen = bizol.Product([bizol.Ball(np.zeros(2), 1.0), bizol.Box([0.0, -50.0], [100.0, 50.0])])
    return saturated(
        4, response=lambda x: np.clip(x / [1, 1, 100, 50] + 0.2, -0.6, 0.7), feasible_set=chosen
    )


def program() -> bizol.Problem:
    """A follower that solves a quadratic program."""
    rng = np.random.default_rng(2)
    root = rng.standard_normal((4, 4))
    follower = QuadraticProgram(
        root @ root.T + np.eye(4),
        np.zeros(4),
        -rng.standard_normal((4, 3)),
        G=rng.standard_normal((5, 4)),
        h=np.full(5, 0.4),
    )
    return saturated(3, response=follower)


def game() -> bizol.Problem:
    """Three firms that meet in a price."""
    return saturated(2, response=cournot())


def traffic() -> bizol.Problem:
    """Braess's network with a toll on the bridge and on the first road."""
    return saturated(
        2, objective=quadratic(3.0), response=braess(), feasible_set=bizol.Box([0, 0], [40, 20])
    )


def noisy(x: Array, seed: int) -> Array:
    """A response with noise that is a function of the seed."""
    return np.clip(2 * x + 0.25, -1, 1) + 0.01 * np.random.default_rng(seed).standard_normal(3)


PROBLEMS: dict[str, Callable[[], bizol.Problem]] = {
    "box": lambda: tracking_instance(BOX, n=6, m=24).problem,
    "ball": lambda: tracking_instance(BALL, n=6, m=24).problem,
    "saturated": lambda: saturated(4),
    "simplex": simplex,
    "polytope": polytope,
    "product": product,
    "program": program,
    "game": game,
    "traffic": traffic,
    "noisy": lambda: saturated(3, response=noisy, seeded=True),
}


def ways(folder: Path) -> dict[str, dict[str, Any]]:
    """Return further ways to the follower, by name: options of `minimize`."""
    unreliable = saturated(3, response=Unreliable(0.1, noise=0.01))
    return {
        "workers": {"workers": 2},
        "journal": {"journal": folder / "run.bizol"},
        "repeats": {"repeats": 2},
        "failures": {"problem": unreliable, "retries": bizol.Retries(wait=0.0)},
    }


def resumed() -> dict[str, dict[str, Any]]:
    """Return the options of runs whose first half is in a journal of format 1 beside this file, by
    its name.

    Where a method is meant to change, its journal is written anew, in a process that is pinned:
    with these options, seed 0, half of the budget and `journal=journal_of(name)`.
    """
    unreliable = saturated(3, response=Unreliable(0.1, noise=0.01))
    plain = saturated(3, response=saturate)
    return {
        "default": {"problem": plain, "workers": 3},
        "failures": {
            "problem": unreliable,
            "method": METHODS["BiZOL"],
            "retries": bizol.Retries(wait=0.0),
        },
        "repeats": {"problem": plain, "method": METHODS["MemoryBiZOL"], "repeats": 2},
        "unobserved": {"problem": plain, "method": METHODS["VZO"]},
    }


def runs() -> Iterator[tuple[str, bizol.Solution]]:
    """Yield every run, with its name."""
    for problem_name, build in PROBLEMS.items():
        problem = build()
        for method_name, method in METHODS.items():
            for seed in SEEDS:
                solution = bizol.minimize(problem, method=method, budget=BUDGET, seed=seed)
                yield f"{problem_name}; {method_name}; seed {seed}", solution
    for method_name, method in METHODS.items():
        with tempfile.TemporaryDirectory() as folder:
            for way, options in ways(Path(folder)).items():
                problem = options.pop("problem", saturated(3))
                solution = bizol.minimize(problem, method=method, budget=BUDGET, seed=0, **options)
                yield f"{way}; {method_name}", solution
    for name, options in resumed().items():
        with tempfile.TemporaryDirectory() as folder:
            journal = shutil.copy(journal_of(name), folder)
            yield f"resumed; {name}", bizol.minimize(**options, budget=BUDGET, journal=journal)


def journal_of(name: str) -> Path:
    """Return where the first half of a run is kept."""
    return GOLDEN.with_name(f"format-1-{name}.bizol")


def told(solution: bizol.Solution) -> dict[str, Any]:
    """Return what is compared: a digest of every bit, and a few numbers that say where a difference
    begins."""
    history = solution.history
    digest = hashlib.sha256()
    for iterate in (solution.best, solution.last, solution.drawn):
        digest.update(np.ascontiguousarray(iterate.x).tobytes())
        digest.update(b"" if iterate.y is None else np.ascontiguousarray(iterate.y).tobytes())
    for name in history.columns:
        digest.update(np.ascontiguousarray(getattr(history, name)).tobytes())
    return {
        "bits": digest.hexdigest()[:32],
        "queries": solution.queries,
        "iterations": solution.iterations,
        "status": solution.status.name,
        "value": repr(float(solution.value)),
        "first values": [repr(float(value)) for value in history.value[:3]],
    }


def versions() -> dict[str, str]:
    """Return the packages that bits depend on."""
    return {name: version(name) for name in PACKAGES}


def measured() -> dict[str, dict[str, Any]]:
    """Return all runs, made in a process whose kernels are pinned."""
    names = "import json; from tests.golden import runs, told"
    printed = _run_pinned(
        f"{names}; print(json.dumps({{name: told(each) for name, each in runs()}}))"
    )
    found: dict[str, dict[str, Any]] = json.loads(printed)
    return found


def begin_default() -> None:
    """Write the first half of a run of the default method."""
    path = journal_of("default")
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        begun = Path(folder) / path.name
        bizol.minimize(**resumed()["default"], budget=FIRST_HALF, journal=begun)
        shutil.copy(begun, path)


def _run_pinned(script: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", PINNED_PIQP + script],
        env=os.environ | PINNED,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


if __name__ == "__main__":
    _run_pinned("from tests.golden import begin_default; begin_default()")
    rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in measured().items()]
    head = f'{{"versions": {json.dumps(versions())},\n "runs": {{\n'
    GOLDEN.write_text(head + ",\n".join(rows) + "\n}}\n")
