"""The estimate of eq. (28): its scale, its factored form, and where it is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bizol.directions import Coordinates, Directions, OrthonormalBlocks, Sphere
from bizol.problem import Anchor
from bizol.sensitivity import Sensitivity, anchor_hypergradient
from tests.problems import Array


def estimate(
    jacobian: Array, offset: Array, x: Array, directions: Array, radius: float
) -> Sensitivity:
    """The two-point estimate for the affine response J x + b."""

    def response(points: Array) -> Array:
        return points @ jacobian.T + offset

    differences = response(x + radius * directions) - response(x - radius * directions)
    return Sensitivity(at=x, radius=radius, directions=directions, differences=differences)


@pytest.mark.parametrize("sampler", [OrthonormalBlocks(), Coordinates()], ids=repr)
@given(
    n=st.integers(1, 8),
    m=st.integers(1, 8),
    blocks=st.integers(1, 3),
    radius=st.floats(1e-2, 1e2),
    seed=st.integers(0, 999),
)
def test_a_full_orthonormal_block_recovers_an_affine_response_exactly(
    sampler: Directions, n: int, m: int, blocks: int, radius: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    jacobian, offset, x = (
        rng.standard_normal((m, n)),
        rng.standard_normal(m),
        rng.standard_normal(n),
    )
    (directions,) = sampler.draw(rng, 1, blocks * n, n)
    assert estimate(jacobian, offset, x, directions, radius).dense() == pytest.approx(
        jacobian, abs=1e-9
    )


def test_the_paper_sized_jacobian_is_recovered_to_1e_9() -> None:
    rng = np.random.default_rng(0)
    jacobian, offset, x = (
        rng.standard_normal((200, 20)),
        rng.standard_normal(200),
        rng.standard_normal(20),
    )
    (directions,) = OrthonormalBlocks().draw(rng, 1, 20, 20)
    found = estimate(jacobian, offset, x, directions, 0.08).dense()
    assert np.abs(found - jacobian).max() < 1e-9


@given(n=st.integers(1, 6), m=st.integers(1, 6), count=st.integers(1, 9), seed=st.integers(0, 999))
def test_pulling_back_is_multiplying_with_the_transposed_matrix(
    n: int, m: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sensitivity = Sensitivity(
        at=np.zeros(n),
        radius=0.3,
        directions=rng.standard_normal((count, n)),
        differences=rng.standard_normal((count, m)),
    )
    covector = rng.standard_normal(m)
    assert sensitivity.pull_back(covector) == pytest.approx(sensitivity.dense().T @ covector)


def test_the_estimate_is_unbiased_on_an_affine_response() -> None:
    """20,000 independent directions; 12 entries at 6 standard errors; the seed is fixed.

    The chance of a failure is below 3·10⁻⁸.
    """
    rng = np.random.default_rng(1)
    jacobian, count = rng.standard_normal((3, 4)), 20_000
    (directions,) = Sphere().draw(rng, 1, count, 4)
    # Each is an estimate with B = 1.
    singles = 4 * (directions @ jacobian.T)[:, :, None] * directions[:, None, :]
    found = estimate(jacobian, np.zeros(3), np.zeros(4), directions, 0.1).dense()
    assert found == pytest.approx(singles.mean(axis=0), abs=1e-9)
    assert (np.abs(found - jacobian) <= 6 * singles.std(axis=0) / np.sqrt(count)).all()


def test_the_hypergradient_adds_the_exact_part_and_keeps_its_point() -> None:
    x = np.array([1.0, 2.0])
    anchor = Anchor(
        at=x, response=np.zeros(1), value=0.0, grad_x=np.array([10.0, 20.0]), grad_y=np.array([3.0])
    )
    sensitivity = Sensitivity(
        at=x, radius=0.5, directions=np.eye(2), differences=np.array([[2.0], [4.0]])
    )
    hypergradient = anchor_hypergradient(anchor, sensitivity)
    assert hypergradient.at is x
    assert np.array_equal(
        hypergradient.value, [10 + 2 / (2 * 0.5 * 2) * 2 * 3, 20 + 2 / (2 * 0.5 * 2) * 4 * 3]
    )
