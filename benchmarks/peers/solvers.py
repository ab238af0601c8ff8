"""The solvers, behind one interface: they see a counted follower and stop with the budget.

Sets. A box is given to every peer as bounds. The other sets are given as linear constraints (and a
ball as a smooth one, with what lies well outside projected before it is asked) to SLSQP and COBYQA,
and as a projection to SPSA, whose theory projects. The rest (CMA-ES, NGOpt, L-BFGS-B, TPE,
DFO-LS, POUNDERS) search the smallest box around the set, and what they propose is projected before
it is asked: they minimize φ(Π(z), y(Π(z))) over z in that box.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, isfinite, sqrt
from time import process_time
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

import bizol
from benchmarks.peers.problems import Case
from benchmarks.peers.sets import FEASIBLE, bounds, project, rows, sample
from bizol.arrays import Point, Points
from bizol.feasible_sets import FeasibleSet


class BudgetSpent(BaseException):
    """The budget is gone. Not an `Exception`, so that no solver swallows it."""


class UnsuitableError(ValueError):
    """The solver does not take this kind of problem; the message says why."""


@final
class Oracle:
    """The follower of a case, counted: every answer costs one query.

    The best feasible value so far is kept.

    Args:
        case: whose follower is asked.
        budget: how many queries may be asked; the next one raises `BudgetSpent`.
        seconds: how much processor time the solver may take, so that busy cores cut nobody; the
            first query after that raises `BudgetSpent` too.

    Attributes:
        best: the lowest φ(x, y(x)) over the feasible points asked so far, after each query; inf
            before the first.
        x: where the lowest value was; None before the first feasible point.
        late: whether the time ended before the budget.

    """

    def __init__(self, case: Case, budget: int, *, seconds: float = inf) -> None:
        self.case = case
        self.budget = budget
        self.best: list[float] = []
        self.x: Point | None = None
        self.late = False
        self._end = process_time() + seconds

    @property
    def queries(self) -> int:
        """How many queries were answered."""
        return len(self.best)

    @property
    def left(self) -> int:
        """How many queries the budget still covers."""
        return self.budget - self.queries

    @property
    def feasible_set(self) -> FeasibleSet:
        """X."""
        return self.case.problem.feasible_set

    @property
    def start(self) -> Point:
        """Where local solvers start."""
        return self.case.start.copy()

    @property
    def dimension(self) -> int:
        """The n of the decision."""
        return self.case.dimension

    @property
    def problem(self) -> bizol.Problem:
        """The problem of the case with the counted follower."""
        return bizol.Problem(self.case.problem.objective, self.response, self.feasible_set)

    def response(self, x: Point) -> Point:
        """Ask the follower: one query."""
        return self._ask(np.array(x, dtype=np.float64))[0]

    def value(self, x: Point) -> float:
        """Return φ(x, y(x)): one query."""
        return self._ask(np.array(x, dtype=np.float64))[1]

    def residuals(self, x: Point) -> Point:
        """Return r(x, y(x)) of an objective ‖r‖²: one query."""
        if self.case.residuals is None:
            raise UnsuitableError("The objective is not a sum of squares.")
        return self.case.residuals(x, self._ask(np.array(x, dtype=np.float64))[0])

    def _ask(self, x: Point) -> tuple[Point, float]:
        if self.left <= 0:
            raise BudgetSpent
        if process_time() > self._end:
            self.late = True
            raise BudgetSpent
        response = np.asarray(self.case.problem.response(x.copy()), dtype=np.float64)
        value = float(self.case.problem.objective.values(x[None], response[None])[0])
        before = self.best[-1] if self.best else inf
        feasible = isfinite(value) and self.feasible_set.contains(x, FEASIBLE)
        if feasible and value < before:
            self.x = x
        self.best.append(min(before, value) if feasible else before)
        return response, value


Solver: TypeAlias = Callable[[Oracle, int], None]  # an oracle and a seed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A solver with what it needs.

    Attributes:
        solve: runs it until the budget is gone or it has nothing more to do.
        package: what must be installed.

    """

    solve: Solver
    package: str | None = None

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return self.package is None or find_spec(self.package) is not None


