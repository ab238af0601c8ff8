"""bizol: optimization when someone else answers.

    minimize   φ(x, y(x))   over x ∈ X

φ and its partial gradients are known; the response y(x) can only be asked for. Keep exact information exact, and
estimate only what is missing.
"""

from bizol import followers, objectives, testing
from bizol.directions import Coordinates, Directions, OrthonormalBlocks, Rademacher, Sphere
from bizol.evaluation import Evaluator
from bizol.feasible_sets import (
    Ball,
    Box,
    BudgetSet,
    CappedSimplex,
    ConvexHull,
    Ellipsoid,
    FeasibleSet,
    L1Ball,
    LpBall,
    NuclearNormBall,
    Polytope,
    Product,
    Scaled,
    Simplex,
    Spectraplex,
    Translated,
)
from bizol.methods import VZO, BiZOL, Method, Move, PowerLaw, State, horizon_tuned, inverse_sqrt, open_loop
from bizol.problem import EvaluationError, Objective, Problem
from bizol.sensitivity import Hypergradient, Sensitivity
from bizol.solution import History, Iterate, Solution, Status
from bizol.solve import iterate, minimize

__version__ = "0.1.0"

__all__ = [
    "VZO",
    "Ball",
    "BiZOL",
    "Box",
    "BudgetSet",
    "CappedSimplex",
    "ConvexHull",
    "Coordinates",
    "Directions",
    "Ellipsoid",
    "EvaluationError",
    "Evaluator",
    "FeasibleSet",
    "History",
    "Hypergradient",
    "Iterate",
    "L1Ball",
    "LpBall",
    "Method",
    "Move",
    "NuclearNormBall",
    "Objective",
    "OrthonormalBlocks",
    "Polytope",
    "PowerLaw",
    "Problem",
    "Product",
    "Rademacher",
    "Scaled",
    "Sensitivity",
    "Simplex",
    "Solution",
    "Spectraplex",
    "Sphere",
    "State",
    "Status",
    "Translated",
    "followers",
    "horizon_tuned",
    "inverse_sqrt",
    "iterate",
    "minimize",
    "objectives",
    "open_loop",
    "testing",
]
