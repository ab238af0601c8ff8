"""How the numbers behind a claim are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name", bound=str)


def format_list(row: Iterable[float], form: str = ".2f") -> str:
    """Write numbers with slashes between them.

    Example:
        >>> format_list([1, 2.5])
        '1.00 / 2.50'

    """
    return " / ".join(format(value, form) for value in row)


def format_rows(rows: Mapping[Name, Iterable[float]], form: str = ".2f") -> str:
    """Write several lists, each after its name.

    Example:
        >>> format_rows({"Bi-ZOL": [1, 2], "VZO": [3, 4]}, ".0f")
        'Bi-ZOL 1 / 2; VZO 3 / 4'

    """
    return "; ".join(f"{name} {format_list(row, form)}" for name, row in rows.items())


def format_range(table: NDArray[np.float64], printed: tuple[float, float, float]) -> str:
    """Write smallest, largest and mean of a table beside the paper's (smallest, mean, largest)."""
    low, mean, high = printed
    return (
        f"{table.min():.4f} to {table.max():.4f}, {table.mean():.4f} on average "
        f"(paper: {low} to {high}, {mean})"
    )
