"""What the gallery shares: options, two rivals, and a picture of the gap over the queries."""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import bizol
from bizol.report.figures import OURS, THEIRS


def options(name: str, budget: int, about: str | None) -> tuple[int, str]:
    """Return --budget, 50 (n + 1) queries in all of the examples, and --picture."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--budget", type=int, default=budget, help="how many queries (default: %(default)s)"
    )
    parser.add_argument(
        "--picture", default=f"{name}.png", help="where the picture goes (default: %(default)s)"
    )
    given = parser.parse_args()
    return given.budget, given.picture


def black_box(problem: bizol.Problem, tried: list[float]) -> Callable[[Any], float]:
    """Return leader and follower as one function, whose values are appended to `tried`."""

    def value(x: Any) -> float:
        point = np.asarray(x, dtype=float)
        tried.append(float(problem.objective.value(point, np.asarray(problem.response(point)))))
        return tried[-1]

    return value


def cma_es(problem: bizol.Problem, start: np.ndarray, budget: int, seed: int = 1) -> list[float]:
    """Return the values CMA-ES sees over a box; its first step is a fifth of the widest side."""
    import cma

    box, tried = problem.feasible_set, list[float]()
    assert isinstance(box, bizol.Box)
    side = float((box.upper - box.lower).max())
    settings = {"maxfevals": budget, "bounds": [box.lower, box.upper], "verbose": -9, "seed": seed}
    cma.fmin2(black_box(problem, tried), start, 0.2 * side, settings)
    return tried[:budget]  # whole generations may be more


def grid(problem: bizol.Problem, points: int) -> list[float]:
    """Return the values on a grid over a box, so many points a side."""
    box, tried = problem.feasible_set, list[float]()
    assert isinstance(box, bizol.Box)
    value = black_box(problem, tried)
    for x in product(*np.linspace(box.lower, box.upper, points).T):
        value(x)
    return tried


def report(solution: bizol.Solution, rivals: dict[str, list[float]], reference: float) -> None:
    """Print how far everyone got: (value − reference) / (value at the start − reference)."""
    for name, (queries, gaps) in _gaps(solution, rivals, reference).items():
        below = queries[gaps <= 0.01]
        when = f"below 1 % after {below[0]} queries" if len(below) else "never below 1 %"
        print(f"{name:>13}: normalized gap {gaps[-1]:.3%} after {queries[-1]} queries, {when}")


def draw(
    axes: Any, solution: bizol.Solution, rivals: dict[str, list[float]], reference: float
) -> None:
    """Draw the normalized gap of the best so far over the queries."""
    curves = _gaps(solution, rivals, reference).items()
    looks = [("-", OURS), ("--", THEIRS), ("-.", "black")]
    for (name, (queries, gaps)), (style, color) in zip(curves, looks, strict=False):
        percent = np.maximum(100 * gaps, 1e-4)
        axes.plot(queries, percent, style, color=color, label=name, drawstyle="steps-post")
    axes.axhline(1, color="grey", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel="normalized gap (%)")
    axes.legend()


def _gaps(
    solution: bizol.Solution, rivals: dict[str, list[float]], reference: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    history = solution.history
    runs = {"bizol": (history.queries, np.append(history.value[1:], solution.value))}
    for name, values in rivals.items():
        runs[name] = (np.arange(1, len(values) + 1), np.array(values))
    scale = history.value[0] - reference
    return {
        name: (queries, (np.minimum.accumulate(value) - reference) / scale)
        for name, (queries, value) in runs.items()
    }
