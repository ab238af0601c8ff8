"""Road networks: who goes where over which links, and the routes that drivers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import ArgumentError, Point, Points

TINY = 1e-300  # keeps costs and divisors positive
CYCLE_RANK = 1e-9  # singular values below it count as zero
CHEAPER = 1 - 1e-13  # of the best known price, below which a route is new
DEAR = 1.5  # times the best price, above which a route that nobody takes is forgotten


@final
@dataclass(frozen=True, slots=True, eq=False)
class RoadNetwork:
    """The links of a network and the pairs of nodes that drivers travel between."""

    ends: NDArray[np.int64]  # (links, 2)
    index: NDArray[np.int64]  # (nodes, nodes), the link between two nodes, −1 without one
    origins: NDArray[np.int64]  # the nodes that drivers start from
    pairs: NDArray[np.int64]  # (pairs, 2), row among the origins and destination
    trips: Point  # (pairs,)

    @classmethod
    def of(cls, ends: NDArray[np.int64], demand: Points) -> RoadNetwork:
        """Return the network of the links `ends`, and check that it leads wherever demand is."""
        index = np.full(demand.shape, -1)
        index[ends[:, 0], ends[:, 1]] = np.arange(len(ends))
        origins = np.flatnonzero(demand.any(axis=1))
        pairs = np.argwhere(demand[origins] > 0)
        network = cls(ends, index, origins, pairs, demand[origins][pairs[:, 0], pairs[:, 1]])
        reach = network.cheapest(np.ones(len(ends)))[0]
        if not np.isfinite(reach).all():
            origin, target = pairs[int(np.argmin(np.isfinite(reach)))]
            what = f"leads nowhere from {origins[origin]} to {target}."
            raise ArgumentError("TrafficEquilibrium", "links", what)
        return network

    def cheapest(self, costs: Point) -> tuple[Point, NDArray[np.int64]]:
        """Return the price of the cheapest route of each pair, and the trees of these routes.

        The trees (origins, nodes) hold the node before each node on the routes from an origin.
        """
        distance, before = self._shortest_paths(costs)
        return distance[self.pairs[:, 0], self.pairs[:, 1]], before

    def _shortest_paths(self, costs: Point) -> tuple[Points, NDArray[np.int64]]:
        """Return the distances from the origins to all nodes, and the nodes before them."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        nodes = len(self.index)
        entries = np.maximum(costs, TINY)
        tail, head = self.ends.T
        matrix = csr_array((entries, (tail, head)), shape=(nodes, nodes))
        distance, before = dijkstra(matrix, indices=self.origins, return_predecessors=True)
        return distance, before

    def gap(self, costs: Point, flows: Point, cheapest: Point) -> float:
        """Return what drivers could save on the cheapest routes, as a share of what they pay."""
        total = float(flows @ costs)
        return (total - float(self.trips @ cheapest)) / total if total > 0 else 0.0

    def trace_routes(self, before: NDArray[np.int64], chosen: NDArray[np.int64]) -> Points:
        """Return the links (chosen, links) of the cheapest routes of the chosen pairs.

        They are walked back from all destinations at once.
        """
        links = np.zeros((len(chosen), len(self.ends)))
        row = np.arange(len(chosen))
        here = self.pairs[chosen, 1]
        tree = self.pairs[chosen, 0]
        start = self.origins[tree]
        while row.size:
            back = before[tree[row], here]
            links[row, self.index[back, here]] = 1.0
            on = back != start[row]
            row, here = row[on], back[on]
        return links

    def cheapest_routes(self, costs: Point) -> Routes:
        """Return the cheapest route of each pair, with all of its drivers on it."""
        every = np.arange(len(self.pairs))
        links = self.trace_routes(self.cheapest(costs)[1], every)
        return Routes(links, every, self.trips.copy(), self.trips)

    def cycles(self, costs: Point, tolerance: float, *, among: NDArray[np.bool_]) -> Points:
        """Return a basis (links, r) of the cycles of links on cheapest routes, of some links.

        The cycles are found origin by origin and then put together.
        """
        distance, _ = self._shortest_paths(costs)
        nodes = len(self.index)
        found = []
        tail, head = self.ends.T
        for row, _ in enumerate(self.origins):
            over = distance[row, tail] + costs - distance[row, head]
            tight = np.flatnonzero((over <= tolerance * costs.max()) & among)
            balance = np.zeros((nodes, tight.size))
            balance[tail[tight], np.arange(tight.size)] = -1.0
            balance[head[tight], np.arange(tight.size)] += 1.0
            _, sizes, axes = np.linalg.svd(balance)
            rank = int((sizes > CYCLE_RANK).sum())
            loops = np.zeros((tight.size - rank, len(costs)))
            loops[:, tight] = axes[rank:]
            found.append(loops)
        _, sizes, axes = np.linalg.svd(np.vstack(found), full_matrices=False)
        return axes[sizes > CYCLE_RANK].T


@final
@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """The known routes, pair by pair, and how many drivers take each."""

    links: Points  # (routes, links), 1 where a route uses a link
    pair: NDArray[np.int64]  # (routes,), ascending
    share: Point  # (routes,)
    trips: Point  # (pairs,)

    @property
    def begins(self) -> NDArray[np.int64]:
        """The first route of each pair."""
        return np.searchsorted(self.pair, np.arange(len(self.trips)))

    def flows(self) -> Point:
        """Return the number of drivers on each link."""
        return self.share @ self.links

    def largest(self) -> NDArray[np.int64]:
        """Return the route of each pair that most drivers take; ties go to the first."""
        order = np.lexsort((np.arange(len(self.share)), -self.share, self.pair))
        return order[self.begins]

    def shift(self, step: Point, main: NDArray[np.int64]) -> Routes:
        """Return the routes with shares changed by the step, none of them negative.

        The main routes take what the others leave, which is never less than zero.
        """
        share = np.maximum(self.share + step, 0.0)
        share[main] = 0.0
        sums = np.bincount(self.pair, share, minlength=len(self.trips))
        share *= np.minimum(1.0, self.trips / np.maximum(sums, TINY))[self.pair]
        taken = np.bincount(self.pair, share, minlength=len(self.trips))
        share[main] = np.maximum(self.trips - taken, 0.0)
        return Routes(self.links, self.pair, share, self.trips)

    def update(
        self, network: RoadNetwork, costs: Point, cheapest: Point, before: NDArray[np.int64]
    ) -> Routes:
        """Add routes that are cheaper than all known ones of their pair, and forget dear ones.

        Only routes that nobody takes are forgotten.
        """
        prices = self.links @ costs
        best = np.minimum.reduceat(prices, self.begins)
        missing = np.flatnonzero(cheapest < best * CHEAPER)
        kept = (self.share > 0) | (prices <= best[self.pair] * DEAR)
        pair = np.concatenate([self.pair[kept], missing])
        order = np.argsort(pair, kind="stable")
        links = np.concatenate([self.links[kept], network.trace_routes(before, missing)])
        share = np.concatenate([self.share[kept], np.zeros(len(missing))])
        return Routes(links[order], pair[order], share[order], self.trips)
