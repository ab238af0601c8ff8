"""Hyperparameters of an elastic net: the leader regularizes, the learner answers coefficients.

The validation loss is a known function of the coefficients; only how these move with the
hyperparameters is not known, and there are kinks wherever one of the 65 becomes zero. A grid sees
one number per fit, bizol all the coefficients.
"""

import numpy as np
from comparison import cma_es, draw, grid, options, report
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import bizol
from bizol.report.figures import OURS, THEIRS, canvas

POINTS = 12  # of the grid, a side
REFERENCE = 0.26391798719940346  # the lowest value known: benchmarks/gallery.py --references

raw, disease = load_diabetes(return_X_y=True)
products = PolynomialFeatures(2, include_bias=False).fit_transform(raw)
features = StandardScaler().fit_transform(products)
targets = (disease - disease.mean()) / disease.std()
train, validation, targets_train, targets_validation = train_test_split(
    features, targets, test_size=0.4, random_state=0
)

problem = bizol.Problem(
    objective=bizol.objectives.ValidationLoss(validation, targets_validation).objective(),
    response=bizol.followers.FittedEstimator(
        ElasticNet(tol=1e-8, max_iter=100_000),
        train,
        targets_train,
        transform=lambda x: {"alpha": 10.0 ** x[0], "l1_ratio": float(x[1])},
    ),
    feasible_set=bizol.Box([-2.0, 0.02], [0.5, 0.95]),
)
START = problem.feasible_set.center

if __name__ == "__main__":
    budget, picture = options("hyperparameters", budget=150, about=__doc__)
    found = bizol.minimize(problem, START, budget=budget, seed=0)
    values = grid(problem, POINTS)
    rivals = {f"grid, {POINTS} × {POINTS}": values, "CMA-ES": cma_es(problem, START, budget)}
    used = (found.y != 0).sum() - 1  # without the intercept
    print(f"α = {10 ** found.x[0]:.4f}, ℓ₁ ratio {found.x[1]:.4f}: {used} of 65 coefficients used")
    report(found, rivals, REFERENCE)
    print(bizol.certify(problem, found.x, delta=0.001, directions=16, seed=1))
    with canvas() as pyplot:
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
        alphas, ratios = np.linspace([-2.0, 0.02], [0.5, 0.95], POINTS).T
        losses = np.reshape(values, (POINTS, POINTS)).T
        shades = left.contourf(10**alphas, ratios, losses, levels=12, cmap="Greys")
        left.plot(*np.meshgrid(10**alphas, ratios), ".", markersize=3, color=THEIRS)
        left.plot(
            10 ** found.x[0], found.x[1], "*", markersize=13, color=OURS, markeredgecolor="white"
        )
        left.set(xscale="log", xlabel=r"$\alpha$", ylabel=r"$\ell_1$ ratio")
        figure.colorbar(shades, ax=left, label="validation loss")
        draw(right, found, rivals, REFERENCE)
        figure.savefig(picture)
