"""Fares from noisy counts: nobody sees the demand, only how many people came today.

Four fares, one per time of day. Riders move to cheaper times, trains fill up, and every day is
different: asked twice, the follower answers differently. `repeats=2` asks each question twice,
takes the mean and learns how noisy answers are.
"""

import argparse

import cma
import numpy as np

import bizol
from bizol.report.figures import BASE, OURS, THEIRS, canvas

FREE = np.array([57_600.0, 89_600.0, 76_800.0, 44_800.0])  # riders at fare zero
LEAVE = np.array([3_840.0, 5_120.0, 4_480.0, 3_200.0])  # who stay away, for every euro
MOVE = 768.0  # who change times, for every euro
SLOPES = np.diag(LEAVE) - MOVE * (np.eye(4, k=1) + np.eye(4, k=-1))
SEATS = np.array([38_400.0, 51_200.0, 44_800.0, 32_000.0])
START = np.full(4, 4.0)
BEST = np.linalg.solve(SLOPES + SLOPES.T, FREE)  # of (FREE − SLOPES x)ᵀx; no train is full there
REFERENCE = -float(BEST @ (FREE - SLOPES @ BEST)) / 1_000
days = np.random.default_rng(2)
tried: list[np.ndarray] = []  # the fares of every day


def missed(fares: np.ndarray) -> float:
    """Return the normalized gap of the expected income, which nobody knows who only counts."""
    income = [x @ np.clip(FREE - SLOPES @ x, 0.0, SEATS) for x in (BEST, fares, START)]
    return float((income[0] - income[1]) / (income[0] - income[2]))


def count(fares: np.ndarray) -> np.ndarray:
    """The follower: how many came today."""
    tried.append(np.asarray(fares))
    riders: np.ndarray = np.minimum(days.poisson(np.maximum(FREE - SLOPES @ fares, 0.0)), SEATS)
    return riders


problem = bizol.Problem(
    objective=bizol.Objective(
        value=lambda fares, riders: -fares @ riders / 1_000,  # minus the income, in k€ a day
        grad_x=lambda fares, riders: -riders / 1_000,
        grad_y=lambda fares, riders: -fares / 1_000,
    ),
    response=count,
    feasible_set=bizol.Box(np.zeros(4), np.full(4, 20.0)),
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=250, help="days; 50 (n + 1) by default")
    parser.add_argument("--picture", default="noisy_follower.png")
    budget, picture = vars(parser.parse_args()).values()
    with canvas() as pyplot:
        figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
        looks = {"CMA-ES": (THEIRS, "x"), "repeats=1": (BASE, "^"), "repeats=2": (OURS, "o")}
        for name, (color, marker) in looks.items():
            tried.clear()
            if name == "CMA-ES":
                options = {"bounds": [0, 20], "maxfevals": budget, "verbose": -9, "seed": 1}
                search = cma.fmin2(lambda fares: -fares @ count(fares), START, 3.0, options)[1]
                fares = np.asarray(search.result.xfavorite)
            else:
                repeats = int(name[-1])
                solution = bizol.minimize(problem, START, budget=budget, seed=0, repeats=repeats)
                fares, name = solution.x, f"bizol, {name}"
                print(solution.message)
            gaps = [missed(asked) for asked in tried]
            axes.scatter(range(1, len(gaps) + 1), gaps, 9, color=color, marker=marker, label=name)
            print(f"{name:>16}: fares {fares.round(2)}, normalized gap {missed(fares):.3%}")
        axes.axhline(0.01, color="black", linestyle=":", label="1 %")
        axes.set(xlabel="day", ylabel="gap of the expected income", xscale="log", yscale="log")
        axes.legend(loc="lower left")
        figure.savefig(picture)
    assert solution.noise is not None
    print(f"Counts vary by {solution.noise.level:.0f} riders from day to day.")
    print(bizol.certify(problem, solution.x, delta=1.0, directions=60, seed=1))
