"""What Section V says in words, tested as statements on the measured data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.report.tables import Cell
from bizol.reproduction import paper
from bizol.reproduction.experiments import METHODS, Experiment, MethodName
from bizol.reproduction.results import Results
from bizol.reproduction.tables import table_1, table_2

Test = Callable[[Results], tuple[bool, str]]  # whether it holds, and the numbers that say so

RESPONSES: tuple[Experiment, Experiment] = ("box", "ball")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim, whether it holds here, and the numbers that say so."""

    name: str
    about: str
    says: str
    holds: bool
    numbers: str


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """A claim still to be tested: what it needs, and how to test it."""

    about: str
    needs: frozenset[Experiment]
    test: Test

    @property
    def name(self) -> str:
        """The name of the function that tests it, in words."""
        return self.test.__name__.replace("_", "-")

    @property
    def says(self) -> str:
        """The claim itself, which is what the function says of itself."""
        return self.test.__doc__ or ""


STATEMENTS: list[Statement] = []  # claims of the paper's text
TARGETS: list[Statement] = []  # how near our numbers are to the paper's


def verdicts(results: Results, statements: Iterable[Statement]) -> Iterator[Claim]:
    """Test the statements for which everything needed was measured."""
    for statement in statements:
        if statement.needs <= set(results.measured):
            holds, numbers = statement.test(results)
            yield Claim(
                name=statement.name,
                about=statement.about,
                says=statement.says,
                holds=bool(holds),
                numbers=numbers,
            )


def _states(
    about: str, *needs: Experiment, to: list[Statement] = STATEMENTS
) -> Callable[[Test], Test]:
    def register(test: Test) -> Test:
        to.append(Statement(about, frozenset(needs), test))
        return test

    return register


@_states("Section V-B", "box")
def capacities_bind(results: Results) -> tuple[bool, str]:
    """Capacities bind along the way, and probes cross from one active set to another."""
    cells = [results.cell("box", "Bi-ZOL", batch) for batch in paper.BATCHES]
    saturated = [float(cell.saturated.mean()) for cell in cells]
    least = min(float(cell.saturated.min()) for cell in cells)
    crossed = [float(cell.crossings[0]) for cell in cells]
    switches = [float(cell.crossings[1]) for cell in cells]
    return least > 0 and max(saturated) < 1 and min(crossed) > 0, (
        f"{_listed(saturated, '.0%')} of the agents are at a capacity, {least:.0%} at least at any iterate; "
        f"{_listed(crossed, '.1%')} of the ± pairs cross "
        f"a boundary, {min(switches):.1f} to {max(switches):.1f} agents switching in each"
    )


@_states("Fig. 3", "box")
def certificate_falls(results: Results) -> tuple[bool, str]:
    """The best validation gap falls as queries are spent."""
    return _falls(results, "box")


@_states("Fig. 3", "box")
def fewer_steps(results: Results) -> tuple[bool, str]:
    """At the same budget Bi-ZOL makes fewer steps, because it also asks at x."""
    steps = [
        [len(results.cell("box", method, batch).queries) - 1 for batch in paper.BATCHES]
        for method in METHODS
    ]
    ours, theirs = np.array(steps)
    return bool((ours < theirs).all()), f"Bi-ZOL {_listed(ours, 'd')}; VZO {_listed(theirs, 'd')}"


@_states("Fig. 3", "box")
def clarke_gap_falls(results: Results) -> tuple[bool, str]:
    """Bi-ZOL reduces the exact Clarke gap to a small part of what it was."""
    curves = [results.clarke("Bi-ZOL", batch).mean(axis=1) for batch in paper.BATCHES]
    left = [float(curve[-1] / curve[0]) for curve in curves]
    return max(left) < 0.5, f"from {curves[0][0]:.1f}, what is left is {_listed(left, '.1%')}"


@_states("Fig. 3", "box")
def smaller_clarke_gap(results: Results) -> tuple[bool, str]:
    """VZO stays at a larger Clarke gap under the same budget."""
    ours, theirs = (
        [results.clarke(method, batch)[-1].mean() for batch in paper.BATCHES] for method in METHODS
    )
    return bool(np.less(ours, theirs).all()), f"Bi-ZOL {_listed(ours)}; VZO {_listed(theirs)}"


