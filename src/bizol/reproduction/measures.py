"""What is measured along the decisions of many runs.

These are the hyperobjective, stationarity gaps and capacities that bind. None of it counts as
queries of a run, and no method sees it. Where the structure of the follower allows a faster way to
the same number, that way is taken; the tests compare with the definitions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Batches, Points
from bizol.certificates import clarke_gap
from bizol.evaluation import Direct
from bizol.followers import BallProjection, BoxProjection
from bizol.reproduction.instances import TrackingInstance
from bizol.sensitivity import average_slopes, frank_wolfe_gap

Curves = NDArray[np.float64]  # (iterations + 1, runs)

# Decisions per call: enough to make calls cheap, few enough to stay in the processor's cache.
ROWS = 4096


def hyperobjective(instance: TrackingInstance, decisions: Batches) -> Curves:
    """Return φ̃(x) = φ(x, y(x)) at every decision."""
    flat = decisions.reshape(-1, decisions.shape[-1])
    evaluator = Direct(instance.problem)
    chunks = [flat[first : first + ROWS] for first in range(0, len(flat), ROWS)]
    values = [instance.problem.objective.values(chunk, evaluator.ask(chunk)) for chunk in chunks]
    return np.concatenate(values).reshape(decisions.shape[:-1])


def saturation(instance: TrackingInstance, decisions: Batches) -> Curves:
    """Return the fraction of capacities that bind at every decision."""
    flat = decisions.reshape(-1, decisions.shape[-1])
    follower = instance.follower
    chunks = [flat[first : first + ROWS] for first in range(0, len(flat), ROWS)]
    fractions = [(follower.active(follower(chunk)) != 0).mean(axis=-1) for chunk in chunks]
    return np.concatenate(fractions).reshape(decisions.shape[:-1])


class Crossings:
    """Counts how often the follower switches between x + δw and x − δw.

    It is a `Watch` for `run_together`.
    """

    def __init__(self, follower: BoxProjection | BallProjection) -> None:
        self._follower = follower
        self._pairs = 0
        self._crossed = 0
        self._switches = 0

    def __call__(self, plus: Batches, minus: Batches) -> None:
        """Compare which capacities bind on the two sides of every pair."""
        # (B, runs, capacities)
        switched = self._follower.active(plus) != self._follower.active(minus)
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

    Away from kinks the Clarke set is the gradient d_x + Aᵀ(free · d_y) alone, and many decisions
    are done at once. The few decisions on a kink, if any, go through `bizol.clarke_gap`.
    """
    follower = instance.follower
    if not isinstance(follower, BoxProjection):
        raise ValueError("clarke_gaps needs a box response.")
    flat = decisions.reshape(-1, decisions.shape[-1])
    objective = instance.problem.objective
    box = instance.problem.feasible_set
    reach = tolerance * np.linalg.norm(follower.matrix, axis=1)
    gaps = []
    for first in range(0, len(flat), ROWS):
        x = flat[first : first + ROWS]
        wish = x @ follower.matrix.T + follower.offset
        y = np.clip(wish, follower.lower, follower.upper)
        free = (wish > follower.lower) & (wish < follower.upper)
        grad_y = np.where(free, objective.grad_y(x, y), 0.0)
        gradient = objective.grad_x(x, y) + grad_y @ follower.matrix
        _, found = frank_wolfe_gap(box, x, gradient)
        distance = np.minimum(np.abs(wish - follower.lower), np.abs(wish - follower.upper))
        for row in np.flatnonzero((distance <= reach).any(axis=1)):
            found[row] = clarke_gap(instance.problem, x[row], tolerance=tolerance).gap
        gaps.append(found)
    return np.concatenate(gaps).reshape(decisions.shape[:-1])


def validation_gaps(
    instance: TrackingInstance, decisions: Batches, directions: Batches, delta: float
) -> Curves:
    """Return the validation gap Ĝ_δ^val of Section V at every decision.

    Args:
        instance: The problem and its follower.
        decisions: The decisions, (iterations + 1, runs, n).
        directions: The validation directions of each run, (runs, B_val, n). They are the same at
            every decision of a run, so that the gaps of a run differ by the decision alone. With
            fresh ones, the best of thousands would be a lucky draw.
        delta: The radius δ.

    """
    runs = range(decisions.shape[1])
    gaps = [_validate_run(instance, decisions[:, run], directions[run], delta) for run in runs]
    return np.stack(gaps, axis=1)


