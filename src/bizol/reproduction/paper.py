"""The parameters that the paper gives for its experiments in Section V."""

from __future__ import annotations

DELTA = 0.08  # δ
STEP = 0.1  # γ
BATCHES = (1, 5, 10, 50)  # B
VALIDATION = 200  # B_val
UPPER = (20, 40, 80, 100)  # n on the grid of dimensions
LOWER = (40, 80, 100, 200)  # m on the grid of dimensions
GRID_BATCH = 10  # B on the grid
RUNS = 10
