"""The measured cells as the paper reads them: final values, best gaps so far, normalized gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.reproduction import paper
from bizol.reproduction.experiments import Experiment, Key, Measured, MethodName, Setting

Runs = NDArray[np.float64]  # one number per run


@final
@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What was measured, by experiment and (method, B, n, m)."""

    setting: Setting
    measured: Mapping[Experiment, Mapping[Key, Measured]]

    def cell(self, experiment: Experiment, method: MethodName, batch: int) -> Measured:
        """Return a cell of the box or the ball experiment."""
        return self.measured[experiment][method, batch, 20, 200]

    def finals(self, experiment: Experiment, method: MethodName, batch: int) -> Runs:
        """Return the final hyperobjective of every run."""
        return self.cell(experiment, method, batch).finals

    def improvement(self, experiment: Experiment, batch: int) -> Runs:
        """Return Δ_obj of every pair of runs, in percent."""
        ours = self.finals(experiment, "Bi-ZOL", batch)
        theirs = self.finals(experiment, "VZO", batch)
        return 100 * (theirs - ours) / np.abs(theirs)

    def validation(self, experiment: Experiment, batch: int) -> NDArray[np.float64]:
        """Return the best validation gap so far of the Bi-ZOL runs, (iterates, runs)."""
        return so_far(self.cell(experiment, "Bi-ZOL", batch).validation)

    def clarke(self, method: MethodName, batch: int) -> NDArray[np.float64]:
        """Return the best Clarke gap so far on the box response, (iterates, runs)."""
        return so_far(self.cell("box", method, batch).clarke)

    def normalized(self, n: int, m: int) -> dict[MethodName, Runs]:
        """Return NG_obj of every run: what is left of the initial gap to the best value."""
        grid = self.measured["grid"]
        values: dict[MethodName, NDArray[np.float64]] = {
            "Bi-ZOL": grid["Bi-ZOL", paper.GRID_BATCH, n, m].values,
            "VZO": grid["VZO", paper.GRID_BATCH, n, m].values,
        }
        reference = min(float(table.min()) for table in values.values())
        return {
            method: (table.min(axis=0) - reference) / (table[0] - reference + 1e-8)
            for method, table in values.items()
        }

    def grid(self) -> dict[MethodName, NDArray[np.float64]]:
        """Return NG_obj over the grid, (n, m, runs)."""
        pairs = [[self.normalized(n, m) for m in paper.LOWER] for n in paper.UPPER]
        return {
            "Bi-ZOL": np.array([[pair["Bi-ZOL"] for pair in row] for row in pairs]),
            "VZO": np.array([[pair["VZO"] for pair in row] for row in pairs]),
        }


def so_far(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest of each column up to each row.

    Example:
        >>> so_far(np.array([[3.0], [5.0], [2.0]]))[:, 0]
        array([3., 3., 2.])

    """
    return np.minimum.accumulate(gaps, axis=0)