@_states("Fig. 3", "box")
def clarke_follows(results: Results) -> tuple[bool, str]:
    """The Clarke gap follows the certificate (what Proposition 5 is about)."""
    ratios = [
        float(
            results.clarke("Bi-ZOL", batch)[-1].mean() / results.validation("box", batch)[-1].mean()
        )
        for batch in paper.BATCHES
    ]
    return min(ratios) > 0.5 and max(
        ratios
    ) < 2, f"best Clarke gap over best validation gap: {_listed(ratios)}"


@_states("Fig. 3", "box")
def gaps_fall_with_batch(results: Results) -> tuple[bool, str]:
    """All gaps improve as B grows."""
    rows = {
        "validation": [results.validation("box", batch)[-1].mean() for batch in paper.BATCHES],
        "Clarke, Bi-ZOL": [results.clarke("Bi-ZOL", batch)[-1].mean() for batch in paper.BATCHES],
        "Clarke, VZO": [results.clarke("VZO", batch)[-1].mean() for batch in paper.BATCHES],
    }
    numbers = "; ".join(f"{name} {_listed(row)}" for name, row in rows.items())
    return all(_falling(row) for row in rows.values()), numbers


@_states("Fig. 4, Table I", "box")
def lower_on_the_box(results: Results) -> tuple[bool, str]:
    """Bi-ZOL reaches a lower value than VZO at every B."""
    return _lower(results, "box")


@_states("Fig. 4", "box")
def lower_along_the_way(results: Results) -> tuple[bool, str]:
    """Bi-ZOL is ahead at the same budget along the curves, not at their ends alone."""
    budgets = np.linspace(0.02, 1.0, 50) * results.setting.budget
    ahead = []
    for batch in paper.BATCHES:
        ours, theirs = (
            np.interp(budgets, cell.queries, cell.values.mean(axis=1))
            for cell in (results.cell("box", method, batch) for method in METHODS)
        )
        ahead.append(float((ours < theirs).mean()))
    return min(
        ahead
    ) == 1, f"lower at {_listed(ahead, '.0%')} of fifty budgets from 2 % of the whole on"


@_states("Section V, opening", "box")
def objective_falls(results: Results) -> tuple[bool, str]:
    """The hyperobjective decreases along the runs of Bi-ZOL."""
    start, finals = (
        float(results.cell("box", "Bi-ZOL", 1).values[0].mean()),
        _finals(results, "box", "Bi-ZOL"),
    )
    return max(finals) < start, f"from {start:.2f} to {_listed(finals)}"


@_states("Fig. 4, Table I", "box")
def values_fall_with_batch(results: Results) -> tuple[bool, str]:
    """Both methods get lower values with larger B."""
    rows = {method: _finals(results, "box", method) for method in METHODS}
    numbers = "; ".join(f"{name} {_listed(row)}" for name, row in rows.items())
    return all(_falling(row) for row in rows.values()), numbers


@_states("Fig. 4, Table I", "box")
def difference_shrinks(results: Results) -> tuple[bool, str]:
    """The difference between the methods shrinks as B grows."""
    differences = np.subtract(_finals(results, "box", "VZO"), _finals(results, "box", "Bi-ZOL"))
    return _falling(differences), _listed(differences)


@_states("Fig. 4, Table I", "box")
def vzo_gains_more(results: Results) -> tuple[bool, str]:
    """VZO gains more from a larger batch than Bi-ZOL."""
    ours, theirs = (_finals(results, "box", method) for method in METHODS)
    gains = ours[0] - ours[-1], theirs[0] - theirs[-1]
    return gains[0] < gains[1], f"from B=1 to B=50: Bi-ZOL {gains[0]:.2f}, VZO {gains[1]:.2f}"


@_states("Fig. 4, Table I", "box")
def most_visible_when_queries_are_few(results: Results) -> tuple[bool, str]:
    """The relative improvement is largest for small and moderate B."""
    rows = [float(results.improvement("box", batch).mean()) for batch in paper.BATCHES]
    return rows[-1] < min(rows[:-1]), _listed(rows, ".1f") + " %"


