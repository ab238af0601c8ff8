"""The results that the paper prints in Section V."""

from __future__ import annotations

from bizol.report.tables import Spread

# Tables I and II, by response and B: final values of Bi-ZOL and of VZO, improvement in percent.
FINALS: dict[str, dict[int, tuple[Spread, Spread, Spread]]] = {
    "box": {
        1: (Spread(16.59, 0.40), Spread(24.95, 0.27), Spread(33.48, 1.88)),
        5: (Spread(14.17, 0.60), Spread(20.60, 0.80), Spread(31.10, 4.71)),
        10: (Spread(12.99, 0.21), Spread(18.04, 0.60), Spread(27.93, 2.94)),
        50: (Spread(11.54, 0.09), Spread(12.91, 0.40), Spread(10.49, 2.60)),
    },
    "ball": {
        1: (Spread(8.84, 1.15), Spread(22.13, 0.91), Spread(59.72, 5.67)),
        5: (Spread(5.77, 0.24), Spread(16.68, 0.75), Spread(65.77, 1.78)),
        10: (Spread(4.96, 0.09), Spread(13.43, 0.47), Spread(63.23, 1.43)),
        50: (Spread(4.45, 0.02), Spread(7.43, 0.41), Spread(40.97, 3.94)),
    },
}

# Table II: the best validation gap of Bi-ZOL on the ball response.
BALL_GAPS = {
    1: Spread(1.42, 0.10),
    5: Spread(0.51, 0.09),
    10: Spread(0.19, 0.05),
    50: Spread(0.0034, 0.0016),
}

# Tables III and IV: normalized gaps of Bi-ZOL and VZO, and their difference.
BY_UPPER = {
    20: (0.0068, 0.2668, 0.2600),
    40: (0.0114, 0.4365, 0.4251),
    80: (0.0120, 0.5293, 0.5173),
    100: (0.0182, 0.5445, 0.5263),
}
BY_LOWER = {
    40: (0.0096, 0.4247, 0.4150),
    80: (0.0125, 0.4424, 0.4299),
    100: (0.0108, 0.4645, 0.4537),
    200: (0.0155, 0.4455, 0.4301),
}

# The text around Fig. 6: smallest, mean and largest over the grid.
GRID = {"Bi-ZOL": (0.0027, 0.0121, 0.0316), "VZO": (0.2321, 0.4443, 0.5861)}
GRID_DIFFERENCE = (0.4322, 0.5651)  # mean and largest
