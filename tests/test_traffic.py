"""The user equilibrium: against closed forms, another solver, and shortest paths of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol.followers import TrafficEquilibrium
from tests.problems import Array


def grid(
    rows: int, columns: int, seed: int = 0, level: float = 0.6, pairs: int | None = None
) -> dict[str, Any]:
    """A grid with links both ways, random times, capacities and demand."""
    rng = np.random.default_rng(seed)
    node = np.arange(rows * columns).reshape(rows, columns)
    one_way = np.concatenate(
        [
            np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
            np.column_stack([node[:-1].ravel(), node[1:].ravel()]),
        ]
    )
    links = np.concatenate([one_way, one_way[:, ::-1]])
    demand = level * rng.uniform(0.5, 1.5, (node.size, node.size))
    np.fill_diagonal(demand, 0.0)
    if pairs is not None:
        every = np.argwhere(demand > 0)
        dropped = every[rng.permutation(len(every))[pairs:]]
        demand[dropped[:, 0], dropped[:, 1]] = 0.0
    count = len(links)
    return {
        "links": links,
        "free_time": rng.uniform(2, 6, count),
        "capacity": rng.uniform(5, 15, count) * node.size / 24,
        "demand": demand,
    }


def gap_by_hand(follower: TrafficEquilibrium, flows: Array, x: Array) -> float:
    """The relative gap with Bellman and Ford's shortest paths instead of Dijkstra's."""
    costs = follower.free_time * (
        1 + follower.alpha * (flows / follower.capacity) ** follower.power
    )
    costs[follower.tolled] += x
    nodes = len(follower.demand)
    distance = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(distance, 0.0)
    for _ in range(nodes):
        for (tail, head), cost in zip(follower.links, costs, strict=True):
            distance[:, head] = np.minimum(distance[:, head], distance[:, tail] + cost)
    total = float(flows @ costs)
    return float((total - (follower.demand * distance).sum()) / total)


def unbalanced(follower: TrafficEquilibrium, flows: Array) -> float:
    """How far what enters, leaves, starts and ends at the nodes is from adding up."""
    into, out = np.zeros(len(follower.demand)), np.zeros(len(follower.demand))
    np.add.at(out, follower.links[:, 0], flows)
    np.add.at(into, follower.links[:, 1], flows)
    return float(
        np.abs(into + follower.demand.sum(axis=1) - out - follower.demand.sum(axis=0)).max()
    )


@given(seed=st.integers(0, 999), level=st.floats(0.05, 2.0))
def test_no_driver_has_a_cheaper_route(seed: int, level: float) -> None:
    follower = TrafficEquilibrium(**grid(3, 3, seed, level))
    x = np.random.default_rng(seed).uniform(0, 4, len(follower.links))
    flows = follower(x)
    assert flows.min() >= 0
    assert unbalanced(follower, flows) < 1e-9 * follower.demand.sum()
    assert abs(gap_by_hand(follower, flows, x)) <= follower.relative_gap * 1.01 + 1e-13
    assert follower.gap(flows, x) == pytest.approx(gap_by_hand(follower, flows, x), abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_flows_are_those_of_beckmanns_program(seed: int) -> None:
    """One flow per origin and link, the potential minimized by a conic solver."""
    cp = pytest.importorskip("cvxpy")
    parts = grid(2, 3, seed, level=1.5)
    follower = TrafficEquilibrium(**parts)
    x = np.random.default_rng(seed).uniform(0, 3, len(follower.links))
    nodes, count = len(follower.demand), len(follower.links)
    by_origin = cp.Variable((nodes, count), nonneg=True)
    total = cp.sum(by_origin, axis=0)
    congestion = follower.free_time * follower.alpha * follower.capacity / 5
    potential = (follower.free_time + x) @ total + congestion @ cp.power(
        cp.multiply(1 / follower.capacity, total), 5
    )
    balance = np.zeros((count, nodes))
    balance[np.arange(count), follower.links[:, 0]] -= 1
    balance[np.arange(count), follower.links[:, 1]] += 1
    supply = follower.demand - np.diag(follower.demand.sum(axis=1))
    cp.Problem(cp.Minimize(potential), [by_origin @ balance == supply]).solve(
        solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )
    reference = by_origin.value.sum(axis=0)
    # As accurate as the other solver.
    assert follower(x) == pytest.approx(reference, abs=1e-5 * reference.max())


def test_two_routes_share_as_the_closed_form_says() -> None:
    """Linear costs 1 + v and 2 + v + toll for 5 drivers: the first route takes 3 + toll/2."""
    demand = np.zeros((4, 4))
    demand[0, 3] = 5.0
    follower = TrafficEquilibrium(
        [(0, 1), (1, 3), (0, 2), (2, 3)],
        [0.5, 0.5, 1, 1],
        [1, 1, 1, 1],
        demand,
        tolled=[3],
        alpha=[1, 1, 0.5, 0.5],
        power=1.0,
    )
    for toll in (0.0, 1.0, 3.9, 4.0, 7.0):
        first = min(3 + toll / 2, 5.0)
        assert follower(np.array([toll])) == pytest.approx(
            [first, first, 5 - first, 5 - first], abs=1e-8
        )
    (jacobian,) = follower.limiting_jacobians(np.array([1.0]))
    assert jacobian == pytest.approx(np.array([[0.5], [0.5], [-0.5], [-0.5]]))


@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_is_a_finite_difference_where_no_route_changes(seed: int) -> None:
    parts = grid(3, 3, seed)
    follower = TrafficEquilibrium(**parts, tolled=[0, 5, 9], relative_gap=1e-14)
    x, step = np.array([0.5, 1.0, 0.3]), 1e-4
    (jacobian,) = follower.limiting_jacobians(x)
    forth = np.array([(follower(x + step * axis) - follower(x)) / step for axis in np.eye(3)]).T
    back = np.array([(follower(x) - follower(x - step * axis)) / step for axis in np.eye(3)]).T
    assert forth == pytest.approx(back, abs=2e-3)  # no kink within a step
    assert jacobian == pytest.approx((forth + back) / 2, abs=1e-4)


def test_what_was_asked_before_changes_no_bit() -> None:
    points = np.random.default_rng(0).uniform(0, 3, (4, 24))
    follower = TrafficEquilibrium(**grid(3, 3))
    forth = follower(points)
    assert np.array_equal(forth, follower(points[::-1])[::-1])
    assert np.array_equal(forth[2], TrafficEquilibrium(**grid(3, 3))(points[2]))


def test_the_network_of_the_speed_target() -> None:
    """24 nodes, 76 links, 528 pairs; the time is measured in benchmarks/followers.py."""
    follower = TrafficEquilibrium(**grid(4, 6, pairs=528), relative_gap=1e-6)
    assert (len(follower.links), int((follower.demand > 0).sum())) == (76, 528)
    flows = follower(np.ones(76))
    assert gap_by_hand(follower, flows, np.ones(76)) <= 1e-6


def test_where_newton_steps_lead_up_drivers_are_moved_route_by_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = TrafficEquilibrium(**grid(2, 3))(np.ones(14))
    monkeypatch.setattr(
        "bizol.followers.traffic._newton", lambda differences, slopes, extra, share: extra
    )
    slow = TrafficEquilibrium(**grid(2, 3), relative_gap=1e-7)
    assert slow.tolerance == pytest.approx(1e-7**0.5)
    assert slow(np.ones(14)) == pytest.approx(expected, abs=slow.tolerance * expected.max())
    monkeypatch.setattr(
        "bizol.followers.traffic._diagonal", lambda differences, slopes, extra, share: extra
    )
    with pytest.raises(bizol.ResponseError, match="the relative gap is"):
        TrafficEquilibrium(**grid(2, 3))(np.ones(14))


def test_failures_name_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    follower = TrafficEquilibrium(**grid(2, 2))
    with pytest.raises(bizol.ResponseError, match=r"link 3 costs less than nothing, .* at x = \["):
        follower(np.array([0.0, 0, 0, -99, 0, 0, 0, 0]))
    monkeypatch.setattr("bizol.followers.traffic.ROUNDS", 1)
    with pytest.raises(
        bizol.ResponseError,
        match=r"the relative gap is .* after 1 rounds at x = \[1. 1. .*more than 1",
    ):
        TrafficEquilibrium(**grid(3, 3))(np.ones(24))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"links": [0, 1]}, r"\(links=\.\.\.\) must be pairs of nodes"),
        ({"links": [(0, 1), (0, 1)]}, r"\(links=\.\.\.\) must be distinct"),
        (
            {"links": [(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 4)]},
            r"\(demand=\.\.\.\) must be \(n",
        ),
        ({"links": [(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (1, 2)]}, None),
        (
            {"links": [(0, 1), (1, 0), (0, 2), (2, 0), (3, 1), (3, 2), (2, 1), (1, 2)]},
            "leads nowhere from 0 to 3",
        ),
        ({"demand": np.zeros((4, 4))}, "not zero everywhere"),
        ({"free_time": np.zeros(8)}, r"\(free_time=\.\.\.\) must be positive"),
        ({"power": 0.5}, r"\(power=\.\.\.\) must be positive, a power at least 1"),
        ({"tolled": [8]}, r"\(tolled=\.\.\.\) must name links, 0 to 7"),
    ],
)
def test_networks_that_make_no_sense_are_refused(
    parts: dict[str, Any], message: str | None
) -> None:
    if message is None:
        TrafficEquilibrium(**(grid(2, 2) | parts))
        return
    with pytest.raises(ValueError, match=message):
        TrafficEquilibrium(**(grid(2, 2) | parts))
