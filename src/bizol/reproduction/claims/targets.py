"""How near our numbers are to the paper's."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bizol.report.tables import Cell
from bizol.reproduction import paper, printed
from bizol.reproduction.claims.formats import format_list
from bizol.reproduction.claims.statement import Statement, Verdict, register
from bizol.reproduction.results import Results
from bizol.reproduction.tables import table_1, table_2

TARGETS: list[Statement] = []


@register("Table I", "box", to=TARGETS)
def table_1_means(results: Results) -> Verdict:
    """All eight means are within 5 % of the paper's."""
    worst, where = _find_worst_mean(table_1(results).rows)
    return worst <= 0.05, f"largest deviation {worst:.1%} ({where})"


@register("Table II", "ball", to=TARGETS)
def table_2_means(results: Results) -> Verdict:
    """All eight means are within 15 % of the paper's."""
    worst, where = _find_worst_mean(table_2(results).rows)
    return worst <= 0.15, f"largest deviation {worst:.1%} ({where})"


@register("Table II", "ball", to=TARGETS)
def table_2_improvements(results: Results) -> Verdict:
    """All four improvements are within 10 percentage points of the paper's."""
    differences = [
        float(results.improvement("ball", batch).mean()) - printed.FINALS["ball"][batch][2].mean
        for batch in paper.BATCHES
    ]
    numbers = f"here minus paper: {format_list(differences, '+.1f')} points"
    return max(map(abs, differences)) <= 10, numbers


@register("Table II", "ball", to=TARGETS)
def table_2_gaps(results: Results) -> Verdict:
    """All four validation gaps are within a factor 3 of the paper's."""
    ratios = [
        float(results.validation("ball", batch)[-1].mean()) / printed.BALL_GAPS[batch].mean
        for batch in paper.BATCHES
    ]
    worst = max(max(ratio, 1 / ratio) for ratio in ratios)
    return worst <= 3, f"here over paper: {format_list(ratios)}"


@register("Tables III and IV", "grid", to=TARGETS)
def grid_average_of_bizol(results: Results) -> Verdict:
    """On average over the grid, Bi-ZOL's normalized gap is at most 0.05."""
    mean = results.grid()["Bi-ZOL"].mean()
    return mean <= 0.05, f"{mean:.4f} (paper {printed.GRID['Bi-ZOL'][1]})"


@register("Tables III and IV", "grid", to=TARGETS)
def grid_average_of_vzo(results: Results) -> Verdict:
    """On average over the grid, VZO's is between 0.3 and 0.6."""
    mean = results.grid()["VZO"].mean()
    return 0.3 <= mean <= 0.6, f"{mean:.4f} (paper {printed.GRID['VZO'][1]})"


@register("Tables III and IV", "grid", to=TARGETS)
def grid_rows(results: Results) -> Verdict:
    """The averages over rows and columns of the grid are near the paper's."""
    # Rows are the sizes n and m; columns are Bi-ZOL, VZO and their difference.
    wanted = np.array([*printed.BY_UPPER.values(), *printed.BY_LOWER.values()])
    ours, theirs = (
        float(np.abs([*table.mean(axis=(1, 2)), *table.mean(axis=(0, 2))] - column).max())
        for table, column in zip(results.grid().values(), wanted.T[:2], strict=True)
    )
    holds = ours <= 0.02 and theirs <= 0.1
    return holds, f"apart by at most {ours:.4f} for Bi-ZOL, {theirs:.4f} for VZO"


def _find_worst_mean(rows: Iterable[tuple[Cell, ...]]) -> tuple[float, str]:
    """Return the largest relative deviation of a mean from the paper's, and where it is."""
    deviations = {
        f"{name}, B={row[0]}": abs(row[index].mean / row[index + 1].mean - 1)  # type: ignore[union-attr]
        for row in rows
        for name, index in (("Bi-ZOL", 1), ("VZO", 3))
    }
    where = max(deviations, key=deviations.__getitem__)
    return deviations[where], where
