"""Randomness is a function of (seed, key): no generator is ever carried from one step to the next.

So asking twice gives the same points, results do not depend on who computes them in which order,
and a run that stopped is resumed by replaying it.
"""

from __future__ import annotations

import secrets
from numbers import Integral

from numpy.random import PCG64, Generator, SeedSequence

from bizol.arrays import ArgumentError

# Keys one number longer than an iteration's key (k,): streams that no iteration uses.
OUTPUT = (0, 1)  # the draw of x_R
CERTIFICATE = (0, 2)  # the directions of a certificate, fresh also under the seed of the search
REDRAW = 3  # in (k, REDRAW, r): the r-th redraw of the directions of iteration k
FOLLOWER = (0, 4, 0)  # after it, what a seed given to the follower is for


def as_seed(seed: int | None) -> int:
    """Return the given seed, or 128 fresh random bits where it is None.

    A run reports the seed it used.
    """
    if seed is None:
        return secrets.randbits(128)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise ArgumentError("seed", "", f"must be a non-negative integer or None, got {seed!r}.")
    return int(seed)


def generator(seed: int, *key: int) -> Generator:
    """Return the generator of `(seed, key)`; distinct pairs give independent streams.

    Example:
        >>> bool(generator(1, 7).random() == generator(1, 7).random())
        True

    """
    return Generator(PCG64(SeedSequence(seed, spawn_key=key)))


def seed_of(seed: int, *key: int) -> int:
    """Return a seed for another program: a function of `(seed, key)` that fits into 63 bits."""
    return int(SeedSequence(seed, spawn_key=key).generate_state(1, "uint64")[0] >> 1)
