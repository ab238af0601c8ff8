"""Tuning a controller: which weights should a crane's predictive controller work with?

The controller minimizes its own quadratic cost within the limits of the motor, plan after plan;
what the crane should do is something else: arrive soon, and hardly swing. The follower's answer is
the whole path, in closed loop. It has kinks, as the motor saturates earlier or later. Four weights
are tuned on a scale of logarithms, that of the motor is 1.
"""

import numpy as np
from comparison import cma_es, draw, options, report
from scipy.linalg import expm

import bizol
from bizol.report.figures import OURS, THEIRS, canvas

STEPS, DT = 30, 0.3  # seconds a step
REFERENCE = 3.1923985911396633  # the lowest value known: benchmarks/gallery.py --references

# Position and speed of the trolley, angle and speed of the load on a rope of two meters, pushed by
# an acceleration.
change = np.array(
    [
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 1, 0],
        [0, 0, -9.81 / 2, -0.1, -1 / 2],
        [0, 0, 0, 0, 0],
    ]
)
step = expm(DT * change)
crane = bizol.followers.PredictiveControl(
    A=step[:4, :4],
    B=step[:4, 4:],
    initial=np.array([-4.0, 0.0, 0.0, 0.0]),
    steps=STEPS,
    lower=-np.ones(1),
    upper=np.ones(1),
    weights=lambda x: (np.exp(x), np.ones(1)),
)
late = 0.1 * DT * DT * np.arange(1, STEPS + 1)  # the later, the worse
weight = np.concatenate(
    [np.column_stack([late, 0 * late, 0 * late + 80 * DT, 0 * late]).ravel(), np.full(STEPS, DT)]
)
problem = bizol.Problem(
    objective=bizol.objectives.Quadratic(4, 5 * STEPS, yy=np.diag(weight)).objective(),
    response=crane,
    feasible_set=bizol.Box(np.full(4, -4), np.full(4, 4)),
)
START = np.zeros(4)

if __name__ == "__main__":
    budget, picture = options("mpc_tuning", budget=250, about=__doc__)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    rivals = {"CMA-ES": cma_es(problem, START, budget)}
    print(f"weights {np.exp(found.x).round(3)}")
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.01, directions=32, seed=1))
    with canvas() as pyplot:
        figure, axes = pyplot.subplot_mosaic(
            [["position", "gap"], ["angle", "gap"]], figsize=(7.5, 3.6), layout="constrained"
        )
        times = DT * np.arange(1, STEPS + 1)
        for name, y, style, color in (
            ("all weights 1", crane(START), "--", THEIRS),
            ("tuned", found.y, "-", OURS),
        ):
            states = y[: 4 * STEPS].reshape(STEPS, 4)
            axes["position"].plot(times, states[:, 0], style, color=color, label=name)
            axes["angle"].plot(times, np.degrees(states[:, 2]), style, color=color)
        axes["position"].set_ylabel("trolley (m)")
        axes["position"].legend()
        axes["angle"].set(xlabel="time (s)", ylabel="swing (degrees)")
        draw(axes["gap"], found, rivals, REFERENCE)
        figure.savefig(picture)
