"""The gallery, measured: how far the default and a rival get from references by brute force.

python -m benchmarks.gallery                          the table of docs/gallery.md
python -m benchmarks.gallery --references             search for better references
python -m benchmarks.gallery --pictures docs/gallery  draw the pictures of the documentation
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import bizol

EXAMPLES = Path(__file__).parents[1] / "examples"
# These have no reference in closed form.
SEARCHED = ("demand_response", "electricity_prices", "hyperparameters", "mpc_tuning")
SHOWN = (*SEARCHED, "external_program", "noisy_follower", "tolls")


def example(name: str) -> Any:
    """Return an example as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def reference(problem: bizol.Problem, start: np.ndarray, *, starts: int, seed: int = 0) -> float:
    """Return the lowest value found by SciPy from many starts and by a long run of bizol.

    SciPy runs L-BFGS-B and then Nelder–Mead from each start.
    """
    from comparison import black_box

    box = problem.feasible_set
    assert isinstance(box, bizol.Box)
    rng, tried = np.random.default_rng(seed), list[float]()
    value, bounds = black_box(problem, tried), list(zip(box.lower, box.upper, strict=True))
    tried.append(bizol.minimize(problem, start, budget=80 * (start.size + 1) * 5, seed=seed).value)
    for index in range(starts):
        x = start if index == 0 else rng.uniform(box.lower, box.upper)
        x = np.clip(minimize(value, x, method="L-BFGS-B", bounds=bounds).x, box.lower, box.upper)
        options = {"maxfev": 400 * start.size, "xatol": 1e-9, "fatol": 1e-13}
        minimize(value, x, method="Nelder-Mead", bounds=bounds, options=options)
    return min(tried)


def row(name: str, *, seeds: int) -> list[str]:
    """Return what several seeds reach on an example, as the cells of a table."""
    module = example(name)
    problem, start = module.problem, module.START
    budget = 50 * (start.size + 1)
    gaps, first, rival, began = [], [], [], time.perf_counter()
    missed = getattr(module, "missed", None)  # what a noisy follower does not tell
    for seed in range(seeds):
        solution = bizol.minimize(
            problem, start, budget=budget, seed=seed, repeats=1 if missed is None else 2
        )
        scale = solution.history.value[0] - module.REFERENCE
        along = (np.minimum.accumulate(solution.history.value) - module.REFERENCE) / scale
        if missed is None:
            gaps.append((solution.value - module.REFERENCE) / scale)
        else:
            gaps.append(missed(solution.x))
        if gaps[-1] <= 0.01:
            first.append(int(solution.history.queries[np.argmax(along <= 0.01)]))
        else:
            first.append(budget + 1)
    seconds = (time.perf_counter() - began) / seeds
    for seed in range(1, seeds + 1 if missed is None else 1):
        lowest = min(example("comparison").cma_es(problem, start, budget, seed))
        rival.append((lowest - module.REFERENCE) / scale)
    return [
        name,
        str(start.size),
        str(budget),
        f"{np.median(gaps):.3%}",
        f"{max(gaps):.3%}",
        f"{np.median(first):.0f}" if missed is None else "–",
        f"{np.median(rival):.3%}" if rival else "–",
        f"{seconds:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=SHOWN)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args(arguments)
    if given.pictures is not None:
        for name in SHOWN:
            picture = str(given.pictures / f"{name}.svg")
            command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--picture", picture]
            # A fixed date: the same file every time.
            subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": "0"})
        return
    if given.references:
        for name in (name for name in given.names if name in SEARCHED):
            module = example(name)
            found = reference(module.problem, module.START, starts=given.starts)
            print(f"{name}: {found!r}, written down is {module.REFERENCE!r}", flush=True)
        return
    print("| | n | queries | median gap | worst gap | 1 % after | CMA-ES | s |")
    print("|---|" + 7 * "---:|")
    for name in given.names:
        print("| " + " | ".join(row(name, seeds=given.seeds)) + " |", flush=True)


if __name__ == "__main__":
    main()