@_states("Fig. 4, Table I", "box")
def steadier(results: Results) -> tuple[bool, str]:
    """Except for B = 1, runs of Bi-ZOL differ less than runs of VZO."""
    spreads = [
        [float(results.finals("box", method, batch).std(ddof=1)) for batch in paper.BATCHES]
        for method in METHODS
    ]
    ours, theirs = spreads
    return bool(np.less(ours[1:], theirs[1:]).all()), (
        f"standard deviations: Bi-ZOL {_listed(ours)}; VZO {_listed(theirs)}"
    )


@_states("Section V-C", "box")
def less_noise(results: Results) -> tuple[bool, str]:
    """The two-point estimate of Bi-ZOL is less noisy than that of VZO."""
    noise = results.cell(
        "box", "Bi-ZOL", 10
    ).noise  # x_0 first, then the last decision of every run
    ratios = noise[:, 0] / noise[:, 1]
    return bool((ratios < 1).all()), (
        f"variance of one direction's estimate, Bi-ZOL over VZO: {ratios[0]:.2f} at x₀, {ratios[1:].min():.2f} to "
        f"{ratios[1:].max():.2f} at the last decisions (B=10)"
    )


@_states("Fig. 5, Table II", "ball")
def lower_on_the_ball(results: Results) -> tuple[bool, str]:
    """Bi-ZOL reaches a lower value than VZO at every B also with a curved boundary."""
    return _lower(results, "ball")


@_states("Fig. 5, Table II", "ball")
def certificate_falls_on_the_ball(results: Results) -> tuple[bool, str]:
    """Bi-ZOL keeps lowering the objective and its certificate on the ball response."""
    start = float(results.cell("ball", "Bi-ZOL", 1).values[0].mean())
    finals = _finals(results, "ball", "Bi-ZOL")
    falls, numbers = _falls(results, "ball")
    return falls and max(
        finals
    ) < start, f"objective from {start:.2f} to {_listed(finals)}; gap {numbers}"


@_states("Table II", "ball")
def ball_gaps_fall_with_batch(results: Results) -> tuple[bool, str]:
    """The validation gap falls as B grows."""
    row = [float(results.validation("ball", batch)[-1].mean()) for batch in paper.BATCHES]
    return _falling(row), _listed(row, ".2g")


@_states("Tables I and II", "box", "ball")
def larger_on_the_ball(results: Results) -> tuple[bool, str]:
    """The relative improvement is larger on the ball than on the box."""
    box, ball = (
        [float(results.improvement(response, batch).mean()) for batch in paper.BATCHES]
        for response in RESPONSES
    )
    return bool(
        np.less(box, ball).all()
    ), f"ball {_listed(ball, '.1f')} %; box {_listed(box, '.1f')} %"


@_states("Fig. 6", "grid")
def close_to_zero(results: Results) -> tuple[bool, str]:
    """Bi-ZOL's normalized gap is close to zero over the whole grid."""
    ours = results.grid()["Bi-ZOL"].mean(axis=-1)
    return ours.max() < 0.1, _range(ours, paper.GRID["Bi-ZOL"])


@_states("Fig. 6", "grid")
def vzo_far_from_zero(results: Results) -> tuple[bool, str]:
    """VZO leaves a much larger gap."""
    grid = results.grid()
    theirs = grid["VZO"].mean(axis=-1)
    return theirs.mean() > 5 * grid["Bi-ZOL"].mean(), _range(theirs, paper.GRID["VZO"])


@_states("Fig. 6", "grid")
def ahead_in_every_pair(results: Results) -> tuple[bool, str]:
    """Bi-ZOL is ahead for every pair of dimensions."""
    grid = results.grid()
    differences = (grid["VZO"] - grid["Bi-ZOL"]).mean(axis=-1)
    mean, largest = paper.GRID_DIFFERENCE
    return bool((differences > 0).all()), (
        f"{int((differences > 0).sum())} of {differences.size} pairs; difference {differences.mean():.4f} on average "
        f"(paper {mean}), {differences.max():.4f} at most (paper {largest})"
    )


