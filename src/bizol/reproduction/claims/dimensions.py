"""The claims about the grid of dimensions: Fig. 6, Tables III and IV."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bizol.reproduction import paper, printed
from bizol.reproduction.claims.formats import format_list, format_range, format_rows
from bizol.reproduction.claims.statement import Statement, Verdict, register
from bizol.reproduction.results import Results

STATEMENTS: list[Statement] = []


@register("Fig. 6", "grid", to=STATEMENTS)
def close_to_zero(results: Results) -> Verdict:
    """Bi-ZOL's normalized gap is close to zero over the whole grid."""
    ours = results.grid()["Bi-ZOL"].mean(axis=-1)
    return ours.max() < 0.1, format_range(ours, printed.GRID["Bi-ZOL"])


@register("Fig. 6", "grid", to=STATEMENTS)
def vzo_far_from_zero(results: Results) -> Verdict:
    """VZO leaves a much larger gap."""
    grid = results.grid()
    theirs = grid["VZO"].mean(axis=-1)
    holds = theirs.mean() > 5 * grid["Bi-ZOL"].mean()
    return holds, format_range(theirs, printed.GRID["VZO"])


@register("Fig. 6", "grid", to=STATEMENTS)
def ahead_in_every_pair(results: Results) -> Verdict:
    """Bi-ZOL is ahead for every pair of dimensions."""
    grid = results.grid()
    differences = (grid["VZO"] - grid["Bi-ZOL"]).mean(axis=-1)
    mean, largest = printed.GRID_DIFFERENCE
    return bool((differences > 0).all()), (
        f"{int((differences > 0).sum())} of {differences.size} pairs; "
        f"difference {differences.mean():.4f} on average (paper {mean}), "
        f"{differences.max():.4f} at most (paper {largest})"
    )


@register("Table III", "grid", to=STATEMENTS)
def gaps_grow_with_upper_dimension(results: Results) -> Verdict:
    """Both normalized gaps increase with n."""
    rows = {method: table.mean(axis=(1, 2)) for method, table in results.grid().items()}
    holds = all(before < after for row in rows.values() for before, after in pairwise(row))
    return holds, f"n = {format_list(paper.UPPER, 'd')}: {format_rows(rows, '.4f')}"


@register("Tables III and IV", "grid", to=STATEMENTS)
def larger_everywhere(results: Results) -> Verdict:
    """VZO's gap is much larger for every n and for every m."""
    grid = results.grid()
    by_n = grid["VZO"].mean(axis=(1, 2)) / grid["Bi-ZOL"].mean(axis=(1, 2))
    by_m = grid["VZO"].mean(axis=(0, 2)) / grid["Bi-ZOL"].mean(axis=(0, 2))
    return min(*by_n, *by_m) > 5, (
        f"VZO over Bi-ZOL: {format_list(by_n, '.0f')} for n = {format_list(paper.UPPER, 'd')}; "
        f"{format_list(by_m, '.0f')} for m = {format_list(paper.LOWER, 'd')}"
    )


@register("Section V-D", "grid", to=STATEMENTS)
def steadier_over_dimensions(results: Results) -> Verdict:
    """Bi-ZOL's normalized gap varies less over the tested dimensions than VZO's."""
    grid = results.grid()
    ours, theirs = (float(np.ptp(grid[name].mean(axis=-1))) for name in ("Bi-ZOL", "VZO"))
    return ours < theirs, f"largest minus smallest: Bi-ZOL {ours:.4f}, VZO {theirs:.4f}"


@register("Table IV", "grid", to=STATEMENTS)
def mild_growth_with_lower_dimension(results: Results) -> Verdict:
    """Bi-ZOL's gap grows mildly from m = 40 to m = 200 and stays close to zero."""
    ours = results.grid()["Bi-ZOL"].mean(axis=(0, 2))
    numbers = f"m = {format_list(paper.LOWER, 'd')}: {format_list(ours, '.4f')}"
    return ours[0] < ours[-1] < 0.1, numbers


@register("Table IV", "grid", to=STATEMENTS)
def larger_relative_variation(results: Results) -> Verdict:
    """Over m, Bi-ZOL's gap varies more, relative to its size, than VZO's."""
    grid = results.grid()
    rows = [grid[name].mean(axis=(0, 2)) for name in ("Bi-ZOL", "VZO")]
    ours, theirs = (float(np.ptp(row) / row.mean()) for row in rows)
    numbers = f"largest minus smallest, over the mean: Bi-ZOL {ours:.0%}, VZO {theirs:.0%}"
    return ours > theirs, numbers


@register("Section V-D", "grid", to=STATEMENTS)
def ahead_in_every_run(results: Results) -> Verdict:
    """Bi-ZOL is ahead in every paired run of the grid."""
    grid = results.grid()
    ahead = grid["Bi-ZOL"] < grid["VZO"]
    return bool(ahead.all()), f"{int(ahead.sum())} of {ahead.size} paired runs"
