"""Games."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Split, make_case, squares
from bizol.arrays import Point
from bizol.feasible_sets import FeasibleSet


def cournot_case(name: str, firms: int, feasible_set: FeasibleSet, split: Split, seed: int) -> Case:
    """Return taxes on firms that compete in quantities, against damage from what they make.

    Firm i answers yᵢ = clip((a − bY − cᵢ − xᵢ)/(b + dᵢ), 0, capᵢ) to the total Y; the one Y that
    agrees with its sum is found exactly among the kinks (an aggregative game: R. Cornes and R.
    Hartley, 2012).
    """
    rng = np.random.default_rng([seed, firms, 61])
    height, steep = 10.0, 6.0 / firms
    cost, bend = rng.uniform(0.5, 4.0, firms), rng.uniform(0.1, 0.6, firms)
    cap, damage = rng.uniform(0.4, 1.6, firms), rng.uniform(0.0, 3.0, firms)
    dirt = rng.uniform(0.0, 1.0, (3, firms))

    def follower(x: Point) -> Point:
        # Σ yᵢ(Y) falls with Y, linearly between kinks: where a firm leaves its capacity, and where
        # it leaves the market.
        room = height - cost - x
        kinks = np.sort(
            np.concatenate([room, room - cap * (steep + bend), [0.0, steep * cap.sum()]]) / steep
        )
        wanted = np.clip((room - steep * kinks[:, None]) / (steep + bend), 0.0, cap).sum(axis=1)
        total = np.interp(0.0, kinks - wanted, kinks)
        return np.asarray(np.clip((room - steep * total) / (steep + bend), 0.0, cap))

    def value(x: Point, y: Point) -> float:
        total, left = float(y.sum()), dirt @ y
        surplus = height * total - steep * total**2 / 2 - cost @ y - bend @ y**2 / 2
        return float(damage @ y + left @ left / firms + 0.02 * x @ x - surplus)

    def grad_y(x: Point, y: Point) -> Point:
        return np.asarray(
            damage + 2 * dirt.T @ (dirt @ y) / firms - (height - steep * y.sum() - cost - bend * y)
        )

    return make_case(
        name,
        bizol.Objective(value=value, grad_x=lambda x, y: 0.04 * x, grad_y=grad_y),
        follower,
        feasible_set,
        split=split,
        source="R. Cornes and R. Hartley, Economic Theory 51, 2012 "
        "(aggregative games; data are drawn)",
        tags="game kinks multimodal",
    )


def cournot_box() -> Case:
    """Taxes and subsidies for eight firms."""
    return cournot_case("cournot-box", 8, bizol.Box(-3 * np.ones(8), 6 * np.ones(8)), "tune", 1)


def cournot_ball() -> Case:
    """Taxes and subsidies for twenty-five firms, limited in their root mean square."""
    return cournot_case("cournot-ball", 25, bizol.Ball(np.zeros(25), 8.0), "report", 2)


def cournot_small_ball() -> Case:
    """Taxes and subsidies for four firms, limited in their root mean square."""
    return cournot_case("cournot-small-ball", 4, bizol.Ball(np.zeros(4), 3.0), "tune", 3)


def charging() -> Case:
    """Prices of eight hours for four fleets that charge: a congestion game.

    Its equilibrium is found by best responses, repeated until they stand still. Fleet i minimizes
    ½d‖y‖² + (x + base + s Σ_j y_j)ᵀy over 0 ≤ y ≤ cap with a fixed sum (the game of Z. Ma, D.
    Callaway and I. Hiskens, 2013). Prices keep their mean.
    """
    rng = np.random.default_rng(71)
    hours, fleets = 8, 4
    base = 1.0 + np.cos(np.arange(hours) / hours * 2 * np.pi) + 0.2 * rng.standard_normal(hours)
    need, caps = rng.uniform(1.5, 3.0, fleets), rng.uniform(0.7, 1.2, fleets)
    steep, bend = 0.3, 0.6
    wanted = 0.8 * rng.uniform(0.5, 1.5, hours)

    def follower(x: Point) -> Point:
        y = np.tile(need[:, None] / hours, (1, hours))
        for _ in range(400):
            before = y.copy()
            for i in range(fleets):
                others = y.sum(axis=0) - y[i]
                # ½(d + 2s)‖y‖² + (x + base + s·others)ᵀy: the nearest point to the wish, as all
                # hours bend alike.
                wish = -(x + base + steep * others) / (bend + 2 * steep)
                y[i] = _share_out(wish, caps[i], need[i])
            if np.abs(y - before).max() <= 1e-13:
                break
        return y.ravel()

    def load(y: Point) -> Point:
        return np.asarray(y.reshape(fleets, hours).sum(axis=0)) - wanted

    # The mean price is one.
    chosen = bizol.Polytope(
        A_eq=np.ones((1, hours)), b_eq=[8.0], lower=np.zeros(hours), upper=3 * np.ones(hours)
    )
    by_y = np.tile(np.eye(hours), (1, fleets))

    def residuals(x: Point, y: Point) -> Point:
        return np.concatenate([load(y), 0.1 * (x - 1)])

    return make_case(
        "charging",
        squares(
            residuals,
            lambda x, y: np.vstack([np.zeros((hours, hours)), 0.1 * np.eye(hours)]),
            lambda x, y: np.vstack([by_y, np.zeros((hours, hours * fleets))]),
        ),
        follower,
        chosen,
        split="report",
        source="Z. Ma, D. Callaway and I. Hiskens, "
        "IEEE Transactions on Control Systems Technology 21, 2013",
        tags="game kinks",
        start=np.array([3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        residuals=residuals,
    )


def _share_out(wish: Point, cap: float, total: float) -> Point:
    """Return the point of {0 ≤ y ≤ cap, Σ y = total} nearest to the wish: clip(wish + level).

    The sum rises with the level, linearly between kinks at −wish and cap − wish, so that the level
    is exact.
    """
    kinks = np.sort(np.concatenate([-wish, cap - wish]))
    sums = np.clip(wish + kinks[:, None], 0.0, cap).sum(axis=1)
    level = np.interp(total, sums, kinks)
    return np.asarray(np.clip(wish + level, 0.0, cap))
