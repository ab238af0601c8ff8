"""Estimate the approximate hypergradient g_δ(x) from fresh queries."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bizol.arrays import Point, Points, as_positive, as_size, owned, to_numpy
from bizol.directions import Coordinates, Directions, OrthonormalBlocks, Rademacher
from bizol.evaluation import Direct
from bizol.feasible_sets.protocol import as_member
from bizol.problem import Anchor, Problem
from bizol.problem.follower import reach_of
from bizol.problem.gradients import refuse_wrong_gradients
from bizol.randomness import CERTIFICATE, as_seed, generator
from bizol.sensitivity import average_slopes


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HypergradientEstimate:
    """An estimate of g_δ(x): independent, unbiased samples, their mean and its standard error."""

    at: Point
    delta: float
    anchor: Anchor
    samples: Points  # (k, n), independent; each the mean over one batch of directions
    queries: int

    @property
    def value(self) -> Point:
        """The mean of the samples."""
        return np.asarray(self.samples.mean(axis=0))

    @property
    def standard_error(self) -> Point:
        """The standard error of every coordinate of the mean."""
        return np.asarray(self.samples.std(axis=0, ddof=1) / sqrt(len(self.samples)))


def estimate_hypergradient(
    problem: Problem,
    x: ArrayLike,
    *,
    delta: float,
    directions: int = 200,
    sampler: Directions | None = None,
    block: int | None = None,
    seed: int | None = None,
    check: bool = True,
) -> HypergradientEstimate:
    """Estimate g_δ(x), eq. (5), from 2·directions + 1 fresh queries.

    Args:
        problem: the problem whose follower is asked.
        x: the point, in X.
        delta: the smoothing radius δ.
        directions: how many directions; each costs two queries.
        sampler: draws the directions; orthonormal blocks by default, `Sphere()` for those of the
            paper. Each direction alone must be uniform on the sphere.
        block: how many directions are drawn together and averaged into one independent sample. By
            default as many as leave eight samples, and at most n.
        seed: makes the estimate repeatable.
        check: compare the gradients of the objective with finite differences of its value at x,
            before more is asked.

    """
    point = as_member(x, problem.feasible_set, "x")
    as_size(directions, "directions")
    reach = reach_of(problem.response)
    if as_positive(delta, "delta") > reach:
        raise ValueError(
            f"delta must be at most {reach:g}, how far outside of X this follower answers, "
            f"got {delta:g}."
        )
    if isinstance(sampler, (Coordinates, Rademacher)):
        raise ValueError(
            f"sampler must be uniform on the sphere, direction by direction, as Sphere() and "
            f"OrthonormalBlocks() are, for the estimate to be unbiased for g_δ; "
            f"{type(sampler).__name__}() smooths in another way."
        )
    size = max(1, min(point.size, directions // 8)) if block is None else as_size(block, "block")
    if directions < 2 * size:
        raise ValueError(
            f"directions must make at least two independent blocks of {size}, got {directions}; "
            f"ask for more directions or a smaller block."
        )
    count = directions // size  # independent samples
    root = as_seed(seed)
    rng = generator(root, *CERTIFICATE)
    drawn = (sampler or OrthonormalBlocks()).draw(rng, count, size, point.size)
    probes = delta * drawn.reshape(-1, point.size)
    evaluator = Direct(problem, seed=root)
    anchor = problem.objective.anchor(point, owned(evaluator.ask(point[None])[0, ...]))
    if check:
        refuse_wrong_gradients(problem, anchor)
    responses = evaluator.ask(np.concatenate([point + probes, point - probes]))
    differences = responses[: len(probes), ...] - responses[len(probes) :, ...]
    slopes = to_numpy(differences @ anchor.grad_y).reshape(count, size)
    samples = anchor.grad_x + average_slopes(slopes, drawn, spacing=2 * delta)
    return HypergradientEstimate(
        at=point, delta=delta, anchor=anchor, samples=samples, queries=evaluator.queries
    )
