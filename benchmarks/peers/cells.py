"""A search for the best decision where the response is affine on polyhedral cells and φ quadratic.

So it is for `shelves.Markets` and for agents with individual capacities. On the cell around a
decision φ is a quadratic function; its minimizer over the cell, by a convex quadratic program, is
the next decision. On kinks several cells meet, and one of them is drawn. Gradients of φ are of no
use there, as all of them point into other cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import piqp
from numpy.typing import NDArray

import bizol
from benchmarks.peers.problems.shelves import CUSTOMERS, Markets
from bizol.arrays import Point, Points
from bizol.followers import BoxProjection

ON_KINK = 1e-7  # distance of a decision to a kink
PATIENCE = 60  # cells drawn in vain before a descent ends
FLIPS = (0.1, 0.5)  # how likely the other side of a kink is drawn, one or the other


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clipped:
    """A response y(x) = sums clip(matrix x + offset, lower, upper)."""

    matrix: Points  # (k, n)
    offset: Point
    lower: Point
    upper: Point
    sums: Points  # (m, k)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """A cell normals x ≤ limits, on which y = slope x + level."""

    normals: Points
    limits: Point
    slope: Points
    level: Point


def clipped_form(follower: object) -> Clipped | None:
    """Return a follower as sums of clipped affine functions, None where it is not known as such."""
    if isinstance(follower, BoxProjection):
        return Clipped(
            matrix=follower.matrix,
            offset=follower.offset,
            lower=follower.lower,
            upper=follower.upper,
            sums=np.eye(follower.offset.size),
        )
    if isinstance(follower, Markets):
        n = len(follower.slope)
        twice = 2 * follower.slope.ravel()
        return Clipped(
            matrix=-follower.mix.reshape(-1, n) / twice[:, None],
            offset=follower.willingness.ravel() / twice,
            lower=np.zeros(twice.size),
            upper=follower.shelf.ravel(),
            sums=np.repeat(np.eye(n), CUSTOMERS, axis=1),
        )
    return None


def search_cells(
    ask: Callable[[Point], float],
    problem: bizol.Problem,
    begin: Point,
    rng: np.random.Generator,
) -> Point:
    """Descend from cell to cell until no cell that was drawn is better."""
    form = clipped_form(problem.response)
    assert form is not None
    x, value, failures = begin, ask(begin), 0
    outside = rng.random(form.offset.size) < 0.5
    while failures < PATIENCE:
        outside = outside ^ (rng.random(outside.size) < rng.choice(FLIPS))
        proposal = _minimize(problem, cell_at(form, x, outside), x)
        # An interior point solver ends a hair beyond the kink; a hair less may be on this side.
        for trial in (proposal, x + 0.999999 * (proposal - x)):
            found = ask(trial)
            if found < value - 1e-11 * abs(value):
                x, value, failures = trial, found, -1
                break
        failures += 1
    return x


def cell_at(form: Clipped, x: Point, outside: NDArray[np.bool_]) -> Cell:
    """Return one of the cells that x is in: `outside` says on which side of the kinks at x."""
    inner = form.matrix @ x + form.offset
    hair = ON_KINK * np.linalg.norm(form.matrix, axis=1)
    above = (inner > form.upper + hair) | ((np.abs(inner - form.upper) <= hair) & outside)
    below = (inner < form.lower - hair) | ((np.abs(inner - form.lower) <= hair) & outside)
    between = ~(above | below)
    up, down = form.upper - form.offset, form.lower - form.offset
    rows, matrix = [above, between, between, below], form.matrix
    signs = (-1.0, 1.0, -1.0, 1.0)
    ends = (up, up, down, down)
    parts = list(zip(rows, signs, ends, strict=True))
    held = np.where(above, form.upper, np.where(below, form.lower, form.offset))
    return Cell(
        normals=np.concatenate([sign * matrix[row] for row, sign, _ in parts]),
        limits=np.concatenate([sign * end[row] for row, sign, end in parts]),
        slope=form.sums @ (between[:, None] * matrix),
        level=form.sums @ held,
    )


def _minimize(problem: bizol.Problem, cell: Cell, x: Point) -> Point:
    """Return the minimizer of φ over a cell in a box.

    Where φ is not convex on the cell, a proximal term makes it so.
    """
    box = problem.feasible_set
    assert isinstance(box, bizol.Box)
    gradient, hessian = _quadratic(problem.objective, cell)
    lift = max(0.0, -float(np.linalg.eigvalsh(hessian)[0])) + 1e-6
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = 1e-11
    solver.settings.eps_rel = 0.0
    solver.setup(
        hessian + lift * np.eye(x.size),
        gradient - lift * x,
        None,
        None,
        cell.normals,
        None,
        cell.limits,
        box.lower,
        box.upper,
    )
    solver.solve()
    return np.asarray(np.clip(solver.result.x, box.lower, box.upper), dtype=np.float64)


def _quadratic(objective: bizol.Objective, cell: Cell) -> tuple[Point, Points]:
    """Return g and H of φ = gᵀx + ½ xᵀHx + constant on a cell, from gradients of φ."""

    def slope(x: Point) -> Point:
        anchor = objective.anchor(x, cell.slope @ x + cell.level)
        return np.asarray(anchor.grad_x + cell.slope.T @ anchor.grad_y)

    n = cell.slope.shape[1]
    first = slope(np.zeros(n))
    hessian = np.array([slope(axis) - first for axis in np.eye(n)])
    return first, (hessian + hessian.T) / 2
