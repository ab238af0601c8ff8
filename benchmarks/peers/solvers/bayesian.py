"""Composite Bayesian optimization: a Gaussian process on every component of the response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

import bizol
from benchmarks.peers.sets import bounds, project, sample
from benchmarks.peers.solvers.oracle import Oracle, UnsuitableError
from bizol.arrays import Point, Points

SAMPLES = 64  # of the responses, for the expectation
RAW, RESTARTS, STEPS = 256, 8, 100  # candidates, those of them that are improved, and how long
NOISE = 1e-10  # of the variance of a component: answers have none, and this is better than 1e-6
LARGEST = 20_000  # components × points of the first design: above, one fit takes minutes


@final
@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The unit box around X: a point z of it stands for the decision Π(lower + width z)."""

    oracle: Oracle
    lower: Point = field(init=False)
    width: Point = field(init=False)

    def __post_init__(self) -> None:
        lower, upper = bounds(self.oracle.feasible_set)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "width", np.where(upper > lower, upper - lower, 1.0))

    def unit(self, x: Point) -> Point:
        """Return the z of a decision."""
        return np.clip((x - self.lower) / self.width, 0.0, 1.0)

    def decision(self, z: Point) -> Point:
        """Return the decision of a z."""
        return project(self.oracle.feasible_set, self.lower + self.width * z)

    def pull_back(self, z: Point, gradient: Point) -> Point:
        """Return the gradient in z of a function with this gradient in x = Π(lower + width z).

        The Jacobian of a projection is symmetric, so that it is a derivative along the gradient.
        """
        if isinstance(self.oracle.feasible_set, bizol.Box):
            return self.width * gradient
        at, length = self.lower + self.width * z, float(np.linalg.norm(gradient))
        if length == 0.0:
            return gradient
        move = 1e-6 * self.oracle.feasible_set.diameter / length * gradient
        forth = project(self.oracle.feasible_set, at + move)
        back = project(self.oracle.feasible_set, at - move)
        scale = 2e-6 * self.oracle.feasible_set.diameter / length
        return self.width * (forth - back) / scale


def composite_bo(oracle: Oracle, seed: int) -> None:
    """BoTorch as its documentation sets it up for composite objectives.

    Independent Gaussian processes on the components of y, standardized; Monte Carlo log expected
    improvement of the exact φ (a `GenericMCObjective`); 2(n + 1) points at first: the start and
    Sobol points, in sets other than boxes random ones. Where a fit fails, a random point is asked.
    R. Astudillo and P. Frazier, 2019; S. Ament et al., 2023.
    """
    import torch
    from botorch.exceptions import BotorchError
    from linear_operator.utils.errors import NanError, NotPSDError

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    frame, rng = Frame(oracle), np.random.default_rng(seed)
    points = _design(frame, seed, rng)
    size = np.asarray(oracle.case.problem.response(oracle.start)).size * len(points)
    if size > LARGEST:
        raise UnsuitableError(f"{size} numbers to fit at first, more than {LARGEST}.")
    responses = [oracle.response(frame.decision(z)) for z in points]
    outer = torch_objective(frame)
    learned: dict[str, Any] = {}
    while True:
        data = torch.as_tensor(np.array(points)), torch.as_tensor(np.array(responses))
        try:
            z = _propose(*data, outer, learned, seed=seed + len(points))
        except (BotorchError, NotPSDError, NanError, RuntimeError, ValueError):
            learned.clear()
            z = frame.unit(sample(oracle.feasible_set, rng))
        points.append(z)
        responses.append(oracle.response(frame.decision(z)))


def _design(frame: Frame, seed: int, rng: np.random.Generator) -> list[Point]:
    """Return the start and 2n + 1 other points."""
    from scipy.stats.qmc import Sobol

    n, feasible_set = frame.oracle.dimension, frame.oracle.feasible_set
    others: Points = (
        Sobol(n, seed=seed).random(2 * n + 1)
        if isinstance(feasible_set, bizol.Box)
        else np.array([frame.unit(sample(feasible_set, rng)) for _ in range(2 * n + 1)])
    )
    return [frame.unit(frame.oracle.start), *others]


