"""Bridges that let an automatic differentiation library write the partial gradients of φ."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

Phi: TypeAlias = Callable[[Any, Any], Any]


def jax_gradients(phi: Phi) -> tuple[Phi, Phi]:
    """Return φ, and φ with both gradients, compiled by JAX.

    They compute in double precision, whatever JAX's own default is.
    """
    jax = _require("jax")

    def compile_in_double(function: Phi) -> Phi:
        compiled = jax.jit(function)

        def call(x: Any, y: Any) -> Any:
            with jax.enable_x64(True):
                result = compiled(x, y)
            if isinstance(y, np.ndarray):
                return jax.tree.map(np.asarray, result)
            return result  # the gradient by a response that lives in JAX stays there

        return call

    def differentiate(x: Any, y: Any) -> Any:
        value, (grad_x, grad_y) = jax.value_and_grad(phi, argnums=(0, 1))(x, y)
        return value, grad_x, grad_y

    return compile_in_double(phi), compile_in_double(differentiate)


def torch_gradients(phi: Phi) -> tuple[Phi, Phi]:
    """Return φ, and φ with both gradients, by PyTorch.

    The gradient by a response that is a tensor stays on the device of the response.
    """
    torch = _require("torch")

    def bridge(function: Phi) -> Phi:
        def call(x: Any, y: Any) -> Any:
            if not isinstance(y, np.ndarray):
                return function(torch.tensor(x, dtype=y.dtype, device=y.device), y)
            results = function(torch.tensor(x), torch.tensor(y))
            return tuple(result.detach().numpy() for result in results)

        return call

    def evaluate(x: Any, y: Any) -> Any:
        with torch.no_grad():
            return (phi(x, y),)

    def differentiate(x: Any, y: Any) -> Any:
        (grad_x, grad_y), result = torch.func.grad_and_value(phi, argnums=(0, 1))(x, y)
        return result, grad_x, grad_y

    value = bridge(evaluate)
    return lambda x, y: value(x, y)[0], bridge(differentiate)


def _require(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        what = f"Objective.from_{module} needs {module}: pip install 'bizol[{module}]'."
        raise ImportError(what) from error
