"""Conformance checks for what users bring: does my set, my follower, my method keep the laws the
library relies on?

Each check raises an `AssertionError` that names the law that is broken and shows the case that
breaks it. Use them in your own tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, Points, as_positive, as_size, is_real, to_numpy
from bizol.evaluation import Evaluator
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection
from bizol.methods import Method
from bizol.methods.protocol import S
from bizol.problem import EvaluationError, Objective, Problem
from bizol.randomness import generator


def check_feasible_set(feasible_set: FeasibleSet, *, trials: int = 50, seed: int = 0) -> None:
    """Check that an object answers as a feasible set should.

    Args:
        feasible_set: the set to look at.
        trials: how many random costs (and points, for `project`) are tried.
        seed: makes the trials repeatable.

    Example:
        >>> import bizol
        >>> check_feasible_set(bizol.Simplex(5))

    """
    as_size(trials, "check_feasible_set", "trials")
    _law(
        isinstance(feasible_set, FeasibleSet),
        "it has dimension, diameter, center, minimize_linear and contains",
    )
    n, diameter, center = feasible_set.dimension, feasible_set.diameter, feasible_set.center
    _law(isinstance(n, int) and n >= 1, f"dimension is a positive integer, got {n!r}")
    _law(bool(0 <= diameter < np.inf), f"diameter is finite and not negative, got {diameter!r}")
    _check_point(feasible_set, center, "center")
    rng = generator(seed)
    costs = rng.standard_normal((trials, n)) * 10.0 ** rng.integers(-6, 7, size=(trials, 1))
    costs[: min(n, trials // 2)] = np.eye(n)[: min(n, trials // 2)]
    costs[-1] = 0.0
    vertices = np.array([_vertex(feasible_set, cost) for cost in costs])
    _check_optimality(costs, vertices, center)
    spread = float(np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max())
    _law(
        spread <= diameter * (1 + 1e-9) + 1e-300,
        f"no two points are {spread:g} apart, as the diameter is {diameter:g}",
    )
    _check_point(feasible_set, vertices.mean(axis=0), "the mean of its vertices (is it convex?)")
    outside = vertices[0] + (diameter + 1.0) * _unit(rng.standard_normal(n))
    _law(
        not feasible_set.contains(outside),
        f"a point farther away than its diameter is not contained: {outside}",
    )
    onto = projection(feasible_set)
    if onto is not None:
        points = vertices.mean(axis=0) + max(diameter, 1.0) * rng.standard_normal((trials, n))
        for point in np.concatenate([points, vertices]):
            _check_projection(feasible_set, onto(point.copy()), point, vertices)


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
            f"asked twice, answers differ by {self.repeatability:.1e}; close by, they scatter by {self.scatter:.1e}\n"
            f"the steepest change seen is {self.lipschitz:.3g} per unit"
        )


def check_follower(
    follower: Callable[[Any], Any],
    feasible_set: FeasibleSet,
    *,
    delta: float,
    vectorized: bool = False,
    trials: int = 20,
    seed: int = 0,
) -> FollowerCheck:
    """Check that a follower answers as the library relies on: single-valued, without jumps, as
    accurate as it states.

    Asks at random points of the set and within δ of it. Looks at the shape and finiteness of every
    answer, at whether it is the same when asked again later, along random lines for jumps (as a
    follower with several optimal responses, or a linear program, shows them), and at whether
    answers scatter more than the `tolerance` the follower states.

    Args:
        follower: from x (n,) to y (m,), or with `vectorized` from (k, n) to (k, m).
        feasible_set: X.
        delta: how far from X it will be asked.
        vectorized: as in `Problem`.
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
    rng, n = generator(seed), feasible_set.dimension
    nothing = Objective(lambda x, y: 0.0, lambda x, y: np.zeros(n), lambda x, y: 0 * y)
    evaluator = Evaluator(Problem(nothing, follower, feasible_set, vectorized=vectorized))
    ends = np.array(
        [feasible_set.minimize_linear(rng.standard_normal(n)) for _ in range(2 * trials)]
    )
    points = feasible_set.center + rng.uniform(0, 1, (2 * trials, 1)) * (ends - feasible_set.center)
    answers = _answers(evaluator, points, "a point of the set")
    size = float(np.linalg.norm(answers, axis=1).max()) or 1.0
    stated: Any = getattr(follower, "tolerance", None)
    allowed = float(stated) if is_real(stated) else 0.0
    again = _answers(evaluator, points[::-1], "a point of the set")[::-1]
    repeatability = float(np.linalg.norm(again - answers, axis=1).max()) / size
    row = int(np.linalg.norm(again - answers, axis=1).argmax())
    _law(
        repeatability <= max(2 * allowed, 1e-12),
        f"the same question has the same answer; at x = {points[row]} they differ by {repeatability:.1e} (relative)",
    )
    if vectorized:
        alone = np.concatenate(
            [_answers(evaluator, point[None], "one decision at a time") for point in points]
        )
        _law(
            float(np.abs(alone - answers).max()) <= max(2 * allowed, 1e-9) * size,
            "asked one by one it says the same as asked all at once",
        )
    outward = ends + delta * np.array([_unit(end - feasible_set.center + 1e-300) for end in ends])
    sideways = ends + delta * np.array([_unit(rng.standard_normal(n)) for _ in ends])
    _answers(
        evaluator, np.concatenate([outward, sideways]), f"a point within δ = {delta:g} of the set"
    )
    slopes = [
        _steepest(evaluator, points[2 * k], points[2 * k + 1], size, allowed) for k in range(trials)
    ]
    scatter = _scatter(evaluator, feasible_set, points[:trials], rng) / size
    if stated is None:
        _law(
            scatter <= 1e-7,
            f"a follower that scatters states how much: answers close by differ by {scatter:.1e} (relative) more than "
            f"a smooth response would; give it an attribute `tolerance`, or ask it with a fixed seed",
        )
    else:
        _law(
            scatter <= 3 * allowed + 1e-9,
            f"answers are as accurate as the stated tolerance, {allowed:g}; close by they scatter by {scatter:.1e}",
        )
    return FollowerCheck(
        dimensions=(n, answers.shape[1]),
        repeatability=repeatability,
        lipschitz=max(slopes),
        scatter=scatter,
        queries=evaluator.queries,
    )


