"""The quadratic forecast that is no more curved than the answers demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bizol.arrays import Point, Points, Response, Responses, stack, to_numpy, weighted
from bizol.methods.foresight.forecasts.protocol import PullBack
from bizol.methods.foresight.settings import BEND, REMAINDER
from bizol.problem import Anchor


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curved:
    """The quadratic forecast that is no more curved than the answers demand.

    The change is Σ_ij (a_i + (ρ/2) a_i²) G_ij Δy_j with a_i = ⟨step, s_i⟩/h². It is the smallest of
    all quadratic changes that explain the differences Δy_j observed at x + s_j, in the sense of the
    kernel k(s, t) = a + (ρ/2) a², a = ⟨s, t⟩/h²; G is the inverse of the matrix of its values.
    """

    offsets: Points  # (k, n), rows s_j / h²
    inverse: Points  # G (k, k)
    differences: Responses  # (k, m), rows Δy_j

    @property
    def size(self) -> int:
        """How many answers the forecast was fitted to."""
        return len(self.offsets)

    @property
    def kinked(self) -> bool:
        """Whether there are kinks: none."""
        return False

    def change(self, step: Point) -> Response:
        """Return Σ_ij (a_i + (ρ/2) a_i²) G_ij Δy_j."""
        along = self.offsets @ step
        return weighted((along + BEND / 2 * along**2) @ self.inverse, self.differences)

    def linearized(self, step: Point) -> tuple[Response, PullBack]:
        """Return the change and d ↦ Jᵀd = Σ_ij (1 + ρ a_i) G_ij ⟨Δy_j, d⟩ s_i / h²."""
        along = self.offsets @ step

        def pull_back(covector: Response) -> Point:
            slopes = self.inverse @ to_numpy(self.differences @ covector)
            return np.asarray(((1 + BEND * along) * slopes) @ self.offsets)

        return self.change(step), pull_back

    def jacobian(self, step: Point) -> Responses:
        """Return J = Σ_ij (1 + ρ a_i) G_ij Δy_j s_iᵀ / h²."""
        along = self.offsets @ step
        return np.asarray(
            ((1 + BEND * along)[:, None] * self.offsets).T @ self.inverse @ self.differences
        ).T

    def curvature(self, step: Point, covector: Response) -> Points:
        """Return ρ Σ_ij G_ij ⟨Δy_j, d⟩ s_i s_iᵀ / h⁴."""
        slopes = self.inverse @ to_numpy(self.differences @ covector)
        return np.asarray(BEND * (self.offsets.T * slopes) @ self.offsets)


def fit_curved(
    observed: Sequence[Anchor], here: Anchor, *, most: int, units: Point | float = 1.0
) -> Curved | None:
    """Fit a quadratic change to the answers nearest to a decision; None where there are no others.

    What a quadratic cannot explain grows with the third power of the distance. So an answer at
    distance d is explained up to an error of variance τ (d/h)⁶, with the distance h of the
    (n + 1)-th nearest: the near ones almost exactly, the far ones hardly.

    Args:
        observed: the answers so far.
        here: the decision, and the answer there.
        most: how many answers are used, at most.
        units: the unit of steps along every coordinate.

    """
    steps = np.array([each.at - here.at for each in observed]).reshape(-1, here.at.size) / units
    distances = np.linalg.norm(steps, axis=1)
    order = np.argsort(distances, kind="stable")
    nearest = [index for index in order if distances[index] > 0][:most]
    if not nearest:
        return None
    steps = steps[nearest]
    distances = distances[nearest]
    scale = distances[min(here.at.size, len(nearest) - 1)]
    products = steps @ steps.T / scale**2
    kernel = products + BEND / 2 * products**2
    diagonal = np.einsum("ii->i", kernel)
    diagonal += REMAINDER * (distances / scale) ** 6 + 1e-12 * diagonal
    sizes = np.sqrt(diagonal)
    scaled = kernel / sizes / sizes[:, None] + 1e-12 * np.eye(len(nearest))
    inverse = np.linalg.inv(scaled) / sizes / sizes[:, None]
    differences = stack([observed[index].response - here.response for index in nearest])
    return Curved(offsets=steps / scale**2, inverse=inverse, differences=differences)
