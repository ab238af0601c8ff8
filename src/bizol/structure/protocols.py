"""Protocols of followers whose structure is known, for diagnosis; methods do not use them.

There are two protocols, each with one function that returns a problem's follower if it satisfies
the protocol. Jacobians alone are enough for Clarke gaps and subdifferentials; pieces, averages and
variation make the rest of the paper's analysis computable.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Protocol, final, runtime_checkable

from bizol.arrays import Point, Points
from bizol.problem import Problem


@final
@dataclass(frozen=True, slots=True)
class Pieces:
    """The labels of the pieces found, and whether there can be no others."""

    labels: frozenset[Hashable]
    complete: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariation:
    """ω(x, δ) of Definition 1, in the spectral norm, or a bound on it.

    Attributes:
        value: the number.
        kind: "exact"; "upper bound", which serves as well in every bound of the paper; or "search":
            the largest value over the pieces that were found, at the Frobenius-nearest matrix where
            J^c y(x) is a hull.

    """

    value: float
    kind: Literal["exact", "upper bound", "search"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smoothed:
    """The average of the response over a ball, y_δ(x) = E[y(x + δξ)], and its Jacobian J y_δ(x)."""

    at: Point
    delta: float
    value: Point  # (m,)
    jacobian: Points  # (m, n)
    error: float  # of the entries of the Jacobian; 0 for closed forms


@runtime_checkable
class KnownJacobians(Protocol):
    """A follower that tells its Jacobians; enough for `clarke_gap` and `smooth_gap`."""

    def limiting_jacobians(self, x: Point, tolerance: float = ...) -> list[Points]:
        """Return the matrices (m, n) whose convex hull is the generalized Jacobian J^c y(x).

        `tolerance` is how near a kink counts as on it. Its default is the follower's own, as an
        equilibrium that is solved for is known less exactly than a projection.
        """
        ...


@runtime_checkable
class KnownStructure(KnownJacobians, Protocol):
    """A follower that also tells its pieces, its averages over balls and its variation."""

    def __call__(self, x: Point, /) -> Point:
        """Return y(x)."""
        ...

    @property
    def curvature(self) -> float:
        """max_i L_i: how fast the Jacobian changes within a piece; 0 on affine pieces."""
        ...

    @property
    def searched(self) -> bool:
        """Whether the pieces within a ball can only be searched for, with many solves."""
        ...

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return I(x), or with a radius I_δ(x): the pieces that meet the ball around x."""
        ...

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether x is δ-regular: every piece that meets the ball is active at x (Definition 2)."""
        ...

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return J y_i(x), (m, n)."""
        ...

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Return y_δ(x) and J y_δ(x)."""
        ...

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return ω(x, δ), a bound on it, or the largest value a search finds (Definition 1)."""
        ...


def jacobians_of(problem: Problem) -> KnownJacobians:
    """Return the follower of a problem if it tells its Jacobians.

    Raises:
        ValueError: if it does not, with what is possible instead.

    """
    follower = problem.response
    if isinstance(follower, KnownJacobians):
        return follower
    raise ValueError(
        f"Clarke gaps need a follower that tells its Jacobians (limiting_jacobians, see "
        f"bizol.structure.KnownJacobians), and {type(follower).__name__} is a black box. "
        f"What is possible without: bizol.certify, the Bi-ZOL gap from queries alone."
    )


def structure_of(problem: Problem) -> KnownStructure:
    """Return the follower of a problem if its structure is known.

    Raises:
        ValueError: if it is not, with what is missing.

    """
    follower = problem.response
    if isinstance(follower, KnownStructure):
        return follower
    known = "tells its Jacobians and no more" if is_jacobian_known(problem) else "is a black box"
    raise ValueError(
        f"This needs a follower of known structure (pieces, averages, variation, see "
        f"bizol.structure.KnownStructure), and {type(follower).__name__} {known}. "
        f"What is possible without: bizol.certify, the Bi-ZOL gap from queries alone."
    )


def is_jacobian_known(problem: Problem) -> bool:
    """Whether the follower of a problem tells its Jacobians."""
    return isinstance(problem.response, KnownJacobians)


def is_structure_known(problem: Problem) -> bool:
    """Whether the structure of a problem's follower is known."""
    return isinstance(problem.response, KnownStructure)