@_states("Table III", "grid")
def gaps_grow_with_upper_dimension(results: Results) -> tuple[bool, str]:
    """Both normalized gaps increase with n."""
    rows = {method: table.mean(axis=(1, 2)) for method, table in results.grid().items()}
    numbers = "; ".join(f"{name} {_listed(row, '.4f')}" for name, row in rows.items())
    return all(
        _falling(row[::-1]) for row in rows.values()
    ), f"n = {_listed(paper.UPPER, 'd')}: {numbers}"


@_states("Tables III and IV", "grid")
def larger_everywhere(results: Results) -> tuple[bool, str]:
    """VZO's gap is much larger for every n and for every m."""
    grid = results.grid()
    ratios = [
        grid["VZO"].mean(axis=axes) / grid["Bi-ZOL"].mean(axis=axes) for axes in ((1, 2), (0, 2))
    ]
    return min(map(min, ratios)) > 5, (
        f"VZO over Bi-ZOL: {_listed(ratios[0], '.0f')} for n = {_listed(paper.UPPER, 'd')}; "
        f"{_listed(ratios[1], '.0f')} for m = {_listed(paper.LOWER, 'd')}"
    )


@_states("Section V-D", "grid")
def steadier_over_dimensions(results: Results) -> tuple[bool, str]:
    """Bi-ZOL's normalized gap varies less over the tested dimensions than VZO's."""
    spans = {method: float(np.ptp(table.mean(axis=-1))) for method, table in results.grid().items()}
    return spans["Bi-ZOL"] < spans[
        "VZO"
    ], f"largest minus smallest: Bi-ZOL {spans['Bi-ZOL']:.4f}, VZO {spans['VZO']:.4f}"


@_states("Table IV", "grid")
def mild_growth_with_lower_dimension(results: Results) -> tuple[bool, str]:
    """Bi-ZOL's gap grows mildly from m = 40 to m = 200 and stays close to zero."""
    ours = results.grid()["Bi-ZOL"].mean(axis=(0, 2))
    return ours[0] < ours[-1] < 0.1, f"m = {_listed(paper.LOWER, 'd')}: {_listed(ours, '.4f')}"


@_states("Table IV", "grid")
def larger_relative_variation(results: Results) -> tuple[bool, str]:
    """Over m, Bi-ZOL's gap varies more, relative to its size, than VZO's."""
    rows = {method: table.mean(axis=(0, 2)) for method, table in results.grid().items()}
    spans = {method: float((row.max() - row.min()) / row.mean()) for method, row in rows.items()}
    return spans["Bi-ZOL"] > spans["VZO"], (
        f"largest minus smallest, over the mean: Bi-ZOL {spans['Bi-ZOL']:.0%}, VZO {spans['VZO']:.0%}"
    )


@_states("Section V-D", "grid")
def ahead_in_every_run(results: Results) -> tuple[bool, str]:
    """Bi-ZOL is ahead in every paired run of the grid."""
    grid = results.grid()
    ahead = grid["Bi-ZOL"] < grid["VZO"]
    return bool(ahead.all()), f"{int(ahead.sum())} of {ahead.size} paired runs"


@_states("Table I", "box", to=TARGETS)
def table_1_means(results: Results) -> tuple[bool, str]:
    """All eight means are within 5 % of the paper's."""
    worst, where = _worst_mean(table_1(results).rows)
    return worst <= 0.05, f"largest deviation {worst:.1%} ({where})"


@_states("Table II", "ball", to=TARGETS)
def table_2_means(results: Results) -> tuple[bool, str]:
    """All eight means are within 15 % of the paper's."""
    worst, where = _worst_mean(table_2(results).rows)
    return worst <= 0.15, f"largest deviation {worst:.1%} ({where})"


@_states("Table II", "ball", to=TARGETS)
def table_2_improvements(results: Results) -> tuple[bool, str]:
    """All four improvements are within 10 percentage points of the paper's."""
    apart = [
        float(results.improvement("ball", batch).mean()) - paper.FINALS["ball"][batch][2].mean
        for batch in paper.BATCHES
    ]
    return max(map(abs, apart)) <= 10, f"here minus paper: {_listed(apart, '+.1f')} points"


