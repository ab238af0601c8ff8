"""A bound on the Clarke gap from a Bi-ZOL certificate, Proposition 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import ArgumentError, Point, is_real
from bizol.certificates.certificate import Certificate, rounded_up
from bizol.problem import Problem
from bizol.structure.clarke import set_variation
from bizol.structure.protocols import SetVariation, structure_of


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClarkeBound:
    """The bound G^c(x) ≤ G_δ(x) + D ‖d_y‖ ω(x, δ) of Proposition 5, from a certificate."""

    at: Point
    epsilon: float  # x is ε-Clarke Frank–Wolfe stationary
    confidence: float
    variation: SetVariation

    @property
    def statement(self) -> str:
        """What the bound says, in a sentence."""
        hedge = " if the search for pieces missed none" if self.variation.kind == "search" else ""
        certain = f"{100 * self.confidence:g} %"
        return f"{rounded_up(self.epsilon)}-Clarke Frank–Wolfe stationary at {certain}{hedge}"


def transfer(
    certificate: Certificate, problem: Problem | None = None, *, variation: float | None = None
) -> ClarkeBound:
    """Turn a Bi-ZOL certificate into a bound on the Clarke gap, Proposition 5, eq. (24).

    Args:
        certificate: the certificate.
        problem: its problem, if the follower's structure is known: ω(x, δ) is then computed.
        variation: your own upper bound on ω(x, δ), for a black box: 0 at a δ-regular point of a
            piecewise affine response, L δ for a response with L-Lipschitz Jacobian.

    """
    if problem is not None and variation is None:
        omega = set_variation(structure_of(problem), certificate.at, certificate.delta)
    elif problem is None and variation is not None:
        if not is_real(variation) or not 0 <= variation < np.inf:
            what = f"must be finite and not negative, got {variation!r}."
            raise ArgumentError("transfer", "variation", what)
        omega = SetVariation(value=float(variation), kind="upper bound")
    else:
        raise ValueError(
            "transfer() needs the problem or a bound on the set variation (variation=...): "
            "one of the two."
        )
    bias = certificate.diameter * certificate.response_gradient * omega.value
    return ClarkeBound(
        at=certificate.at,
        epsilon=certificate.epsilon + bias,
        confidence=certificate.confidence,
        variation=omega,
    )
