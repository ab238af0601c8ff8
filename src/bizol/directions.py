"""Random directions w with E[n w wᵀ] = I, the identity behind every two-point estimate."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol, final, runtime_checkable

import numpy as np
from numpy.random import Generator

from bizol.arrays import Batches


@runtime_checkable
class Directions(Protocol):
    """A way to draw unit directions; each one, taken alone, satisfies E[n w wᵀ] = I."""

    def draw(self, rng: Generator, batches: int, count: int, dimension: int) -> Batches:
        """Return independent batches of unit vectors, shaped (batches, count, dimension)."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Sphere:
    """Independent directions, uniform on the unit sphere: the paper's choice.

    The estimate is unbiased for the Jacobian of the smoothed response y_δ, bends and all (Lemma 1).

    Example:
        >>> w = Sphere().draw(np.random.default_rng(0), batches=1, count=2, dimension=3)
        >>> np.linalg.norm(w, axis=-1)
        array([[1., 1.]])

    """

    def draw(self, rng: Generator, batches: int, count: int, dimension: int) -> Batches:
        """Normalize Gaussian vectors."""
        directions = rng.standard_normal((batches, count, dimension))
        directions /= np.sqrt(np.vecdot(directions, directions))[..., None]
        return directions  # each ~ Unif(Sⁿ⁻¹)


@final
@dataclass(frozen=True, slots=True)
class OrthonormalBlocks:
    """Blocks of n orthonormal directions, each block a uniformly random rotation of the axes.

    Every row alone is uniform on the sphere, so the estimate stays unbiased for y_δ; together, a
    full block measures an affine response exactly. Choose B a multiple of n if you can afford it: a
    truncated block keeps the expectation, but not the exactness.

    Example:
        >>> w = OrthonormalBlocks().draw(np.random.default_rng(0), batches=1, count=3, dimension=3)
        >>> bool(np.allclose(w[0] @ w[0].T, np.eye(3)))
        True

    """

    def draw(self, rng: Generator, batches: int, count: int, dimension: int) -> Batches:
        """Stack whole blocks and the first rows of one more."""
        sizes = [min(dimension, count - start) for start in range(0, count, dimension)]
        return np.concatenate(
            [_orthonormal_rows(rng, batches, size, dimension) for size in sizes], axis=1
        )


@final
@dataclass(frozen=True, slots=True)
class Coordinates:
    """Coordinate axes, without repetition within each block of n.

    These are classical finite differences in random order, exact on an affine response when B is a
    multiple of n. On other responses the estimate averages differences along the axes; it does not
    estimate the Jacobian of y_δ.

    Example:
        >>> Coordinates().draw(np.random.default_rng(0), batches=1, count=2, dimension=2)
        array([[[1., 0.],
                [0., 1.]]])

    """

    def draw(self, rng: Generator, batches: int, count: int, dimension: int) -> Batches:
        """Pick axes in random order, each once before any is picked again."""
        blocks = -(-count // dimension)
        ordered = np.broadcast_to(np.arange(dimension), (batches, blocks, dimension))
        axes = rng.permuted(ordered, axis=-1).reshape(batches, -1)[:, :count]
        directions = np.zeros((batches, count, dimension))
        np.put_along_axis(directions, axes[..., None], 1.0, axis=-1)
        return directions


@final
@dataclass(frozen=True, slots=True)
class Rademacher:
    """Independent random corners of the cube, scaled to unit length: all entries ±1/√n.

    Each direction moves every coordinate by the same amount, as in SPSA. On a response that bends,
    the estimate averages over these corners, not over the sphere.

    Example:
        >>> Rademacher().draw(np.random.default_rng(0), batches=1, count=1, dimension=4)
        array([[[ 0.5,  0.5,  0.5, -0.5]]])

    """

    def draw(self, rng: Generator, batches: int, count: int, dimension: int) -> Batches:
        """Flip a fair coin for every entry."""
        size = 1 / sqrt(dimension)
        return np.where(rng.integers(2, size=(batches, count, dimension)) == 1, size, -size)


def _orthonormal_rows(rng: Generator, batches: int, count: int, dimension: int) -> Batches:
    q, r = np.linalg.qr(rng.standard_normal((batches, dimension, count)))
    # Signs that make the QR factorization unique: columns ~ Haar.
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.swapaxes(q * signs[:, None, :], -1, -2)
