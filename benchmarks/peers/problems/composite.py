"""The five test problems of R. Astudillo and P. Frazier, ICML 2019, as minimizations.

h is the response, g the objective. The formulas are those of the authors' own experiments
(github.com/RaulAstudillo06/BOCF, test_1a to test_5a), with three differences: Langermann's matrix
is that of M. Molga and C. Smutnicki, 2005 (theirs has two of its points exchanged in one
coordinate); the mass spilled ranges over [7, 13], as published, not over [7, 11]; and
concentrations are as published, not √(4π) times as large. Their draws of Gaussian processes differ
from machine to machine, so ours are new ones.

The middle of the box is the solution of one of them and near a solution of others; all start at
the same generic place, `START`.
"""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Residuals, Response, Split, make_case
from bizol.arrays import Point

SOURCE = "R. Astudillo and P. I. Frazier, Bayesian Optimization of Composite Functions, ICML 2019"
START = np.array([0.21, 0.83, 0.37, 0.64, 0.12])  # of the widths of the box, as many as there are
HIGHEST = np.array([0.7997, 0.0873, 0.9493, 0.3443])  # in `af_gp_1`
VARIANCE, LENGTH = 2.0, 0.3  # of the squared exponential kernel of the drawn processes


def gaussian_process(n: int, m: int, points: int, seed: int) -> Response:
    """Draw m independent Gaussian processes over [0, 1]ⁿ.

    Each is drawn on a regular grid and continued by its posterior mean given the grid. The kernel
    is a product over the coordinates, K = L Lᵀ on the points of one of them; with a standard normal
    tensor z the posterior mean is √variance Σ z_{k…l} v_k(x₁)…v_l(xₙ), v(t) = L⁻¹ k(t).
    """
    grid = np.linspace(0.0, 1.0, points)
    factor = np.linalg.cholesky(np.exp(-((grid[:, None] - grid) ** 2) / (2 * LENGTH**2)))
    inverse = np.linalg.inv(factor)
    draws = np.random.default_rng([seed, n, m, 1906]).standard_normal((m, *[points] * n))

    def follower(x: Point) -> Point:
        value = draws
        for at in x[::-1]:  # the last axis first
            value = value @ (inverse @ np.exp(-((at - grid) ** 2) / (2 * LENGTH**2)))
        return np.asarray(np.sqrt(VARIANCE) * value)

    return follower


def _squares(target: Point, weight: Point) -> tuple[bizol.Objective, Residuals]:
    """Return ‖weight (y − target)‖² for many pairs at once, and its residuals."""
    return (
        bizol.Objective(
            value=lambda x, y: ((weight * (y - target)) ** 2).sum(axis=-1),
            grad_x=lambda x, y: np.zeros_like(x),
            grad_y=lambda x, y: 2 * weight**2 * (y - target),
            vectorized=True,
        ),
        lambda x, y: np.asarray(weight * (y - target)),
    )


def least_squares_case(
    name: str, follower: Response, box: bizol.Box, *, solution: Point, split: Split, tags: str
) -> Case:
    """Return ‖y − y(solution)‖²."""
    target = follower(solution)
    objective, residuals = _squares(target, np.ones_like(target))
    return _make(
        name, objective, follower, box, split=split, tags=tags, residuals=residuals, known=solution
    )


def _make(
    name: str,
    objective: bizol.Objective,
    follower: Response,
    box: bizol.Box,
    *,
    split: Split,
    tags: str,
    residuals: Residuals | None = None,
    known: Point | None = None,
) -> Case:
    return make_case(
        name,
        objective,
        follower,
        box,
        split=split,
        source=SOURCE,
        tags=f"composite smooth {tags}",
        start=box.lower + START[: box.dimension] * (box.upper - box.lower),
        residuals=residuals,
        solution=known,
    )


