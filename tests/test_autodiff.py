"""Gradients written by JAX and by PyTorch agree with those written by hand."""

from __future__ import annotations

import builtins
import importlib
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL, Objective
from tests.problems import quadratic, saturated

X, Y = np.array([0.3, -0.7, 0.1]), np.array([0.2, 0.9, -0.4])


def phi(x: Any, y: Any) -> Any:
    """Operators only, so that every library can differentiate it."""
    return (x * x).sum() / 2 + ((y - 0.5) ** 2).sum() / 2 + (x * y).sum()


@pytest.mark.parametrize("bridge", [Objective.from_jax, Objective.from_torch])
def test_automatic_gradients_are_exact_in_double_precision(bridge: Any) -> None:
    anchor = bridge(phi).anchor(X, Y)
    assert anchor.value == pytest.approx(phi(X, Y), rel=1e-15)
    assert anchor.grad_x == pytest.approx(X + Y, rel=1e-15)
    assert anchor.grad_y == pytest.approx(Y - 0.5 + X, rel=1e-15)
    assert isinstance(anchor.grad_y, np.ndarray)


@pytest.mark.parametrize("bridge", [Objective.from_jax, Objective.from_torch])
def test_a_run_is_the_same_with_automatic_gradients(bridge: Any) -> None:
    def plain(x: Any, y: Any) -> Any:
        return (x * x).sum() / 2 + ((y - 0.5) ** 2).sum() / 2

    method = BiZOL(0.1, 0.1, 4)
    automatic = bizol.minimize(
        saturated(objective=bridge(plain)), method=method, budget=200, seed=0
    )
    by_hand = bizol.minimize(saturated(objective=quadratic()), method=method, budget=200, seed=0)
    assert automatic.x == pytest.approx(by_hand.x, abs=1e-12)
    assert automatic.value == pytest.approx(by_hand.value, abs=1e-12)


def test_responses_of_the_library_itself_keep_their_gradients_there() -> None:
    import jax
    import torch

    tensor = torch.tensor(Y)
    anchor = Objective.from_torch(phi).anchor(X, tensor)
    assert isinstance(anchor.grad_y, torch.Tensor)
    with jax.enable_x64(True):
        array = jax.numpy.asarray(Y)
    assert isinstance(Objective.from_jax(phi).anchor(X, array).grad_y, jax.Array)


@pytest.mark.parametrize("module", ["jax", "torch"])
def test_a_missing_library_says_how_to_get_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == module:
            raise ImportError(name)
        return importlib.__import__(name, *rest, **more)

    monkeypatch.setattr("bizol.autodiff.import_module", missing)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(
        ImportError,
        match=rf"Objective.from_{module} needs {module}: pip install 'bizol\[{module}\]'",
    ):
        getattr(Objective, f"from_{module}")(phi)


def test_parameters_of_a_network_are_no_obstacle() -> None:
    import torch

    torch.manual_seed(0)
    network = torch.nn.Linear(3, 1, dtype=torch.float64)
    anchor = Objective.from_torch(lambda x, y: network(y).sum() + (x * x).sum()).anchor(X, Y)
    assert anchor.grad_y == pytest.approx(network.weight.detach().numpy()[0])
    assert anchor.grad_x == pytest.approx(2 * X)