def _propose(
    points: Any,
    responses: Any,
    outer: Callable[[Any, Any], Any],
    learned: dict[str, Any],
    *,
    seed: int,
) -> Point:
    """Fit the processes and return the z of the largest expected improvement."""
    import torch
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.settings import min_fixed_noise

    noise = NOISE * responses.var(dim=0).clamp_min(1e-16).expand_as(responses)
    with min_fixed_noise(double_value=NOISE):
        model = SingleTaskGP(points, responses, train_Yvar=noise)
    model.load_state_dict({**model.state_dict(), **learned})  # where the last fit ended
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    learned.update({name: value.detach().clone() for name, value in model.named_parameters()})
    values = -outer(responses, points)
    scale = values.std().clamp_min(1e-12)
    acquisition = qLogExpectedImprovement(
        model,
        best_f=values.max() / scale,
        sampler=SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed),
        objective=GenericMCObjective(lambda samples, X=None: -outer(samples, X) / scale),
    )
    n = points.shape[-1]
    candidate, _ = optimize_acqf(
        acquisition,
        bounds=torch.stack([torch.zeros(n), torch.ones(n)]),
        q=1,
        num_restarts=RESTARTS,
        raw_samples=RAW,
        options={"maxiter": STEPS, "seed": seed},
    )
    return np.asarray(candidate.detach().numpy()[0])


def torch_objective(frame: Frame) -> Callable[[Any, Any], Any]:
    """Return φ(Π(z), y) for tensors of responses (..., b, m) and of points (b, n).

    With its exact gradients in both. The points repeat for all leading dimensions.
    """
    import torch

    objective = frame.oracle.case.problem.objective

    class Outer(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, responses: Any, points: Any) -> Any:
            ctx.save_for_backward(responses, points)
            decisions, rows = pairs(responses, points)
            values = objective.values(decisions, rows)
            return torch.as_tensor(values.reshape(responses.shape[:-1]))

        @staticmethod
        def backward(ctx: Any, weights: Any) -> tuple[Any, Any]:
            responses, points = ctx.saved_tensors
            decisions, rows = pairs(responses, points)
            weight = weights.numpy().reshape(-1, 1)
            by_x, by_y = (weight * part for part in _slopes(objective, decisions, rows))
            summed = by_x.reshape(-1, *points.shape).sum(axis=0)
            by_z = [frame.pull_back(z, one) for z, one in zip(points.numpy(), summed, strict=True)]
            return torch.as_tensor(by_y.reshape(responses.shape)), torch.as_tensor(np.array(by_z))

    def pairs(responses: Any, points: Any) -> tuple[Points, Points]:
        rows = responses.detach().numpy().reshape(-1, responses.shape[-1])
        decisions = np.array([frame.decision(z) for z in points.detach().numpy()])
        return np.tile(decisions, (len(rows) // len(decisions), 1)), rows

    def outer(responses: Any, points: Any) -> Any:
        if points.dim() == 2:
            return Outer.apply(responses, points)
        # (samples, b, 1, m) and (b, 1, n)
        return Outer.apply(responses.squeeze(-2), points.squeeze(-2)).unsqueeze(-1)

    return outer


def _slopes(
    objective: bizol.Objective, decisions: Points, responses: Points
) -> tuple[Points, Points]:
    """Return ∇₁φ and ∇₂φ of many pairs."""
    if objective.vectorized:
        return objective.grad_x(decisions, responses), objective.grad_y(decisions, responses)
    by_x, by_y = np.empty_like(decisions), np.empty_like(responses)
    for i, (x, y) in enumerate(zip(decisions, responses, strict=True)):
        by_x[i], by_y[i] = objective.grad_x(x, y), objective.grad_y(x, y)
    return by_x, by_y
