"""Where the next descent begins."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from bizol.arrays import owned
from bizol.methods.foresight.places import anywhere
from bizol.methods.foresight.settings import FAR, RETURNING, SECOND_RADIUS
from bizol.methods.foresight.state import ForesightState
from bizol.problem import UnansweredError
from bizol.randomness import generator


def restart(state: ForesightState) -> ForesightState:
    """Begin a new descent, keeping the memory.

    It begins far from what was asked, or at the best decision with a wide view.
    """
    space = state.space
    begun = replace(
        state,
        descents=state.descents + 1,
        radius=SECOND_RADIUS * space.diameter,
        damping=0.0,
        cautious=True,
        learning=False,
        stalled=0,
        milestone=(state.iteration, inf),
        turn="explore",
    )
    if begun.descents % RETURNING == 0:
        assert state.best is not None
        return replace(begun, x=state.best.at, anchor=state.best)
    rng = generator(state.seed, state.iteration, 1)
    points = np.array([anywhere(space, rng) for _ in range(FAR)])
    asked = state.asked
    nearest = [np.linalg.norm(asked - point, axis=1).min() for point in points]
    x = owned(points[int(np.argmax(nearest))] * space.units)
    return replace(begun, x=x, anchor=None, turn="look")


def begin_elsewhere(state: ForesightState) -> ForesightState:
    """Begin at another decision than the unanswered one, if anything was ever answered."""
    if state.best is None:
        raise UnansweredError("The follower did not answer at the first decision.")
    return restart(replace(state, iteration=state.iteration + 1, move=None))
