"""The affine pieces of a quadratic program: how they are computed and which are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points

if TYPE_CHECKING:
    from bizol.followers.quadratic_program import QuadraticProgram

REMEMBERED = 8  # pieces that are tried before a solver is asked
WELL_CONDITIONED = 1e-7  # the least ratio of pivots at which a system is solved as it is
INDEPENDENT = 1e-9  # the least pivot of a row that does not depend on the others


@final
@dataclass(frozen=True, slots=True, eq=False)
class AffinePiece:
    """Where some constraints are active, response and multipliers are affine in x."""

    tight: NDArray[np.int64]  # the active inequalities
    slopes: Points
    offset: Point

    def at(self, x: Point) -> Point:
        """Return the response, then the multipliers of the equalities and active inequalities."""
        return self.slopes @ x + self.offset


@final
class PieceMemory:
    """What a program keeps to save time: products of its data, and recent pieces.

    Along A y = b + T x, P may be replaced by P + σAᵀA, which has an inverse: only the multipliers
    of the equalities change.

    Attributes:
        length: of the rows of G; 1 for rows of zeros.
        normals: the rows of G, scaled to length one.
        weight: σ.
        pieces: those met last, the latest first.
    """

    def __init__(self, program: QuadraticProgram) -> None:
        P, A = program.P, program.A
        length = np.linalg.norm(program.G, axis=1)
        self.length = np.where(length > 0, length, 1.0)
        self.pieces: tuple[AffinePiece, ...] = ()
        self.weight = float(np.abs(P).max()) / (float(np.abs(A).max(initial=0.0)) or 1.0) ** 2
        self.normals = program.G / self.length[:, None]
        self._equalities = A
        moves = np.vstack([program.T, program.S / self.length[:, None]])
        sides = np.append(program.b, program.h / self.length)
        rows = np.vstack([A, self.normals])  # N, of all constraints
        inverse = np.linalg.inv(P + self.weight * A.T @ A)
        symmetric = (inverse + inverse.T) / 2
        self._spread = symmetric @ rows.T  # P⁻¹Nᵀ
        self._cross = rows @ self._spread  # N P⁻¹Nᵀ
        # P⁻¹c and N P⁻¹c + r: their slopes and, in the last column, their constants.
        self._free = symmetric @ np.column_stack([program.Q, program.q])
        self._base = rows @ self._free + np.column_stack([moves, sides])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"pieces": ()}

    def remember(self, piece: AffinePiece) -> None:
        """Put a piece first; a single assignment, so that threads need no lock."""
        others = (other for other in self.pieces if not np.array_equal(other.tight, piece.tight))
        self.pieces = (piece, *others)[:REMEMBERED]

    def compute_piece(self, tight: NDArray[np.int64]) -> AffinePiece:
        """Return the piece on which the constraints `tight` are active.

        With the rows N of the active constraints, their right sides r and C = N P⁻¹Nᵀ:
        λ = −C⁻¹(N P⁻¹c + r) and y = −P⁻¹(c + Nᵀλ). Where rows depend on each other, C has no
        inverse, and an independent subset of them is used.

        Raises:
            LinAlgError: when the rows are too close to depending on each other.
        """
        from scipy.linalg import LinAlgError, cho_solve, cholesky

        e = len(self._equalities)
        while e + tight.size:
            active = np.concatenate([np.arange(e), e + tight])
            cross = self._cross[np.ix_(active, active)]
            try:
                lower = cholesky(cross, lower=True, check_finite=False)
                size = np.diagonal(lower)
                if size.min() > WELL_CONDITIONED * size.max():
                    forces = -cho_solve((lower, True), self._base[active], check_finite=False)
                    both = np.vstack([-self._free - self._spread[:, active] @ forces, forces])
                    return AffinePiece(tight, both[:, :-1].copy(), both[:, -1].copy())
            except LinAlgError:
                pass
            fewer = self._select_independent(tight)
            if fewer.size == tight.size:
                raise LinAlgError("active constraints are too close to depending on each other")
            tight = fewer
        return AffinePiece(tight, -self._free[:, :-1], -self._free[:, -1])

    def _select_independent(self, tight: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return constraints that imply the others, independent of each other and of A."""
        from scipy.linalg import qr

        rows = self.normals[tight]
        if len(self._equalities):
            along = np.linalg.qr(self._equalities.T)[0]
            rows = rows - rows @ along @ along.T
        _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
        size = np.abs(np.diagonal(triangle))
        return np.sort(tight[order[: int((size > INDEPENDENT).sum())]])
