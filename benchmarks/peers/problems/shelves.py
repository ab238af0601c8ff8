"""Full shelves: retailers with capacities that bind at the optimum, so that kinks meet there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

import bizol
from benchmarks.peers.problems.case import Case, Response, Split, make_case
from bizol.arrays import Point, Points

Kind: TypeAlias = Literal["all", "some", "sums"]
SOURCE = "the retailers of examples/retailers.py (the form; data are drawn)"
TOP = 9.0  # X = [0, TOP]ⁿ; nobody buys at a price above its willingness, which is less
UNIT_COST = 1.0
WILLINGNESS = np.array([9.0, 8.0, 7.5, 7.0, 6.0, 5.0])  # of examples/retailers.py
SLOPE = np.array([0.5, 0.4, 1.0, 0.5, 0.3, 0.4])
CUSTOMERS = 4  # behind each component of "sums"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Market:
    """Retailers that order q = clip((a + C w − w)/(2 b), 0, shelf) at the wholesale prices w.

    Each earns the most with that: q = argmax (a + C w − b q − w) q over 0 ≤ q ≤ shelf. C is what
    the prices of others add to its demand.
    """

    willingness: Point  # a
    slope: Point  # b
    shelf: Point
    cross: Points  # C, with a zero diagonal

    def orders(self, prices: Point) -> Point:
        """Return q."""
        wish = self.willingness + self.cross @ prices - prices
        return np.asarray(np.clip(wish / (2 * self.slope), 0.0, self.shelf))

    def prices(self, orders: Point) -> Point:
        """Return the highest prices at which these orders are made, if all are positive."""
        left = np.eye(orders.size) - self.cross
        return np.asarray(np.linalg.solve(left, self.willingness - 2 * self.slope * orders))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Markets:
    """Markets of several customers each, of which only the sum of the orders is seen."""

    willingness: Points  # a (n, customers)
    slope: Points  # b
    shelf: Points
    mix: NDArray[np.float64]  # (n, customers, n): the part of each price in what a customer pays

    def __call__(self, prices: Point) -> Point:
        """Return the sums of the orders clip((a − mix w)/(2 b), 0, shelf)."""
        wish = (self.willingness - self.mix @ prices) / (2 * self.slope)
        return np.asarray(np.clip(wish, 0.0, self.shelf).sum(axis=1))


def make_market(
    willingness: Point, slope: Point, shelf: Point, cross: Points | None = None
) -> Market:
    """Return a market, without cross effects unless they are given."""
    n = willingness.size
    nothing = np.zeros((n, n))
    return Market(
        willingness=willingness,
        slope=slope,
        shelf=shelf,
        cross=nothing if cross is None else cross,
    )


def best_orders(market: Market, bend: float) -> Point:
    """Return the orders 0 ≤ q ≤ shelf with the largest profit w(q)ᵀq − Σq − bend (Σq)².

    It is a strictly concave quadratic function. Without cross effects no decision earns more: at
    given orders, prices cannot be above w(q) where something is sold.
    """
    gradient, hessian = _profit(market, bend)
    orders = market.shelf.copy()
    for _ in range(10_000):  # exact coordinate ascent
        before = orders.copy()
        for i in range(orders.size):
            rest = gradient[i] - hessian[i] @ orders + hessian[i, i] * orders[i]
            orders[i] = np.clip(rest / hessian[i, i], 0.0, market.shelf[i])
        if np.abs(orders - before).max() <= 1e-15 * np.abs(orders).max():
            break
    return orders


def best_prices(market: Market, bend: float) -> Point:
    """Return the prices with the largest profit, of those found by pricing out one after another.

    With cross effects it may pay to price a retailer out, at the highest price there is, as that
    raises the demand of the others: in one market of fifty here it does.
    """
    out = np.zeros(market.slope.size, dtype=bool)
    prices, profit = _best_without(market, bend, out)
    while market.cross.any():
        more = [out | (np.arange(out.size) == i) for i in np.flatnonzero(~out)]
        found = [_best_without(market, bend, each) for each in more]
        best = int(np.argmax([each[1] for each in found]))
        if found[best][1] <= profit:
            break
        out = more[best]
        prices, profit = found[best]
    return prices


def _best_without(market: Market, bend: float, out: NDArray[np.bool_]) -> tuple[Point, float]:
    """Return the best prices where some are priced out, and the profit."""
    left = ~out
    others = make_market(
        market.willingness[left] + TOP * market.cross[np.ix_(left, out)].sum(axis=1),
        market.slope[left],
        market.shelf[left],
        market.cross[np.ix_(left, left)],
    )
    prices = np.full(out.size, TOP)
    prices[left] = np.minimum(others.prices(best_orders(others, bend)), TOP)
    orders = market.orders(prices)
    total = float(orders.sum())
    return prices, float(prices @ orders) - UNIT_COST * total - bend * total**2


def _profit(market: Market, bend: float) -> tuple[Point, Points]:
    """Return g and H of the profit gᵀq − ½ qᵀHq in terms of orders."""
    n = market.slope.size
    passed = np.linalg.inv(np.eye(n) - market.cross)
    curved = 2 * passed * market.slope
    gradient = passed @ market.willingness - UNIT_COST
    return gradient, curved + curved.T + 2 * bend * np.ones((n, n))


def _objective(bend: float) -> bizol.Objective:
    """Return minus the profit; producing q in total costs q + bend q²."""
    return bizol.Objective(
        value=lambda w, q: float(-w @ q + UNIT_COST * q.sum() + bend * q.sum() ** 2),
        grad_x=lambda w, q: -q,
        grad_y=lambda w, q: UNIT_COST - w + 2 * bend * q.sum(),
    )


def _make(
    name: str,
    response: Response,
    n: int,
    bend: float,
    *,
    split: Split,
    tags: str,
    solution: Point | None = None,
    source: str = SOURCE,
) -> Case:
    return make_case(
        name,
        _objective(bend),
        response,
        bizol.Box(np.zeros(n), np.full(n, TOP)),
        split=split,
        source=source,
        tags=f"shelves kinks {tags}",
        start=np.full(n, TOP / 2),
        solution=solution,
    )


def _bend(n: int) -> float:
    return 0.45 / n  # 0.075 for six, as in examples/external_program.py


def retailers_case(name: str, n: int, kind: Kind, split: Split, *, crossed: bool) -> Case:
    """Draw retailers of which all shelves, or every second one, are full at the optimum.

    The full ones hold 0.3 to 0.8 of what would be ordered at the optimum without any limit, the
    others 1.5 to 2.5 times as much.
    """
    rng = np.random.default_rng([n, kind == "all", 91])
    willingness, slope = rng.uniform(5.0, TOP, n), rng.uniform(0.3, 1.0, n)
    cross = 0.3 * rng.uniform(0.0, 1.0, (n, n)) / (n - 1)  # rows add up to about 0.15
    cross = np.where(np.eye(n, dtype=bool) | (not crossed), 0.0, cross)
    full = np.ones(n, dtype=bool)
    if kind == "some":
        full[rng.permutation(n)[: n // 2]] = False
    part = np.where(full, rng.uniform(0.3, 0.8, n), rng.uniform(1.5, 2.5, n))
    unlimited = make_market(willingness, slope, np.full(n, np.inf), cross)
    gradient, hessian = _profit(unlimited, _bend(n))
    market = make_market(willingness, slope, part * np.linalg.solve(hessian, gradient), cross)
    return _make(
        name,
        market.orders,
        n,
        _bend(n),
        split=split,
        tags="crossed sharp" if crossed else "separable sharp",
        solution=best_prices(market, _bend(n)),
    )


def sums_case(name: str, n: int, split: Split) -> Case:
    """Draw markets of four customers each, of which only the sum of the orders is seen.

    A customer of market i buys at 0.7 of the price of i and 0.3 of those of two other markets (of
    one where there are two), so that every price moves a dozen kinks.
    """
    rng = np.random.default_rng([n, 92])
    shape = (n, CUSTOMERS)
    willingness, slope = rng.uniform(3.0, TOP, shape), rng.uniform(1.0, 4.0, shape)
    shelf = rng.uniform(0.3, 0.9, shape) * (willingness - UNIT_COST) / (4 * slope)
    mix = np.zeros((n, CUSTOMERS, n))
    for i in range(n):
        others = np.setdiff1d(np.arange(n), [i])
        for customer in mix[i]:
            chosen = rng.choice(others, size=min(2, n - 1), replace=False)
            customer[chosen] = 0.3 * rng.dirichlet(np.ones(chosen.size))
            customer[i] = 0.7
    follower = Markets(willingness=willingness, slope=slope, shelf=shelf, mix=mix)
    return _make(name, follower, n, _bend(n), split=split, tags="crossed multimodal")


def _six(name: str, shelf: Point, split: Split) -> Case:
    market = make_market(WILLINGNESS, SLOPE, shelf)
    return _make(
        name,
        market.orders,
        6,
        0.075,
        split=split,
        tags="separable sharp",
        solution=best_prices(market, 0.075),
        source="examples/retailers.py and examples/external_program.py, with small shelves",
    )


def retailers_full_a() -> Case:
    """The six retailers of the example, all with shelves of 1."""
    return _six("retailers-full-a", np.ones(6), "tune")


def retailers_full_b() -> Case:
    """The six retailers of the example, with shelves of 0.7 to 1.5."""
    return _six("retailers-full-b", np.array([1.5, 1.2, 0.8, 1.0, 1.0, 0.7]), "report")


def shelves_all_2() -> Case:
    """Two retailers, both shelves full."""
    return retailers_case("shelves-all-2", 2, "all", "tune", crossed=False)


def shelves_some_2() -> Case:
    """Two retailers, one shelf full."""
    return retailers_case("shelves-some-2", 2, "some", "report", crossed=False)


def shelves_sums_2() -> Case:
    """Two markets of four customers."""
    return sums_case("shelves-sums-2", 2, "tune")


def shelves_all_6() -> Case:
    """Six retailers with cross effects, all shelves full."""
    return retailers_case("shelves-all-6", 6, "all", "report", crossed=True)


def shelves_some_6() -> Case:
    """Six retailers with cross effects, three shelves full."""
    return retailers_case("shelves-some-6", 6, "some", "tune", crossed=True)


def shelves_sums_6() -> Case:
    """Six markets of four customers."""
    return sums_case("shelves-sums-6", 6, "report")


def shelves_all_20() -> Case:
    """Twenty retailers, all shelves full."""
    return retailers_case("shelves-all-20", 20, "all", "tune", crossed=False)


def shelves_some_20() -> Case:
    """Twenty retailers, ten shelves full."""
    return retailers_case("shelves-some-20", 20, "some", "report", crossed=False)


def shelves_sums_20() -> Case:
    """Twenty markets of four customers."""
    return sums_case("shelves-sums-20", 20, "tune")


def shelves_all_50() -> Case:
    """Fifty retailers with cross effects, all shelves full."""
    return retailers_case("shelves-all-50", 50, "all", "report", crossed=True)


def shelves_some_50() -> Case:
    """Fifty retailers with cross effects, twenty-five shelves full."""
    return retailers_case("shelves-some-50", 50, "some", "tune", crossed=True)


def shelves_sums_50() -> Case:
    """Fifty markets of four customers."""
    return sums_case("shelves-sums-50", 50, "report")
