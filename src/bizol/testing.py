"""Conformance checks for what users bring: does my set, does my method, keep the laws the library relies on?

Each check raises an `AssertionError` that names the law that is broken and shows the case that breaks it, and returns
nothing when all is well. Use them in your own tests.
"""

from __future__ import annotations

import numpy as np

from bizol.arrays import Point, as_size
from bizol.evaluation import Evaluator
from bizol.feasible_sets import FeasibleSet
from bizol.feasible_sets.protocol import projection
from bizol.methods import Method
from bizol.methods.protocol import S
from bizol.problem import Problem
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
    as_size(trials, "check_feasible_set(trials=...)")
    _law(isinstance(feasible_set, FeasibleSet), "it has dimension, diameter, center, minimize_linear and contains")
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
        spread <= diameter * (1 + 1e-9) + 1e-300, f"no two points are {spread:g} apart, as the diameter is {diameter:g}"
    )
    _check_point(feasible_set, vertices.mean(axis=0), "the mean of its vertices (is it convex?)")
    outside = vertices[0] + (diameter + 1.0) * _unit(rng.standard_normal(n))
    _law(not feasible_set.contains(outside), f"a point farther away than its diameter is not contained: {outside}")
    onto = projection(feasible_set)
    if onto is not None:
        points = vertices.mean(axis=0) + max(diameter, 1.0) * rng.standard_normal((trials, n))
        for point in np.concatenate([points, vertices]):
            _check_projection(feasible_set, onto(point.copy()), point, vertices)


def check_method(method: Method[S], problem: Problem, *, iterations: int = 5, seed: int = 0) -> None:
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
        _law(queries.ndim == 2 and queries.shape[1] == state.x.size, f"ask returns (q, n), got {queries.shape}")
        _law(np.array_equal(queries, method.ask(state)), "asking twice gives the same queries")
        responses, before = evaluator.evaluate(queries), state.x.copy()
        after, twin = method.tell(state, responses), method.tell(state, responses)
        _law(np.array_equal(before, state.x), "telling leaves the state it was given alone")
        _law(np.array_equal(after.x, twin.x), "telling twice gives the same next state")
        _law(after.iteration == state.iteration + 1, "telling goes one iteration on")
        move = after.move
        _law(move is not None and np.array_equal(move.at, before), "the move is reported at the decision it left")
        _law(move is not None and move.queries == len(queries), "the move reports as many queries as were asked")
        _check_point(problem.feasible_set, after.x, f"the decision of iteration {after.iteration}")
        state = after


def _vertex(feasible_set: FeasibleSet, cost: Point) -> Point:
    given = cost.copy()
    vertex = feasible_set.minimize_linear(given)
    _law(np.array_equal(given, cost), "minimize_linear leaves the cost it was given alone")
    _check_point(feasible_set, vertex, f"minimize_linear({cost})")
    kept = vertex.copy()
    if vertex.flags.writeable:
        vertex[...] = np.nan  # what was returned is the caller's own
    again = feasible_set.minimize_linear(given)
    _law(np.array_equal(again, kept), f"the same cost gives the same vertex, got {kept} and then {again}")
    return kept


def _check_optimality(costs: Point, vertices: Point, center: Point) -> None:
    values = costs @ np.vstack([vertices, center]).T  # (trials, trials + 1)
    best = np.diagonal(values)
    size = np.abs(costs).max(axis=1) * (np.abs(vertices).max() + 1e-300)
    worse = (best[:, None] - values).max(axis=1) > 1e-7 * size * costs.shape[1]
    row = int(np.argmax(worse))
    _law(not worse.any(), f"no known point beats minimize_linear({costs[row]}), which returned {vertices[row]}")


def _check_projection(feasible_set: FeasibleSet, nearest: Point, point: Point, vertices: Point) -> None:
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
    _law(shape == (feasible_set.dimension,), f"{what} has shape ({feasible_set.dimension},), got {shape}")
    _law(bool(np.isfinite(point).all()), f"{what} is finite, got {point}")
    _law(feasible_set.contains(point, 1e-7), f"{what} is contained, got {point}")


def _unit(vector: Point) -> Point:
    return vector / np.linalg.norm(vector)


def _law(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"Broken law: {law}.")
