"""Tolls that save time: on Braess's four roads and a bridge, and on a grid of 24 one-way streets.

Every driver takes the cheapest route, time and toll together; where traffic then goes is an equilibrium, with a kink
wherever a route comes into use. The best any tolls can do is known: traffic as a planner would send it.
"""

import numpy as np
from comparison import cma_es, draw, options, report

import bizol
from bizol.followers import TrafficEquilibrium
from bizol.report.figures import OURS, canvas


def total_time(drivers: TrafficEquilibrium) -> bizol.Objective:
    """Return the time of all drivers together, Σ v t (1 + α (v/κ)^p); tolls are not lost, they only change hands."""
    t, capacity, alpha, p = drivers.free_time, drivers.capacity, drivers.alpha, drivers.power
    return bizol.Objective(
        value=lambda tolls, v: v @ (t * (1 + alpha * (v / capacity) ** p)),
        grad_x=lambda tolls, v: 0 * tolls,
        grad_y=lambda tolls, v: t * (1 + (1 + p) * alpha * (v / capacity) ** p),
    )


def planned(drivers: TrafficEquilibrium) -> float:
    """Return the least total time: that of drivers who count the time they cost others as their own."""
    roads = (drivers.links, drivers.free_time, drivers.capacity, drivers.demand)
    considerate = TrafficEquilibrium(*roads, alpha=(1 + drivers.power) * drivers.alpha, power=drivers.power)
    nothing = np.zeros(len(drivers.links))
    return float(total_time(drivers).value(nothing, considerate(nothing)))


trips = np.zeros((4, 4))
trips[0, 3] = 6
braess = TrafficEquilibrium(
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)],
    [1, 50, 10, 50, 1],
    np.ones(5),
    trips,
    tolled=[2],  # the bridge
    alpha=[10, 0.02, 0.1, 0.02, 10],
    power=1,
)

chance, corners = np.random.default_rng(4), np.arange(16).reshape(4, 4)
east, south = (
    zip(corners[:, :-1].flat, corners[:, 1:].flat, strict=True),
    zip(corners[:-1].flat, corners[1:].flat, strict=True),
)
trips = np.zeros((16, 16))
trips[0, 15], trips[0, 14], trips[1, 15] = 14, 8, 8
grid = TrafficEquilibrium([*east, *south], chance.uniform(2, 6, 24), chance.uniform(5, 15, 24), trips, alpha=0.5)

START, REFERENCE = np.zeros(24), planned(grid)
problem = bizol.Problem(total_time(grid), grid, bizol.Box(START, START + 40))

if __name__ == "__main__":
    budget, picture = options("tolls", budget=1_250, about=__doc__)
    bridge = bizol.Problem(total_time(braess), braess, bizol.Box([0], [30]))
    alone = bizol.minimize(bridge, [0.0], budget=min(budget, 100), seed=0)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    rivals = {"CMA-ES": cma_es(problem, START, budget)}
    print(
        f"Braess: a toll of {alone.x[0]:.2f} on the bridge brings {alone.history.value[0]:.1f} down to {alone.value:.1f};"
    )
    print(f"a planner would need {planned(braess):.1f}. The grid:")
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.01, directions=240, seed=1))
    with canvas() as pyplot:
        figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
        tolls = np.linspace(0, 30, 121)
        left.plot(tolls, [bridge.objective.value(x, braess(np.array([x]))) for x in tolls], color="black")
        left.plot(alone.x, alone.value, "o", color=OURS, label="found")
        left.set(xlabel="toll on the bridge", ylabel="total time", title="Braess")
        left.legend()
        for (tail, head), flow, toll in zip(grid.links, found.y, found.x, strict=True):
            (r, c), (s, d) = divmod(tail, 4), divmod(head, 4)
            middle.plot([c, d], [-r, -s], color="lightgrey" if toll < 0.05 else OURS, linewidth=0.3 + 0.5 * flow)
            middle.text(
                (c + d) / 2, -(r + s) / 2, f"{toll:.1f}", ha="center", va="center", fontsize=8, backgroundcolor="white"
            )
        middle.set_axis_off()
        middle.set_title("flows (width) and tolls")
        draw(right, found, rivals, REFERENCE)
        figure.savefig(picture)
