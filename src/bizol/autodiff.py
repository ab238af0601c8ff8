"""Bridges that let an automatic differentiation library write the partial gradients of φ."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

Phi: TypeAlias = Callable[[Any, Any], Any]


def jax_gradients(phi: Phi) -> tuple[Phi, Phi, Phi]:
    """Return φ, ∇₁φ, ∇₂φ compiled by JAX, in double precision whatever JAX's own default is."""
    jax = _require("jax")

    def doubled(function: Phi) -> Phi:
        compiled = jax.jit(function)

        def call(x: Any, y: Any) -> Any:
            with jax.enable_x64(True):
                result = compiled(x, y)
            # A response that lives in JAX keeps its gradient there; NumPy in, NumPy out.
            return np.asarray(result) if isinstance(y, np.ndarray) else result

        return call

    return doubled(phi), doubled(jax.grad(phi, argnums=0)), doubled(jax.grad(phi, argnums=1))


def torch_gradients(phi: Phi) -> tuple[Phi, Phi, Phi]:
    """Return φ, ∇₁φ, ∇₂φ computed by PyTorch; a response that is a tensor keeps its gradient on its device."""
    torch = _require("torch")

    def bridge(function: Phi) -> Phi:
        def call(x: Any, y: Any) -> Any:
            if not isinstance(y, np.ndarray):
                return function(torch.tensor(x, dtype=y.dtype, device=y.device), y)
            return function(torch.tensor(x), torch.tensor(y)).detach().numpy()

        return call

    def value(x: Any, y: Any) -> Any:
        with torch.no_grad():
            return phi(x, y)

    return bridge(value), bridge(torch.func.grad(phi, argnums=0)), bridge(torch.func.grad(phi, argnums=1))


def _require(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"Objective.from_{module} needs {module}: pip install 'bizol[{module}]'.") from error
