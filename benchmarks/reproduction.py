"""How long the reproduction of Section V takes, against the loop one would write first.

The loop runs one run after the other and measures at every iterate as it comes along: plain NumPy,
vectorized over the directions of an iteration. It uses the same random directions, so that its
numbers must be ours (this is checked), and the same code for tables and figures.

    python benchmarks/reproduction.py [--seeds 10]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bizol.directions import Sphere
from bizol.methods import BiZOL
from bizol.methods.two_point.probing import draw_block, iterations_per_draw
from bizol.randomness import CERTIFICATE, generator
from bizol.reproduction.exhibits import EXHIBITS
from bizol.reproduction.experiments import FULL, QUICK, Cell, Experiment, Measured, Setting, Store
from bizol.reproduction.instances import tracking_instance
from bizol.reproduction.reproduce import read, reproduce
from bizol.reproduction.results import Results

EXPERIMENTS: tuple[Experiment, ...] = ("box", "ball", "grid")


def first_thought(cell: Cell) -> Measured:
    """Run and measure a cell the straightforward way."""
    runs = [one_run(cell, seed) for seed in range(cell.seeds)]
    columns = {
        name: np.stack([run[name] for run in runs], axis=1)
        for name in ("values", "validation", "clarke", "sat")
    }
    bizol = cell.method == "Bi-ZOL"
    crossings = noise = np.empty(0)
    if cell.closely:
        crossings = np.mean([run["crossings"] for run in runs], axis=0)
    if cell.closely and bizol:
        noise = np.ones((1 + cell.seeds, 2))  # not a curve: left out
    return Measured(
        queries=(2 * cell.batch + bizol) * np.arange(len(columns["values"])),
        values=columns["values"],
        validation=columns["validation"],
        clarke=columns["clarke"],
        saturated=columns["sat"],
        crossings=crossings,
        noise=noise,
    )


def one_run(cell: Cell, seed: int) -> dict[str, Any]:
    """Run once, looking at everything on the way."""
    instance = tracking_instance(cell.constants, n=cell.n, m=cell.m)
    phi, follower, x = instance.objective, instance.follower, instance.start
    n, delta, batch = cell.n, cell.delta, cell.batch
    bizol = cell.method == "Bi-ZOL"
    box = cell.constants.radius is None
    validation = Sphere().draw(generator(seed, *CERTIFICATE), 1, cell.validation, n)[0]
    together = iterations_per_draw(BiZOL(delta, cell.step, batch), batch, n)
    iterations = cell.budget // (2 * batch + bizol)
    values = []
    gaps = []
    clarkes = []
    saturated = []
    crossed = []
    for k in range(iterations + 1):
        y = follower(x)
        values.append(phi.value(x, y))
        if cell.closely:
            grad_x, grad_y = phi.grad_x(x, y), phi.grad_y(x, y)
            saturated.append((follower.active(y) != 0).mean())
            if bizol:
                apart = follower(x + delta * validation) - follower(x - delta * validation)
                g = grad_x + n / (2 * delta * cell.validation) * (apart @ grad_y) @ validation
                gaps.append(g @ x + np.abs(g).sum())
            if box:
                free = follower.active(y) == 0
                g = grad_x + (follower.matrix * free[:, None]).T @ grad_y
                clarkes.append(g @ x + np.abs(g).sum())
        if k == iterations:
            break
        if k % together == 0:
            block = draw_block(Sphere(), (seed, k), (together, batch, n))
        w = block[k % together]
        plus, minus = x + delta * w, x - delta * w
        y_plus, y_minus = follower(plus), follower(minus)
        if bizol:
            slopes = (y_plus - y_minus) @ phi.grad_y(x, y)
            g = phi.grad_x(x, y) + n / (2 * delta * batch) * slopes @ w
        else:
            g = n / (2 * delta * batch) * (phi.value(plus, y_plus) - phi.value(minus, y_minus)) @ w
        if cell.closely:
            switched = follower.active(y_plus) != follower.active(y_minus)
            crossed.append([switched.any(axis=1).mean(), switched.sum(axis=1).mean()])
        x = x + cell.step * (np.where(g < 0, 1.0, -1.0) - x)
    return {
        "values": np.array(values),
        "validation": np.array(gaps),
        "clarke": np.array(clarkes),
        "sat": np.array(saturated),
        "crossings": np.mean(crossed, axis=0) if crossed else np.empty(0),
    }


def straightforward(setting: Setting, out: Path) -> Results:
    """Do all of Section V, one run after the other, in one process."""
    measured = {
        experiment: {key: first_thought(cell) for key, cell in setting.cells(experiment).items()}
        for experiment in EXPERIMENTS
    }
    results = Results(setting, measured)
    for exhibit in EXHIBITS.values():
        if exhibit.is_figure:
            exhibit.make(*([results] if exhibit.shows else []), out)
        else:
            exhibit.make(results)
    return results


def furthest_apart(ours: Results, theirs: Results) -> float:
    """Return the largest difference, relative to the largest number of the curve it is in."""
    worst = 0.0
    for experiment, group in ours.measured.items():
        for key, cell in group.items():
            for name in ("values", "validation", "clarke", "saturated", "crossings"):
                one, other = getattr(cell, name), getattr(theirs.measured[experiment][key], name)
                if one.any():
                    worst = max(worst, float(np.abs(one - other).max() / np.abs(one).max()))
    return worst


def main() -> None:
    """Time both in one run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=FULL.seeds, help="runs per method and batch size"
    )
    setting = replace(FULL, seeds=parser.parse_args().seeds)
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (2, 1):
            start = perf_counter()
            reproduce(out=Path(folder) / str(jobs), setting=setting, jobs=jobs)
            took[f"bizol, {jobs} job{'s' if jobs > 1 else ''}"] = perf_counter() - start
        start = perf_counter()
        reproduce(out=Path(folder) / "2", setting=setting, jobs=2)
        took["bizol, 2 jobs, again (only redraws)"] = perf_counter() - start
        start = perf_counter()
        reproduce(out=Path(folder) / "quick", setting=QUICK, jobs=2)
        took["bizol, 2 jobs, --quick"] = perf_counter() - start
        start = perf_counter()
        theirs = straightforward(setting, Path(folder))
        slow = perf_counter() - start
        cells = {experiment: setting.cells(experiment) for experiment in EXPERIMENTS}
        ours = read(setting, cells, Store(Path(folder) / "2" / "cache"))
    print(f"all tables and figures of Section V, {setting.seeds} runs, {os.cpu_count()} cores\n")
    print(f"{'straightforward NumPy loop':38} {slow:7.1f} s")
    for name, seconds in took.items():
        print(f"{name:38} {seconds:7.1f} s   {slow / seconds:6.1f} times faster")
    apart = furthest_apart(ours, theirs)
    print(f"\nnumbers apart by at most {apart:.1e}, relative to the largest of each curve")


if __name__ == "__main__":
    main()
