"""Wholesale prices for retailers that live in another program, retailers.py; the search is killed and goes on.

Every answer is in a journal before it is used: a resumed run ends at the same bits, and asks nothing twice.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cma
import numpy as np
from retailers import SLOPE, WILLINGNESS

import bizol
from bizol.report.figures import OURS, THEIRS, canvas

program = bizol.followers.Command([sys.executable, str(Path(__file__).with_name("retailers.py"))])
problem = bizol.Problem(
    bizol.Objective(  # minus the profit; producing q in total costs q + 0.075 q²
        lambda w, q: -w @ q + q.sum() + 0.075 * q.sum() ** 2, lambda w, q: -q, lambda w, q: -w + 1 + 0.15 * q.sum()
    ),
    program,
    bizol.Box(np.zeros(6), np.full(6, 9.0)),
)
START, tried = np.full(6, 4.5), list[float]()


def search(journal: Path, budget: int) -> bizol.Solution:
    """Minimize; where there is a journal already, go on."""
    return bizol.minimize(problem, START, budget=budget, seed=0, journal=journal)


def answers(journal: Path) -> int:
    """How many answers a journal holds; none before it is there."""
    try:
        return sum(event.kind == "ok" for event in bizol.Journal(journal).events())
    except bizol.JournalError:
        return 0


def loss(prices: np.ndarray) -> float:
    """Supplier and retailers as one black box, as other optimizers see them."""
    tried.append(float(problem.objective.value(prices, np.array(program(prices)))))
    return tried[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=350, help="queries; 50 (n + 1) by default")
    parser.add_argument("--picture", default="external_program.png")
    budget, picture = vars(parser.parse_args()).values()
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "run.bizol"
        run = multiprocessing.get_context("spawn").Process(target=search, args=(journal, budget))
        run.start()
        while answers(journal) < budget // 20:
            run.join(0.1)  # meanwhile
        run.kill()  # SIGKILL: no chance to tidy up
        run.join()
        kept, found, whole = answers(journal), search(journal, budget), search(Path(folder) / "whole.bizol", budget)
    print(f"Killed after {kept} answers and resumed: the same bits as a whole run: {np.array_equal(found.x, whole.x)}.")
    # Where no shelf is full, w = a − 2 b q: the best quantities solve a linear system, and no follower is needed.
    a, b = np.array(WILLINGNESS), np.array(SLOPE)
    best, start = loss(a - 2 * b * np.linalg.solve(4 * np.diag(b) + 0.15, a - 1)), loss(START)
    cma.fmin2(loss, START, 2.0, {"bounds": [0, 9], "maxfevals": budget, "verbose": -9, "seed": 2})
    with canvas() as pyplot:
        figure, axes = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
        axes.axhline(-best, color="black", linestyle=":", label="optimum")
        axes.plot(found.history.queries, -np.minimum.accumulate(found.history.value), color=OURS, label="bizol")
        axes.plot(range(1, len(tried) - 1), -np.minimum.accumulate(tried[2:]), "--", color=THEIRS, label="CMA-ES")
        axes.axvline(kept, color="grey", linewidth=1, label="killed, and resumed")
        axes.set(xlabel="answers of the program", ylabel="best profit so far", xscale="log", ylim=(-start, 1 - best))
        axes.legend(loc="lower right")
        figure.savefig(picture)
    for name, value in {"bizol": found.value, "CMA-ES": min(tried[2:])}.items():
        print(f"{name:>13}: profit {-value:.4f} of {-best:.4f}, normalized gap {(value - best) / (start - best):.3%}")
    print(bizol.certify(problem, found.x, delta=0.05, directions=60, seed=1))
