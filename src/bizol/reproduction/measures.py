"""What is measured along the decisions of many runs: the hyperobjective, stationarity gaps,
capacities that bind.

None of it counts as queries of a run, and none of it is seen by a method. Where the follower's
structure allows a shorter way to the same number it is taken; the tests compare with the
definitions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Batches, Points
from bizol.certificates import clarke_gap
from bizol.evaluation import Evaluator
from bizol.followers import BallProjection, BoxProjection
from bizol.reproduction.instances import TrackingInstance

Curves = NDArray[np.float64]  # (iterations + 1, runs)

ROWS = 4096  # decisions looked at together: enough to make calls cheap, few enough to stay in the cache


def hyperobjective(instance: TrackingInstance, decisions: Batches) -> Curves:
    """Return φ̃(x) = φ(x, y(x)) at every decision."""
    flat = decisions.reshape(-1, decisions.shape[-1])
    evaluator = Evaluator(instance.problem)
    chunks = [flat[first : first + ROWS] for first in range(0, len(flat), ROWS)]
    values = [
        instance.problem.objective.values(chunk, evaluator.evaluate(chunk)) for chunk in chunks
    ]
    return np.concatenate(values).reshape(decisions.shape[:-1])


def saturation(instance: TrackingInstance, decisions: Batches) -> Curves:
    """Return the fraction of capacities that bind at every decision."""
    flat = decisions.reshape(-1, decisions.shape[-1])
    active = [
        (instance.follower.active(instance.follower(flat[first : first + ROWS])) != 0).mean(axis=-1)
        for first in range(0, len(flat), ROWS)
    ]
    return np.concatenate(active).reshape(decisions.shape[:-1])


class Crossings:
    """Counts how often the follower switches between x + δw and x − δw: a `Watch` for `run_together`."""

    def __init__(self, follower: BoxProjection | BallProjection) -> None:
        self._follower = follower
        self._pairs = self._crossed = self._switches = 0

    def __call__(self, plus: Batches, minus: Batches) -> None:
        """Compare which capacities bind on the two sides of every pair."""
        switched = self._follower.active(plus) != self._follower.active(
            minus
        )  # (B, runs, capacities)
        self._pairs += switched[..., 0].size
        self._crossed += int(switched.any(axis=-1).sum())
        self._switches += int(switched.sum())

    @property
    def frequency(self) -> float:
        """The fraction of pairs that cross a boundary between active sets."""
        return self._crossed / self._pairs

    @property
    def switches(self) -> float:
        """The mean number of capacities that switch within a pair."""
        return self._switches / self._pairs


def clarke_gaps(instance: TrackingInstance, decisions: Batches, tolerance: float = 1e-9) -> Curves:
    """Return the exact Clarke gap G^c at every decision of a box response.

    Away from kinks the Clarke set is the gradient d_x + Aᵀ(free · d_y) alone, and whole batches are
    done at once; the few decisions on a kink, if any, go through `bizol.clarke_gap`.
    """
    follower = instance.follower
    if not isinstance(follower, BoxProjection):
        raise ValueError("clarke_gaps needs a box response.")
    flat = decisions.reshape(-1, decisions.shape[-1])
    objective, box = instance.problem.objective, instance.problem.feasible_set
    reach = tolerance * np.linalg.norm(follower.matrix, axis=1)
    gaps = []
    for first in range(0, len(flat), ROWS):
        x = flat[first : first + ROWS]
        wish = x @ follower.matrix.T + follower.offset
        y = np.clip(wish, follower.lower, follower.upper)
        free = (wish > follower.lower) & (wish < follower.upper)
        grad_y = np.where(free, objective.grad_y(x, y), 0.0)
        gradient = objective.grad_x(x, y) + grad_y @ follower.matrix
        found = np.vecdot(gradient, x - box.minimize_linear(gradient))
        kinks = (
            np.minimum(np.abs(wish - follower.lower), np.abs(wish - follower.upper)) <= reach
        ).any(axis=1)
        for row in np.flatnonzero(kinks):
            found[row] = clarke_gap(instance.problem, x[row], tolerance=tolerance).gap
        gaps.append(found)
    return np.concatenate(gaps).reshape(decisions.shape[:-1])


def validation_gaps(
    instance: TrackingInstance, decisions: Batches, directions: Batches, delta: float
) -> Curves:
    """Return the validation gap Ĝ_δ^val of Section V at every decision.

    Args:
        instance: the problem and its follower.
        decisions: (iterations + 1, runs, n).
        directions: the validation directions of each run, (runs, B_val, n): the same at every
            decision of a run, so that gaps of a run differ by the decision alone. With fresh ones,
            the best of thousands would be a lucky draw.
        delta: the radius.

    """
    return np.stack(
        [
            _validated(instance, decisions[:, run], directions[run], delta)
            for run in range(decisions.shape[1])
        ],
        axis=1,
    )


def estimator_noise(
    instance: TrackingInstance, x: Points, directions: Points, delta: float
) -> Points:
    """Return the variance E‖ĝ − E ĝ‖² of the estimate from one direction, of Bi-ZOL and of VZO, at
    every x: (k, 2).

    Both estimates use the same directions (B, n) and are centered at their means over these.
    """
    n = directions.shape[1]
    points = np.stack(
        [x[:, None] + delta * directions, x[:, None] - delta * directions]
    )  # (2, k, B, n)
    responses = instance.follower(points)
    pull = instance.problem.objective.grad_y(x, instance.follower(x))[:, None]
    variances = []
    for scores in (
        np.vecdot(responses, pull),
        np.asarray(instance.problem.objective.value(points, responses)),
    ):
        samples = n / (2 * delta) * (scores[0] - scores[1])[..., None] * directions  # (k, B, n)
        variances.append(samples.var(axis=1, ddof=1).sum(axis=-1))
    return np.stack(variances, axis=-1)


def _validated(
    instance: TrackingInstance, x: Points, directions: Points, delta: float
) -> NDArray[np.float64]:
    """Return max_s ⟨x − s, ĝ⟩ with ĝ = d_x + (n / 2δB) Σ ⟨d_y, y(x + δw) − y(x − δw)⟩ w, at every x of a run."""
    objective, follower = instance.problem.objective, instance.follower
    y = follower(x)
    offsets = (
        delta * directions @ follower.matrix.T
    )  # what a direction changes in what the agents want, (B, m)
    pull = objective.grad_y(x, y)
    slopes = (
        _box_differences(follower, x, offsets, pull)
        if isinstance(follower, BoxProjection)
        else _ball_differences(follower, x, offsets, pull)
    )
    count, n = directions.shape
    gradient = objective.grad_x(x, y) + n / (2 * delta * count) * slopes @ directions
    return np.asarray(
        np.vecdot(gradient, x - instance.problem.feasible_set.minimize_linear(gradient))
    )


def _box_differences(
    follower: BoxProjection, x: Points, offsets: Points, weights: Points
) -> Points:
    """Return ⟨weights, y(x + δw) − y(x − δw)⟩ for every x and every direction, (decisions, B).

    An agent none of whose kinks is within reach of any direction is affine there: moved by the
    whole offset if it is free, not at all if it is at a capacity. That leaves about one agent in
    ten to clip.
    """
    wish = x @ follower.matrix.T + follower.offset
    reach = np.abs(offsets).max(axis=0)
    free = (wish - reach >= follower.lower) & (wish + reach <= follower.upper)
    full = (wish + reach <= follower.lower) | (wish - reach >= follower.upper)
    slopes = 2 * np.where(free, weights, 0.0) @ offsets.T
    columns = np.ascontiguousarray(offsets.T)  # (m, B): an agent's offsets lie together
    for row, bends in enumerate(~(free | full)):
        agents = np.flatnonzero(bends)
        here, low, high = (
            wish[row, agents, None],
            follower.lower[agents, None],
            follower.upper[agents, None],
        )
        moved = columns[agents]
        up = np.minimum(np.maximum(here + moved, low), high)
        up -= np.minimum(np.maximum(here - moved, low), high)
        slopes[row] += weights[row, agents] @ up
    return np.asarray(slopes)


def _ball_differences(
    follower: BallProjection, x: Points, offsets: Points, weights: Points
) -> Points:
    """Return ⟨weights, y(x + δw) − y(x − δw)⟩: only the sizes ‖z ± δAw‖ and two products are needed."""
    wish = x @ follower.matrix.T + follower.offset
    size = np.vecdot(wish, wish)[:, None] + np.vecdot(offsets, offsets)  # ‖z‖² + ‖δAw‖²
    across = 2 * wish @ offsets.T
    along, ahead = np.vecdot(weights, wish)[:, None], weights @ offsets.T
    shrink_plus = follower.radius / np.sqrt(np.maximum(size + across, follower.radius**2))
    shrink_minus = follower.radius / np.sqrt(np.maximum(size - across, follower.radius**2))
    return np.asarray(shrink_plus * (along + ahead) - shrink_minus * (along - ahead))
