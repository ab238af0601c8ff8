"""Does my follower answer as the library relies on, and is what it says of itself true?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import ArgumentError, Point, Points, as_positive, as_size, to_numpy
from bizol.evaluation import Direct
from bizol.feasible_sets import FeasibleSet
from bizol.problem import EvaluationError, Follower, Objective, Problem
from bizol.problem.follower import close, is_outside, reach_of, remarks_of, tolerance_of
from bizol.randomness import generator
from bizol.structure import KnownJacobians
from bizol.testing.laws import require, unit


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerCheck:
    """What `check_follower` measured on a follower that passed.

    Attributes:
        dimensions: (n, m).
        repeatability: the largest difference between two answers to the same question, relative to
            the response.
        lipschitz: the largest slope that was seen, ‖y(x) − y(x′)‖ / ‖x − x′‖; a lower bound on L_y.
        scatter: how much answers to close questions differ beyond what a smooth response would,
            relative.
        queries: how many responses it took.

    """

    dimensions: tuple[int, int]
    repeatability: float
    lipschitz: float
    scatter: float
    queries: int

    def __str__(self) -> str:
        n, m = self.dimensions
        return (
            f"n = {n} decisions, m = {m} responses, checked with {self.queries} queries\n"
            f"asked twice, answers differ by {self.repeatability:.1e}; "
            f"close by, they scatter by {self.scatter:.1e}\n"
            f"the steepest change seen is {self.lipschitz:.3g} per unit"
        )


def check_follower(
    follower: Follower,
    feasible_set: FeasibleSet,
    *,
    delta: float,
    vectorized: bool = False,
    seeded: bool | None = None,
    trials: int = 20,
    seed: int = 0,
) -> FollowerCheck:
    """Check that a follower is single-valued, without jumps, and as accurate as it states.

    Asks at random points of the set and within δ of it. Looks at the shape and finiteness of every
    answer, at whether it is the same when asked again later, along random lines for jumps (as a
    follower with several optimal responses, or a linear program, shows them), and at whether
    answers scatter more than the `tolerance` the follower states. What else it says of itself is
    checked too: `reach`, `takes_seed`, `remarks`, `close`, `limiting_jacobians`. A follower that
    takes a seed is asked with one and the same throughout.

    Args:
        follower: from x (n,) to y (m,), or with `vectorized` from (k, n) to (k, m).
        feasible_set: X.
        delta: how far from X it will be asked.
        vectorized: as in `Problem`.
        seeded: as in `Problem`.
        trials: how many points and lines are tried.
        seed: makes the trials repeatable.

    Returns:
        What was measured; printing it says it in words.

    Example:
        >>> import bizol
        >>> check_follower(np.tanh, bizol.Box([-1, -1], [1, 1]), delta=0.1).dimensions
        (2, 2)

    """
    as_size(trials, "check_follower", "trials")
    as_positive(delta, "check_follower", "delta")
    n = feasible_set.dimension
    nothing = Objective(lambda x, y: 0.0, lambda x, y: np.zeros(n), lambda x, y: 0 * y)
    problem = Problem(nothing, follower, feasible_set, vectorized=vectorized, seeded=seeded)
    _check_statements(follower, delta)
    asked = _Asked(problem, seed)
    rng = asked.rng
    ends = np.array(
        [feasible_set.minimize_linear(rng.standard_normal(n)) for _ in range(2 * trials)]
    )
    shares = rng.uniform(0, 1, (2 * trials, 1))
    points = feasible_set.center + shares * (ends - feasible_set.center)
    answers = asked.answers(points, "a point of the set")
    asked.size = float(np.linalg.norm(answers, axis=1).max()) or 1.0
    repeatability = _repeatability(asked, points, answers)
    if vectorized:
        _check_rows(asked, points, answers)
    outward = np.array([unit(end - feasible_set.center + 1e-300) for end in ends])
    sideways = np.array([unit(rng.standard_normal(n)) for _ in ends])
    beyond = np.concatenate([ends + delta * outward, ends + delta * sideways])
    asked.answers(beyond, f"a point within δ = {delta:g} of the set")
    slopes = [_steepest(asked, points[2 * k], points[2 * k + 1]) for k in range(trials)]
    scatter = _scatter(asked, points[:trials], feasible_set.diameter)
    _check_scatter(asked, scatter)
    if isinstance(follower, KnownJacobians):
        _check_jacobians(asked, follower, points[:trials])
    _check_service(follower)
    asked.answers(points[:1], "a point of the set, after it was closed")
    return FollowerCheck(
        dimensions=(n, answers.shape[1]),
        repeatability=repeatability,
        lipschitz=max(slopes),
        scatter=scatter,
        queries=asked.queries,
    )


@final
class _Asked:
    """A follower that is asked, with one seed where it takes one, and what is known of it."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._direct = Direct(problem)
        self._seed = seed if problem.is_seeded else None
        self.diameter = problem.feasible_set.diameter
        self.rng = generator(seed)
        self.stated = tolerance_of(problem.response)
        self.allowed = self.stated or 0.0
        self.size = 1.0  # of the largest response seen

    @property
    def queries(self) -> int:
        return self._direct.queries

    def answers(self, points: Points, what: str) -> NDArray[np.float64]:
        seeds = None if self._seed is None else [self._seed] * len(points)
        try:
            return np.array(to_numpy(self._direct.ask(points, seeds=seeds)))
        except EvaluationError as error:
            raise AssertionError(f"Broken law: it answers at {what}: {error}") from error


