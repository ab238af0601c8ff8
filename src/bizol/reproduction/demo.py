"""Bi-ZOL against VZO on the tracking problem, in a few seconds: the paper's Tables I and II in small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from bizol.evaluation import Evaluator
from bizol.methods import VZO, BiZOL
from bizol.reproduction.instances import BALL, BOX, TrackingInstance, tracking_instance
from bizol.solve import iterate

DELTA, STEP = 0.08, 0.1  # the paper's
POINTS = 120  # drawn per curve
INSTANCES = {"box": BOX, "ball": BALL}
PAPER = {  # final values of Tables I and II: B → (Bi-ZOL, VZO)
    "box": {1: (16.59, 24.95), 5: (14.17, 20.60), 10: (12.99, 18.04), 50: (11.54, 12.91)},
    "ball": {1: (8.84, 22.13), 5: (5.77, 16.68), 10: (4.96, 13.43), 50: (4.45, 7.43)},
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """The hyperobjective along a run, against the queries spent to get there."""

    queries: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def final(self) -> float:
        """The mean over the last ten iterates, as the paper has it."""
        return float(self.values[-10:].mean())


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """Paired runs of both methods with one batch size, one of each per seed."""

    batch: int
    bizol: list[Curve]
    vzo: list[Curve]

    @property
    def improvement(self) -> float:
        """The mean relative improvement of Bi-ZOL over VZO."""
        pairs = zip(self.bizol, self.vzo, strict=True)
        return float(np.mean([(vzo.final - bizol.final) / abs(vzo.final) for bizol, vzo in pairs]))


def compare(
    response: str, *, batches: Sequence[int], seeds: int, budget: int, ran: Callable[[], object] = lambda: None
) -> Iterator[Comparison]:
    """Run both methods for every batch size; `ran` is called after each run."""
    instance = tracking_instance(INSTANCES[response])

    def curves(method: BiZOL | VZO) -> list[Curve]:
        found = []
        for seed in range(seeds):
            found.append(trace(instance, method, budget=budget, seed=seed))
            ran()
        return found

    for batch in batches:
        yield Comparison(
            batch=batch,
            bizol=curves(BiZOL(delta=DELTA, step=STEP, batch=batch)),
            vzo=curves(VZO(delta=DELTA, step=STEP, batch=batch)),
        )


def trace(instance: TrackingInstance, method: BiZOL | VZO, *, budget: int, seed: int) -> Curve:
    """Run a method and measure the hyperobjective at its iterates, on a ledger of its own."""
    states = iterate(instance.problem, method, instance.start, seed=seed)
    cost = len(method.ask(method.start(instance.problem, seed=seed)))
    decisions = np.array([state.x for state in islice(states, budget // cost + 1)])
    responses = Evaluator(instance.problem).evaluate(decisions)
    return Curve(
        queries=cost * np.arange(len(decisions)),
        values=instance.objective.objective().values(decisions, responses),
    )


def plot(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw the mean curves with a band of one standard deviation, one panel per batch size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "bizol", "svg.fonttype": "path", "font.size": 9}):
        figure, axes = plt.subplots(
            1, len(comparisons), figsize=(2.6 * len(comparisons), 2.8), sharey=True, squeeze=False, layout="constrained"
        )
        for axis, comparison in zip(axes[0], comparisons, strict=True):
            for label, curves, color, style in (
                ("VZO", comparison.vzo, "#999999", "--"),
                ("Bi-ZOL", comparison.bizol, "#1f5fa8", "-"),
            ):
                thin = slice(None, None, -(-len(curves[0].values) // POINTS))
                queries = curves[0].queries[thin]
                values = np.array([curve.values[thin] for curve in curves])
                mean, deviation = values.mean(axis=0), values.std(axis=0)
                axis.plot(queries, mean, style, color=color, label=label, linewidth=1.6)
                axis.fill_between(queries, mean - deviation, mean + deviation, color=color, alpha=0.25, linewidth=0)
            axis.set_title(f"B = {comparison.batch}")
            axis.set_xlabel("response queries")
            axis.locator_params(axis="x", nbins=3)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
        axes[0][0].set_ylabel("hyperobjective φ(x, y(x))")
        axes[0][-1].legend(frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=200)
        plt.close(figure)
