"""Followers that solve a quadratic program whose data move with the decision: mpQPs, explicit MPC, demand response."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bizol.arrays import ArgumentError, Point, Points, as_matrix, as_vector, is_real
from bizol.problem import ResponseError
from bizol.structure.pieces import (
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

REMEMBERED = 8  # pieces that are tried before a solver is asked
CORRECTIONS = 50  # exchanges of active constraints before the solver's answer is given up


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram:
    """A strongly convex quadratic program whose data move with the decision.

        y(x) = argmin ½ yᵀP y + (q + Q x)ᵀ y     subject to     G y ≤ h + S x,   A y = b + T x

    The response is piecewise affine; a piece is labeled by its active inequalities. Pieces that
    were met are kept, and an answer inside of one costs a few products. Elsewhere PIQP, an
    interior-point solver, is asked, its active
    constraints are corrected, and the answer is computed from them: it is a function of x, whatever
    was asked before.

    Args:
        P: (m, m), symmetric, positive definite at least along A y = 0.
        q, Q: (m,) and (m, n), the linear cost.
        G, h: (c, m) and (c,), the inequalities; none by default.
        S: (c, n), how the decision moves them; not at all by default.
        A, b, T: (e, m), (e,) and (e, n), the equalities, likewise.
        regularization: ρ ≥ 0, adds ρ/2 ‖y‖² to the cost; makes the response unique, and Lipschitz,
            where P does not.

    Raises:
        ResponseError: when there is no feasible response at an x, or the solver finds none.

    Example:
        >>> follower = QuadraticProgram(P=[[2.0]], q=[0.0], Q=[[-2.0]], G=[[1.0]], h=[1.0])
        >>> follower(np.array([0.5])), follower(np.array([3.0]))
        (array([0.5]), array([1.]))

    """

    tolerance: ClassVar[float] = (
        1e-9  # relative, of the optimality conditions every answer is held to
    )

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
    _length: Point = field(init=False, repr=False)  # of the rows of G; 1 for rows of zeros
    _memory: _Memory = field(init=False, repr=False)

    def __init__(
        self,
        P: ArrayLike,
        q: ArrayLike,
        Q: ArrayLike,
        G: ArrayLike | None = None,
        h: ArrayLike | None = None,
        S: ArrayLike | None = None,
        *,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        T: ArrayLike | None = None,
        regularization: float = 0.0,
    ) -> None:
        m = len(np.atleast_1d(P))
        hessian = as_matrix(P, "QuadraticProgram", "P", columns=m)
        object.__setattr__(self, "q", as_vector(q, "QuadraticProgram", "q", size=m, finite=True))
        object.__setattr__(self, "Q", as_matrix(Q, "QuadraticProgram", "Q"))
        self._take(("G", "h", "S"), (G, h, S), m)
        self._take(("A", "b", "T"), (A, b, T), m)
        if len(self.Q) != m or len(self.S) != len(self.G):
            raise ArgumentError(
                "QuadraticProgram",
                ("Q", "S"),
                f"must have {m} and {len(self.G)} rows, got {len(self.Q)} and {len(self.S)}.",
            )
        if len(self.T) != len(self.A):
            raise ArgumentError(
                "QuadraticProgram", "T", f"must have {len(self.A)} rows, got {len(self.T)}."
            )
        if not is_real(regularization) or not 0 <= regularization < np.inf:
            raise ArgumentError(
                "QuadraticProgram",
                "regularization",
                f"must be 0 or positive, got {regularization!r}.",
            )
        object.__setattr__(self, "regularization", float(regularization))
        object.__setattr__(self, "P", hessian + regularization * np.eye(m))
        _refuse_flat(self.P, self.A)
        length = np.linalg.norm(self.G, axis=1)
        object.__setattr__(self, "_length", np.where(length > 0, length, 1.0))
        object.__setattr__(self, "_memory", _Memory(self))

    def _take(self, names: tuple[str, str, str], parts: tuple[Any, Any, Any], m: int) -> None:
        """Keep one kind of constraints: normals, right side, and how the decision moves it."""
        (normals, limit, move), n = parts, self.Q.shape[1]
        if (normals is None) != (limit is None) or (normals is None and move is not None):
            raise ArgumentError("QuadraticProgram", names[:2], "are given together or not at all.")
        owner = "QuadraticProgram"
        kept = (
            np.zeros((0, m)) if normals is None else as_matrix(normals, owner, names[0], columns=m)
        )
        side = (
            np.zeros(0)
            if limit is None
            else as_vector(limit, owner, names[1], size=len(kept), finite=True)
        )
        still = (
            np.zeros((len(kept), n))
            if move is None
            else as_matrix(move, owner, names[2], columns=n)
        )
        for name, part in zip(names, (kept, side, still), strict=True):
            object.__setattr__(self, name, part)

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
            rows = np.vstack(
                [prices[np.isin(tight, chosen)], self.S[loose] - self.G[loose] @ sensitivity]
            )
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

    def _sensitivities(self, tight: NDArray[np.int64]) -> tuple[Points, Points]:
        """Return dy/dx and dλ/dx while the constraints `tight` are active."""
        slopes = self._piece(tight).slopes
        return slopes[: len(self.q)], slopes[len(self.q) + len(self.A) :] / self._length[
            tight, None
        ]

    def _solve(self, x: Point) -> tuple[Point, Point]:
        """Return the response and the multipliers of the inequalities."""
        x = np.asarray(x, dtype=np.float64)
        bound = (self.h + self.S @ x) / self._length
        for place, piece in enumerate(self._memory.pieces):
            solution = piece.at(x)
            if self._verdict(solution, piece.tight, bound, margin=self.tolerance) is None:
                if place > 0:
                    self._memory.refresh(piece)
                return self._parts(solution, piece.tight)
        return self._search(x, bound)

    def _search(self, x: Point, bound: Point) -> tuple[Point, Point]:
        """Ask the solver, and correct its active constraints until the optimality conditions hold."""
        if (bound[~self.G.any(axis=1)] < 0).any():
            raise ResponseError(
                f"QuadraticProgram has no feasible response at x = {x}: a row of zeros contradicts itself."
            )
        cost, said = self.q + self.Q @ x, ""
        for guess in (self._by_interior_point, self._by_active_set):
            said, tight = guess(x, cost, bound, said)
            for _ in range(CORRECTIONS):
                try:
                    piece = self._piece(tight)
                except np.linalg.LinAlgError as error:
                    said = f"{said}, but {error}"
                    break
                solution = piece.at(x)
                exchange = self._verdict(solution, piece.tight, bound, margin=-self.tolerance)
                if exchange is None:
                    self._memory.refresh(piece)
                    return self._parts(solution, piece.tight)
                tight = np.setxor1d(piece.tight, exchange)
        raise ResponseError(f"QuadraticProgram could not be solved accurately at x = {x}: {said}.")

    def _by_interior_point(
        self, x: Point, cost: Point, bound: Point, said: str
    ) -> tuple[str, NDArray[np.int64]]:
        """Return what PIQP says, and the constraints it finds active: those with more force than room."""
        solver = self._memory.solver
        if solver is None:
            import piqp

            solver = piqp.DenseSolver()
            solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
            solver.settings.max_iter = 100
            rows = self._memory.normals
            equal = (self.A, self.b + self.T @ x) if len(self.A) else (None, None)
            below = (rows, None, bound) if len(rows) else (None, None, None)
            solver.setup(self.P, cost, *equal, *below)
            self._memory.solver = solver
        else:
            right = {"b": self.b + self.T @ x} if len(self.A) else {}
            solver.update(c=cost, **right, **({"h_u": bound} if len(bound) else {}))
        status = solver.solve()
        said = (
            f"PIQP says {str(status).rpartition('.')[2]} after {solver.result.info.iter} iterations"
        )
        if "INFEASIBLE" in said:
            raise self._infeasible(x, said)
        room = bound - self._memory.normals @ solver.result.x
        return said, np.flatnonzero(
            np.asarray(solver.result.z_u)[: len(bound)] > np.maximum(room, 0.0)
        )

    def _by_active_set(
        self, x: Point, cost: Point, bound: Point, said: str
    ) -> tuple[str, NDArray[np.int64]]:
        """Return the active constraints by least distance programming (Lawson and Hanson), where
        constraints tie.

        With P = L Lᵀ and z = Lᵀy + L⁻¹c, minimize ½‖z‖² over the constraints; equalities count as
        two inequalities.
        """
        from scipy.optimize import nnls

        right, weight = self.b + self.T @ x, self._memory.weight
        root = np.linalg.inv(np.linalg.cholesky(self.P + weight * self.A.T @ self.A))
        shift = root @ cost
        rows = np.vstack([self._memory.normals, self.A, -self.A]) @ root.T
        distance = np.concatenate([bound, right, -right]) + rows @ shift
        scale = max(1.0, float(np.abs(distance).max(initial=0.0)))
        system = -np.vstack([rows.T, distance / scale])
        target = np.append(np.zeros(len(cost)), 1.0)
        weights, _ = nnls(system, target, maxiter=100 * (len(rows) + 10))
        if (system @ weights - target)[
            -1
        ] > -1e-13:  # it is −‖residual‖², and 0 where nothing is feasible
            raise self._infeasible(x, said)
        return f"{said}, and the active set method does not agree", np.flatnonzero(
            weights[: len(bound)] > 0
        )

    def _infeasible(self, x: Point, said: str) -> ResponseError:
        return ResponseError(
            f"QuadraticProgram has no feasible response at x = {x}: its constraints contradict each other ({said})."
        )

    def _piece(self, tight: NDArray[np.int64]) -> _Piece:
        """Return the affine map from x to the response and the multipliers while the constraints
        `tight` are active.

        With the rows N of the active constraints, their right sides r and C = N P⁻¹Nᵀ: λ = −C⁻¹(N
        P⁻¹c + r) and y = −P⁻¹(c + Nᵀλ). Where rows depend on each other, C has no inverse, and some
        of them will do.
        """
        from scipy.linalg import LinAlgError, cho_solve, cholesky

        known, e = self._memory, len(self.A)
        while e + tight.size:
            active = np.concatenate([np.arange(e), e + tight])
            try:
                lower = cholesky(
                    known.cross[np.ix_(active, active)], lower=True, check_finite=False
                )
                size = np.diagonal(lower)
                if size.min() > 1e-7 * size.max():
                    forces = -cho_solve((lower, True), known.base[active], check_finite=False)
                    both = np.vstack([-known.free - known.spread[:, active] @ forces, forces])
                    return _Piece(tight, both[:, :-1].copy(), both[:, -1].copy())
            except LinAlgError:
                pass
            fewer = self._independent(tight)
            if fewer.size == tight.size:
                raise LinAlgError("active constraints are too close to depending on each other")
            tight = fewer
        return _Piece(tight, -known.free[:, :-1], -known.free[:, -1])

    def _independent(self, tight: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return some of the constraints that say as much as all of them."""
        from scipy.linalg import qr

        rows = self._memory.normals[tight]
        if len(self.A):
            along = np.linalg.qr(self.A.T)[0]
            rows = rows - rows @ along @ along.T
        _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
        size = np.abs(np.diagonal(triangle))
        return np.sort(tight[order[: int((size > 1e-9).sum())]])

    def _verdict(
        self, solution: Point, tight: NDArray[np.int64], bound: Point, *, margin: float
    ) -> NDArray[np.int64] | None:
        """Return None where force and room are beyond the margin, otherwise the constraint that is most wrong."""
        m = len(self.q)
        forces, room = solution[m + len(self.A) :], bound - self._memory.normals @ solution[:m]
        room[tight] = np.inf
        force = forces.min(initial=np.inf) / max(1.0, float(np.abs(forces).max(initial=0.0)))
        space = room.min(initial=np.inf) / max(1.0, float(np.abs(solution[:m]).max()))
        if min(force, space) > margin:
            return None
        return tight[[forces.argmin()]] if force < space else np.array([room.argmin()])

    def _parts(self, solution: Point, tight: NDArray[np.int64]) -> tuple[Point, Point]:
        m = len(self.q)
        multipliers = np.zeros(len(self.h))
        multipliers[tight] = np.maximum(solution[m + len(self.A) :], 0.0) / self._length[tight]
        return solution[:m].copy(), multipliers


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Where some constraints are active, response and multipliers are affine in x."""

    tight: NDArray[np.int64]
    slopes: Points
    offset: Point

    def at(self, x: Point) -> Point:
        return self.slopes @ x + self.offset


@final
class _Memory:
    """What a program keeps to save time: products of its data, the pieces met last, and a solver
    for each thread.

    Along A y = b + T x, P may be replaced by P + σAᵀA, which has an inverse: it moves the
    equalities' multipliers only.
    """

    def __init__(self, program: QuadraticProgram) -> None:
        P, A, length = program.P, program.A, program._length[:, None]
        self.pieces: tuple[_Piece, ...] = ()
        self._here = threading.local()
        self.weight = float(np.abs(P).max()) / (float(np.abs(A).max(initial=0.0)) or 1.0) ** 2  # σ
        self.normals = program.G / length
        inverse = np.linalg.inv(P + self.weight * A.T @ A)
        rows = np.vstack([A, self.normals])  # N, of all constraints
        right = np.column_stack(
            [
                np.vstack([program.T, program.S / length]),
                np.append(program.b, program.h / length[:, 0]),
            ]
        )
        costs = np.column_stack([program.Q, program.q])
        self.spread = (inverse + inverse.T) / 2 @ rows.T  # P⁻¹Nᵀ
        self.cross = rows @ self.spread
        self.free = (
            (inverse + inverse.T) / 2 @ costs
        )  # P⁻¹c: slopes and, in the last column, the constant
        self.base = rows @ self.free + right

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_here"} | {"pieces": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._here = threading.local()

    def refresh(self, piece: _Piece) -> None:
        """Put a piece first; a single assignment, so that threads need no lock."""
        others = (other for other in self.pieces if not np.array_equal(other.tight, piece.tight))
        self.pieces = (piece, *others)[:REMEMBERED]

    @property
    def solver(self) -> Any:
        return getattr(self._here, "solver", None)

    @solver.setter
    def solver(self, solver: Any) -> None:
        self._here.solver = solver


def _refuse_flat(P: Points, A: Points) -> None:
    """Refuse a cost that is not symmetric, not convex, or flat along some direction: its minimizer is not unique."""
    size = float(np.abs(P).max()) or 1.0
    if not np.allclose(P, P.T, rtol=0.0, atol=1e-10 * size):
        raise ArgumentError(
            "QuadraticProgram", "P", "must be symmetric positive definite; it is not symmetric."
        )
    if len(A) and np.linalg.matrix_rank(A) < len(A):
        raise ArgumentError("QuadraticProgram", "A", "must have independent rows.")
    along = np.linalg.svd(A)[2][len(A) :].T if len(A) else np.eye(len(P))
    lowest = np.linalg.eigvalsh(P)[0]
    curved, directions = (
        np.linalg.eigh(along.T @ P @ along) if along.shape[1] else (np.ones(1), np.zeros((0, 1)))
    )
    if lowest < -1e-10 * size:
        raise ArgumentError(
            "QuadraticProgram",
            "P",
            f"must be symmetric positive definite; it has the eigenvalue {lowest:.3g}.",
        )
    if curved[0] <= 1e-12 * size:
        flat = np.round(along @ directions[:, 0], 3)
        raise ArgumentError(
            "QuadraticProgram",
            "P",
            f"must be symmetric positive definite, along A y = 0 at least: the cost is flat "
            f"along y = {flat}, so that the response is not unique or jumps, as that of a linear program. "
            f"Give regularization=... to make it unique and Lipschitz.",
        )