def _check_statements(follower: Follower, delta: float) -> None:
    """Look at what a follower says of itself before it is asked."""
    require(not is_outside(follower), "it answers when it is called, and not from outside")
    try:
        tolerance_of(follower)
        reach = reach_of(follower)
    except ArgumentError as error:
        raise AssertionError(f"Broken law: {error}") from error
    require(delta <= reach, f"it answers within δ = {delta:g} of the set; its reach is {reach:g}")


def _repeatability(asked: _Asked, points: Points, answers: NDArray[np.float64]) -> float:
    again = asked.answers(points[::-1], "a point of the set")[::-1]
    apart = np.linalg.norm(again - answers, axis=1)
    worst = int(apart.argmax())
    repeatability = float(apart[worst]) / asked.size
    require(
        repeatability <= max(2 * asked.allowed, 1e-12),
        f"the same question has the same answer; at x = {points[worst]} they differ by "
        f"{repeatability:.1e} (relative)",
    )
    return repeatability


def _check_rows(asked: _Asked, points: Points, answers: NDArray[np.float64]) -> None:
    rows = [asked.answers(point[None], "one decision at a time") for point in points]
    apart = float(np.abs(np.concatenate(rows) - answers).max())
    require(
        apart <= max(2 * asked.allowed, 1e-9) * asked.size,
        "asked one by one it says the same as asked all at once",
    )


def _check_scatter(asked: _Asked, scatter: float) -> None:
    if asked.stated is None:
        require(
            scatter <= 1e-7,
            f"a follower that scatters states how much: answers close by differ by {scatter:.1e} "
            f"(relative) more than a smooth response would; give it an attribute `tolerance`, or "
            f"ask it with a fixed seed",
        )
    else:
        require(
            scatter <= 3 * asked.allowed + 1e-9,
            f"answers are as accurate as the stated tolerance, {asked.allowed:g}; close by they "
            f"scatter by {scatter:.1e}",
        )


def _check_jacobians(asked: _Asked, follower: KnownJacobians, points: Points) -> None:
    """Compare the Jacobians a follower tells with differences of its answers, away from kinks.

    Where differences over a step and over half of it disagree, the response bends or has a kink
    there, and the comparison may be off by as much.
    """
    width = max(1e-6, asked.allowed**0.5) * (asked.diameter or 1.0)
    for x in points:
        told = follower.limiting_jacobians(x)
        require(len(told) > 0, f"limiting_jacobians tells at least one Jacobian, at x = {x}")
        step = width * unit(asked.rng.standard_normal(x.size))
        where = np.array([x + step, x - step, x + step / 2, x - step / 2])
        far, back, near, behind = asked.answers(where, "points close together")
        shapes = {np.shape(matrix) for matrix in told}
        wanted = (far.size, x.size)
        require(
            shapes == {wanted},
            f"limiting_jacobians tells matrices of shape {wanted}, got {shapes}",
        )
        if len(told) > 1:
            continue  # at a kink
        change = near - behind
        expected = told[0] @ step
        bend = float(np.linalg.norm((far - back) / 2 - change))
        error = (4 * asked.allowed + 1e-9) * asked.size
        size = max(float(np.linalg.norm(change)), float(np.linalg.norm(expected)))
        off = float(np.linalg.norm(change - expected))
        require(
            off <= 3 * bend + 1e-3 * size + error,
            f"limiting_jacobians tells how answers change; at x = {x} along {step} it says "
            f"{expected}, and they change by {change}",
        )


def _check_service(follower: Follower) -> None:
    """Look at what a follower offers beside answers."""
    said: Any = remarks_of(follower)
    require(isinstance(said, str), f"remarks returns a text, got {said!r}")
    for _ in range(2):
        try:
            close(follower)
        except Exception as error:
            raise AssertionError(f"Broken law: close may be called twice: {error!r}.") from error


def _steepest(asked: _Asked, start: Point, end: Point) -> float:
    """Return the steepest slope along a line, looking closer where the response changes most."""
    first = None
    steepest = 0.0
    for _ in range(12):  # each a tenth of the one before, 10⁻¹² at the end; rounding is met before
        length = float(np.linalg.norm(end - start))
        line = start + np.linspace(0, 1, 11)[:, None] * (end - start)
        if length == 0 or len(np.unique(line, axis=0)) < len(line):
            break
        answers = asked.answers(line, "a point between two of the set")
        changes = np.linalg.norm(np.diff(answers, axis=0), axis=1)
        where = int(changes.argmax())
        if first is None:
            first = float(changes[where])
        if changes[where] <= (10 * asked.allowed + 1e-9) * asked.size:
            break
        steepest = max(steepest, 10 * float(changes[where]) / length)
        start, end = line[where], line[where + 1]
        require(
            float(np.linalg.norm(end - start)) > 1e-6 * (1 + float(np.linalg.norm(start)))
            or changes[where] < 0.1 * first,
            f"the response does not jump: between x = {start} and x = {end} it changes by "
            f"{changes[where]:.3g}, as that of a follower with several optimal responses, or a "
            f"linear program, does",
        )
    return steepest


def _scatter(asked: _Asked, points: Points, width: float) -> float:
    """Return the median of ‖y(x + h) − 2 y(x) + y(x − h)‖ / 2 for small h, relative.

    It is zero but for inaccuracy.
    """
    directions = [unit(asked.rng.standard_normal(point.size)) for point in points]
    steps = 1e-6 * width * np.array(directions)
    batch = np.concatenate([points + steps, points, points - steps])
    after, here, before = np.split(asked.answers(batch, "points close together"), 3)
    bends = np.linalg.norm(after - 2 * here + before, axis=1)
    return float(np.median(bends)) / 2 / asked.size