def check_method(
    method: Method[S], problem: Problem, *, iterations: int = 5, seed: int = 0
) -> None:
    """Check that a method asks purely, moves within the feasible set and accounts for its queries.

    Args:
        method: the method to look at.
        problem: a problem to try it on; its follower is asked.
        iterations: how many iterations to run.
        seed: the seed of the run.

    """
    evaluator = Evaluator(problem)
    state = method.start(problem, seed=seed)
    _law(state.iteration == 0 and state.move is None, "a run starts at iteration 0, without a move")
    for _ in range(iterations):
        queries = method.ask(state)
        _law(
            queries.ndim == 2 and queries.shape[1] == state.x.size,
            f"ask returns (q, n), got {queries.shape}",
        )
        _law(np.array_equal(queries, method.ask(state)), "asking twice gives the same queries")
        responses, before = evaluator.evaluate(queries), state.x.copy()
        after, twin = method.tell(state, responses), method.tell(state, responses)
        _law(np.array_equal(before, state.x), "telling leaves the state it was given alone")
        _law(np.array_equal(after.x, twin.x), "telling twice gives the same next state")
        _law(after.iteration == state.iteration + 1, "telling goes one iteration on")
        move = after.move
        _law(
            move is not None and np.array_equal(move.at, before),
            "the move is reported at the decision it left",
        )
        _law(
            move is not None and move.queries == len(queries),
            "the move reports as many queries as were asked",
        )
        _check_point(problem.feasible_set, after.x, f"the decision of iteration {after.iteration}")
        state = after


def _answers(evaluator: Evaluator, points: Points, what: str) -> NDArray[np.float64]:
    try:
        return np.array(to_numpy(evaluator.evaluate(points)))
    except EvaluationError as error:
        raise AssertionError(f"Broken law: it answers at {what}: {error}") from error


