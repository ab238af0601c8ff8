"""Hulls, and the followers' inside: limits against finite differences, closed forms against
averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bizol.directions import Sphere
from bizol.followers import BoxProjection, QuadraticProgram, SimplexProjection, SmoothSaturation
from bizol.structure import Hull, KnownStructure
from bizol.structure.averages import ball_points, marginal_cdf, marginal_mean_below
from bizol.structure.clarke import generalized_jacobian
from bizol.structure.pieces import meets_ball
from bizol.verification.finding import (
    decisions,
    example,
    numerical_gradient,
    on_boundary,
    on_kinks,
    vee,
)

KINDS = ["box", "ball", "simplex", "program", "smooth"]
every_kind = pytest.mark.parametrize("kind", KINDS)


# --- hulls


@given(seed=st.integers(0, 999), count=st.integers(1, 6), dimension=st.integers(1, 4))
def test_the_nearest_point_of_a_hull_keeps_the_law_of_projections(
    seed: int, count: int, dimension: int
) -> None:
    rng = np.random.default_rng(seed)
    hull = Hull(np.zeros(dimension), rng.standard_normal((count, dimension)))
    target = 2 * rng.standard_normal(dimension)
    nearest = hull.nearest(target)
    assert ((hull.generators - nearest) @ (target - nearest)).max() < 1e-9
    inside = rng.dirichlet(np.ones(count)) @ hull.generators
    assert hull.distance(inside) < 1e-9


def test_a_hull_of_large_and_of_tiny_numbers() -> None:
    for size in (1e-12, 1e12):
        hull = Hull(np.zeros(2), size * np.array([[1.0, 1.0], [1.0, -1.0]]))
        assert hull.distance(np.zeros(2)) == pytest.approx(size)


# --- limits


@every_kind
def test_inside_a_piece_the_limit_is_the_jacobian_by_finite_differences(kind: str) -> None:
    case = example(kind)
    for x in decisions(case, 8):
        matrices = case.follower.limiting_jacobians(x)
        assert len(matrices) == 1
        assert matrices[0] == pytest.approx(numerical_gradient(case.follower, x).T, abs=1e-6)


@pytest.mark.parametrize("kinks", [1, 2, 3])
def test_on_kinks_every_limit_is_seen_nearby_and_nothing_else(kinks: int) -> None:
    case = example("box")
    x = on_kinks(case, kinks)
    claimed = {matrix.tobytes() for matrix in case.follower.limiting_jacobians(x)}
    seen = {
        case.follower.limiting_jacobians(x + 1e-6 * v, 0.0)[0].tobytes()
        for v in ball_points(x.size, 256, seed=0)
    }
    assert claimed == seen
    assert len(claimed) == 2**kinks


def test_on_the_boundary_of_a_ball_both_sides_are_limits() -> None:
    case = example("ball")
    x = on_boundary(case)
    inside, outside = case.follower.limiting_jacobians(x)
    assert inside == pytest.approx(case.follower.matrix)
    normal = case.follower(x) / np.linalg.norm(case.follower(x))
    assert normal @ outside == pytest.approx(
        np.zeros(3), abs=1e-9
    )  # the response cannot leave the ball
    assert generalized_jacobian(case.follower, x).generators.shape == (2, 18)


@pytest.mark.parametrize(
    "follower",
    [example("simplex").follower, example("program").follower],
    ids=["simplex", "program"],
)
def test_where_a_piece_ends_its_two_limits_are_those_on_either_side(follower: Any) -> None:
    """Walk along a line, find where the label changes, and compare."""
    direction, start, changes = np.array([0.8, -0.5, 0.3]), np.array([-0.9, 0.2, 0.1]), 0

    def label(t: float) -> Any:
        return follower.pieces(start + t * direction, 0.0, 0.0).labels

    for low, high in zip(np.linspace(0, 2, 41)[:-1], np.linspace(0, 2, 41)[1:], strict=True):
        if label(low) == label(high) or len(label((low + high) / 2)) != 1:
            continue
        before, after = low, high
        for _ in range(60):
            middle = (before + after) / 2
            before, after = (middle, after) if label(middle) == label(low) else (before, middle)
        if label(after + 1e-7) != label(high):
            continue  # two changes in one interval
        x = start + before * direction
        found = follower.pieces(x, 0.0, 1e-8).labels
        assert label(before - 1e-7) | label(after + 1e-7) <= found
        changes += 1
    assert changes >= 1


@every_kind
def test_a_follower_of_known_structure_is_one(kind: str) -> None:
    assert isinstance(example(kind).follower, KnownStructure)


@pytest.mark.parametrize(
    ("follower", "x", "labels"),
    [
        (
            SimplexProjection([[1.0], [1.0]], [1.0, 0.0], 1.0),
            [0.0],
            {(0,), (0, 1)},
        ),  # a tie that never breaks
        (
            QuadraticProgram([[1.0]], [0], [[-1]], G=[[1], [1]], h=[1, 1]),
            [2.0],
            None,
        ),  # the same constraint twice
        (
            QuadraticProgram(
                np.eye(2), [0, 0], -np.eye(2), G=[[1, 0], [0, 1], [1, 1]], h=[1, 1, 2]
            ),
            [3.0, 3.0],
            None,
        ),
        (
            QuadraticProgram([[1.0]], [0], [[-1]], G=[[1], [0]], h=[1, 0]),
            [2.0],
            {(0,)},
        ),  # a row of zeros
    ],
)
def test_degenerate_points_have_pieces_all_the_same(follower: Any, x: Any, labels: Any) -> None:
    point = np.array(x)
    found = follower.pieces(point).labels
    assert found
    if labels is not None:
        assert found == labels
    for matrix in follower.limiting_jacobians(point):
        assert matrix == pytest.approx(numerical_gradient(follower, point).T, abs=1e-6)
    follower.smoothed(point, 0.1)
    follower.variation(point, 0.1)


def test_capacities_closer_than_the_tolerance_keep_the_free_piece() -> None:
    pinched = BoxProjection([[1.0]], [0.0], [-4e-10], [4e-10])
    assert pinched.pieces(np.zeros(1)).labels == {(-1,), (0,), (1,)}
    coarse = BoxProjection([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [-4e-3, -1.0], [4e-3, 1.0])
    assert coarse.pieces(np.zeros(2), 0.0, 1e-2).labels == {(-1, 0), (0, 0), (1, 0)}
    assert pinched.is_regular(np.zeros(1), 0.5)  # both kinks are at x: nothing else is in the ball
    assert pinched.pieces(np.zeros(1), 0.5).labels == pinched.pieces(np.zeros(1)).labels
    assert pinched.variation(np.zeros(1), 0.5).value == 0


def test_a_ball_that_touches_a_kink_does_not_meet_the_piece_behind_it() -> None:
    follower = BoxProjection([[1.0]], [0.0], [-9.0], [1.0])
    assert follower.is_regular(np.zeros(1), 1.0)
    assert follower.pieces(np.zeros(1), 1.0).labels == follower.pieces(np.zeros(1)).labels
    assert not follower.is_regular(np.zeros(1), 1.001)


# --- set variation


def farthest_seen(follower: Any, x: Any, delta: float) -> float:
    hull = generalized_jacobian(follower, x)
    found = [
        matrix
        for v in ball_points(x.size, 2048, seed=7)
        for matrix in follower.limiting_jacobians(x + delta * v, 0.0)
    ]
    return max(
        float(np.linalg.norm(m - hull.nearest(m.ravel()).reshape(m.shape), 2)) for m in found
    )


def test_beside_a_kink_while_on_another_the_variation_is_that_of_the_first() -> None:
    """Agents |x₁|, |x₂| as four rows: on x₁ = 0 both rows of x₂ flip behind x₂ = 0, a matrix of
    norm √2."""
    follower, x = vee().follower, np.array([0.0, 0.05])
    assert follower.variation(x, 0.1).value == pytest.approx(np.sqrt(2))
    assert farthest_seen(follower, x, 0.1) == pytest.approx(np.sqrt(2))


def test_an_agent_that_crosses_both_its_kinks_is_not_changed() -> None:
    follower = BoxProjection([[1.0], [1.0]], [0.0, 0.0], [-0.1, -0.2], [0.1, 9.0])
    variation = follower.variation(np.array([0.15]), 0.4)
    assert variation.kind == "upper bound"
    assert farthest_seen(follower, np.array([0.15]), 0.4) == pytest.approx(1.0)
    assert variation.value >= 1.0


@pytest.mark.parametrize("kind", ["box", "ball", "smooth"])
@pytest.mark.parametrize("kinks", [False, True])
def test_no_sample_exceeds_the_variation(kind: str, kinks: bool) -> None:
    case = example(kind, n=2)
    if kinks and kind == "smooth":
        return
    places = (
        [on_boundary(case) if kind == "ball" else on_kinks(case, 1)]
        if kinks
        else list(decisions(case, 4))
    )
    for x in places:
        for delta in (0.05, 0.4):
            variation = case.follower.variation(x, delta)
            seen = farthest_seen(case.follower, x, delta)
            assert seen <= variation.value + 1e-9
            if variation.kind == "exact":
                assert seen == pytest.approx(variation.value, abs=1e-9)


def test_across_the_boundary_of_a_ball_the_bound_is_the_norm_of_the_matrix() -> None:
    case = example("ball")
    x = on_boundary(case)
    inside = x * 0.97 if case.follower.is_regular(x * 0.97, 1e-4) else x * 1.03
    variation = case.follower.variation(inside, 0.3)
    assert variation.value == pytest.approx(np.linalg.norm(case.follower.matrix, 2))
    assert 0.2 * variation.value < farthest_seen(case.follower, inside, 0.3) <= variation.value


# --- averages over the ball


@every_kind
def test_the_smoothed_jacobian_is_what_two_point_estimates_estimate(kind: str) -> None:
    """The mean of 20,000 two-point estimates, 18 entries at 6 standard errors (seed fixed)."""
    case, delta = example(kind), 0.4
    x = next(decisions(case, 1))
    smoothed = case.follower.smoothed(x, delta)
    count = 4000 if kind in ("simplex", "program") else 20_000
    (w,) = Sphere().draw(np.random.default_rng(0), 1, count, 3)
    differences = case.follower(x + delta * w) - case.follower(x - delta * w)
    samples = 3 / (2 * delta) * differences[:, :, None] * w[:, None, :]
    error = np.abs(samples.mean(axis=0) - smoothed.jacobian)
    assert (error <= 6 * samples.std(axis=0) / np.sqrt(count) + 6 * smoothed.error + 1e-12).all()


@pytest.mark.parametrize("kind", ["box", "smooth"])
def test_closed_forms_agree_with_brute_averages(kind: str) -> None:
    case, delta = example(kind), 0.5
    x = next(decisions(case, 1))
    smoothed = case.follower.smoothed(x, delta)
    average = case.follower(x + delta * ball_points(3, 2**17, seed=0)).mean(axis=0)
    assert smoothed.value == pytest.approx(average, abs=1e-4)
    assert smoothed.jacobian == pytest.approx(
        numerical_gradient(lambda u: case.follower.smoothed(u, delta).value, x, 1e-5).T, abs=1e-6
    )


def test_a_steep_saturation_is_averaged_accurately_or_says_how_accurately() -> None:
    steep = SmoothSaturation([[100.0]], [30.0], [1.0])
    smoothed = steep.smoothed(np.zeros(1), 1.0)
    exact = (steep(np.ones(1)) - steep(-np.ones(1))) / 2
    assert abs(smoothed.jacobian[0, 0] - exact[0]) <= max(smoothed.error, 1e-9)


def test_marginals_in_high_dimension() -> None:
    assert np.isfinite(marginal_mean_below(np.array(0.01), 5000))


def test_in_one_dimension_the_smoothed_jacobian_is_a_difference_quotient() -> None:
    case = example("ball", n=1)
    x = np.array([0.2])
    smoothed = case.follower.smoothed(x, 0.5)
    expected = (case.follower(x + 0.5) - case.follower(x - 0.5)) / 1.0
    assert smoothed.jacobian[:, 0] == pytest.approx(expected)
    assert smoothed.error == 0


def test_a_box_with_open_ends_and_an_agent_that_does_not_listen() -> None:
    follower = BoxProjection([[1.0, 0.0], [0.0, 0.0]], [0.0, 5.0], [-np.inf, 0.0], [0.1, 2.0])
    smoothed = follower.smoothed(np.zeros(2), 0.5)
    average = follower(0.5 * ball_points(2, 2**16, seed=0)).mean(axis=0)
    assert smoothed.value == pytest.approx(average, abs=1e-4)
    assert smoothed.value[1] == 2.0
    assert follower.pieces(np.zeros(2)).labels == {(0, 1)}


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_the_marginal_of_the_ball_against_samples(dimension: int) -> None:
    coordinate = ball_points(dimension, 2**15, seed=1)[:, 0]
    for s in (-0.5, 0.1, 0.4):
        assert marginal_cdf(np.array(s), dimension) == pytest.approx(
            (coordinate <= s).mean(), abs=3e-3
        )
        below = np.where(coordinate <= s, coordinate, 0.0).mean()
        assert marginal_mean_below(np.array(s), dimension) == pytest.approx(below, abs=3e-3)


def test_meeting_a_ball() -> None:
    normals = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert meets_ball(normals, np.array([0.6, 0.6]), 1.0)  # (0.6, 0.6) is 0.85 away
    assert not meets_ball(normals, np.array([0.8, 0.8]), 1.0)
    assert not meets_ball(np.array([[1.0], [-1.0]]), np.array([0.0, 0.0]), 1.0)  # v > 0 and v < 0
    assert meets_ball(np.array([[1.0], [-1.0]]), np.array([0.0, -0.1]), 1.0)


# --- the followers themselves


@given(seed=st.integers(0, 999))
def test_a_simplex_response_minimizes_the_discomfort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    follower = SimplexProjection(rng.standard_normal((5, 2)), rng.standard_normal(5), total=1.5)
    x = rng.standard_normal(2)
    y = follower(x)
    assert y.sum() == pytest.approx(1.5)
    assert y.min() >= 0
    for other in 1.5 * rng.dirichlet(np.ones(5), size=20):
        assert follower.discomfort(x, y) <= follower.discomfort(x, other) + 1e-9


@given(seed=st.integers(0, 999))
def test_a_program_response_satisfies_its_kkt_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 4))
    P, G, S = (
        root @ root.T + 0.1 * np.eye(4),
        rng.standard_normal((7, 4)),
        0.2 * rng.standard_normal((7, 2)),
    )
    follower = QuadraticProgram(
        P, rng.standard_normal(4), rng.standard_normal((4, 2)), G=G, h=np.ones(7), S=S
    )
    x = rng.uniform(-1, 1, 2)
    y, multipliers = follower._solve(x)
    slack = 1 + S @ x - G @ y
    assert multipliers.min() >= 0
    assert slack.min() >= -1e-8
    assert multipliers @ slack == pytest.approx(0, abs=1e-7)
    assert P @ y + follower.q + follower.Q @ x + G.T @ multipliers == pytest.approx(
        np.zeros(4), abs=1e-7
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: QuadraticProgram([[0.0]], [0], [[1]], G=[[1]], h=[1]),
            r"QuadraticProgram\(P=\.\.\.\) must be symmetric pos",
        ),
        (
            lambda: QuadraticProgram([[1.0]], [0], [[1], [1]], G=[[1]], h=[1]),
            r"\(Q=\.\.\., S=\.\.\.\) must have 1 and 1 rows",
        ),
        (
            lambda: QuadraticProgram([[1.0]], [0], [[1]], G=[[1], [-1]], h=[-1, -1])(np.zeros(1)),
            "has no feasible response at x",
        ),
        (
            lambda: SmoothSaturation([[1.0]], [0], [0]),
            r"SmoothSaturation\(upper=\.\.\.\) must be positive, got 0 for agent 0",
        ),
        (
            lambda: QuadraticProgram(
                [[2.0, 1.0], [0.0, 2.0]], [0, 0], np.eye(2), G=np.eye(2), h=[1, 1]
            ),
            "must be symmetric",
        ),
        (
            lambda: QuadraticProgram([[1.0]], [0], [[1]], G=[[1]], h=[np.inf]),
            r"QuadraticProgram\(h=\.\.\.\) must be finite",
        ),
        (
            lambda: QuadraticProgram([[1.0]], [0], [[1]], G=[[0]], h=[-1])(np.zeros(1)),
            "a row of zeros contradicts itself",
        ),
        (
            lambda: SimplexProjection([[1.0]], [0], 0),
            r"SimplexProjection\(total=\.\.\.\) must be a positive",
        ),
    ],
)
def test_followers_of_the_wrong_parts_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("unit", [1e-7, 1e-3, 1e6])
def test_units_of_a_constraint_do_not_matter(unit: float) -> None:
    follower = QuadraticProgram([[1.0]], [0], [[-1]], G=[[unit]], h=[unit])  # y ≤ 1
    assert follower(np.array([5.0])) == pytest.approx([1.0], abs=1e-9)
    assert follower.pieces(np.array([5.0])).labels == {(0,)}
    assert follower.pieces(np.array([0.5])).labels == {()}
    # and one that never binds
    far = QuadraticProgram([[1.0]], [0], [[-1]], G=[[1], [1]], h=[1, 1e9])
    assert far.pieces(np.array([0.5])).labels == {()}


def test_too_many_ties_are_not_listed() -> None:
    tied = SimplexProjection(
        np.random.default_rng(0).standard_normal((14, 3)), np.append(1.0, np.zeros(13)), 1.0
    )
    with pytest.raises(ValueError, match="13 kinks meet here: too many combinations"):
        tied.pieces(np.zeros(3))
