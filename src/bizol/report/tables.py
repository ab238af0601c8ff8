"""A table once, written as text, Markdown, CSV, LaTeX or HTML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from math import isfinite
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table as RichTable

from bizol.arrays import ArgumentError


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """A mean and the standard deviation around it."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Return the mean and the sample standard deviation of at least two values.

        Example:
            >>> Spread.of([1.0, 3.0])
            Spread(mean=2.0, sd=1.4142135623730951)

        """
        sample = np.asarray(values, dtype=np.float64)
        return cls(float(sample.mean()), float(sample.std(ddof=1)))


Cell = Spread | float | int | str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its name, unique in its table, its heading, and how its numbers are written."""

    name: str
    label: str = ""  # the name, when empty
    decimals: int = 2
    quoted: bool = False  # from elsewhere, for comparison

    @property
    def heading(self) -> str:
        """What is written above the column."""
        return self.label or self.name


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows with a title.

    Example:
        >>> columns = (Column(name="B"), Column(name="Bi-ZOL"))
        >>> rows = ((1, Spread(16.59, 0.4)),)
        >>> table = Table(name="finals", title="Final values", columns=columns, rows=rows)
        >>> print(table.markdown())
        **Final values**
        <BLANKLINE>
        | B | Bi-ZOL |
        |---:|---:|
        | 1 | 16.59 ± 0.40 |
        <BLANKLINE>

    """

    name: str
    number: str = ""  # "Table I"
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        if bad := [row for row in self.rows if len(row) != len(self.columns)]:
            what = f"must have {len(self.columns)} cells each, got {bad[0]!r}."
            raise ArgumentError("Table", "rows", what)

    @property
    def heading(self) -> str:
        """The number and the title."""
        return f"{self.number}. {self.title}" if self.number else self.title

    def rich(self) -> RichTable:
        """Return the table for a terminal."""
        table = RichTable(
            title=escape_markup(self.heading), caption=escape_markup(self.note) or None
        )
        for column in self.columns:
            table.add_column(escape_markup(column.heading), justify="right")
        for row in self._write_rows():
            table.add_row(*(escape_markup(cell) for cell in row))
        return table

    def text(self, width: int = 150) -> str:
        """Return the table as text, drawn with lines."""
        drawn = io.StringIO()
        Console(file=drawn, width=width, color_system=None).print(self.rich())
        return drawn.getvalue()

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [
            f"**{self.heading}**",
            "",
            _join_with_pipes(column.heading for column in self.columns),
            "|" + "---:|" * len(self.columns),
            *(_join_with_pipes(row) for row in self._write_rows()),
            *(["", self.note] if self.note else []),
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return the numbers in full, a mean and its standard deviation in two columns."""
        heads: list[str] = []
        widths = []  # how many columns of the file each column takes
        for index, column in enumerate(self.columns):
            spread = any(isinstance(row[index], Spread) for row in self.rows)
            heads += [column.name, f"{column.name} sd"] if spread else [column.name]
            widths.append(2 if spread else 1)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(heads)
        for row in self.rows:
            writer.writerow(chain.from_iterable(map(_write_in_full, row, widths)))
        return out.getvalue()

    def latex(self) -> str:
        """Return a table environment; needs the packages booktabs and graphicx."""
        heads = (_escape_latex(column.heading) for column in self.columns)
        body = [
            " & ".join(_escape_latex(cell) for cell in row) + r" \\" for row in self._write_rows()
        ]
        note = []
        if self.note:
            note = [r"  \par\smallskip", rf"  {{\footnotesize {_escape_latex(self.note)}}}"]
        lines = [
            r"% needs \usepackage{booktabs,graphicx}",
            r"\begin{table}[htbp]",
            r"  \centering",
            rf"  \caption{{{_escape_latex(self.title)}}}",
            rf"  \label{{tab:{self.name}}}",
            r"  \resizebox{\linewidth}{!}{%",
            rf"  \begin{{tabular}}{{{'r' * len(self.columns)}}}",
            r"    \toprule",
            f"    {' & '.join(heads)} \\\\",
            r"    \midrule",
            *(f"    {line}" for line in body),
            r"    \bottomrule",
            r"  \end{tabular}}",
            *note,
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return a table element in a box that scrolls when the screen is narrow."""
        quoted = [' class="quoted"' if column.quoted else "" for column in self.columns]
        head = "".join(
            f'<th scope="col"{mark}>{escape(column.heading)}</th>'
            for column, mark in zip(self.columns, quoted, strict=True)
        )
        body = ""
        for first, *rest in self._write_rows():
            cells = "".join(
                f"<td{mark}>{escape(cell)}</td>"
                for cell, mark in zip(rest, quoted[1:], strict=True)
            )
            body += f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>'
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="wide"><table id="{escape(self.name)}">'
            f"<caption>{escape(self.heading)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
        )

    def _write_rows(self) -> list[list[str]]:
        decimals = [column.decimals for column in self.columns]
        return [list(map(_write_cell, row, decimals)) for row in self.rows]


FORMS = {"txt": Table.text, "md": Table.markdown, "csv": Table.csv, "tex": Table.latex}


def _write_cell(cell: Cell, decimals: int) -> str:
    """Write a cell; small numbers get the decimals they need to show two digits.

    Example:
        >>> _write_cell(Spread(0.0034, 0.0016), 2)
        '0.0034 ± 0.0016'

    """
    if isinstance(cell, Spread):
        digits = _count_digits(cell.mean, decimals)
        return f"{cell.mean:.{digits}f} ± {cell.sd:.{digits}f}"
    if isinstance(cell, float):
        return f"{cell:.{_count_digits(cell, decimals)}f}"
    return str(cell)


def _count_digits(value: float, decimals: int) -> int:
    """Return how many decimals show two digits of the value: at least `decimals`, at most 8."""
    if value == 0 or not isfinite(value):
        return decimals
    return max(decimals, min(8, 1 - int(np.floor(np.log10(abs(value))))))


def _write_in_full(cell: Cell, width: int) -> tuple[object, ...]:
    """Return the numbers of a cell for one or for two columns."""
    if isinstance(cell, Spread):
        return cell.mean, cell.sd
    return (cell, "") if width == 2 else (cell,)


def _join_with_pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape_latex(text: str) -> str:
    r"""Escape what TeX reads as its own, and spell out the letters we use.

    Example:
        >>> _escape_latex("16.59 ± 0.40 %")
        '16.59 $\\pm$ 0.40 \\%'

    """
    return re.sub("|".join(map(re.escape, _TEX)), lambda found: _TEX[found[0]], text)


_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "φ̃": r"$\tilde{\varphi}$",
    "δ": r"$\delta$",
    "γ": r"$\gamma$",
    "Ĝ": r"$\widehat{\mathcal{G}}$",
}


def side_by_side(names: Sequence[str], decimals: int) -> tuple[Column, ...]:
    """Return two columns for each name: what was found, and what a paper prints."""
    return tuple(
        column
        for name in names
        for column in (
            Column(name=name, decimals=decimals),
            Column(name=f"{name} (paper)", label="paper", decimals=decimals, quoted=True),
        )
    )
