"""Followers of known structure, for diagnosis: Jacobians, pieces, the models of the analysis."""

from bizol.structure.anchored_model import AnchoredModel, AncillaryFunction
from bizol.structure.clarke import (
    StructuralBias,
    approximate_hypergradient,
    clarke_subdifferential,
    generalized_jacobian,
    is_delta_regular,
    set_variation,
    structural_bias,
)
from bizol.structure.hulls import Hull
from bizol.structure.protocols import (
    KnownJacobians,
    KnownStructure,
    Pieces,
    SetVariation,
    Smoothed,
)

__all__ = [
    "AnchoredModel",
    "AncillaryFunction",
    "Hull",
    "KnownJacobians",
    "KnownStructure",
    "Pieces",
    "SetVariation",
    "Smoothed",
    "StructuralBias",
    "approximate_hypergradient",
    "clarke_subdifferential",
    "generalized_jacobian",
    "is_delta_regular",
    "set_variation",
    "structural_bias",
]
