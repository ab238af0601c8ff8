"""The claims about the box and the ball response: Figs. 3 to 5, Tables I and II."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from bizol.reproduction import paper
from bizol.reproduction.claims.formats import format_list, format_rows
from bizol.reproduction.claims.statement import Statement, Verdict, register
from bizol.reproduction.experiments import METHODS, Experiment, MethodName
from bizol.reproduction.results import Results

STATEMENTS: list[Statement] = []


@register("Section V-B", "box", to=STATEMENTS)
def capacities_bind(results: Results) -> Verdict:
    """Capacities bind along the way, and probes cross from one active set to another."""
    cells = [results.cell("box", "Bi-ZOL", batch) for batch in paper.BATCHES]
    saturated = [float(cell.saturated.mean()) for cell in cells]
    least = min(float(cell.saturated.min()) for cell in cells)
    crossed = [float(cell.crossings[0]) for cell in cells]
    switches = [float(cell.crossings[1]) for cell in cells]
    return least > 0 and max(saturated) < 1 and min(crossed) > 0, (
        f"{format_list(saturated, '.0%')} of the agents are at a capacity, "
        f"{least:.0%} at least at any iterate; "
        f"{format_list(crossed, '.1%')} of the ± pairs cross a boundary, "
        f"{min(switches):.1f} to {max(switches):.1f} agents switching in each"
    )


@register("Fig. 3", "box", to=STATEMENTS)
def certificate_falls(results: Results) -> Verdict:
    """The best validation gap falls as queries are spent."""
    return _check_validation_falls(results, "box")


@register("Fig. 3", "box", to=STATEMENTS)
def fewer_steps(results: Results) -> Verdict:
    """At the same budget Bi-ZOL makes fewer steps, because it also asks at x."""
    steps = [
        [len(results.cell("box", method, batch).queries) - 1 for batch in paper.BATCHES]
        for method in METHODS
    ]
    ours, theirs = np.array(steps)
    return bool((ours < theirs).all()), format_rows({"Bi-ZOL": ours, "VZO": theirs}, "d")


@register("Fig. 3", "box", to=STATEMENTS)
def clarke_gap_falls(results: Results) -> Verdict:
    """Bi-ZOL reduces the exact Clarke gap to a small part of what it was."""
    curves = [results.clarke("Bi-ZOL", batch).mean(axis=1) for batch in paper.BATCHES]
    left = [float(curve[-1] / curve[0]) for curve in curves]
    return max(left) < 0.5, f"from {curves[0][0]:.1f}, what is left is {format_list(left, '.1%')}"


@register("Fig. 3", "box", to=STATEMENTS)
def smaller_clarke_gap(results: Results) -> Verdict:
    """VZO stays at a larger Clarke gap under the same budget."""
    ours = _average_clarke(results, "Bi-ZOL")
    theirs = _average_clarke(results, "VZO")
    return bool(np.less(ours, theirs).all()), format_rows({"Bi-ZOL": ours, "VZO": theirs})


@register("Fig. 3", "box", to=STATEMENTS)
def clarke_follows(results: Results) -> Verdict:
    """The Clarke gap follows the certificate (what Proposition 5 is about)."""
    clarke = np.array(_average_clarke(results, "Bi-ZOL"))
    ratios = clarke / _average_validation(results, "box")
    holds = bool(ratios.min() > 0.5 and ratios.max() < 2)
    return holds, f"best Clarke gap over best validation gap: {format_list(ratios)}"


@register("Fig. 3", "box", to=STATEMENTS)
def gaps_fall_with_batch(results: Results) -> Verdict:
    """All gaps improve as B grows."""
    rows = {
        "validation": _average_validation(results, "box"),
        "Clarke, Bi-ZOL": _average_clarke(results, "Bi-ZOL"),
        "Clarke, VZO": _average_clarke(results, "VZO"),
    }
    return all(_is_falling(row) for row in rows.values()), format_rows(rows)


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def lower_on_the_box(results: Results) -> Verdict:
    """Bi-ZOL reaches a lower value than VZO at every B."""
    return _compare_finals(results, "box")


@register("Fig. 4", "box", to=STATEMENTS)
def lower_along_the_way(results: Results) -> Verdict:
    """Bi-ZOL is ahead at the same budget along the curves, not at their ends alone."""
    budgets = np.linspace(0.02, 1.0, 50) * results.setting.budget
    ahead = []
    for batch in paper.BATCHES:
        ours, theirs = (
            np.interp(budgets, cell.queries, cell.values.mean(axis=1))
            for cell in (results.cell("box", method, batch) for method in METHODS)
        )
        ahead.append(float((ours < theirs).mean()))
    numbers = f"lower at {format_list(ahead, '.0%')} of fifty budgets from 2 % of the whole on"
    return min(ahead) == 1, numbers


@register("Section V, opening", "box", to=STATEMENTS)
def objective_falls(results: Results) -> Verdict:
    """The hyperobjective decreases along the runs of Bi-ZOL."""
    start = float(results.cell("box", "Bi-ZOL", 1).values[0].mean())
    finals = _average_finals(results, "box", "Bi-ZOL")
    return max(finals) < start, f"from {start:.2f} to {format_list(finals)}"


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def values_fall_with_batch(results: Results) -> Verdict:
    """Both methods get lower values with larger B."""
    rows = {method: _average_finals(results, "box", method) for method in METHODS}
    return all(_is_falling(row) for row in rows.values()), format_rows(rows)


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def difference_shrinks(results: Results) -> Verdict:
    """The difference between the methods shrinks as B grows."""
    ours = _average_finals(results, "box", "Bi-ZOL")
    theirs = _average_finals(results, "box", "VZO")
    differences = np.subtract(theirs, ours)
    return _is_falling(differences), format_list(differences)


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def vzo_gains_more(results: Results) -> Verdict:
    """VZO gains more from a larger batch than Bi-ZOL."""
    finals = [_average_finals(results, "box", method) for method in METHODS]
    ours, theirs = (row[0] - row[-1] for row in finals)
    return ours < theirs, f"from B=1 to B=50: Bi-ZOL {ours:.2f}, VZO {theirs:.2f}"


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def most_visible_when_queries_are_few(results: Results) -> Verdict:
    """The relative improvement is largest for small and moderate B."""
    row = _average_improvements(results, "box")
    return row[-1] < min(row[:-1]), format_list(row, ".1f") + " %"


@register("Fig. 4, Table I", "box", to=STATEMENTS)
def steadier(results: Results) -> Verdict:
    """Except for B = 1, runs of Bi-ZOL differ less than runs of VZO."""
    ours, theirs = (
        [float(results.finals("box", method, batch).std(ddof=1)) for batch in paper.BATCHES]
        for method in METHODS
    )
    rows = format_rows({"Bi-ZOL": ours, "VZO": theirs})
    return bool(np.less(ours[1:], theirs[1:]).all()), f"standard deviations: {rows}"


@register("Section V-C", "box", to=STATEMENTS)
def less_noise(results: Results) -> Verdict:
    """The two-point estimate of Bi-ZOL is less noisy than that of VZO."""
    noise = results.cell("box", "Bi-ZOL", 10).noise
    ratios = noise[:, 0] / noise[:, 1]
    first, last = ratios[0], ratios[1:]  # at x_0, and at the last decision of every run
    return bool((ratios < 1).all()), (
        f"variance of one direction's estimate, Bi-ZOL over VZO: {first:.2f} at x₀, "
        f"{last.min():.2f} to {last.max():.2f} at the last decisions (B=10)"
    )


@register("Fig. 5, Table II", "ball", to=STATEMENTS)
def lower_on_the_ball(results: Results) -> Verdict:
    """Bi-ZOL reaches a lower value than VZO at every B also with a curved boundary."""
    return _compare_finals(results, "ball")


@register("Fig. 5, Table II", "ball", to=STATEMENTS)
def certificate_falls_on_the_ball(results: Results) -> Verdict:
    """Bi-ZOL keeps lowering the objective and its certificate on the ball response."""
    start = float(results.cell("ball", "Bi-ZOL", 1).values[0].mean())
    finals = _average_finals(results, "ball", "Bi-ZOL")
    falls, numbers = _check_validation_falls(results, "ball")
    return falls and max(finals) < start, (
        f"objective from {start:.2f} to {format_list(finals)}; gap {numbers}"
    )


@register("Table II", "ball", to=STATEMENTS)
def ball_gaps_fall_with_batch(results: Results) -> Verdict:
    """The validation gap falls as B grows."""
    row = _average_validation(results, "ball")
    return _is_falling(row), format_list(row, ".2g")


@register("Tables I and II", "box", "ball", to=STATEMENTS)
def larger_on_the_ball(results: Results) -> Verdict:
    """The relative improvement is larger on the ball than on the box."""
    box = _average_improvements(results, "box")
    ball = _average_improvements(results, "ball")
    numbers = f"ball {format_list(ball, '.1f')} %; box {format_list(box, '.1f')} %"
    return bool(np.less(box, ball).all()), numbers


def _average_finals(results: Results, response: Experiment, method: MethodName) -> list[float]:
    """Return the mean final value of the runs, by B."""
    return [float(results.finals(response, method, batch).mean()) for batch in paper.BATCHES]


def _average_improvements(results: Results, response: Experiment) -> list[float]:
    """Return the mean relative improvement in percent, by B."""
    return [float(results.improvement(response, batch).mean()) for batch in paper.BATCHES]


def _average_validation(results: Results, response: Experiment) -> list[float]:
    """Return the mean of the best validation gaps at the end, by B."""
    return [float(results.validation(response, batch)[-1].mean()) for batch in paper.BATCHES]


def _average_clarke(results: Results, method: MethodName) -> list[float]:
    """Return the mean of the best Clarke gaps at the end, by B."""
    return [float(results.clarke(method, batch)[-1].mean()) for batch in paper.BATCHES]


def _compare_finals(results: Results, response: Experiment) -> Verdict:
    """Whether Bi-ZOL's mean final value is lower at every B."""
    rows = {method: _average_finals(results, response, method) for method in METHODS}
    pairs = [
        results.finals(response, "Bi-ZOL", batch) < results.finals(response, "VZO", batch)
        for batch in paper.BATCHES
    ]
    lower = f"lower in {int(np.sum(pairs))} of {np.size(pairs)} paired runs"
    holds = bool(np.less(rows["Bi-ZOL"], rows["VZO"]).all())
    return holds, f"{format_rows(rows)}; {lower}"


def _check_validation_falls(results: Results, response: Experiment) -> Verdict:
    """Whether the mean best validation gap falls in the first tenth of the budget and after it."""
    stages = []
    for batch in paper.BATCHES:
        curve = results.validation(response, batch).mean(axis=1)
        stages.append((curve[0], curve[len(curve) // 10], curve[-1]))
    first, tenth, last = zip(*stages, strict=True)
    return all(_is_falling(stage) for stage in stages), (
        f"at the start {first[0]:.1f}; after a tenth of the budget {format_list(tenth, '.2g')}; "
        f"at the end {format_list(last, '.2g')}"
    )


def _is_falling(row: Iterable[float]) -> bool:
    return all(before > after for before, after in pairwise(row))