def _steepest(evaluator: Evaluator, start: Point, end: Point, size: float, allowed: float) -> float:
    """Return the steepest slope along a line, after looking closer and closer at where the response changes most."""
    first, steepest = None, 0.0
    for _ in range(12):  # each a tenth of the one before, 10⁻¹² at the end; rounding is met before
        length = float(np.linalg.norm(end - start))
        line = start + np.linspace(0, 1, 11)[:, None] * (end - start)
        if length == 0 or len(np.unique(line, axis=0)) < len(line):
            break
        answers = _answers(evaluator, line, "a point between two of the set")
        changes = np.linalg.norm(np.diff(answers, axis=0), axis=1)
        where = int(changes.argmax())
        first = float(changes[where]) if first is None else first
        if changes[where] <= (10 * allowed + 1e-9) * size:
            break
        steepest = max(steepest, 10 * float(changes[where]) / length)
        start, end = line[where], line[where + 1]
        _law(
            float(np.linalg.norm(end - start)) > 1e-6 * (1 + float(np.linalg.norm(start)))
            or changes[where] < 0.1 * first,
            f"the response does not jump: between x = {start} and x = {end} it changes by {changes[where]:.3g}, as "
            f"that of a follower with several optimal responses, or a linear program, does",
        )
    return steepest


def _scatter(
    evaluator: Evaluator, feasible_set: FeasibleSet, points: Points, rng: np.random.Generator
) -> float:
    """Return the median over points of ‖y(x + h) − 2 y(x) + y(x − h)‖ / 2 for small h: zero but for inaccuracy."""
    steps = (
        1e-6
        * feasible_set.diameter
        * np.array([_unit(rng.standard_normal(point.size)) for point in points])
    )
    batch = np.concatenate([points + steps, points, points - steps])
    after, here, before = np.split(_answers(evaluator, batch, "points close together"), 3)
    return float(np.median(np.linalg.norm(after - 2 * here + before, axis=1))) / 2


def _vertex(feasible_set: FeasibleSet, cost: Point) -> Point:
    given = cost.copy()
    vertex = feasible_set.minimize_linear(given)
    _law(np.array_equal(given, cost), "minimize_linear leaves the cost it was given alone")
    _check_point(feasible_set, vertex, f"minimize_linear({cost})")
    kept = vertex.copy()
    if vertex.flags.writeable:
        vertex[...] = np.nan  # what was returned is the caller's own
    again = feasible_set.minimize_linear(given)
    _law(
        np.array_equal(again, kept),
        f"the same cost gives the same vertex, got {kept} and then {again}",
    )
    return kept


def _check_optimality(costs: Point, vertices: Point, center: Point) -> None:
    values = costs @ np.vstack([vertices, center]).T  # (trials, trials + 1)
    best = np.diagonal(values)
    size = np.abs(costs).max(axis=1) * (np.abs(vertices).max() + 1e-300)
    worse = (best[:, None] - values).max(axis=1) > 1e-7 * size * costs.shape[1]
    row = int(np.argmax(worse))
    _law(
        not worse.any(),
        f"no known point beats minimize_linear({costs[row]}), which returned {vertices[row]}",
    )


def _check_projection(
    feasible_set: FeasibleSet, nearest: Point, point: Point, vertices: Point
) -> None:
    _check_point(feasible_set, nearest, f"project({point})")
    # The projection p of q is the point with ⟨q − p, z − p⟩ ≤ 0 for every z of the set.
    excess = float(((point - nearest) @ (vertices - nearest).T).max())
    size = float(np.linalg.norm(point - nearest)) * feasible_set.diameter
    _law(
        excess <= 1e-7 * size + 1e-12 * feasible_set.diameter**2,
        f"no point is nearer to {point} than project says, {nearest}",
    )


def _check_point(feasible_set: FeasibleSet, point: Point, what: str) -> None:
    shape = getattr(point, "shape", None)
    _law(
        shape == (feasible_set.dimension,),
        f"{what} has shape ({feasible_set.dimension},), got {shape}",
    )
    _law(bool(np.isfinite(point).all()), f"{what} is finite, got {point}")
    _law(feasible_set.contains(point, 1e-7), f"{what} is contained, got {point}")


def _unit(vector: Point) -> Point:
    return vector / np.linalg.norm(vector)


def _law(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"Broken law: {law}.")
