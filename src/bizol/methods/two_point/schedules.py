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
    """A step that looks at what the last one did: φ(x_k, y_k) is observed anyway, so a step too
    long is seen.

    When the last step made things worse, the next one is shorter; otherwise it is a little longer.
    How much the step
    promised is not asked for: the gap estimate is biased upward by noise, and steps would soon be
    too short.

    Args:
        initial: the first step.
        longer, shorter: the factors.

    """

    initial: float = 0.5
    longer: float = 1.1
    shorter: float = 0.7

    def __post_init__(self) -> None:
        if not (is_real(self.initial) and 0 < self.initial <= 1):
            raise ArgumentError(
                "AdaptiveStep", "initial", f"must be in (0, 1], got {self.initial!r}."
            )
        if not (
            is_real(self.longer) and is_real(self.shorter) and 0 < self.shorter < 1 <= self.longer
        ):
            raise ArgumentError(
                "AdaptiveStep",
                ("longer", "shorter"),
                f"must keep 0 < shorter < 1 <= longer, got {self.longer!r} and {self.shorter!r}.",
            )

    def after(self, move: Move | None, value: float) -> float:
        """Return the step to take where φ has this value, after the given move."""
        if move is None:
            return self.initial
        return min(1.0, (self.longer if value <= move.value else self.shorter) * move.step)


def open_loop() -> PowerLaw:
    """Return the step 2/(k + 2), the classical one of Frank and Wolfe, which needs to know nothing."""
    return PowerLaw(scale=2.0, shift=2.0, exponent=1.0)


def inverse_sqrt() -> PowerLaw:
    """Return the step 1/√(k + 1), which forgets its start more slowly and averages noise for longer."""
    return PowerLaw(scale=1.0, shift=1.0, exponent=0.5)


def horizon_tuned(*, initial_gap: float, smoothness: float, diameter: float, horizon: int) -> float:
    """Return the constant step of Corollary 2 for a run of T iterations.

        γ = min{1, √(2 Δ_δ / (L_{φ̄,δ} D² T))}

    Args:
        initial_gap: Δ_δ, what the smoothed hyperobjective can still fall from x₀.
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
