"""The ready objectives against their formulas, by another route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bizol import Objective
from bizol.objectives import (
    Average,
    Payment,
    Quadratic,
    Revenue,
    SocialCost,
    Tracking,
    ValidationLoss,
)

RNG = np.random.default_rng(8)
PARTS: dict[str, Any] = {
    "effort": 0.7,
    "tracking": 1.3,
    "payment": 0.4,
    "x_ref": RNG.standard_normal(3),
    "y_ref": RNG.standard_normal(2),
    "output": RNG.standard_normal((2, 4)),
    "coupling": RNG.standard_normal((3, 4)),
}
PHI = Tracking(**PARTS)
X, Y = RNG.standard_normal((6, 3)), RNG.standard_normal((6, 4))


def test_the_value_is_the_formula_of_section_v() -> None:
    for x, y in zip(X, Y, strict=True):
        expected = (
            0.7 / 2 * sum((x - PARTS["x_ref"]) ** 2)
            + 1.3 / 2 * sum((PARTS["output"] @ y - PARTS["y_ref"]) ** 2)
            + 0.4 * sum(x[i] * PARTS["coupling"][i, j] * y[j] for i in range(3) for j in range(4))
        )
        assert PHI.value(x, y) == pytest.approx(expected)


def test_the_gradients_agree_with_automatic_differentiation() -> None:
    import jax

    def value(x: Any, y: Any) -> Any:
        effort = 0.35 * ((x - PARTS["x_ref"]) ** 2).sum()
        tracking = 0.65 * ((PARTS["output"] @ y - PARTS["y_ref"]) ** 2).sum()
        payment = 0.4 * x @ (PARTS["coupling"] @ y)
        return effort + tracking + payment

    with jax.enable_x64(True):
        grad_x, grad_y = jax.grad(value, argnums=(0, 1))(X[0], Y[0])
    assert PHI.grad_x(X[0], Y[0]) == pytest.approx(np.asarray(grad_x), rel=1e-12)
    assert PHI.grad_y(X[0], Y[0]) == pytest.approx(np.asarray(grad_y), rel=1e-12)


def test_lists_will_do() -> None:
    listed = Tracking(**{name: np.asarray(part).tolist() for name, part in PARTS.items()})
    assert listed.value(X[0], Y[0]) == PHI.value(X[0], Y[0])


def test_many_pairs_at_once_and_all_three_parts_at_once_give_the_same() -> None:
    assert PHI.objective().values(X, Y) == pytest.approx(
        [PHI.value(x, y) for x, y in zip(X, Y, strict=True)]
    )
    anchor = PHI.objective().anchor(X[0], Y[0])
    assert anchor.value == pytest.approx(PHI.value(X[0], Y[0]), rel=1e-14)
    assert anchor.grad_x == pytest.approx(PHI.grad_x(X[0], Y[0]), rel=1e-14)
    assert anchor.grad_y == pytest.approx(PHI.grad_y(X[0], Y[0]), rel=1e-14)


@pytest.mark.parametrize(
    ("part", "value", "wanted"),
    [
        ("x_ref", np.zeros((3, 1)), r"\(3,\)"),
        ("output", np.zeros((3, 4)), r"\(2, 4\)"),
        ("coupling", np.zeros((4, 3)), r"\(3, 4\)"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(part: str, value: Any, wanted: str) -> None:
    with pytest.raises(ValueError, match=rf"Tracking\({part}=\.\.\.\) must have shape {wanted}"):
        Tracking(**(PARTS | {part: value}))


VALIDATION = RNG.standard_normal((9, 3)), RNG.standard_normal(9)
SIGNS = np.sign(VALIDATION[1])
READY: dict[str, tuple[Any, Any]] = {  # as given, and as a formula for automatic differentiation
    "quadratic": (
        Quadratic(
            3,
            4,
            xx=RNG.standard_normal((3, 3)),
            xy=np.ones((3, 4)),
            yy=np.eye(4),
            x=[1, 2, 3],
            y=[1, 0, 0, 2],
        ),
        lambda x, y, f: x @ f.xx @ x / 2 + x @ f.xy @ y + y @ f.yy @ y / 2 + f.x @ x + f.y @ y,
    ),
    "payment": (Payment(PARTS["coupling"], 0.4), lambda x, y, f: 0.4 * x @ PARTS["coupling"] @ y),
    "revenue": (
        Revenue(PARTS["coupling"], [0.1, 0.2, 0.3]),
        lambda x, y, f: -(x - np.array([0.1, 0.2, 0.3])) @ PARTS["coupling"] @ y,
    ),
    "social cost": (
        SocialCost(lambda y: 1 + y**4, lambda y: 4 * y**3),
        lambda x, y, f: (y * (1 + y**4)).sum() + 0 * x.sum(),
    ),
    "validation": (
        ValidationLoss(*VALIDATION),
        lambda x, y, f: (
            ((VALIDATION[0] @ y[:3] + y[3] - VALIDATION[1]) ** 2).mean() / 2 + 0 * x.sum()
        ),
    ),
    "logistic": (
        ValidationLoss(VALIDATION[0], SIGNS, "logistic"),
        lambda x, y, f: _mean_log(1, -SIGNS * (VALIDATION[0] @ y[:3] + y[3])) + 0 * x.sum(),
    ),
    "average": (
        Average(
            2,
            lambda x, y: ((y - x[:2]) ** 2).sum(axis=1),
            lambda x, y: np.column_stack([-2 * (y - x[:2]), np.zeros(2)]),
            lambda x, y: 2 * (y - x[:2]),
        ),
        lambda x, y, f: (((y.reshape(2, 2) - x[:2]) ** 2).sum(axis=1)).mean(),
    ),
    "sum": (
        Payment(PARTS["coupling"]) + Quadratic(3, 4, yy=np.eye(4)),
        lambda x, y, f: x @ PARTS["coupling"] @ y + y @ y / 2,
    ),
    "sum with a plain one": (
        Revenue(PARTS["coupling"])
        + Objective(lambda x, y: x @ x, lambda x, y: 2 * x, lambda x, y: 0 * y),
        lambda x, y, f: -x @ PARTS["coupling"] @ y + x @ x,
    ),
}
every_one = pytest.mark.parametrize("name", READY)


def _mean_log(one: int, z: Any) -> Any:
    import jax.numpy as jnp

    return jnp.log(one + jnp.exp(z)).mean()


def as_objective(name: str) -> Objective:
    ready = READY[name][0]
    return ready if isinstance(ready, Objective) else ready.objective()


@every_one
def test_ready_objectives_agree_with_automatic_differentiation(name: str) -> None:
    import jax

    ready, formula = READY[name]
    objective = as_objective(name)
    with jax.enable_x64(True):
        for x, y in zip(X, Y, strict=True):
            expected, (grad_x, grad_y) = jax.value_and_grad(formula, argnums=(0, 1))(x, y, ready)
            anchor = objective.anchor(x, y)
            assert anchor.value == pytest.approx(float(expected), rel=1e-12)
            assert anchor.grad_x == pytest.approx(np.asarray(grad_x), rel=1e-11, abs=1e-12)
            assert anchor.grad_y == pytest.approx(np.asarray(grad_y), rel=1e-11, abs=1e-12)


@every_one
def test_many_pairs_at_once_give_the_same(name: str) -> None:
    objective = as_objective(name)
    assert objective.values(X, Y) == pytest.approx(
        [objective.anchor(x, y).value for x, y in zip(X, Y, strict=True)]
    )
    if objective.vectorized:
        rows = [objective.anchor(x, y).grad_y for x, y in zip(X, Y, strict=True)]
        assert objective.grad_y(X, Y) == pytest.approx(np.array(rows))


def test_sums_are_vectorized_where_all_parts_are_and_know_all_three_at_once() -> None:
    assert as_objective("sum").vectorized
    assert not as_objective("sum with a plain one").vectorized
    three = PHI + Payment(PARTS["coupling"]) + as_objective("sum with a plain one")
    assert three.anchor(X[0], Y[0]).value == pytest.approx(
        PHI.value(X[0], Y[0]) + X[0] @ X[0]  # payment and revenue cancel
    )
    assert three.grad_x(X[0], Y[0]) == pytest.approx(PHI.grad_x(X[0], Y[0]) + 2 * X[0])
    with pytest.raises(TypeError):
        PHI + 1.0


def test_coefficients_without_an_intercept_are_recognized() -> None:
    loss = ValidationLoss(*VALIDATION)
    assert loss.value(X[0], Y[0][:3]) == pytest.approx(loss.value(X[0], np.append(Y[0][:3], 0.0)))
    assert loss.grad_y(X[0], Y[0][:3]).shape == (3,)
    with pytest.raises(ValueError, match="takes 3 coefficients, and an intercept perhaps, got 7"):
        loss.value(X[0], np.zeros(7))


def test_an_averaged_gradient_shrinks_with_the_root_of_the_agents() -> None:
    """The remark on response size: ‖∇₂φ‖ = O(N^(−1/2)) for local gradients of bounded size."""
    sizes = []
    for agents in (100, 10_000):
        phi = Average(
            agents, lambda x, y: np.abs(y).sum(axis=1), lambda x, y: 0 * x, lambda x, y: np.sign(y)
        )
        sizes.append(np.linalg.norm(phi.grad_y(np.zeros(2), RNG.standard_normal(3 * agents))))
    assert sizes[0] / sizes[1] == pytest.approx(10.0)
    with pytest.raises(ValueError, match="cannot share out a response of size 4"):
        Average(3, lambda x, y: y, lambda x, y: x, lambda x, y: y).value(X[0], Y[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Quadratic(3, 4, xy=np.ones((4, 3))),
            r"Quadratic\(xy=\.\.\.\) must have shape \(3, 4\)",
        ),
        (
            lambda: Revenue(np.eye(2), cost=[1.0]),
            r"Revenue\(cost=\.\.\.\) must be a vector of size 2",
        ),
        (lambda: ValidationLoss(*VALIDATION, loss="hinge"), 'must be "squared" or "logistic"'),  # type: ignore[arg-type]
        (lambda: ValidationLoss(*VALIDATION, loss="logistic"), "must be 1 or −1"),
    ],
)
def test_objectives_of_the_wrong_parts_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
