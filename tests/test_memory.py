"""Bi-ZOL with memory: unbiased whatever is remembered, and the quieter the more is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol import BiZOL, MemoryBiZOL
from bizol.directions import OrthonormalBlocks
from bizol.methods import AdaptiveStep
from bizol.sensitivity import RunningSensitivity, Secant
from bizol.structure.clarke import approximate_hypergradient
from bizol.testing import check_method
from tests.problems import Array, affine, saturated
from tests.test_foresight import SETS, tracked


def estimates(problem: Any, x: Array, known: Any, *, runs: int, **options: Any) -> Array:
    """Hypergradients estimated at x with what is remembered, for many seeds."""
    method = MemoryBiZOL(delta=0.3, step=0.1, **options)
    found = []
    for seed in range(runs):
        state = replace(method.start(problem, x, seed=seed), memory=known)
        points = method.ask(state)
        responses = np.array([problem.response(point) for point in points])
        found.append(method.tell(state, responses).move.hypergradient.value)  # type: ignore[union-attr]
    return np.array(found)


def remembered_as(form: str, slopes: Array, x: Array) -> Any:
    """A Jacobian, as a matrix or as the slopes along the axes."""
    if form == "matrix":
        return RunningSensitivity(slopes)
    return tuple(
        Secant(start=x, end=x + 0.3 * axis, difference=0.3 * slopes @ axis)
        for axis in np.eye(x.size)
    )


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("form", ["matrix", "slopes"])
@pytest.mark.parametrize("slopes", [None, [[2.0, 0.5], [-1.0, 1.0]], [[9.0, -7.0], [3.0, 5.0]]])
def test_the_estimate_is_unbiased_whatever_is_remembered(
    one_sided: bool, form: str, slopes: Any
) -> None:
    """4,000 estimates with nothing, the truth and nonsense remembered, against g_δ in closed form.

    Each coordinate is within 5 standard errors; for all of them together that fails once in 70,000
    such tests.
    """
    follower = bizol.followers.BoxProjection(
        [[2.0, 0.5], [-1.0, 1.0]], [0.1, 0.2], [-0.5, -0.5], [0.5, 0.5]
    )
    problem = saturated(2, response=follower)
    x = np.array([0.1, -0.2])
    known = None if slopes is None else remembered_as(form, np.array(slopes), x)
    found = estimates(
        problem, x, known, runs=4_000, one_sided=one_sided, memory=None if form == "matrix" else 4
    )
    error = found.mean(axis=0) - approximate_hypergradient(problem, x, 0.3).value
    assert np.abs(error / (found.std(axis=0) / np.sqrt(len(found)))).max() < 5


@pytest.mark.parametrize("form", ["matrix", "slopes"])
def test_what_is_known_adds_no_noise(form: str) -> None:
    """On an affine response the variance is that of (J − M)ᵀd_y.

    There is none with M = J, and a quarter with M = J/2.
    """
    rng = np.random.default_rng(0)
    jacobian, x = rng.standard_normal((6, 4)), np.full(4, 0.1)
    problem = affine(jacobian)

    def variance(share: float) -> float:
        known = remembered_as(form, share * jacobian, x)
        memory = None if form == "matrix" else 8
        found = estimates(problem, x, known, runs=300, memory=memory)
        return float(found.var(axis=0).sum())

    nothing = variance(0.0)
    assert variance(1.0) < 1e-25
    assert variance(0.5) == pytest.approx(nothing / 4)
    assert variance(2.0) == pytest.approx(nothing)


@given(seed=st.integers(0, 1000))
def test_a_correction_explains_the_slope_and_never_makes_an_affine_response_worse_known(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    jacobian = rng.standard_normal((5, 3))
    believed = RunningSensitivity(rng.standard_normal((5, 3)))
    directions = bizol.directions.Sphere().draw(rng, 1, 4, 3)[0]
    after = believed.corrected(directions, directions @ jacobian.T)
    assert after.matrix @ directions[-1] == pytest.approx(jacobian @ directions[-1])
    before = np.linalg.norm(believed.matrix - jacobian)
    assert np.linalg.norm(after.matrix - jacobian) <= before + 1e-12
    block = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert believed.corrected(block, block @ jacobian.T).matrix == pytest.approx(jacobian)


def test_without_memory_it_is_bizol() -> None:
    case = tracked("box, dominated")
    problem, start = case.problem, case.start
    (ours,) = estimates(problem, start, None, runs=1, batch=4)
    method = BiZOL(delta=0.3, step=0.1, batch=4)
    state = method.start(problem, start, seed=0)
    theirs = method.tell(state, problem.response(method.ask(state))).move
    assert theirs is not None
    assert ours == pytest.approx(theirs.hypergradient.value)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("one_sided", [False, True])
def test_it_keeps_the_laws_of_a_method_on_every_set(name: str, one_sided: bool) -> None:
    problem = affine(np.random.default_rng(1).standard_normal((6, 4)), feasible_set=SETS[name])
    check_method(
        MemoryBiZOL(delta=0.05, batch=2, one_sided=one_sided), problem, iterations=20, seed=1
    )


def test_queries_are_two_or_one_per_direction_and_one() -> None:
    for one_sided, queries in ((False, 7), (True, 4)):
        method = MemoryBiZOL(delta=0.1, batch=3, one_sided=one_sided)
        assert len(method.ask(method.start(saturated(), seed=0))) == queries


@pytest.mark.parametrize("kind", ["box, calibrated", "box, dominated"])
def test_it_gets_further_than_bizol_with_the_same_queries(kind: str) -> None:
    case = tracked(kind)

    def gap(method: Any) -> float:
        values = [
            bizol.minimize(case.problem, case.start, budget=600, seed=seed, method=method).value
            for seed in range(3)
        ]
        return case.gap(float(np.median(values)))

    remembering = gap(MemoryBiZOL(delta=0.02, step=bizol.methods.open_loop(), one_sided=True))
    assert remembering < 0.5 * min(gap(BiZOL(0.08, 0.1, batch)) for batch in (1, 10))


def test_no_more_is_remembered_than_allowed() -> None:
    problem = saturated()
    method = MemoryBiZOL(delta=0.1, batch=2, memory=3)
    states = bizol.iterate(problem, method, seed=0)
    for _ in range(5):
        state = next(states)
    assert len(state.memory) == 3
    assert BiZOL(0.1, 0.1, 1).start(problem, seed=0).memory is None


def test_a_block_of_directions_and_memory_work_together() -> None:
    problem = affine(np.random.default_rng(2).standard_normal((5, 3)))
    method = MemoryBiZOL(
        delta=0.1, step=bizol.methods.open_loop(), batch=3, directions=OrthonormalBlocks()
    )
    found = bizol.minimize(problem, budget=2_000, method=method, seed=0).value
    default = bizol.minimize(problem, budget=200, seed=0).value
    assert found == pytest.approx(default, abs=1e-3)


def test_a_step_that_made_things_worse_is_seen() -> None:
    rule = AdaptiveStep(initial=0.4, longer=1.5, shorter=0.25)
    assert rule.after(None, 0.0) == 0.4
    method = MemoryBiZOL(delta=0.1, step=rule)
    state = method.start(saturated(), seed=0)
    responses = np.array([saturated().response(point) for point in method.ask(state)])
    move = method.tell(state, responses).move
    assert move is not None
    assert move.step == 0.4
    assert rule.after(move, move.value - 1e-9) == pytest.approx(0.6)
    assert rule.after(move, move.value + 1e-9) == pytest.approx(0.1)
    assert rule.after(replace(move, step=0.9), -np.inf) == 1.0


def test_directions_that_cannot_be_written_to_are_no_trouble_for_pytorch() -> None:
    """It warns of them, and warnings are errors here."""
    directions = np.eye(2)
    directions.flags.writeable = False
    slopes = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    nothing = RunningSensitivity(torch.zeros((2, 2), dtype=torch.float64))
    learned = nothing.corrected(directions, slopes)
    assert np.array_equal(learned.matrix.numpy(), slopes.numpy().T)


def test_steps_that_adapt_do_not_die_before_the_run_is_over() -> None:
    """Response-dominated tracking, median of three seeded runs: below 0.2 % of the start."""
    case = tracked("box, dominated")
    method = MemoryBiZOL(delta=0.1)
    gaps = [
        case.gap(
            bizol.minimize(case.problem, case.start, budget=600, seed=seed, method=method).value
        )
        for seed in range(3)
    ]
    assert np.median(gaps) < 2e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaptiveStep(initial=0.0), "initial"),
        (lambda: AdaptiveStep(shorter=1.0), "shorter"),
        (lambda: MemoryBiZOL(delta=0.1, memory=0), "memory"),
        (lambda: MemoryBiZOL(delta=-1.0), "delta"),
        (lambda: MemoryBiZOL(delta=0.1, step=2.0), "step"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
