"""Wholesale prices for retailers in another program, retailers.py; the run is killed and resumed.

Every answer is in a journal before it is used: a resumed run ends at the same bits and asks nothing
twice.
"""

import multiprocessing
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from comparison import cma_es, draw, options, report
from retailers import SLOPE, WILLINGNESS

import bizol
from bizol.report.figures import canvas

PROGRAM = [sys.executable, str(Path(__file__).with_name("retailers.py"))]
problem = bizol.Problem(
    objective=bizol.Objective(  # minus the profit; producing q in total costs q + 0.075 q²
        value=lambda w, q: -w @ q + q.sum() + 0.075 * q.sum() ** 2,
        grad_x=lambda w, q: -q,
        grad_y=lambda w, q: -w + 1 + 0.15 * q.sum(),
    ),
    response=bizol.followers.Command(PROGRAM),
    feasible_set=bizol.Box(np.zeros(6), np.full(6, 9.0)),
)
START = np.full(6, 4.5)

# Where no shelf is full, w = a − 2 b q: the best quantities solve a linear system.
margin, curvature = np.array(WILLINGNESS) - 1, 4 * np.diag(SLOPE) + 0.15
REFERENCE = float(-margin @ np.linalg.solve(curvature, margin) / 2)


def search(journal: Path, budget: int) -> bizol.Solution:
    """Minimize; resume where there is a journal already."""
    return bizol.minimize(problem, START, budget=budget, seed=0, journal=journal)


def answers(journal: Path) -> int:
    """Return how many answers a journal holds; none before it is there."""
    try:
        return sum(event.kind == "ok" for event in bizol.Journal(journal).events())
    except bizol.JournalError:
        return 0


if __name__ == "__main__":
    budget, picture = options("external_program", budget=350, about=__doc__)
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "run.bizol"
        run = multiprocessing.get_context("spawn").Process(target=search, args=(journal, budget))
        run.start()
        while answers(journal) < budget // 20:
            run.join(0.05)  # wait
        run.kill()  # SIGKILL: no chance to tidy up
        run.join()
        kept = answers(journal)
        found = search(journal, budget)
        whole = search(Path(folder) / "whole.bizol", budget)
    same = np.array_equal(found.x, whole.x)
    print(f"Killed after {kept} answers and resumed: the same bits as a whole run: {same}.")
    rivals = {"CMA-ES": cma_es(problem, START, budget, seed=2)}
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.05, directions=60, seed=1))
    with canvas() as pyplot:
        figure, axes = pyplot.subplots(figsize=(5.5, 3.2), layout="constrained")
        axes.axvline(kept, color="grey", linewidth=1, label="killed, and resumed")
        draw(axes, found, rivals, REFERENCE)
        figure.savefig(picture)
