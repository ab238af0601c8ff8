"""Prices."""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Split, make_case
from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet


def consumers_case(
    name: str, goods: int, count: int, feasible_set: FeasibleSet, split: Split, seed: int
) -> Case:
    """Return the profit from consumers with quadratic utility and a limited budget.

    Consumer i maximizes uᵢᵀy − ½ yᵀDᵢy − xᵀy subject to xᵀy ≤ wᵢ and 0 ≤ y ≤ cᵢ:
    y = clip((u − (1 + λ)x)/d, 0, c), with the multiplier λ of the budget found exactly among its
    kinks.
    """
    rng = np.random.default_rng([seed, goods, 41])
    utility, bend = rng.uniform(0.5, 3.0, (count, goods)), rng.uniform(0.5, 2.0, (count, goods))
    cap, wealth = rng.uniform(0.3, 1.2, (count, goods)), rng.uniform(0.3, 2.0, count)
    expense = rng.uniform(0.2, 0.8, goods)

    def bundle(multiplier: Point, prices: Point) -> Points:
        return np.clip((utility - (1 + multiplier[:, None]) * prices) / bend, 0.0, cap)

    everyone = np.arange(count)

    def follower(x: Point) -> Point:
        prices = np.maximum(x, 1e-3)
        # Spending falls with λ, linearly between kinks: where a good leaves its cap, and where it
        # drops out.
        kinks = np.hstack(
            [utility / prices - 1, (utility - bend * cap) / prices - 1, np.zeros((count, 1))]
        )
        kinks = np.sort(np.maximum(kinks, 0.0), axis=1)  # (count, 2 goods + 1)
        bundles = np.clip((utility - (1 + kinks.T[..., None]) * prices) / bend, 0.0, cap)
        spent = bundles @ prices  # (2 goods + 1, count)
        after = np.argmax(spent <= wealth[None], axis=0)  # the first kink where the budget suffices
        before = np.maximum(after - 1, 0)
        drop = spent[before, everyone] - spent[after, everyone]
        part = np.divide(spent[before, everyone] - wealth, drop, out=np.ones(count), where=drop > 0)
        low, high = kinks[everyone, before], kinks[everyone, after]
        multiplier = low + part * (high - low)
        return bundle(np.where(after == 0, 0.0, multiplier), prices).ravel()

    def sold(y: Point) -> Point:
        return np.asarray(y.reshape(count, goods).sum(axis=0))

    return make_case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-(x - expense) @ sold(y)),
            grad_x=lambda x, y: -sold(y),
            grad_y=lambda x, y: np.tile(expense - x, count),
        ),
        follower,
        feasible_set,
        split=split,
        source="B. Colson, P. Marcotte and G. Savard, Annals of Operations Research 153, 2007 "
        "(the form)",
        tags="prices kinks multimodal",
    )


def consumers_box() -> Case:
    """Prices of five goods for twenty consumers."""
    return consumers_case(
        "consumers-box", 5, 20, bizol.Box(0.2 * np.ones(5), 3 * np.ones(5)), "tune", 1
    )


def consumers_polytope() -> Case:
    """Prices of eight goods for thirty consumers, with a capped mean and close neighbors."""
    close = np.vstack([sign * (np.eye(8)[:-1] - np.eye(8)[1:]) for sign in (1, -1)])
    chosen = bizol.Polytope(
        A_ub=np.vstack([np.ones((1, 8)), close]),
        b_ub=np.append(10.0, np.full(14, 0.4)),
        lower=0.2 * np.ones(8),
        upper=3 * np.ones(8),
    )
    return consumers_case("consumers-polytope", 8, 30, chosen, "report", 2)


def logit_case(
    name: str, products: int, segments: int, feasible_set: FeasibleSet, split: Split, seed: int
) -> Case:
    """Return revenue under a mixture of logit demands, which has several peaks.

    After W. Hanson and K. Martin, 1996.
    """
    rng = np.random.default_rng([seed, products, 51])
    appeal = rng.uniform(0.0, 6.0, (segments, products))
    sensitivity = np.exp(rng.uniform(-1.0, 1.5, segments))
    weight = rng.dirichlet(2 * np.ones(segments))
    expense = rng.uniform(0.1, 0.5, products)

    def follower(x: Point) -> Point:
        nothing = np.zeros((segments, 1))  # the appeal of buying nothing
        wish = np.hstack([appeal - sensitivity[:, None] * x, nothing])
        share = np.exp(wish - wish.max(axis=1, keepdims=True))
        return np.asarray(weight @ (share / share.sum(axis=1, keepdims=True))[:, :-1])

    return make_case(
        name,
        bizol.Objective(
            value=lambda x, y: float(-(x - expense) @ y),
            grad_x=lambda x, y: -y,
            grad_y=lambda x, y: expense - x,
        ),
        follower,
        feasible_set,
        split=split,
        source="W. Hanson and K. Martin, Management Science 42, 1996 (the form; data are drawn)",
        tags="prices smooth multimodal",
    )


def logit_pricing_a() -> Case:
    """Prices of three products for four segments."""
    return logit_case("logit-pricing-a", 3, 4, bizol.Box(np.zeros(3), 12 * np.ones(3)), "tune", 1)


def logit_pricing_b() -> Case:
    """Prices of ten products for six segments."""
    return logit_case(
        "logit-pricing-b", 10, 6, bizol.Box(np.zeros(10), 12 * np.ones(10)), "report", 2
    )
