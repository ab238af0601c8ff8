"""Parameters that change along a run: a number, or a function of the iteration k = 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias, final

from bizol.arrays import ArgumentError, as_positive, is_real
from bizol.methods.protocol import Move

Schedule: TypeAlias = float | Callable[[int], float]


@final
@dataclass(frozen=True, slots=True)
class PowerLaw:
    """The schedule k ↦ scale / (k + shift)^exponent; it grows when the exponent is negative.

    Example:
        >>> [round(PowerLaw(scale=2, shift=2, exponent=1)(k), 3) for k in range(4)]
        [1.0, 0.667, 0.5, 0.4]

    """

    scale: float
    shift: float = 1.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        as_positive(self.scale, "PowerLaw", "scale")
        as_positive(self.shift, "PowerLaw", "shift")
        if not is_real(self.exponent):
            raise ArgumentError("PowerLaw", "exponent", f"must be a number, got {self.exponent!r}.")

    def __call__(self, iteration: int) -> float:
        """Return the value at an iteration."""
        return float(self.scale / (iteration + self.shift) ** self.exponent)


@final
@dataclass(frozen=True, slots=True)
class AdaptiveStep:
    """A step that adapts to the observed values φ(x_k, y_k).

    When the last step made the value worse, the next one is shorter; otherwise it is a little
    longer. The rule does not compare the decrease with the gap estimate, because noise biases the
    estimate upward, and steps would soon be too short.

    Args:
        initial: the first step.
        longer, shorter: the factors by which a step changes.

    """

    initial: float = 0.5
    longer: float = 1.1
    shorter: float = 0.7

    def __post_init__(self) -> None:
        if not (is_real(self.initial) and 0 < self.initial <= 1):
            what = f"must be in (0, 1], got {self.initial!r}."
            raise ArgumentError("AdaptiveStep", "initial", what)
        real = is_real(self.longer) and is_real(self.shorter)
        if not (real and 0 < self.shorter < 1 <= self.longer):
            factors = f"{self.longer!r} and {self.shorter!r}"
            what = f"must keep 0 < shorter < 1 <= longer, got {factors}."
            raise ArgumentError("AdaptiveStep", ("longer", "shorter"), what)

    def after(self, move: Move | None, value: float) -> float:
        """Return the step to take where φ has this value, after the given move."""
        if move is None:
            return self.initial
        factor = self.longer if value <= move.value else self.shorter
        return min(1.0, factor * move.step)


def open_loop() -> PowerLaw:
    """Return the step 2/(k + 2), the classical Frank–Wolfe schedule, which needs no constants."""
    return PowerLaw(scale=2.0, shift=2.0, exponent=1.0)


def inverse_sqrt() -> PowerLaw:
    """Return the step 1/√(k + 1), which decreases more slowly than `open_loop`."""
    return PowerLaw(scale=1.0, shift=1.0, exponent=0.5)


def horizon_tuned(*, initial_gap: float, smoothness: float, diameter: float, horizon: int) -> float:
    """Return the constant step of Corollary 2 for a run of T iterations.

        γ = min{1, √(2 Δ_δ / (L_{φ̄,δ} D² T))}

    Args:
        initial_gap: Δ_δ, how far the smoothed hyperobjective at x₀ is above its minimum.
        smoothness: L_{φ̄,δ} of Lemma 2.
        diameter: D, the diameter of the feasible set.
        horizon: T, the number of iterations.

    Example:
        >>> horizon_tuned(initial_gap=8, smoothness=4, diameter=2, horizon=100)
        0.1

    """
    as_positive(initial_gap, "horizon_tuned", "initial_gap")
    as_positive(smoothness, "horizon_tuned", "smoothness")
    as_positive(diameter, "horizon_tuned", "diameter")
    as_positive(horizon, "horizon_tuned", "horizon")
    return min(1.0, sqrt(2 * initial_gap / (smoothness * diameter**2 * horizon)))
