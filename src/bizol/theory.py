"""The constants of the analysis, the bound of Theorem 1, the parameters of Corollary 2."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, lgamma, log, pi, sqrt
from types import MethodType
from typing import Literal, final

import numpy as np

from bizol.arrays import ArgumentError, Point, Response, as_positive, as_size, norm
from bizol.evaluation import Direct
from bizol.feasible_sets import Box
from bizol.followers import BallProjection, BoxProjection
from bizol.methods import horizon_tuned
from bizol.objectives import Tracking
from bizol.problem import Problem
from bizol.problem.follower import reach_of
from bizol.randomness import generator

VARIANCE_CONSTANT = 16 * sqrt(2 * pi)  # c_var of Lemma 1, eq. (32)


def smoothing_constant(dimension: int) -> float:
    """Return the c of Lemma 2: ∇h_δ is (c √n L_h / δ)-Lipschitz when h is L_h-Lipschitz.

    Two balls of radius δ, ε apart, differ by the share 2 ε V_{n−1} / (δ V_n) of their volume, and
    the gradient of h by at most L_h on it. So c = 2 V_{n−1} / (V_n √n), which falls from 1 (n = 1)
    to √(2/π).

    Example:
        >>> round(smoothing_constant(1), 3), round(smoothing_constant(1000), 3)
        (1.0, 0.798)

    """
    ratio = exp(lgamma(dimension / 2 + 1) - lgamma((dimension + 1) / 2)) / sqrt(pi)  # V_{n−1} / V_n
    return 2 * ratio / sqrt(dimension)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The constants of Assumptions 1 to 3, and those that the analysis derives from them.

    Attributes:
        dimension: The dimension n of the decision.
        diameter: The diameter D of the feasible set.
        L1x, L1y, L2x, L2y: How fast the partial gradients of φ change with x and y.
        M_x, M_y: The largest ‖∇₁φ‖ and ‖∇₂φ‖; M_x only serves to bound what φ can fall.
        L_y: The Lipschitz constant of the response; also taken for M_J = sup ‖J y_δ‖, which is at
            most L_y.
        kind: "computed" from the problem's data (upper bounds) or "estimated" by probing (lower
            bounds).

    """

    dimension: int
    diameter: float
    L1x: float
    L1y: float
    L2x: float
    L2y: float
    M_x: float
    M_y: float
    L_y: float
    kind: Literal["computed", "estimated"]

    @property
    def M_J(self) -> float:  # noqa: N802 (the paper's name)
        """The largest ‖J y_δ(x)‖, which is at most L_y."""
        return self.L_y

    @property
    def A_y(self) -> float:  # noqa: N802 (the paper's name)
        """A_y = L₁ₓ + L₁ᵧ L_y + M_J (L₂ₓ + L₂ᵧ L_y), eq. (34)."""
        return self.L1x + self.L1y * self.L_y + self.M_J * (self.L2x + self.L2y * self.L_y)

    @property
    def C_bias(self) -> float:  # noqa: N802 (the paper's name)
        """C_bias = (L₁ᵧ + M_J L₂ᵧ) L_y, eq. (37)."""
        return (self.L1y + self.M_J * self.L2y) * self.L_y

    @property
    def kappa_bias(self) -> float:
        """κ_bias = D C_bias, eq. (38)."""
        return self.diameter * self.C_bias

    @property
    def sigma(self) -> float:
        """σ_δ = √(c_var n) M_y L_y, eq. (32), which does not depend on δ."""
        return sqrt(VARIANCE_CONSTANT * self.dimension) * self.M_y * self.L_y

    def smoothness(self, delta: float) -> float:
        """Return L_{φ̄,δ} = A_y + c M_y L_y √n / δ, eq. (35)."""
        bend = smoothing_constant(self.dimension) * self.M_y * self.L_y * sqrt(self.dimension)
        return self.A_y + bend / delta

    def queries_scale(self, epsilon: float) -> float:
        """Return n^{3/2} M_y³ L_y³ κ_bias ε⁻⁵, the complexity of eq. (40) up to constants."""
        steepness = self.M_y * self.L_y
        return float(self.dimension**1.5 * steepness**3 * self.kappa_bias / epsilon**5)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceBound:
    """The right side of Theorem 1, eq. (39), part by part."""

    descent: float  # Δ_δ / (γ T)
    curvature: float  # L_{φ̄,δ} D² γ / 2
    bias: float  # κ_bias δ
    variance: float  # D σ_δ / √B

    @property
    def total(self) -> float:
        """The bound on the mean expected gap over x_0, ..., x_{T−1}."""
        return self.descent + self.curvature + self.bias + self.variance


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Parameters for which Theorem 1 guarantees E[G_δ(x_R)] ≤ ε, and what they cost.

    This is a worst case over all problems with these constants: expect far smaller gaps from far
    fewer queries in practice.
    """

    epsilon: float
    delta: float
    batch: int
    step: float
    horizon: int
    constants: Constants

    @property
    def queries(self) -> int:
        """The number of queries, T (2B + 1)."""
        return self.horizon * (2 * self.batch + 1)

    def __str__(self) -> str:
        return (
            f"for E[G_δ(x_R)] ≤ {self.epsilon:g}: δ = {self.delta:.3g}, B = {self.batch}, "
            f"γ = {self.step:.3g}, T = {self.horizon}, {self.queries} queries "
            f"(worst case; constants {self.constants.kind})"
        )


def theorem_1(
    constants: Constants, *, delta: float, batch: int, step: float, horizon: int, initial_gap: float
) -> ConvergenceBound:
    """Return the bound of Theorem 1, eq. (39).

    Args:
        constants: The constants of the problem.
        delta: The radius δ of the run.
        batch: The batch size B of the run.
        step: The step size γ of the run.
        horizon: The number T of its iterations.
        initial_gap: Δ_δ = φ̄_δ(x₀) − min φ̄_δ.

    """
    as_positive(delta, "theorem_1", "delta")
    as_size(batch, "theorem_1", "batch")
    as_size(horizon, "theorem_1", "horizon")
    if not 0 < as_positive(step, "theorem_1", "step") <= 1:
        raise ArgumentError("theorem_1", "step", f"must be in (0, 1], got {step!r}.")
    return ConvergenceBound(
        descent=initial_gap / (step * horizon),
        curvature=constants.smoothness(delta) * constants.diameter**2 * step / 2,
        bias=constants.kappa_bias * delta,
        variance=constants.diameter * constants.sigma / sqrt(batch),
    )


def corollary_2(
    constants: Constants, *, epsilon: float, initial_gap: float, reach: float = inf
) -> Recommendation:
    """Return parameters for which the bound of Theorem 1 is at most ε.

    A quarter of ε each is for bias and variance, and half of it for descent and curvature:

        δ = ε / 4κ_bias, at most D and at most `reach`,
        B = ⌈16 D²σ²/ε²⌉,
        T = ⌈max(8 Δ_δ L_{φ̄,δ} D²/ε², 4 Δ_δ/ε)⌉,

    and the step is that of Corollary 2 for this T. The second term of T is for steps that would
    exceed 1.

    Args:
        constants: The constants of the problem.
        epsilon: The wanted bound ε.
        initial_gap: Δ_δ = φ̄_δ(x₀) − min φ̄_δ.
        reach: How far outside of the feasible set the follower answers.

    """
    as_positive(epsilon, "corollary_2", "epsilon")
    as_positive(initial_gap, "corollary_2", "initial_gap")
    diameter = constants.diameter
    delta = min(reach, diameter)
    if constants.kappa_bias > 0:
        delta = min(delta, epsilon / (4 * constants.kappa_bias))
    smoothness = constants.smoothness(delta)
    curved = 8 * initial_gap * smoothness * diameter**2 / epsilon**2
    horizon = ceil(max(curved, 4 * initial_gap / epsilon, 1))
    return Recommendation(
        epsilon=epsilon,
        delta=delta,
        batch=max(1, ceil(16 * (diameter * constants.sigma / epsilon) ** 2)),
        step=horizon_tuned(
            initial_gap=initial_gap, smoothness=smoothness, diameter=diameter, horizon=horizon
        ),
        horizon=horizon,
        constants=constants,
    )


def recommend(
    problem: Problem, *, epsilon: float, probes: int = 64, seed: int = 0
) -> Recommendation:
    """Return the parameters of Corollary 2 for a wanted ε.

    The constants of the tracking problem are computed. Those of any other problem are estimated
    with `probes` queries, which no budget counts, and can only be too small. Δ_δ, the most that φ
    can fall, is taken to be (M_x + M_y L_y) D.
    """
    as_positive(epsilon, "recommend", "epsilon")
    constants = constants_of(problem, probes=probes, seed=seed)
    fall = (constants.M_x + constants.M_y * constants.L_y) * constants.diameter
    if fall == 0:
        raise ValueError(
            "recommend() sees an objective that does not change over X: every decision is as good."
        )
    reach = reach_of(problem.response)
    return corollary_2(constants, epsilon=epsilon, initial_gap=fall, reach=reach)


def constants_of(problem: Problem, *, probes: int = 64, seed: int = 0) -> Constants:
    """Return the constants of a problem.

    They are computed for the tracking problem, and estimated by probing for any other.
    """
    value = problem.objective.value
    objective = value.__self__ if isinstance(value, MethodType) else None
    follower = problem.response
    box = problem.feasible_set
    if (
        isinstance(objective, Tracking)
        and isinstance(follower, (BoxProjection, BallProjection))
        and isinstance(box, Box)
        and _is_bounded(follower)
    ):
        return tracking_constants(objective, follower, box)
    return estimate_constants(problem, probes=probes, seed=seed)


def _is_bounded(follower: BoxProjection | BallProjection) -> bool:
    """Whether every agent has finite capacities, without which M_x and M_y have no bound."""
    if isinstance(follower, BallProjection):
        return True
    return bool(np.isfinite([follower.lower, follower.upper]).all())


def tracking_constants(
    objective: Tracking, follower: BoxProjection | BallProjection, box: Box
) -> Constants:
    """Compute the constants of the tracking problem of Section V from its data.

    L₁ₓ = μ, L₁ᵧ = L₂ₓ = β‖C‖, L₂ᵧ = κ‖H‖² and D are exact. L_y = ‖A‖ is exact where some decision
    leaves all agents free, and an upper bound always. M_x and M_y are upper bounds by the triangle
    inequality.
    """
    coupling = abs(objective.payment) * _norm(objective.coupling)
    curvature = abs(objective.tracking) * _norm(objective.output) ** 2
    largest_x = float(np.linalg.norm(np.maximum(np.abs(box.lower), np.abs(box.upper))))
    if isinstance(follower, BallProjection):
        largest_y = follower.radius
    else:
        capacity = np.maximum(np.abs(follower.lower), np.abs(follower.upper))
        largest_y = float(np.linalg.norm(capacity))
    pull = abs(objective.tracking) * float(np.linalg.norm(objective.output.T @ objective.y_ref))
    away = largest_x + float(np.linalg.norm(objective.x_ref))
    return Constants(
        dimension=box.dimension,
        diameter=box.diameter,
        L1x=abs(objective.effort),
        L1y=coupling,
        L2x=coupling,
        L2y=curvature,
        M_x=abs(objective.effort) * away + coupling * largest_y,
        M_y=curvature * largest_y + pull + coupling * largest_x,
        L_y=_norm(follower.matrix),
        kind="computed",
    )


def estimate_constants(problem: Problem, *, probes: int = 64, seed: int = 0) -> Constants:
    """Estimate the constants by the largest ratios between random decisions.

    The estimates can only be too small.
    """
    if as_size(probes, "estimate_constants", "probes") < 4:
        raise ArgumentError("estimate_constants", "probes", f"must be at least 4, got {probes}.")
    feasible_set = problem.feasible_set
    center = feasible_set.center
    rng = generator(seed)
    count = probes // 2
    costs = rng.standard_normal((2 * count, feasible_set.dimension))
    vertices = np.array([feasible_set.minimize_linear(cost) for cost in costs])
    far = center + rng.uniform(size=(count, 1)) * (vertices[:count] - center)
    # Pairs that are close, because a Lipschitz constant shows locally.
    near = far + 0.01 * (vertices[count:] - far)
    responses = Direct(problem).ask(np.concatenate([far, near]))
    rows = [responses[row, ...] for row in range(2 * count)]
    pairs = [((far[k], rows[k]), (near[k], rows[count + k])) for k in range(count)]
    pairs += [((far[k], rows[k]), (far[k - 1], rows[k - 1])) for k in range(1, count)]
    ratios = np.array([_compute_ratios(problem, *pair) for pair in pairs]).max(axis=0)
    L1x, L1y, L2x, L2y, M_x, M_y, L_y = (float(ratio) for ratio in ratios)
    return Constants(
        dimension=feasible_set.dimension,
        diameter=feasible_set.diameter,
        L1x=L1x,
        L1y=L1y,
        L2x=L2x,
        L2y=L2y,
        M_x=M_x,
        M_y=M_y,
        L_y=L_y,
        kind="estimated",
    )


def exponent(sizes: Point, values: Point) -> float:
    """Return the slope of log(values) against log(sizes): the power by which something grows."""
    slope, _ = np.polyfit([log(size) for size in sizes], [log(value) for value in values], 1)
    return float(slope)


def _compute_ratios(
    problem: Problem, first: tuple[Point, Response], second: tuple[Point, Response]
) -> tuple[float, ...]:
    """Return L1x, L1y, L2x, L2y, M_x, M_y, L_y as two pairs of decision and response show them."""
    objective = problem.objective
    (x, y), (other_x, other_y) = first, second
    here = objective.anchor(x, y)
    moved_x = objective.anchor(other_x, y)
    moved_y = objective.anchor(x, other_y)
    dx = norm(other_x - x) or 1.0  # where nothing moves, the ratios are zero
    dy = norm(other_y - y) or 1.0
    return (
        norm(moved_x.grad_x - here.grad_x) / dx,
        norm(moved_y.grad_x - here.grad_x) / dy,
        norm(moved_x.grad_y - here.grad_y) / dx,
        norm(moved_y.grad_y - here.grad_y) / dy,
        float(np.linalg.norm(here.grad_x)),
        norm(here.grad_y),
        norm(other_y - y) / dx,
    )


def _norm(matrix: Point) -> float:
    """Return the spectral norm."""
    return float(np.linalg.norm(matrix, 2))
