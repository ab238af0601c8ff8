"""The sets decisions are taken from, by family.

Each answers one question: where is a linear cost smallest?
"""

from bizol.feasible_sets.composition import Product, Scaled, Translated
from bizol.feasible_sets.matrices import NuclearNormBall, Spectraplex
from bizol.feasible_sets.norm_balls import Ball, Ellipsoid, L1Ball, LpBall
from bizol.feasible_sets.polyhedra import Box, ConvexHull, Polytope
from bizol.feasible_sets.protocol import FeasibleSet, ProjectableSet
from bizol.feasible_sets.simplices import BudgetSet, CappedSimplex, Simplex

__all__ = [
    "Ball",
    "Box",
    "BudgetSet",
    "CappedSimplex",
    "ConvexHull",
    "Ellipsoid",
    "FeasibleSet",
    "L1Ball",
    "LpBall",
    "NuclearNormBall",
    "Polytope",
    "Product",
    "ProjectableSet",
    "Scaled",
    "Simplex",
    "Spectraplex",
    "Translated",
]
