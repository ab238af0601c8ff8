"""The instances are the documented ones, and the demonstration shows what the paper claims."""

from __future__ import annotations

import numpy as np
import pytest

from bizol import VZO, BiZOL
from bizol.reproduction.demo import PAPER, Comparison, Curve, compare, trace
from bizol.reproduction.instances import BALL, BOX, Constants, tracking_instance


@pytest.mark.parametrize("constants", [BOX, BALL], ids=["box", "ball"])
def test_an_instance_is_the_same_every_time_and_has_the_paper_sizes(constants: Constants) -> None:
    first, second = tracking_instance(constants), tracking_instance(constants)
    assert np.array_equal(first.follower.matrix, second.follower.matrix)
    assert first.problem.feasible_set.dimension == 20
    assert first.follower(first.start).shape == (200,)
    assert first.problem.feasible_set.contains(first.start)


def test_capacities_bind_at_the_start_so_the_response_has_kinks() -> None:
    box, ball = tracking_instance(BOX), tracking_instance(BALL)
    saturated = np.abs(box.follower(box.start)) == box.follower.upper  # type: ignore[union-attr]
    assert 0.1 < saturated.mean() < 0.9
    assert np.linalg.norm(ball.follower(ball.start)) == pytest.approx(4.8834)


@pytest.mark.parametrize("response", ["box", "ball"])
def test_bizol_is_ahead_of_vzo_in_every_paired_run(response: str) -> None:
    """The paper's comparison at B = 10 with a quarter of the budget; runs differ by 10 standard deviations or more."""
    (comparison,) = compare(response, batches=[10], seeds=3, budget=2500)
    assert isinstance(comparison, Comparison)
    for ours, theirs in zip(comparison.bizol, comparison.vzo, strict=True):
        assert ours.final < theirs.final
    assert comparison.improvement > 0.2


def test_the_numbers_of_the_paper_agree_with_its_own_improvements() -> None:
    """Tables I and II print the relative improvements too: means of ratios, so they agree to half a percent point."""
    printed = {"box": {1: 33.48, 5: 31.10, 10: 27.93, 50: 10.49}, "ball": {1: 59.72, 5: 65.77, 10: 63.23, 50: 40.97}}
    for response, rows in PAPER.items():
        for batch, (ours, theirs) in rows.items():
            assert 100 * (theirs - ours) / theirs == pytest.approx(printed[response][batch], abs=1.0)


def test_the_final_value_is_the_mean_of_the_last_ten() -> None:
    curve = Curve(queries=np.arange(30), values=np.arange(30.0))
    assert curve.final == np.mean(range(20, 30))


def test_a_trace_counts_queries_as_the_paper_does() -> None:
    instance = tracking_instance(BOX)
    assert trace(instance, BiZOL(0.08, 0.1, 10), budget=100, seed=0).queries.tolist() == [0, 21, 42, 63, 84]
    assert trace(instance, VZO(0.08, 0.1, 10), budget=100, seed=0).queries.tolist() == [0, 20, 40, 60, 80, 100]
