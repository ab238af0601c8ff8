"""The state of a run, and the plan that is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias, final

import numpy as np

from bizol.arrays import Point, Points
from bizol.feasible_sets.composition import InUnits
from bizol.methods.foresight.forecasts import Errors, Everywhere, Forecast, Pieces
from bizol.methods.protocol import Move
from bizol.problem import Anchor, Problem
from bizol.sensitivity import RememberedSensitivity, Secant

# look: ask at a decision without an answer; try: ask where the forecast recommends; explore: ask
# around the decision; echo: ask at the decision once more, to see the noise; leap: ask where the
# forecast of the response everywhere recommends.
Turn: TypeAlias = Literal["look", "try", "explore", "echo", "leap"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForesightState:
    """The state of a run: the decision, what is known and remembered, and what is asked next."""

    problem: Problem
    seed: int
    iteration: int
    x: Point
    # X in units in which it is about as wide along every coordinate; lengths below are in these.
    space: InUnits
    move: Move | None = None
    turn: Turn = "look"
    # φ and its gradients at (x, y(x)); None before the follower was asked there.
    anchor: Anchor | None = None
    secants: tuple[Secant, ...] = ()
    radius: float = 0.0  # how far the forecast is trusted
    damping: float = 0.0  # λ
    cautious: bool = False  # whether trials stay within the radius
    learning: bool = False  # whether the next trial waits until every direction is known
    stalled: int = 0  # trials in a row that gained next to nothing
    # φ where this descent began, or the last one that began elsewhere than at the best.
    height: float = 0.0
    descents: int = 0  # how many were begun before this one
    # The iteration at which the progress of this descent was last checked, and φ there.
    milestone: tuple[int, float] = (0, inf)
    best: Anchor | None = None  # the best of all that was observed
    observed: tuple[Anchor, ...] = ()  # the latest answers, the oldest first
    errors: Errors = field(default_factory=Errors)  # of the forecasts, lately
    pieces: Pieces | None = None  # as they were fitted last
    everywhere: Everywhere | None = None
    leaps: int = 0  # in a row that failed, since the last descent was over
    searched: int = 0  # the iteration of the last search for a leap
    # ‖y − y'‖ of two answers to one query; None while no query was repeated.
    noise: float | None = None
    undefined: int = 0  # answers that φ or its gradients are not defined at
    # Computed once, for ask and tell.
    _plan: Plan | None = field(default=None, init=False, repr=False)

    @property
    def remark(self) -> str:
        """What the user should know about how the run went."""
        noisy = ""
        if self.noise:
            noisy = "The response is noisy, and the noise limits what can be reached."
        times = f"{self.undefined} time{'s' if self.undefined > 1 else ''}"
        what = "The objective or its gradients were not defined at what the follower answered"
        undefined = f"{what} {times}." if self.undefined else ""
        return " ".join(filter(None, (noisy, undefined)))

    @property
    def z(self) -> Point:
        """The decision in units of the space."""
        return self.x / self.space.units

    @property
    def asked(self) -> Points:
        """Where the latest answers were, in units of the space."""
        points = np.array([each.at for each in self.observed]).reshape(-1, self.x.size)
        return points / self.space.units


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a state asks, and why."""

    workers: int  # for which it was made
    queries: Points
    length: float = 0.0  # of the first trial
    sensitivity: RememberedSensitivity
    most: int  # directions that are kept
    forecasts: tuple[Forecast, ...] = ()
    pieces: Pieces | None = None  # of the components that have any
    # Whether the forecast knows every direction that X has, or as many as are kept.
    complete: bool = False
    trials: int = 0  # the first rows are decisions that the forecast recommends
    gain: float = 0.0  # what the forecast promises for the first of them
    everywhere: Everywhere | None = None
    leap: bool = False  # whether the first row is a leap
    searched: bool = False  # whether one was looked for
