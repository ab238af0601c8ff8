"""Unit length, the identity E[n w wᵀ] = I, and exactness on affine responses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bizol.directions import Coordinates, Directions, OrthonormalBlocks, Rademacher, Sphere

SAMPLERS = [Sphere(), OrthonormalBlocks(), Coordinates(), Rademacher()]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
sizes = st.integers(1, 9)


@every_sampler
@given(batches=st.integers(1, 3), count=sizes, dimension=sizes, seed=st.integers(0, 999))
def test_directions_are_unit_vectors_of_the_shape_asked_for(
    sampler: Directions, batches: int, count: int, dimension: int, seed: int
) -> None:
    drawn = sampler.draw(np.random.default_rng(seed), batches, count, dimension)
    assert drawn.shape == (batches, count, dimension)
    assert np.linalg.norm(drawn, axis=-1) == pytest.approx(np.ones((batches, count)))


@every_sampler
@pytest.mark.parametrize(("count", "dimension"), [(1, 3), (3, 3), (5, 3), (2, 4)])
def test_the_second_moment_is_the_identity(sampler: Directions, count: int, dimension: int) -> None:
    """Every row's E[n w wᵀ] = I, by 20,000 batches. At most 80 entries are compared at 6 standard
    errors: for a right sampler the chance of a failure is below 80 · 2·10⁻⁹ (and the seed is
    fixed)."""
    batches = 20_000
    drawn = sampler.draw(np.random.default_rng(7), batches, count, dimension)
    for row in np.swapaxes(drawn, 0, 1):  # one position in the batch at a time
        products = dimension * row[:, :, None] * row[:, None, :]
        error = np.abs(products.mean(axis=0) - np.eye(dimension))
        assert (error <= 6 * products.std(axis=0) / np.sqrt(batches) + 1e-12).all()


@every_sampler
def test_batches_are_independent_of_each_other(sampler: Directions) -> None:
    """The product of entries of two batches has mean zero (coordinates: 1/n²).

    6 standard errors, 16 entries.
    """
    first, second = np.swapaxes(
        sampler.draw(np.random.default_rng(3), 40_000, 2, 4).reshape(20_000, 2, 2, 4), 0, 1
    )
    products = first[:, 0, :, None] * second[:, 0, None, :]
    expected = first[:, 0].mean(axis=0)[:, None] * second[:, 0].mean(axis=0)[None]
    assert (
        np.abs(products.mean(axis=0) - expected)
        <= 6 * products.std(axis=0) / np.sqrt(20_000) + 1e-12
    ).all()


@pytest.mark.parametrize("sampler", [OrthonormalBlocks(), Coordinates()], ids=repr)
@given(dimension=sizes, blocks=st.integers(1, 3), seed=st.integers(0, 999))
def test_whole_blocks_resolve_the_identity_exactly(
    sampler: Directions, dimension: int, blocks: int, seed: int
) -> None:
    (drawn,) = sampler.draw(np.random.default_rng(seed), 1, blocks * dimension, dimension)
    assert drawn.T @ drawn / blocks == pytest.approx(np.eye(dimension), abs=1e-12)


@given(dimension=sizes, seed=st.integers(0, 999))
def test_a_cut_block_is_still_orthonormal(dimension: int, seed: int) -> None:
    count = (dimension + 1) // 2
    (drawn,) = OrthonormalBlocks().draw(np.random.default_rng(seed), 1, count, dimension)
    assert drawn @ drawn.T == pytest.approx(np.eye(count), abs=1e-12)


def test_orthonormal_directions_point_anywhere_not_only_upward() -> None:
    """The QR of LAPACK alone prefers signs; a fair one has mean zero within 6 standard errors."""
    drawn = OrthonormalBlocks().draw(np.random.default_rng(0), 20_000, 3, 3).reshape(-1, 9)
    assert (np.abs(drawn.mean(axis=0)) <= 6 * drawn.std(axis=0) / np.sqrt(20_000)).all()
