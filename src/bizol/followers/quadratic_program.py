"""Followers that solve a quadratic program whose data move with the decision: mpQPs, explicit MPC, demand response."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import Point, Points, as_matrix, as_vector
from bizol.followers.structure import (
    Pieces,
    SetVariation,
    Smoothed,
    attainable,
    averaged,
    limits,
    mean_by_pieces,
    searched,
    searched_variation,
    subsets,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram:
    """A strongly convex quadratic program: y(x) = argmin ½ yᵀP y + (q + Q x)ᵀ y subject to G y ≤ h + S x.

    Solved by least distance programming (Lawson and Hanson), an active-set method, with rows of length one; an answer
    that violates a constraint by more than 10⁻⁷ is refused. Meant for tens of variables. The response is piecewise
    affine; a piece is labeled by its active constraints.

    Args:
        P: (m, m), symmetric positive definite.
        q, Q: (m,) and (m, n), the linear cost.
        G, h: (c, m) and (c,), the constraints.
        S: (c, n), how the decision moves them; not at all by default.

    Example:
        >>> follower = QuadraticProgram(P=[[2.0]], q=[0.0], Q=[[-2.0]], G=[[1.0]], h=[1.0])
        >>> follower(np.array([0.5])), follower(np.array([3.0]))
        (array([0.5]), array([1.]))

    """

    P: Points
    q: Point
    Q: Points
    G: Points
    h: Point
    S: Points
    _root: Points = field(init=False, repr=False)  # L⁻¹, where P = L Lᵀ

    def __init__(
        self, P: ArrayLike, q: ArrayLike, Q: ArrayLike, G: ArrayLike, h: ArrayLike, S: ArrayLike | None = None
    ) -> None:
        m = len(np.atleast_1d(P))
        hessian = as_matrix(P, "QuadraticProgram(P=...)", columns=m)
        object.__setattr__(self, "P", hessian)
        object.__setattr__(self, "q", as_vector(q, "QuadraticProgram(q=...)", size=m))
        object.__setattr__(self, "Q", as_matrix(Q, "QuadraticProgram(Q=...)"))
        object.__setattr__(self, "G", as_matrix(G, "QuadraticProgram(G=...)", columns=m))
        object.__setattr__(self, "h", as_vector(h, "QuadraticProgram(h=...)", size=len(self.G), finite=True))
        still = np.zeros((len(self.G), self.Q.shape[1]))
        moving = still if S is None else as_matrix(S, "QuadraticProgram(S=...)", columns=self.Q.shape[1])
        if len(self.Q) != m or len(moving) != len(self.G):
            raise ValueError(
                f"QuadraticProgram(Q=..., S=...) must have {m} and {len(self.G)} rows, "
                f"got {len(self.Q)} and {len(moving)}."
            )
        object.__setattr__(self, "S", moving)
        try:
            if not np.allclose(hessian, hessian.T, rtol=0.0, atol=1e-10 * np.abs(hessian).max()):
                raise np.linalg.LinAlgError("not symmetric")
            object.__setattr__(self, "_root", np.linalg.inv(np.linalg.cholesky(hessian)))
        except np.linalg.LinAlgError as error:
            raise ValueError("QuadraticProgram(P=...) must be symmetric positive definite.") from error

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self._solve(row)[0] for row in x])
        return self._solve(x)[0]

    @property
    def searched(self) -> bool:
        """Yes."""
        return True

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the attainable active sets around x; with a radius, those a search of the ball finds."""
        if radius > 0:
            return searched(self, x, radius, tolerance)
        response, multipliers = self._solve(x)
        length = np.linalg.norm(self.G, axis=1)
        slack = self.h + self.S @ x - self.G @ response  # in units of distance: slack / length
        forces = multipliers * length
        active = np.flatnonzero((length > 0) & ((slack <= tolerance * length) | (multipliers > 0)))
        undecided = active[forces[active] <= tolerance * max(1.0, float(forces.max()))]
        sure = np.setdiff1d(active, undecided)
        labels = set()
        for chosen in subsets(undecided):
            tight = np.union1d(sure, chosen).astype(np.int64)
            if tight.size and np.linalg.matrix_rank(self.G[tight]) < tight.size:
                continue  # another subset describes the same piece
            sensitivity, prices = self._sensitivities(tight)
            loose = np.setdiff1d(undecided, chosen).astype(np.int64)
            rows = np.vstack([prices[np.isin(tight, chosen)], self.S[loose] - self.G[loose] @ sensitivity])
            if len(rows) == 0 or attainable(rows):
                labels.add(tuple(tight.tolist()))
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether a search of the ball finds only pieces that are active at x."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the largest distance over the pieces a search of the ball finds."""
        return searched_variation(self, x, delta, tolerance)

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return how the response moves while these constraints stay active."""
        return self._sensitivities(np.array(piece, dtype=np.int64))[0]

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return limits(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""
        return averaged(x, delta, self, lambda points: mean_by_pieces(self, points), samples=2**11)

    def _solve(self, x: Point) -> tuple[Point, Point]:
        """Return the response and the multipliers: with z = Lᵀy + L⁻¹c, minimize ½‖z‖² over G L⁻ᵀ z ≤ b."""
        from scipy.optimize import nnls

        shift = self._root @ (self.q + self.Q @ x)
        normals = self.G @ self._root.T
        length = np.linalg.norm(normals, axis=1)
        bound = self.h + self.S @ x
        if (bound[length == 0] < 0).any():
            raise ValueError(
                f"QuadraticProgram has no feasible response at x = {x}: a row of zeros contradicts itself."
            )
        kept = np.flatnonzero(length > 0)
        rows = normals[kept] / length[kept, None]
        distance = bound[kept] / length[kept] + rows @ shift
        scale = max(1.0, float(np.abs(distance).max(initial=0.0)))
        system = -np.vstack([rows.T, distance / scale])
        target = np.append(np.zeros(len(self.P)), 1.0)
        weights, _ = nnls(system, target, maxiter=30 * max(10, len(kept)))
        residual = system @ weights - target
        if residual[-1] > -1e-13:  # it is −‖residual‖²
            raise ValueError(f"QuadraticProgram has no feasible response at x = {x}: G y ≤ h + S x contradicts itself.")
        shortest = -residual[:-1] / residual[-1] * scale
        if (rows @ shortest - distance).max(initial=0.0) > 1e-7 * scale:
            raise ValueError(f"QuadraticProgram could not be solved accurately at x = {x}; rescale its constraints.")
        multipliers = np.zeros(len(self.h))
        multipliers[kept] = -weights / residual[-1] * scale / length[kept]
        return np.asarray(self._root.T @ (shortest - shift)), multipliers

    def _sensitivities(self, tight: NDArray[np.int64]) -> tuple[Points, Points]:
        """Return dy/dx and dλ/dx while the constraints `tight` are active, from the KKT system."""
        rows = self.G[tight]
        inverse = self._root.T @ self._root
        free = -inverse @ self.Q
        if len(rows) == 0:
            return free, np.zeros((0, self.Q.shape[1]))
        prices = np.asarray(np.linalg.solve(rows @ inverse @ rows.T, rows @ free - self.S[tight]), dtype=np.float64)
        return free - inverse @ rows.T @ prices, prices
