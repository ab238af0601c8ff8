"""Incentives for households: pay people for what they do not use when the feeder is full.

Every three hours have an incentive, in euros for each kWh less than usual. Twenty households then
shift and save as it suits them, within the comfort they insist on and the capacity of their
connection: one quadratic program each.
"""

import numpy as np
from comparison import cma_es, draw, options, report

import bizol
from bizol.followers import QuadraticProgram
from bizol.report.figures import OURS, THEIRS, canvas

HOMES, PERIODS, LIMIT = 20, 8, 1.3  # the feeder carries 1.3 kWh per home and period
REFERENCE = 0.6100596479073314  # the lowest value known: benchmarks/gallery.py --references

chance = np.random.default_rng(3)
DAY = np.array([0.5, 0.4, 1.0, 0.8, 0.9, 1.3, 2.4, 1.5])  # kWh
USUAL = DAY * chance.uniform(0.6, 1.4, (HOMES, PERIODS))


def household(usual: np.ndarray) -> QuadraticProgram:
    """Return argmin c/2 ‖y − usual‖² + incentiveᵀy over what is comfortable and possible."""
    annoyance, flexible, connection = chance.uniform([0.2, 0.2, 2.0], [1.0, 0.6, 3.2])
    most = np.maximum(np.minimum((1 + flexible) * usual, connection), usual)
    return QuadraticProgram(
        P=annoyance * np.eye(PERIODS),
        q=-annoyance * usual,
        Q=np.eye(PERIODS),
        G=np.vstack([np.eye(PERIODS), -np.eye(PERIODS), -np.ones(PERIODS)]),
        # They save five percent at most.
        h=np.concatenate([most, -(1 - flexible) * usual, [-0.95 * usual.sum()]]),
    )


homes, mean = [household(usual) for usual in USUAL], USUAL.mean(axis=0)
objective = bizol.Objective(  # overload and the cost of incentives; y: load per home and period
    value=lambda x, y: ((y - LIMIT).clip(0) ** 2).sum() + x @ (mean - y),
    grad_x=lambda x, y: mean - y,
    grad_y=lambda x, y: 2 * (y - LIMIT).clip(0) - x,
)


def respond(incentives: np.ndarray) -> np.ndarray:
    """Ask all the households."""
    loads: np.ndarray = np.mean([home(incentives) for home in homes], axis=0)
    return loads


START = np.zeros(PERIODS)
problem = bizol.Problem(objective, respond, bizol.Box(START, START + 1))

if __name__ == "__main__":
    budget, picture = options("demand_response", budget=450, about=__doc__)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    rivals = {"CMA-ES": cma_es(problem, START, budget)}
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.01, directions=80, seed=1))
    with canvas() as pyplot:
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
        hours = np.arange(0, 24, 3)
        grey = {"color": "lightgrey", "edgecolor": "grey"}
        left.bar(hours, found.x, 3, align="edge", **grey, label="incentive (€/kWh)")
        for label, load, style, color in (
            ("usual load (kWh)", mean, "--", THEIRS),
            ("load with incentives", found.y, "-", OURS),
        ):
            left.stairs(
                load, [*hours, 24], color=color, linestyle=style, linewidth=1.8, label=label
            )
        left.axhline(LIMIT, color="black", linestyle=":", label="limit of the feeder")
        left.set(xlabel="hour of the day", ylabel="per home and three hours", xticks=[*hours, 24])
        left.legend(loc="upper left")
        draw(right, found, rivals, REFERENCE)
        figure.savefig(picture)
