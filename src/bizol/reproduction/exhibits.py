"""The tables and figures of Section V: what each shows and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from bizol.reproduction import figures, tables
from bizol.reproduction.experiments import Experiment


@final
@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure: the experiment it shows, how it is made, and its caption.

    The caption of a figure is also its text for those who cannot see it. A table has a title of its
    own.
    """

    shows: Experiment | None
    make: Callable[..., Any]
    caption: str = ""

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure, not a table."""
        return bool(self.caption)


EXHIBITS = {
    "table-1": Exhibit("box", tables.table_1),
    "table-2": Exhibit("ball", tables.table_2),
    "table-3": Exhibit("grid", tables.table_3),
    "table-4": Exhibit("grid", tables.table_4),
    "figure-1": Exhibit(
        None,
        figures.figure_1,
        "Figure 1. The anchored model at a point x where an agent reaches its capacity: "
        "φ linearized at (x, y(x)), the response left as it is. "
        "It has the kink of the hyperobjective; with the smoothed response in its place, the "
        "slope at x is g_δ(x).",
    ),
    "figure-2": Exhibit(
        None,
        figures.figure_2,
        "Figure 2. Zero structural bias at a switching point: "
        "the response and its smoothing (above); the slope of the smoothed anchored model at x "
        "lies in the Clarke subdifferential of the hyperobjective (below).",
    ),
    "figure-3": Exhibit(
        "box",
        figures.figure_3,
        "Figure 3. Best stationarity gaps so far on the box response, "
        "mean and one standard deviation over the runs: the validation gap of Bi-ZOL (above), "
        "the exact Clarke gap of Bi-ZOL and VZO (below).",
    ),
    "figure-4": Exhibit(
        "box",
        figures.figure_4,
        "Figure 4. The hyperobjective along the runs on the box response, "
        "mean and one standard deviation.",
    ),
    "figure-5": Exhibit(
        "ball",
        figures.figure_5,
        "Figure 5. The hyperobjective along the runs on the ball response, "
        "mean and one standard deviation.",
    ),
    "figure-6": Exhibit(
        "grid",
        figures.figure_6,
        "Figure 6. Normalized objective gap over the grid of dimensions, averaged over the runs; "
        "smaller is better.",
    ),
}
