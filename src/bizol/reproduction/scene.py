"""The one-dimensional example that Figures 1 and 2 show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.feasible_sets import Box
from bizol.followers import BoxProjection
from bizol.problem import Objective, Problem
from bizol.structure.anchored_model import AnchoredModel
from bizol.structure.clarke import clarke_subdifferential

Numbers = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """One incentive and one agent with limited capacity, where the agent reaches its limit."""

    problem: Problem
    delta: float
    x: float
    u: Numbers
    y: Numbers  # y(u)
    smoothed_y: Numbers  # y_δ(u)
    hyper: Numbers  # φ̃(u)
    model: Numbers  # Q_x(u)
    smoothed: Numbers  # Q_{x,δ}(u)
    slope: float  # g_δ(x)
    clarke: tuple[float, float]  # ∂^c φ̃(x)
    gradient: tuple[float, float]  # ∇φ(x, y(x))

    @classmethod
    def one_agent(cls, delta: float = 0.3) -> Scene:
        """Return the scene at the decision where the capacity starts to bind."""
        follower = BoxProjection([[1.0]], [0.2], [-2.0], [0.5])
        problem = Problem(Objective(_phi, _phi_x, _phi_y), follower, Box([-1], [1]))
        x = np.array([0.3])  # where u + 0.2 reaches 0.5
        u = np.linspace(-1, 1, 401)
        model = AnchoredModel(problem, x)
        responses = follower(u[:, None])[:, 0]
        generators = clarke_subdifferential(problem, x).generators[:, 0]
        return cls(
            problem=problem,
            delta=delta,
            x=float(x[0]),
            u=u,
            y=responses,
            smoothed_y=np.array([follower.smoothed(np.array([at]), delta).value[0] for at in u]),
            hyper=cls.phi(u, responses),
            model=np.array([model.value(np.array([at])) for at in u]),
            smoothed=np.array([model.smoothed_value(np.array([at]), delta) for at in u]),
            slope=float(model.smoothed_gradient(x, delta).value[0]),
            clarke=(float(generators.min()), float(generators.max())),
            gradient=(float(model.anchor.grad_x[0]), float(model.anchor.grad_y[0])),
        )

    @staticmethod
    def phi(u: Any, y: Any) -> Any:
        """Return φ, elementwise."""
        return 0.45 * (u - 0.9) ** 2 + 0.9 * (y + 0.35) ** 2

    @property
    def anchor_response(self) -> float:
        """The response y(x) at the anchor."""
        return float(np.interp(self.x, self.u, self.y))

    @property
    def anchor_value(self) -> float:
        """The hyperobjective φ̃(x) at the anchor."""
        return float(self.phi(self.x, self.anchor_response))

    def tangent(self, u: Any, y: Any) -> Any:
        """Return T_x, the tangent plane of φ at the anchor."""
        slope_x, slope_y = self.gradient
        return self.anchor_value + slope_x * (u - self.x) + slope_y * (y - self.anchor_response)


def _phi(x: Numbers, y: Numbers) -> float:
    return float(Scene.phi(x[0], y[0]))


def _phi_x(x: Numbers, y: Numbers) -> Numbers:
    return 0.9 * (x - 0.9)


def _phi_y(x: Numbers, y: Numbers) -> Numbers:
    return 1.8 * (y + 0.35)