@_states("Table II", "ball", to=TARGETS)
def table_2_gaps(results: Results) -> tuple[bool, str]:
    """All four validation gaps are within a factor 3 of the paper's."""
    ratios = [
        float(results.validation("ball", batch)[-1].mean()) / paper.BALL_GAPS[batch].mean
        for batch in paper.BATCHES
    ]
    return max(
        *ratios, *(1 / ratio for ratio in ratios)
    ) <= 3, f"here over paper: {_listed(ratios)}"


@_states("Tables III and IV", "grid", to=TARGETS)
def grid_average_of_bizol(results: Results) -> tuple[bool, str]:
    """On average over the grid, Bi-ZOL's normalized gap is at most 0.05."""
    mean = results.grid()["Bi-ZOL"].mean()
    return mean <= 0.05, f"{mean:.4f} (paper {paper.GRID['Bi-ZOL'][1]})"


@_states("Tables III and IV", "grid", to=TARGETS)
def grid_average_of_vzo(results: Results) -> tuple[bool, str]:
    """On average over the grid, VZO's is between 0.3 and 0.6."""
    mean = results.grid()["VZO"].mean()
    return 0.3 <= mean <= 0.6, f"{mean:.4f} (paper {paper.GRID['VZO'][1]})"


@_states("Tables III and IV", "grid", to=TARGETS)
def grid_rows(results: Results) -> tuple[bool, str]:
    """The averages over rows and columns of the grid are near the paper's."""
    printed = np.array(
        [*paper.BY_UPPER.values(), *paper.BY_LOWER.values()]
    )  # (n and m, methods and difference)
    ours, theirs = (
        float(
            np.abs([*table.mean(axis=(1, 2)), *table.mean(axis=(0, 2))] - printed[:, column]).max()
        )
        for column, table in enumerate(results.grid().values())
    )
    return (
        ours <= 0.02 and theirs <= 0.1,
        f"apart by at most {ours:.4f} for Bi-ZOL, {theirs:.4f} for VZO",
    )


def _finals(results: Results, response: Experiment, method: MethodName) -> list[float]:
    return [float(results.finals(response, method, batch).mean()) for batch in paper.BATCHES]


def _lower(results: Results, response: Experiment) -> tuple[bool, str]:
    ours, theirs = (_finals(results, response, method) for method in METHODS)
    pairs = [
        results.finals(response, "Bi-ZOL", batch) < results.finals(response, "VZO", batch)
        for batch in paper.BATCHES
    ]
    return bool(np.less(ours, theirs).all()), (
        f"Bi-ZOL {_listed(ours)}; VZO {_listed(theirs)}; lower in {int(np.sum(pairs))} of {np.size(pairs)} paired runs"
    )


def _falls(results: Results, response: Experiment) -> tuple[bool, str]:
    """Whether the best validation gap, on average, is lower after a tenth of the budget, and lower still at the end."""
    stages = []
    for batch in paper.BATCHES:
        curve = results.validation(response, batch).mean(axis=1)
        stages.append((curve[0], curve[len(curve) // 10], curve[-1]))
    numbers = f"at the start {stages[0][0]:.1f}; after a tenth of the budget {_listed([stage[1] for stage in stages], '.2g')}"
    return all(_falling(stage) for stage in stages), (
        f"{numbers}; at the end {_listed([stage[2] for stage in stages], '.2g')}"
    )


def _worst_mean(rows: Iterable[tuple[Cell, ...]]) -> tuple[float, str]:
    deviations = {
        f"{name}, B={row[0]}": abs(row[index].mean / row[index + 1].mean - 1)  # type: ignore[union-attr]
        for row in rows
        for name, index in (("Bi-ZOL", 1), ("VZO", 3))
    }
    where = max(deviations, key=deviations.__getitem__)
    return deviations[where], where


def _falling(row: Iterable[float]) -> bool:
    return all(before > after for before, after in pairwise(row))


def _range(table: NDArray[np.float64], printed: tuple[float, float, float]) -> str:
    low, mean, high = printed
    return f"{table.min():.4f} to {table.max():.4f}, {table.mean():.4f} on average (paper: {low} to {high}, {mean})"


def _listed(row: Iterable[float], form: str = ".2f") -> str:
    return " / ".join(format(value, form) for value in row)