def run_solver(peer: Peer, oracle: Oracle, seed: int) -> None:
    """Run a solver on a counted follower until it ends or the budget does.

    What it prints and warns of is kept quiet.
    """
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        state = np.random.get_state()
        np.random.seed(seed)  # some peers draw from the global generator
        try:
            peer.solve(oracle, seed)
        except BudgetSpent:
            pass
        finally:
            np.random.set_state(state)


# --- bizol


def default(oracle: Oracle, seed: int) -> None:
    """`bizol.minimize` as it comes."""
    bizol.minimize(oracle.problem, oracle.start, budget=oracle.budget, seed=seed)


def paper(batch: int) -> Solver:
    """Return Algorithm 1 of the paper with its γ and δ, δ in units of half the diameter over √n."""

    def solve(oracle: Oracle, seed: int) -> None:
        method = bizol.BiZOL(delta=0.08 * _scale(oracle), step=0.1, batch=batch)
        for _ in bizol.iterate(oracle.problem, method, oracle.start, seed=seed):
            pass  # until the budget is spent

    return solve


def vzo(oracle: Oracle, seed: int) -> None:
    """Vanilla zeroth-order smoothing, B = 10.

    Its decisions are asked as well, or none of them would be observed.
    """
    method = bizol.VZO(delta=0.08 * _scale(oracle), step=0.1, batch=10)
    for state in bizol.iterate(oracle.problem, method, oracle.start, seed=seed):
        oracle.value(state.x)


def _scale(oracle: Oracle) -> float:
    return oracle.feasible_set.diameter / 2 / sqrt(oracle.dimension)


# --- zeroth-order and evolutionary peers


def random_search(oracle: Oracle, seed: int) -> None:
    """The start, then random feasible points."""
    rng = np.random.default_rng(seed)
    oracle.value(oracle.start)
    while True:
        oracle.value(sample(oracle.feasible_set, rng))


def spsa(oracle: Oracle, seed: int) -> None:
    """Projected simultaneous perturbation, with the gains of J. C. Spall, 1998.

    a_k = a/(k + 1 + A)^0.602 and c_k = c/(k + 1)^0.101, A a tenth of the iterations, c a twentieth
    of half the typical width, a such that the first step would be a tenth of the typical width by
    the mean slope of two trial pairs.
    """
    rng = np.random.default_rng(seed)
    lower, upper = bounds(oracle.feasible_set)
    width = np.where(upper > lower, upper - lower, 1.0)
    x, stability = oracle.start, 0.1 * oracle.budget / 2
    oracle.value(x)

    def gradient(at: Point, radius: float) -> Point:
        signs = rng.choice([-1.0, 1.0], at.size)
        forth = project(oracle.feasible_set, at + radius * width * signs)
        back = project(oracle.feasible_set, at - radius * width * signs)
        # With respect to x / width.
        return (oracle.value(forth) - oracle.value(back)) / (2 * radius) * signs

    radius = 0.025
    slope = np.mean([np.abs(gradient(x, radius)).mean() for _ in range(2)])
    gain = 0.1 * (1 + stability) ** 0.602 / max(float(slope), 1e-12)
    k = 0
    while oracle.left > 1:
        step = gain / (k + 1 + stability) ** 0.602
        move = np.clip(step * gradient(x, radius / (k + 1) ** 0.101), -0.2, 0.2)
        x = project(oracle.feasible_set, x - width * move)
        k += 1
    oracle.value(x)