def estimator_noise(
    instance: TrackingInstance, x: Points, directions: Points, delta: float
) -> Points:
    """Return the variance E‖ĝ − E ĝ‖² of the estimate from one direction at every x, (k, 2).

    The columns are Bi-ZOL and VZO. Both estimates use the same directions (B, n) and are centered
    at their means over these.
    """
    objective = instance.problem.objective
    offsets = delta * directions
    points = np.stack([x[:, None] + offsets, x[:, None] - offsets])  # (2, k, B, n)
    responses = instance.follower(points)
    pull = objective.grad_y(x, instance.follower(x))[:, None]
    linear = np.vecdot(responses, pull)
    values = np.asarray(objective.value(points, responses))
    variances = []
    for scores in (linear, values):
        # (k, B, n), each the estimate from one direction
        slopes = (scores[0] - scores[1])[..., None]
        samples = average_slopes(slopes, directions[:, None], spacing=2 * delta)
        variances.append(samples.var(axis=1, ddof=1).sum(axis=-1))
    return np.stack(variances, axis=-1)


def _validate_run(
    instance: TrackingInstance, x: Points, directions: Points, delta: float
) -> NDArray[np.float64]:
    """Return max_s ⟨x − s, ĝ⟩ at every x of a run.

    Here ĝ = d_x + (n / 2δB) Σ ⟨d_y, y(x + δw) − y(x − δw)⟩ w.
    """
    objective = instance.problem.objective
    follower = instance.follower
    y = follower(x)
    pull = objective.grad_y(x, y)
    offsets = delta * directions @ follower.matrix.T  # δAw, (B, m)
    if isinstance(follower, BoxProjection):
        slopes = _difference_box(follower, x, offsets, pull)
    else:
        slopes = _difference_ball(follower, x, offsets, pull)
    gradient = objective.grad_x(x, y) + average_slopes(slopes, directions, spacing=2 * delta)
    return frank_wolfe_gap(instance.problem.feasible_set, x, gradient)[1]


def _difference_box(follower: BoxProjection, x: Points, offsets: Points, weights: Points) -> Points:
    """Return ⟨weights, y(x + δw) − y(x − δw)⟩ for every x and every direction, (decisions, B).

    The response of an agent is affine where no direction reaches one of its kinks: it moves by the
    whole offset if the agent is free, and not at all at a capacity. About one agent in ten remains
    to be clipped.
    """
    wish = x @ follower.matrix.T + follower.offset
    reach = np.abs(offsets).max(axis=0)
    free = (wish - reach >= follower.lower) & (wish + reach <= follower.upper)
    full = (wish + reach <= follower.lower) | (wish - reach >= follower.upper)
    slopes = 2 * np.where(free, weights, 0.0) @ offsets.T
    columns = np.ascontiguousarray(offsets.T)  # (m, B): an agent's offsets lie together
    for row, bends in enumerate(~(free | full)):
        agents = np.flatnonzero(bends)
        here = wish[row, agents, None]
        low, high = follower.lower[agents, None], follower.upper[agents, None]
        moved = columns[agents]
        up = np.minimum(np.maximum(here + moved, low), high)
        up -= np.minimum(np.maximum(here - moved, low), high)
        slopes[row] += weights[row, agents] @ up
    return np.asarray(slopes)


def _difference_ball(
    follower: BallProjection, x: Points, offsets: Points, weights: Points
) -> Points:
    """Return ⟨weights, y(x + δw) − y(x − δw)⟩ for every x and every direction, (decisions, B).

    Only the norms ‖z ± δAw‖ and two inner products are needed.
    """
    wish = x @ follower.matrix.T + follower.offset
    size = np.vecdot(wish, wish)[:, None] + np.vecdot(offsets, offsets)  # ‖z‖² + ‖δAw‖²
    across = 2 * wish @ offsets.T
    along = np.vecdot(weights, wish)[:, None]
    ahead = weights @ offsets.T
    shrink_plus = follower.radius / np.sqrt(np.maximum(size + across, follower.radius**2))
    shrink_minus = follower.radius / np.sqrt(np.maximum(size - across, follower.radius**2))
    return np.asarray(shrink_plus * (along + ahead) - shrink_minus * (along - ahead))
