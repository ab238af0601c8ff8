"""Retail electricity prices: customers answer to the price, and the grid to the customers.

A retailer sets one price for homes, one for industry and one for shops. Each of the 15 customers of
a low-voltage network (CIGRE's benchmark, in pandapower) takes less when it costs more, within
limits; an AC power flow then says what is lost on the way and where the voltage gets too low. Needs
pandapower: pip install 'bizol[gallery]'.
"""

import numpy as np
import pandapower
import pandapower.networks
from comparison import cma_es, draw, options, report

import bizol
from bizol.report.figures import OURS, THEIRS, canvas

ZONES = ("homes", "industry", "shops")
USUAL_PRICE, WHOLESALE = 0.30, 0.12  # euros per kWh
LOWEST, PENALTY = 0.95, 1e4  # volts per volt; euros per hour and squared deviation
REFERENCE = -167.82689579560736  # the lowest value known: benchmarks/gallery.py --references

network = pandapower.networks.create_cigre_network_lv()
zone = np.array(["RIC".index(name.split()[1][0]) for name in network.load.name])  # of each load
usual = 1_000 * network.load.p_mw.to_numpy()  # kW
reactive = (network.load.q_mvar / network.load.p_mw).to_numpy()
elasticity = np.array([0.5, 0.9, 0.7])[zone] * np.linspace(0.8, 1.2, len(zone))


def respond(prices: np.ndarray) -> np.ndarray:
    """Return what every customer takes and what is lost, in kW, and the voltage of every bus."""
    taken = usual * np.clip(1 - elasticity * (prices[zone] / USUAL_PRICE - 1), 0.2, 1.2)
    network.load["p_mw"], network.load["q_mvar"] = taken / 1_000, reactive * taken / 1_000
    pandapower.runpp(network, numba=False, tolerance_mva=1e-10)
    lost = 1_000 * (network.res_line.pl_mw.sum() + network.res_trafo.pl_mw.sum())
    return np.concatenate([taken, [lost], network.res_bus.vm_pu.to_numpy()])


def loss(prices: np.ndarray, y: np.ndarray) -> float:
    """Return minus the profit, in euros per hour, and what too low a voltage costs."""
    taken, too_low = y[:15], np.maximum(LOWEST - y[16:], 0)
    return float(-prices[zone] @ taken + WHOLESALE * y[:16].sum() + PENALTY * too_low @ too_low)


def loss_x(prices: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return its gradient by the prices."""
    return -np.bincount(zone, weights=y[:15])


def loss_y(prices: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return its gradient by the response."""
    too_low = np.maximum(LOWEST - y[16:], 0)
    return np.concatenate([WHOLESALE - prices[zone], [WHOLESALE], -2 * PENALTY * too_low])


range_of_prices = bizol.Box(np.full(3, 0.15), np.full(3, 0.6))
problem = bizol.Problem(bizol.Objective(loss, loss_x, loss_y), respond, range_of_prices)
START = np.full(3, USUAL_PRICE)

if __name__ == "__main__":
    budget, picture = options("electricity_prices", budget=200, about=__doc__)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    rivals = {"CMA-ES": cma_es(problem, START, budget)}
    for name, price in zip(ZONES, found.x, strict=True):
        print(f"price for {name}: {price:.3f} €/kWh")
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.001, directions=24, seed=1))
    with canvas() as pyplot:
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
        for name, y, style, color in (
            ("0.30 €/kWh for all", respond(START), "x", THEIRS),
            ("found", found.y, "o", OURS),
        ):
            left.plot(np.sort(y[16:]), style, color=color, markersize=4, label=name)
        left.axhline(LOWEST, color="black", linestyle=":", label="lowest allowed")
        left.set(xlabel="buses, in the order of their voltage", ylabel="voltage (p.u.)")
        left.legend()
        draw(right, found, rivals, REFERENCE)
        figure.savefig(picture)