def cma_es(oracle: Oracle, seed: int) -> None:
    """CMA-ES of the package cma, restarted with twice the population when it stops (IPOP)."""
    import cma

    rng = np.random.default_rng(seed)
    lower, upper = bounds(oracle.feasible_set)
    width = np.where(upper > lower, upper - lower, 1.0)
    # The package refuses n = 1; a second coordinate does nothing.
    padded = max(oracle.dimension, 2)
    population = 4 + int(3 * np.log(padded))

    def ask(z: Point) -> float:
        inside = np.clip(lower + width * np.asarray(z)[: oracle.dimension], lower, upper)
        return oracle.value(project(oracle.feasible_set, inside))

    begin = oracle.start
    oracle.value(begin)
    while True:
        at = np.full(padded, 0.5)
        at[: oracle.dimension] = np.clip((begin - lower) / width, 0.0, 1.0)
        options = {
            "bounds": [0, 1],
            "popsize": population,
            "seed": seed + 1 + population,
            "verbose": -9,
        }
        search = cma.CMAEvolutionStrategy(at, 0.25, options)
        while not search.stop():
            proposals = search.ask()
            search.tell(proposals, [ask(z) for z in proposals])
        population *= 2
        begin = sample(oracle.feasible_set, rng)


def ngopt(oracle: Oracle, seed: int) -> None:
    """Nevergrad's NGOpt, which chooses among its optimizers by dimension and budget.

    Its metamodel calls float() on an array of one number, which NumPy refuses since 2.4; for that
    module float() takes the one number out.
    """
    import nevergrad
    from nevergrad.optimization import metamodel

    metamodel.float = lambda array: float(np.ravel(array)[0])

    lower, upper = bounds(oracle.feasible_set)
    array = nevergrad.p.Array(init=np.clip(oracle.start, lower, upper)).set_bounds(lower, upper)
    array.random_state.seed(seed)
    search = nevergrad.optimizers.NGOpt(parametrization=array, budget=oracle.budget)
    while True:
        proposal = search.ask()
        search.tell(
            proposal, oracle.value(project(oracle.feasible_set, np.asarray(proposal.value)))
        )


def tpe(oracle: Oracle, seed: int) -> None:
    """Optuna's tree-structured Parzen estimator, with the start as its first trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    lower, upper = bounds(oracle.feasible_set)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    names = [f"x{i}" for i in range(oracle.dimension)]
    space = {
        name: optuna.distributions.FloatDistribution(float(low), float(high))
        for name, low, high in zip(names, lower, upper, strict=True)
    }
    study.enqueue_trial(dict(zip(names, np.clip(oracle.start, lower, upper).tolist(), strict=True)))
    while True:
        trial = study.ask(space)
        point = np.array([trial.params[name] for name in names])
        study.tell(trial, oracle.value(project(oracle.feasible_set, point)))


# --- local solvers, restarted


def _restarted(
    oracle: Oracle, seed: int, once: Callable[[Point, Callable[[Point], float]], object]
) -> None:
    """Run a local solver from the start, then from random feasible points, within the budget.

    The solver sees values divided by |φ(start)|, so that its tolerances mean the same everywhere;
    its own question about the start is answered from memory.
    """
    rng = np.random.default_rng(seed)
    first = oracle.value(oracle.start)
    scale = abs(first) if abs(first) > 1e-8 else 1.0
    known = {oracle.start.tobytes(): first / scale}

    def value(x: Point) -> float:
        at = np.array(x, dtype=np.float64)
        remembered = known.pop(at.tobytes(), None)
        return oracle.value(at) / scale if remembered is None else remembered

    begin = oracle.start
    while True:
        before = oracle.queries
        once(begin, value)
        if oracle.queries == before:
            oracle.value(begin)  # a solver that asks nothing would never end
        begin = sample(oracle.feasible_set, rng)


def l_bfgs_b(oracle: Oracle, seed: int) -> None:
    """SciPy's L-BFGS-B with forward differences, restarted."""
    from scipy.optimize import minimize

    lower, upper = bounds(oracle.feasible_set)
    boxed = isinstance(oracle.feasible_set, bizol.Box)

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        minimize(
            value if boxed else lambda z: value(project(oracle.feasible_set, z)),
            np.clip(begin, lower, upper),
            method="L-BFGS-B",
            bounds=np.column_stack([lower, upper]),
            options={
                "eps": _difference(oracle),
                "ftol": 1e-11,
                "gtol": 1e-9,
                "maxfun": 10**6,
                "maxiter": 10**5,
            },
        )

    _restarted(oracle, seed, once)


