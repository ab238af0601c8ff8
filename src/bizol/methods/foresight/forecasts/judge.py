"""Which forecast was closer to the latest answers: as a whole, and component by component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.arrays import Point, norm, to_numpy
from bizol.methods.foresight.forecasts.everywhere import Everywhere
from bizol.methods.foresight.forecasts.overlaid import Overlaid
from bizol.methods.foresight.forecasts.pieces import Pieces
from bizol.methods.foresight.forecasts.protocol import Forecast
from bizol.methods.foresight.settings import (
    CLEARLY,
    DOUBT,
    FORGETTING,
    LARGEST_ERROR,
    RELIABLE,
    WITNESSES,
)
from bizol.problem import Anchor


@final
@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """How far forecasts were from the latest answers, newer ones counting more.

    An error is relative to how much the response changed, at most 2, and squared.
    """

    whole: tuple[float, ...] = ()  # of each forecast of all components
    each: NDArray[np.float64] | None = None  # the same by component, and of pieces last
    witnesses: int = 0


def judged(
    errors: Errors,
    forecasts: Sequence[Forecast],
    here: Anchor,
    others: Sequence[Anchor],
    *,
    pieces: Pieces | None = None,
    units: Point | float = 1.0,
) -> Errors:
    """Return the updated errors of the forecasts after these answers."""
    whole = errors.whole
    if len(whole) != len(forecasts):  # the forecasts are others than before
        whole = (0.0,) * len(forecasts)
    each, witnesses = errors.each, errors.witnesses
    if pieces is None:
        each, witnesses = None, 0
    elif each is None or len(each) != len(forecasts) + 1:
        each, witnesses = np.zeros((len(forecasts) + 1, here.response.shape[0])), 0
    for other in others:
        change, step = other.response - here.response, (other.at - here.at) / units
        size = norm(change)
        offs = [change - forecast.change(step) for forecast in forecasts] if size > 0 else []
        now = [min(norm(off) / size, LARGEST_ERROR) ** 2 for off in offs] or [0.0] * len(forecasts)
        whole = tuple(FORGETTING * b + a for b, a in zip(whole, now, strict=True))
        if each is not None and pieces is not None and size > 0:
            off = np.array([to_numpy(one) for one in offs])
            last = off.min(axis=0)
            last[pieces.components] = to_numpy(change)[pieces.components] - pieces.change(step)
            each = FORGETTING * each + np.minimum(np.abs([*off, last]) / size, LARGEST_ERROR) ** 2
            witnesses += 1
    return Errors(whole, each, witnesses)


def choose(
    errors: Errors, forecasts: Sequence[Forecast], pieces: Pieces | None, *, miss: float = inf
) -> Forecast:
    """Return the best forecast, with pieces for the components where these were clearly closer.

    Forecasts compete with their pieces in place. One that looks far away is followed only where it
    was clearly closer than those that look nearby; how much, depends on how far it is off at
    answers that are left out, relative to how much they differ (`miss`).
    """
    if len(errors.whole) != len(forecasts):
        return forecasts[0]
    doubtful = DOUBT * min(1.0, miss / RELIABLE)
    doubt = [doubtful if isinstance(each, Everywhere) else 1.0 for each in forecasts]
    each = errors.each
    known = pieces is not None and errors.witnesses >= WITNESSES
    if pieces is None or each is None or not known or len(each) != len(forecasts) + 1:
        return forecasts[int(np.argmin(np.array(errors.whole) * doubt))]
    there = np.zeros(each.shape[1], dtype=bool)
    there[pieces.components] = True
    better = there & (each[-1] < CLEARLY * each[:-1])
    totals = np.where(better, each[-1], each[:-1]).sum(axis=1) * doubt
    best = int(np.argmin(totals))
    chosen = better[best][pieces.components]
    base = forecasts[best]
    return Overlaid(base, pieces.restricted(chosen)) if chosen.any() else base
