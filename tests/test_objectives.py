"""The tracking objective against its formula, by another route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bizol.objectives import Tracking

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

    with jax.enable_x64(True):
        grad_x, grad_y = jax.grad(lambda x, y: (
            0.35 * ((x - PARTS["x_ref"]) ** 2).sum()
            + 0.65 * ((PARTS["output"] @ y - PARTS["y_ref"]) ** 2).sum()
            + 0.4 * x @ (PARTS["coupling"] @ y)
        ), argnums=(0, 1))(X[0], Y[0])  # fmt: skip
    assert PHI.grad_x(X[0], Y[0]) == pytest.approx(np.asarray(grad_x), rel=1e-12)
    assert PHI.grad_y(X[0], Y[0]) == pytest.approx(np.asarray(grad_y), rel=1e-12)


def test_lists_will_do() -> None:
    listed = Tracking(**{name: np.asarray(part).tolist() for name, part in PARTS.items()})
    assert listed.value(X[0], Y[0]) == PHI.value(X[0], Y[0])


def test_many_pairs_at_once_and_all_three_parts_at_once_give_the_same() -> None:
    assert PHI.objective().values(X, Y) == pytest.approx([PHI.value(x, y) for x, y in zip(X, Y, strict=True)])
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
