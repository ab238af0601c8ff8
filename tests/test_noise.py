"""Noise: repeats, common random numbers, and which part of the variance is due to it."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL, Retries
from bizol.run.noise import Noise
from tests.misbehaving import Unreliable, saturate
from tests.problems import Array, affine, saturated

METHOD = BiZOL(delta=0.1, step=0.1, batch=4)


class Noisy:
    """Adds noise that is a function of the seed alone: common to both sides of a pair."""

    def __init__(self, level: float) -> None:
        self.level = level
        self.seeds: list[tuple[int, bytes]] = []

    @property
    def takes_seed(self) -> bool:
        return True

    def __call__(self, x: Array, seed: int) -> Array:
        self.seeds.append((seed, x.tobytes()))
        return saturate(x) + self.level * np.random.default_rng(seed).standard_normal(x.size)


def independent(level: float, seed: int = 0) -> Any:
    """A follower whose noise nobody controls."""
    rng = np.random.default_rng(seed)
    return lambda x: saturate(x) + level * rng.standard_normal(x.size)


def test_both_sides_of_a_pair_have_the_same_seed_and_nobody_else_has() -> None:
    follower = Noisy(0.0)
    bizol.minimize(saturated(response=follower), method=METHOD, budget=18, seed=0, repeats=2)
    first = [seed for seed, _ in follower.seeds[:18]]
    assert len(set(first)) == 10  # (an anchor and four pairs), twice
    assert first[2:10] == first[10:18]


def test_common_random_numbers_cancel_in_a_pair() -> None:
    """With additive noise the differences are exact; the estimate is that of the silent follower,
    to rounding."""
    noisy = bizol.iterate(saturated(), METHOD, seed=0)
    quiet = next(noisy), next(noisy)
    solution = bizol.minimize(saturated(response=Noisy(0.1)), method=METHOD, budget=9, seed=0)
    problem = affine(
        np.eye(3),
        objective=bizol.Objective(lambda x, y: y.sum(), lambda x, y: 0 * x, lambda x, y: 1 + 0 * y),
    )
    with_noise = affine(
        np.eye(3),
        objective=problem.objective,
        response=lambda x, seed: x + np.random.default_rng(seed).standard_normal(3),
        seeded=True,
    )
    gaps = [
        bizol.minimize(each, method=METHOD, budget=9, seed=0).history.gap_estimate[0]
        for each in (problem, with_noise)
    ]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-12)
    assert quiet[1].move is not None
    assert (
        solution.history.gap_estimate[0] != quiet[1].move.gap_estimate
    )  # the anchor is noisy all the same


def test_the_level_of_the_noise_is_found() -> None:
    """300 answers of 3 entries, 2 repeats: 450 degrees of freedom, relative error 1/√900; 4 of
    them, 1 in 16,000."""
    for response in (independent(0.05), Noisy(0.05)):
        solution = bizol.minimize(
            saturated(response=response), method=METHOD, budget=600, seed=0, repeats=2
        )
        assert solution.noise is not None
        assert solution.noise.level == pytest.approx(0.05, rel=4 / 30)
    assert bizol.minimize(saturated(), method=METHOD, budget=60, seed=0, workers=2).noise is None
    quiet = bizol.minimize(saturated(), method=METHOD, budget=60, seed=0, repeats=2).noise
    assert quiet is not None
    assert (quiet.level, quiet.noise_variance, quiet.delta_floor) == (0.0, 0.0, 0.0)


def test_the_noise_part_of_the_variance_is_what_the_formula_says() -> None:
    """Independent noise σ along a constant ∇₂φ = d: s² = 2σ²‖d‖², so the noise part is n² σ²‖d‖² /
    (2 δ² B r).

    400 iterations with B = 4, r = 2: 1600 degrees of freedom, relative error 3.5 %; 4 of them, 1 in
    16,000.
    """
    weights = np.array([1.0, -2.0, 0.5])
    objective = bizol.Objective(lambda x, y: y @ weights, lambda x, y: 0 * x, lambda x, y: weights)
    rng = np.random.default_rng(1)
    problem = affine(
        np.eye(3), objective=objective, response=lambda x: x + 0.02 * rng.standard_normal(3)
    )
    solution = bizol.minimize(problem, method=METHOD, budget=400 * 18, seed=0, repeats=2)
    assert solution.noise is not None
    expected = 9 * 0.02**2 * (weights @ weights) / (2 * 0.1**2 * 4 * 2)
    assert solution.noise.noise_variance == pytest.approx(expected, rel=0.14)
    smoothing = 3 * (weights @ weights) / 4  # n‖d‖²/B: E‖n⟨w, d⟩w‖² = n‖d‖² for a linear response
    assert solution.noise.smoothing_variance == pytest.approx(smoothing, rel=0.14)
    floor = solution.noise.delta_floor
    assert floor == pytest.approx(0.1 * np.sqrt(expected / smoothing), rel=0.15)
    assert "variance of the estimates" not in solution.message
    drowned = bizol.minimize(
        problem, method=BiZOL(delta=floor / 3, step=0.1, batch=4), budget=1800, seed=0, repeats=2
    )
    assert "is below" in drowned.message
    assert "of the variance of the estimates" in drowned.message


def test_methods_without_pairs_learn_the_level_alone() -> None:
    solution = bizol.minimize(saturated(response=independent(0.05)), budget=60, seed=0, repeats=2)
    assert solution.noise is not None
    assert np.isnan(solution.noise.noise_variance)
    assert solution.noise.remark(0.1) == ""
    assert (
        Noise(level=1, smoothing_variance=nan, noise_variance=1.0, delta_floor=inf).remark(0.1)
        == ""
    )


def test_repeats_cost_what_they_are_and_average_what_they_say() -> None:
    rng = np.random.default_rng(0)
    said: list[Array] = []

    def respond(x: Array) -> Array:
        said.append(saturate(x) + rng.standard_normal(3))
        return said[-1]

    solution = bizol.minimize(
        saturated(response=respond), method=METHOD, budget=30, seed=0, repeats=3
    )
    assert solution.queries == 30
    assert solution.drawn.y == pytest.approx(np.mean(said[:3], axis=0), abs=1e-15)
    with pytest.raises(ValueError, match=r"must cover one iteration .* 27 queries, got 26"):
        bizol.minimize(saturated(), method=METHOD, budget=26, repeats=3)


def test_a_replicate_that_fails_leaves_the_others(tmp_path: Path) -> None:
    solution = bizol.minimize(
        saturated(response=Unreliable(0.2, noise=0.01)),
        method=METHOD,
        budget=300,
        seed=0,
        repeats=3,
        retries=Retries(follower=0, wait=0),
    )
    assert solution.unanswered <= 1
    assert solution.iterations >= 10


def test_a_vectorized_follower_gets_a_list_of_seeds_and_a_certificate_has_seeds_too() -> None:
    seen: list[Any] = []

    def respond(x: Array, seed: list[int]) -> Array:
        seen.append(seed)
        return saturate(x)

    problem = saturated(response=respond, vectorized=True, seeded=True)
    bizol.minimize(problem, method=METHOD, budget=9, seed=0)
    assert [len(each) for each in seen] == [1, 8]
    seen.clear()
    bizol.certify(problem, np.zeros(3), delta=0.1, directions=8, seed=0)
    assert [len(each) for each in seen] == [1, 16]  # at the decision first, to look at φ there
    assert len({*seen[0], *seen[1]}) == 17
    one = saturated(response=Noisy(0.0))
    assert bizol.check(one).repeatability == 0.0
