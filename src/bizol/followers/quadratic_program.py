"""Followers that solve a quadratic program whose data move with the decision.

Examples are multiparametric programs, explicit model predictive control and demand response.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector, is_real
from bizol.followers.affine_pieces import AffinePiece, PieceMemory
from bizol.problem import ResponseError
from bizol.records import assign
from bizol.structure.averages import average_over_ball, mean_by_pieces
from bizol.structure.pieces import (
    is_attainable,
    jacobians_of_pieces,
    search_pieces,
    search_variation,
    subsets,
)
from bizol.structure.protocols import Pieces, SetVariation, Smoothed

OWNER = "QuadraticProgram"
ROUNDING = 1e-13  # relative: optimality conditions that are violated by less hold
CORRECTIONS = 50  # exchanges of active constraints before the solver's answer is given up
PIQP_TOLERANCE = 1e-10
PIQP_ITERATIONS = 100
FLAT = 1e-12  # the curvature, relative to the largest entry of P, up to which a cost counts as flat


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram:
    """A strongly convex quadratic program whose data move with the decision.

        y(x) = argmin ½ yᵀP y + (q + Q x)ᵀ y     subject to     G y ≤ h + S x,   A y = b + T x

    The response is piecewise affine; a piece is labeled by its active inequalities. Recent pieces
    are kept, and a response inside one of them costs a few products. Elsewhere PIQP, an
    interior-point solver, finds the active constraints. They are corrected where necessary, and the
    response is computed from them, so it is a function of x, whatever was asked before.

    Args:
        P: (m, m), symmetric, positive definite at least along A y = 0.
        q, Q: (m,) and (m, n), the linear cost.
        G, h: (c, m) and (c,), the inequalities; none by default.
        S: (c, n), how the decision moves the inequalities; zero by default.
        A, b, T: (e, m), (e,) and (e, n), the equalities; none by default.
        regularization: ρ ≥ 0, adds ρ/2 ‖y‖² to the cost, which makes the response unique and
            Lipschitz where P alone does not.

    Raises:
        ResponseError: when there is no feasible response at an x, or the solver finds none.

    Example:
        >>> follower = QuadraticProgram(P=[[2.0]], q=[0.0], Q=[[-2.0]], G=[[1.0]], h=[1.0])
        >>> follower(np.array([0.5])), follower(np.array([3.0]))
        (array([0.5]), array([1.]))

    """

    # Relative, of the optimality conditions that every response satisfies.
    tolerance: ClassVar[float] = 1e-9

    P: Points
    q: Point
    Q: Points
    G: Points
    h: Point
    S: Points
    A: Points
    b: Point
    T: Points
    regularization: float
    _memory: PieceMemory = field(init=False, repr=False)

    def __init__(
        self,
        P: ArrayLike,
        q: ArrayLike,
        Q: ArrayLike,
        G: ArrayLike | None = None,
        *,
        h: ArrayLike | None = None,
        S: ArrayLike | None = None,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        T: ArrayLike | None = None,
        regularization: float = 0.0,
    ) -> None:
        m = len(np.atleast_1d(P))
        hessian = as_matrix(P, OWNER, "P", columns=m)
        assign(self, q=as_vector(q, OWNER, "q", size=m, finite=True), Q=as_matrix(Q, OWNER, "Q"))
        n = self.Q.shape[1]
        assign(self, **_as_constraints({"G": G, "h": h, "S": S}, m, n))
        assign(self, **_as_constraints({"A": A, "b": b, "T": T}, m, n))
        if len(self.Q) != m or len(self.S) != len(self.G):
            counts = f"{m} and {len(self.G)} rows, got {len(self.Q)} and {len(self.S)}"
            raise ArgumentError(OWNER, ("Q", "S"), f"must have {counts}.")
        if len(self.T) != len(self.A):
            raise ArgumentError(OWNER, "T", f"must have {len(self.A)} rows, got {len(self.T)}.")
        if not is_real(regularization) or not 0 <= regularization < np.inf:
            what = f"must be 0 or positive, got {regularization!r}."
            raise ArgumentError(OWNER, "regularization", what)
        curvature = hessian + regularization * np.eye(m)
        _refuse_flat(curvature, self.A)
        assign(self, P=curvature, regularization=float(regularization))
        assign(self, _memory=PieceMemory(self))

    def __call__(self, x: Point) -> Point:
        """Return y(x)."""
        if np.ndim(x) == 2:
            return np.array([self._solve(row)[0] for row in x])
        return self._solve(x)[0]

    @property
    def searched(self) -> bool:
        """True: the pieces that meet a ball are found by a search, which may miss some."""
        return True

    @property
    def curvature(self) -> float:
        """Zero: every piece is affine."""
        return 0.0

    def pieces(self, x: Point, radius: float = 0.0, tolerance: float = 1e-9) -> Pieces:
        """Return the attainable active sets around x.

        With a radius, return those that a search of the ball finds.
        """
        if radius > 0:
            return search_pieces(self, x, radius, tolerance)
        response, multipliers = self._solve(x)
        length = np.linalg.norm(self.G, axis=1)
        slack = self.h + self.S @ x - self.G @ response  # in units of distance: slack / length
        forces = multipliers * length
        active = np.flatnonzero((length > 0) & ((slack <= tolerance * length) | (multipliers > 0)))
        undecided = active[forces[active] <= tolerance * max(1.0, float(forces.max(initial=0.0)))]
        sure = np.setdiff1d(active, undecided)
        labels = set()
        for chosen in subsets(undecided):
            tight = np.union1d(sure, chosen).astype(np.int64)
            rows = np.vstack([self.A, self.G[tight]])
            if len(rows) and np.linalg.matrix_rank(rows) < len(rows):
                continue  # another subset describes the same piece
            sensitivity, prices = self._sensitivities(tight)
            loose = np.setdiff1d(undecided, chosen).astype(np.int64)
            room = self.S[loose] - self.G[loose] @ sensitivity
            conditions = np.vstack([prices[np.isin(tight, chosen)], room])
            if len(conditions) == 0 or is_attainable(conditions):
                labels.add(tuple(tight.tolist()))
        return Pieces(frozenset(labels))

    def is_regular(self, x: Point, delta: float, tolerance: float = 1e-9) -> bool:
        """Whether a search of the ball finds only pieces that are active at x."""
        return self.pieces(x, delta, tolerance).labels <= self.pieces(x, 0.0, tolerance).labels

    def variation(self, x: Point, delta: float, tolerance: float = 1e-9) -> SetVariation:
        """Return the largest distance over the pieces a search of the ball finds."""
        return search_variation(self, x, delta, tolerance)

    def jacobian(self, piece: Hashable, x: Point) -> Points:
        """Return how the response moves while these constraints stay active."""
        return self._sensitivities(np.array(piece, dtype=np.int64))[0]

    def limiting_jacobians(self, x: Point, tolerance: float = 1e-9) -> list[Points]:
        """Return the Jacobians of the pieces around x."""
        return jacobians_of_pieces(self, x, tolerance)

    def smoothed(self, x: Point, delta: float) -> Smoothed:
        """Average by quasi-Monte Carlo."""
        return average_over_ball(
            x, delta, self, lambda points: mean_by_pieces(self, points), samples=2**11
        )

    def _sensitivities(self, tight: NDArray[np.int64]) -> tuple[Points, Points]:
        """Return dy/dx and dλ/dx while the constraints `tight` are active."""
        slopes = self._memory.compute_piece(tight).slopes
        m = len(self.q)
        return slopes[:m], slopes[m + len(self.A) :] / self._memory.length[tight, None]

    def _solve(self, x: Point) -> tuple[Point, Point]:
        """Return the response and the multipliers of the inequalities."""
        x = np.asarray(x, dtype=np.float64)
        bound = (self.h + self.S @ x) / self._memory.length
        for place, piece in enumerate(self._memory.pieces):
            solution = piece.at(x)
            if self._find_violation(solution, piece, bound, margin=self.tolerance) is None:
                if place > 0:
                    self._memory.remember(piece)
                return self._split(solution, piece)
        return self._search(x, bound)

    def _search(self, x: Point, bound: Point) -> tuple[Point, Point]:
        """Ask the solver, and correct its active constraints until they are optimal."""
        if (bound[~self.G.any(axis=1)] < 0).any():
            what = "a row of zeros contradicts itself"
            raise ResponseError(f"QuadraticProgram has no feasible response at x = {x}: {what}.")
        cost = self.q + self.Q @ x
        report = ""
        for guess in (self._by_interior_point, self._by_active_set):
            report, tight = guess(x, cost, bound, report)
            close = None  # a piece that is optimal to the tolerance: the next one may be exact
            for _ in range(CORRECTIONS):
                try:
                    piece = self._memory.compute_piece(tight)
                except np.linalg.LinAlgError as error:
                    report = f"{report}, but {error}"
                    break
                solution = piece.at(x)
                exchange = self._find_violation(solution, piece, bound, margin=-ROUNDING)
                if exchange is None:
                    close = piece
                    break
                if self._find_violation(solution, piece, bound, margin=-self.tolerance) is None:
                    if close is not None:
                        break
                    close = piece
                tight = np.setxor1d(piece.tight, exchange)
            if close is not None:
                self._memory.remember(close)
                return self._split(close.at(x), close)
        raise ResponseError(
            f"QuadraticProgram could not be solved accurately at x = {x}: {report}."
        )

    def _by_interior_point(
        self, x: Point, cost: Point, bound: Point, report: str
    ) -> tuple[str, NDArray[np.int64]]:
        """Return what PIQP reports, and the constraints it finds active.

        These are the ones with more force than room.
        """
        import piqp

        solver = piqp.DenseSolver()  # a new one: the digits of one that was used depend on its past
        solver.settings.eps_abs = PIQP_TOLERANCE
        solver.settings.eps_rel = PIQP_TOLERANCE
        solver.settings.max_iter = PIQP_ITERATIONS
        equalities = (self.A, self.b + self.T @ x) if len(self.A) else (None, None)
        inequalities = (self._memory.normals, None, bound) if len(bound) else (None, None, None)
        solver.setup(self.P, cost, *equalities, *inequalities)
        status = str(solver.solve()).rpartition(".")[2]
        report = f"PIQP says {status} after {solver.result.info.iter} iterations"
        if "INFEASIBLE" in report:
            raise _infeasible_error(x, report)
        room = bound - self._memory.normals @ solver.result.x
        force = np.asarray(solver.result.z_u)[: len(bound)]
        return report, np.flatnonzero(force > np.maximum(room, 0.0))

    def _by_active_set(
        self, x: Point, cost: Point, bound: Point, report: str
    ) -> tuple[str, NDArray[np.int64]]:
        """Return the active constraints by least distance programming (Lawson and Hanson).

        It copes with constraints that tie. With P = L Lᵀ and z = Lᵀy + L⁻¹c, minimize ½‖z‖² over
        the constraints; equalities count as two inequalities.
        """
        from scipy.optimize import nnls

        right = self.b + self.T @ x
        weight = self._memory.weight
        root = np.linalg.inv(np.linalg.cholesky(self.P + weight * self.A.T @ self.A))
        shift = root @ cost
        rows = np.vstack([self._memory.normals, self.A, -self.A]) @ root.T
        distance = np.concatenate([bound, right, -right]) + rows @ shift
        scale = max(1.0, float(np.abs(distance).max(initial=0.0)))
        system = -np.vstack([rows.T, distance / scale])
        target = np.append(np.zeros(len(cost)), 1.0)
        weights, _ = nnls(system, target, maxiter=100 * (len(rows) + 10))
        residual = system @ weights - target  # its last entry is −‖residual‖²
        if residual[-1] > -1e-13:  # zero: nothing is feasible
            raise _infeasible_error(x, report)
        report = f"{report}, and the active set method does not agree"
        return report, np.flatnonzero(weights[: len(bound)] > 0)

    def _find_violation(
        self, solution: Point, piece: AffinePiece, bound: Point, *, margin: float
    ) -> NDArray[np.int64] | None:
        """Return the constraint that violates the optimality conditions most.

        Return None where all forces, and the room to all other constraints, exceed the margin.
        """
        m = len(self.q)
        forces = solution[m + len(self.A) :]
        room = bound - self._memory.normals @ solution[:m]
        room[piece.tight] = np.inf
        force = forces.min(initial=np.inf) / max(1.0, float(np.abs(forces).max(initial=0.0)))
        space = room.min(initial=np.inf) / max(1.0, float(np.abs(solution[:m]).max()))
        if min(force, space) > margin:
            return None
        if force < space:
            return piece.tight[[forces.argmin()]]
        return np.array([room.argmin()])

    def _split(self, solution: Point, piece: AffinePiece) -> tuple[Point, Point]:
        """Return the response and the multipliers of the inequalities."""
        m = len(self.q)
        forces = np.maximum(solution[m + len(self.A) :], 0.0)
        multipliers = np.zeros(len(self.h))
        multipliers[piece.tight] = forces / self._memory.length[piece.tight]
        return solution[:m].copy(), multipliers


def _infeasible_error(x: Point, report: str) -> ResponseError:
    return ResponseError(
        f"QuadraticProgram has no feasible response at x = {x}: "
        f"its constraints contradict each other ({report})."
    )


def _as_constraints(given: dict[str, Any], m: int, n: int) -> dict[str, NDArray[np.float64]]:
    """Return constraints of one kind: normals, right sides, and how the decision moves these."""
    (normals, limit, move), names = given.values(), tuple(given)
    if (normals is None) != (limit is None) or (normals is None and move is not None):
        raise ArgumentError(OWNER, names[:2], "are given together or not at all.")
    if normals is None:
        parts = np.zeros((0, m)), np.zeros(0), np.zeros((0, n))
        return dict(zip(names, parts, strict=True))
    rows = as_matrix(normals, OWNER, names[0], columns=m)
    side = as_vector(limit, OWNER, names[1], size=len(rows), finite=True)
    moves = np.zeros((len(rows), n))
    if move is not None:
        moves = as_matrix(move, OWNER, names[2], columns=n)
    return dict(zip(names, (rows, side, moves), strict=True))


def _refuse_flat(P: Points, A: Points) -> None:
    """Refuse a cost that is not symmetric, not convex, or flat along some direction.

    The minimizer of a flat cost is not unique.
    """
    size = float(np.abs(P).max()) or 1.0
    if not np.allclose(P, P.T, rtol=0.0, atol=1e-10 * size):
        what = "must be symmetric positive definite; it is not symmetric."
        raise ArgumentError(OWNER, "P", what)
    if len(A) and np.linalg.matrix_rank(A) < len(A):
        raise ArgumentError(OWNER, "A", "must have independent rows.")
    lowest = np.linalg.eigvalsh(P)[0]
    if lowest < -1e-10 * size:
        what = f"must be symmetric positive definite; it has the eigenvalue {lowest:.3g}."
        raise ArgumentError(OWNER, "P", what)
    along = np.linalg.svd(A)[2][len(A) :].T if len(A) else np.eye(len(P))
    if along.shape[1]:
        curvatures, directions = np.linalg.eigh(along.T @ P @ along)
    else:  # the equalities determine the response
        curvatures, directions = np.ones(1), np.zeros((0, 1))
    if curvatures[0] <= FLAT * size:
        flat = np.round(along @ directions[:, 0], 3)
        raise ArgumentError(
            OWNER,
            "P",
            f"must be symmetric positive definite, along A y = 0 at least: the cost is flat "
            f"along y = {flat}, so that the response is not unique or jumps, "
            f"as that of a linear program. "
            f"Give regularization=... to make it unique and Lipschitz.",
        )