def af_gp_1() -> Case:
    """The distance of five drawn functions of four variables to what they are at a point.

    As published, that point is where the first of them is largest, here to four digits.
    """
    follower = gaussian_process(4, 5, 6, 1)
    return least_squares_case(
        "af-gp-1",
        follower,
        bizol.Box(np.zeros(4), np.ones(4)),
        solution=HIGHEST,
        split="tune",
        tags="multimodal",
    )


def af_gp_2() -> Case:
    """The sum of the exponentials of four drawn functions of three variables."""
    return _make(
        "af-gp-2",
        bizol.Objective(
            value=lambda x, y: np.exp(y).sum(axis=-1),
            grad_x=lambda x, y: np.zeros_like(x),
            grad_y=lambda x, y: np.exp(y),
            vectorized=True,
        ),
        gaussian_process(3, 4, 8, 2),
        bizol.Box(np.zeros(3), np.ones(3)),
        split="report",
        tags="multimodal",
    )


def af_langermann() -> Case:
    """Langermann's function, Σ cⱼ exp(−yⱼ/π) cos(π yⱼ) of squared distances to five points."""
    weight = np.array([1.0, 2.0, 5.0, 2.0, 3.0])
    centers = np.array([[3.0, 5.0], [5.0, 2.0], [2.0, 1.0], [1.0, 4.0], [7.0, 9.0]])

    def slope(x: Point, y: Point) -> Point:
        wave = np.cos(np.pi * y) / np.pi + np.pi * np.sin(np.pi * y)
        return np.asarray(-weight * np.exp(-y / np.pi) * wave)

    return _make(
        "af-langermann",
        bizol.Objective(
            value=lambda x, y: (np.exp(-y / np.pi) * np.cos(np.pi * y)) @ weight,
            grad_x=lambda x, y: np.zeros_like(x),
            grad_y=slope,
            vectorized=True,
        ),
        lambda x: np.asarray(((x - centers) ** 2).sum(axis=1)),
        bizol.Box(np.zeros(2), np.full(2, 10.0)),
        split="tune",
        tags="multimodal",
    )


def af_rosenbrock() -> Case:
    """Rosenbrock's function of five variables: y = (x₁…x₄, x₂ − x₁²…x₅ − x₄²)."""
    objective, residuals = _squares(np.repeat([1.0, 0.0], 4), np.repeat([1.0, 10.0], 4))
    return _make(
        "af-rosenbrock",
        objective,
        lambda x: np.concatenate([x[:-1], x[1:] - x[:-1] ** 2]),
        bizol.Box(np.full(5, -2.0), np.full(5, 2.0)),
        split="report",
        tags="quadratic multimodal",
        residuals=residuals,
        known=np.ones(5),
    )


def af_environment() -> Case:
    """Two spills of a pollutant into a channel, found from concentrations at 3 places and 4 times.

    After N. Bliznyuk et al., 2008: mass, diffusion rate, and the place and time of the second
    spill, each in units of its range; the truth is in the middle of all four.
    """
    lower = np.array([7.0, 0.02, 0.01, 30.01])
    upper = np.array([13.0, 0.12, 3.0, 30.295])
    place, time = (axis.ravel() for axis in np.meshgrid([0.0, 1.0, 2.5], [15.0, 30.0, 45.0, 60.0]))

    def follower(x: Point) -> Point:
        mass, rate, where, when = lower + x * (upper - lower)
        since = np.maximum(time - when, 1e-9)  # at which nothing has arrived yet
        first = np.exp(-(place**2) / (4 * rate * time)) / np.sqrt(time)
        second = np.exp(-((place - where) ** 2) / (4 * rate * since)) / np.sqrt(since)
        return np.asarray(mass / np.sqrt(4 * np.pi * rate) * (first + (time > when) * second))

    return least_squares_case(
        "af-environment",
        follower,
        bizol.Box(np.zeros(4), np.ones(4)),
        solution=np.full(4, 0.5),
        split="report",
        tags="calibration",
    )
