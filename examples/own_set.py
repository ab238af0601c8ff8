"""A feasible set of your own: prices that may not differ too much."""

import numpy as np

import bizol

Point = np.ndarray


class FairPrices:
    """Prices in [0, 1] that differ by at most `spread`: {x : max x − min x ≤ spread}."""

    def __init__(self, dimension: int, spread: float) -> None:
        self.dimension, self.spread = dimension, spread
        self.diameter = float(np.sqrt(dimension))
        self.center = np.full(dimension, 0.5)

    def minimize_linear(self, cost: Point) -> Point:
        """Try the lowest price at both ends; each price then takes its better bound."""
        lowest = (0.0, 1.0 - self.spread)
        candidates = [np.where(cost < 0, low + self.spread, low) for low in lowest]
        return min(candidates, key=lambda vertex: float(cost @ vertex))

    def contains(self, point: Point, tolerance: float = 1e-9) -> bool:
        """Whether all prices are in [0, 1] and close enough together."""
        inside = point.min() >= -tolerance and point.max() <= 1 + tolerance
        return bool(inside and np.ptp(point) <= self.spread + tolerance)


prices = FairPrices(4, spread=0.2)
bizol.testing.check_feasible_set(prices)  # raises where a law of the protocol is broken
print("FairPrices satisfies the protocol of a feasible set")

demand = np.array([1.0, 0.8, 0.6, 0.4])
problem = bizol.Problem(
    objective=bizol.Objective(
        value=lambda x, y: -(x @ y),
        grad_x=lambda x, y: -y,
        grad_y=lambda x, y: -x,
    ),
    response=lambda x: np.maximum(demand - x, 0.0),
    feasible_set=prices,
)
print(bizol.minimize(problem, budget=300, seed=0))
