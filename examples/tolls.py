"""Tolls that save time: on Braess's four roads and a bridge, and on a grid of 24 one-way streets.

Every driver takes the cheapest route, time and toll together; where traffic then goes is an
equilibrium, with a kink wherever a route comes into use. The best any tolls can do is known:
traffic as a planner would send it.
"""

import numpy as np
from comparison import cma_es, draw, options, report

import bizol
from bizol.followers import TrafficEquilibrium
from bizol.report.figures import OURS, canvas


def total_time(drivers: TrafficEquilibrium) -> bizol.Objective:
    """Return the time of all drivers together; tolls are not lost, they only change hands."""
    return bizol.objectives.SocialCost(drivers.cost, drivers.cost_slope).objective()


def planned(drivers: TrafficEquilibrium) -> float:
    """Return the least total time: of drivers who count what they cost others as their own."""
    roads = (drivers.links, drivers.free_time, drivers.capacity, drivers.demand)
    alpha = (1 + drivers.power) * drivers.alpha
    considerate = TrafficEquilibrium(*roads, alpha=alpha, power=drivers.power)
    nothing = np.zeros(len(drivers.links))
    return float(total_time(drivers).value(nothing, considerate(nothing)))


trips = np.zeros((4, 4))
trips[0, 3] = 6
roads = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]  # the bridge, link 2, has a toll
times, slopes = [1, 50, 10, 50, 1], [10, 0.02, 0.1, 0.02, 10]
braess = TrafficEquilibrium(roads, times, np.ones(5), trips, tolled=[2], alpha=slopes, power=1)

chance, corner = np.random.default_rng(5), np.arange(16).reshape(4, 4)
east = np.column_stack([corner[:, :-1].ravel(), corner[:, 1:].ravel()])
south = np.column_stack([corner[:-1].ravel(), corner[1:].ravel()])
free_time, capacity = chance.uniform(2, 6, 24).round(1), chance.uniform(5, 15, 24).round()
trips = np.zeros((16, 16))
trips[0, 15], trips[0, 14], trips[1, 15] = 14, 8, 8
streets = np.vstack([east, south])
grid = TrafficEquilibrium(streets, free_time, capacity, trips, alpha=0.5, relative_gap=1e-13)

START, REFERENCE = np.zeros(24), planned(grid)
problem = bizol.Problem(total_time(grid), grid, bizol.Box(START, START + 40))

if __name__ == "__main__":
    budget, picture = options("tolls", budget=1_250, about=__doc__)
    bridge = bizol.Problem(total_time(braess), braess, bizol.Box([0], [30]))
    alone = bizol.minimize(bridge, [0.0], budget=min(budget, 100), seed=0)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    rivals = {"CMA-ES": cma_es(problem, START, budget)}
    free, best, toll = alone.history.value[0], alone.value, alone.x[0]
    print(f"Braess: {free:.1f} without a toll, {best:.1f} with {toll:.1f} on the bridge;")
    print(f"a planner would need {planned(braess):.1f}. The grid:")
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.2, directions=192, seed=1))
    with canvas() as pyplot:
        figure, panels = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
        left, middle, right = panels
        tolls = np.linspace(0, 30, 121)
        total = [bridge.objective.value(toll, braess(np.array([toll]))) for toll in tolls]
        left.plot(tolls, total, color="black")
        left.plot(alone.x, alone.value, "o", color=OURS, label="found")
        left.set(xlabel="toll on the bridge (min)", ylabel="total time (min)", title="Braess")
        left.legend()
        for (tail, head), flow, toll in zip(grid.links, found.y, found.x, strict=True):
            (r, c), (s, d) = divmod(tail, 4), divmod(head, 4)
            look = {"color": "lightsteelblue", "solid_capstyle": "round"}
            middle.plot([c, d], [-r, -s], linewidth=0.3 + 0.6 * flow, **look)
            middle.plot([c, d], [-r, -s], "o", color="black", markersize=4)
            if toll >= 0.05:
                place = {"ha": "center", "va": "center", "fontsize": 10}
                middle.text((c + d) / 2, -(r + s) / 2, f"{toll:.1f}", **place)
        middle.set_axis_off()
        middle.set_title("the grid: flows (width) and tolls (min)")
        draw(right, found, rivals, REFERENCE)
        figure.savefig(picture)
