"""A problem: whose objective, whose response, over which decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bizol.arrays import ArgumentError
from bizol.feasible_sets import FeasibleSet
from bizol.problem.follower import Follower, takes_seed
from bizol.problem.objective import Objective


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """Minimize φ(x, y(x)) over x in X, where y(x) can only be asked for.

    Args:
        objective: φ with its partial gradients.
        response: the follower, from x (n,) to y (m,); single-valued, Lipschitz, possibly with
            kinks. Methods ask within δ of X, so a little outside of it too.
        feasible_set: X, convex and compact: a set of this library or any object that answers the
            same questions.
        vectorized: with True the follower takes k decisions at once, (k, n), and returns (k, m).
        seeded: with True the follower is called as `response(x, seed=...)`, for noise that can be
            repeated; vectorized, `seed` is a list of k seeds. By default what the follower says of
            itself (`takes_seed`), and False where it says nothing.

    Example:
        >>> import bizol, numpy as np
        >>> problem = Problem(
        ...     objective=bizol.Objective(
        ...         value=lambda x, y: ((y - 0.3) ** 2).sum(),
        ...         grad_x=lambda x, y: np.zeros_like(x),
        ...         grad_y=lambda x, y: 2 * (y - 0.3),
        ...     ),
        ...     response=lambda x: np.clip(2 * x, -1, 1),
        ...     feasible_set=bizol.Box(-np.ones(2), np.ones(2)),
        ... )
        >>> bizol.minimize(problem, budget=300, seed=0).value < 1e-4
        True

    """

    objective: Objective
    response: Follower
    feasible_set: FeasibleSet
    vectorized: bool = False
    seeded: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.objective, Objective):
            raise ArgumentError(
                "Problem", "objective", f"must be a bizol.Objective, got {self.objective!r}."
            )
        if not callable(self.response):
            raise ArgumentError("Problem", "response", f"must be callable, got {self.response!r}.")
        if not isinstance(self.feasible_set, FeasibleSet):
            needed = ("dimension", "diameter", "center", "minimize_linear", "contains")
            missing = ", ".join(name for name in needed if not hasattr(self.feasible_set, name))
            raise ArgumentError(
                "Problem",
                "feasible_set",
                f"must be a set of bizol or answer its protocol: "
                f"{type(self.feasible_set).__name__} lacks {missing}.",
            )

    @property
    def is_seeded(self) -> bool:
        """Whether the follower is called with a seed: as was said, or as it says of itself."""
        return takes_seed(self.response) if self.seeded is None else bool(self.seeded)
