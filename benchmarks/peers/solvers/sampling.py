"""Solvers that see values alone and search globally: random points, evolution, densities."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.sets import bounds, project, sample
from benchmarks.peers.solvers.oracle import Oracle
from bizol.arrays import Point


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