def slsqp(oracle: Oracle, seed: int) -> None:
    """SciPy's SLSQP with forward differences and the set as constraints, restarted."""
    from scipy.optimize import minimize

    lower, upper = bounds(oracle.feasible_set)
    A_ub, b_ub, A_eq, b_eq = rows(oracle.feasible_set)
    constraints: list[dict[str, Any]] = []
    if len(b_ub):
        constraints.append(
            {"type": "ineq", "fun": lambda x: b_ub - A_ub @ x, "jac": lambda x: -A_ub}
        )
    if len(b_eq):
        constraints.append({"type": "eq", "fun": lambda x: b_eq - A_eq @ x, "jac": lambda x: -A_eq})
    if isinstance(oracle.feasible_set, bizol.Ball):
        room, slope = _ball(oracle.feasible_set)
        constraints.append({"type": "ineq", "fun": room, "jac": slope})

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        minimize(
            _brought_back(oracle, value),
            np.clip(begin, lower, upper),
            method="SLSQP",
            bounds=np.column_stack([lower, upper]),
            constraints=constraints,
            options={"eps": _difference(oracle), "ftol": 1e-11, "maxiter": 10**4},
        )

    _restarted(oracle, seed, once)


def cobyqa(oracle: Oracle, seed: int) -> None:
    """SciPy's COBYQA with the set as constraints, restarted."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

    lower, upper = bounds(oracle.feasible_set)
    A_ub, b_ub, A_eq, b_eq = rows(oracle.feasible_set)
    constraints: list[Any] = []
    if len(b_ub):
        constraints.append(LinearConstraint(A_ub, -np.inf, b_ub))
    if len(b_eq):
        constraints.append(LinearConstraint(A_eq, b_eq, b_eq))
    if isinstance(oracle.feasible_set, bizol.Ball):
        constraints.append(NonlinearConstraint(_ball(oracle.feasible_set)[0], 0.0, np.inf))
    width = float(np.min((upper - lower)[upper > lower], initial=np.inf))

    def once(begin: Point, value: Callable[[Point], float]) -> None:
        options = {
            "initial_tr_radius": 0.25 * width,
            "final_tr_radius": 1e-7 * width,
            "maxfev": 10**6,
        }
        at = np.clip(begin, lower, upper)
        limits = np.column_stack([lower, upper])
        asked = _brought_back(oracle, value)
        minimize(
            asked, at, method="COBYQA", bounds=limits, constraints=constraints, options=options
        )

    _restarted(oracle, seed, once)


def _difference(oracle: Oracle) -> float:
    """Return the step of forward differences: 10⁻⁷ of the typical width."""
    return 1e-7 * oracle.feasible_set.diameter / sqrt(oracle.dimension)


def _brought_back(oracle: Oracle, value: Callable[[Point], float]) -> Callable[[Point], float]:
    """Return the function that projects points outside of a ball before it asks.

    A point is outside when it is further away than a step of differences could take it. Solvers
    that linearize a curved constraint come to it from outside, where no value counts.
    """
    if not isinstance(oracle.feasible_set, bizol.Ball):
        return value
    room = 10 * _difference(oracle)

    def brought_back(x: Point) -> float:
        inside = project(oracle.feasible_set, x)
        return value(inside if float(np.linalg.norm(inside - x)) > room else x)

    return brought_back


def _ball(
    ball: bizol.Ball,
) -> tuple[Callable[[Point], NDArray[np.float64]], Callable[[Point], Points]]:
    """Return r² − ‖x − c‖², positive inside and a hair smaller than the truth, and its gradient."""
    radius = ball.diameter / 2 * (1 - 1e-10)
    return (
        lambda x: np.array([radius**2 - (x - ball.center) @ (x - ball.center)]),
        lambda x: -2 * (x - ball.center)[None],
    )


# --- solvers that use structure


def dfo_ls(oracle: Oracle, seed: int) -> None:
    """DFO-LS on the residuals of a sum of squares, restarted; other objectives it does not take.

    Its option for projections alternates them with bounds at a second for every few queries, so the
    box around the set is used instead.
    """
    import dfols

    if oracle.case.residuals is None:
        raise UnsuitableError("The objective is not a sum of squares.")
    rng = np.random.default_rng(seed)
    lower, upper = bounds(oracle.feasible_set)
    width = float(np.min((upper - lower)[upper > lower], initial=np.inf))
    begin = oracle.start
    while True:
        before = oracle.queries
        dfols.solve(
            lambda z: oracle.residuals(project(oracle.feasible_set, np.asarray(z))),
            np.clip(begin, lower, upper),
            maxfun=max(oracle.left, oracle.dimension + 2),
            bounds=(lower, upper),
            rhobeg=0.1 * width,
            rhoend=1e-8 * width,
            do_logging=False,
        )
        if oracle.queries == before:
            oracle.value(begin)
        begin = sample(oracle.feasible_set, rng)


def pounders(oracle: Oracle, seed: int) -> None:
    """POUNDERS of IBCDFO on F(x) = (x, y(x)) with the known outer function h(F) = φ, restarted.

    The model of h ∘ F needs ∇h, which is known, and ∇²h, which is taken from differences of ∇h and
    costs no query. The package's own subproblem solver (`spsolver=1`) is used: the default one,
    MINQ, is not on PyPI.
    """
    import ibcdfo

    rng = np.random.default_rng(seed)
    n = oracle.dimension
    objective = oracle.case.problem.objective
    lower, upper = bounds(oracle.feasible_set)
    width = np.where(upper > lower, upper - lower, 1.0)

    def follow(z: Point) -> Point:
        x = project(oracle.feasible_set, np.clip(lower + width * np.ravel(z), lower, upper))
        return np.concatenate([x, oracle.response(x)])

    def outer(pair: Point) -> float:
        return float(objective.values(pair[None, :n], pair[None, n:])[0])

    def slope(pair: Point) -> Point:
        anchor = objective.anchor(pair[:n], pair[n:])
        return np.concatenate([anchor.grad_x, anchor.grad_y])

    def combine(center: Any, linear: Points, quadratic: Any) -> tuple[Point, Points]:
        at = np.ravel(center)
        gradient = slope(at)
        hessian = np.tensordot(quadratic, gradient, axes=(2, 0))
        size = np.linalg.norm(linear, axis=1)  # of the move of F along each coordinate
        step = 1e-6 * max(1.0, float(np.abs(at).max())) / np.maximum(size, 1e-12)
        # ∇²h applied to the rows.
        moved = [
            (slope(at + h * row) - slope(at - h * row)) / (2 * h)
            for h, row in zip(step, linear, strict=True)
        ]
        curvature = np.array(moved) @ linear.T
        return linear @ gradient, hessian + (curvature + curvature.T) / 2

    begin, size = oracle.start, n + np.asarray(oracle.case.problem.response(oracle.start)).size
    while True:
        before = oracle.queries
        at = np.clip((begin - lower) / width, 0.0, 1.0)
        options = {"hfun": outer, "combinemodels": combine, "spsolver": 1, "printf": 0}
        room = max(oracle.left, 2 * n + 3) + 1
        ibcdfo.run_pounders(
            follow, at, n, room, 1e-8, 0.1, size, np.zeros(n), np.ones(n), Options=options
        )
        if oracle.queries == before:
            oracle.value(begin)
        begin = sample(oracle.feasible_set, rng)


PEERS: dict[str, Peer] = {
    "bizol": Peer(solve=default),
    "paper-b10": Peer(solve=paper(10)),
    "paper-b1": Peer(solve=paper(1)),
    "vzo": Peer(solve=vzo),
    "spsa": Peer(solve=spsa),
    "cma-es": Peer(solve=cma_es, package="cma"),
    "ngopt": Peer(solve=ngopt, package="nevergrad"),
    "l-bfgs-b": Peer(solve=l_bfgs_b),
    "slsqp": Peer(solve=slsqp),
    "cobyqa": Peer(solve=cobyqa),
    "dfo-ls": Peer(solve=dfo_ls, package="dfols"),
    "pounders": Peer(solve=pounders, package="ibcdfo"),
    "tpe": Peer(solve=tpe, package="optuna"),
    "random": Peer(solve=random_search),
}
