"""bizol: optimization when someone else answers.

    minimize   φ(x, y(x))   over x ∈ X

φ and its partial gradients are known; the response y(x) can only be asked for. Keep exact
information exact, and estimate only what is missing.
"""

from bizol import followers, objectives, testing, theory
from bizol.certificates import (
    Certificate,
    ClarkeBound,
    ExactGap,
    HypergradientEstimate,
    bizol_gap,
    certify,
    clarke_gap,
    estimate_hypergradient,
    smooth_gap,
    transfer,
)
from bizol.directions import Coordinates, Directions, OrthonormalBlocks, Rademacher, Sphere
from bizol.evaluation import Evaluator, Journal, JournalError, Retries
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
    ProjectableSet,
    Scaled,
    Simplex,
    Spectraplex,
    Translated,
)
from bizol.methods import (
    VZO,
    AdaptiveStep,
    BiZOL,
    Foresight,
    MemoryBiZOL,
    Method,
    Move,
    PowerLaw,
    State,
    horizon_tuned,
    inverse_sqrt,
    open_loop,
)
from bizol.problem import Anchor, EvaluationError, Objective, Problem, ResponseError
from bizol.run.solution import History, Iterate, Solution, Status
from bizol.run.solve import iterate, minimize
from bizol.sensitivity import Hypergradient, Sensitivity
from bizol.structure.anchored_model import AnchoredModel, AncillaryFunction
from bizol.testing.problems import ProblemCheck

__version__ = "0.1.0"

__all__ = [
    "VZO",
    "AdaptiveStep",
    "Anchor",
    "AnchoredModel",
    "AncillaryFunction",
    "Ball",
    "BiZOL",
    "Box",
    "BudgetSet",
    "CappedSimplex",
    "Certificate",
    "ClarkeBound",
    "ConvexHull",
    "Coordinates",
    "Directions",
    "Ellipsoid",
    "EvaluationError",
    "Evaluator",
    "ExactGap",
    "FeasibleSet",
    "Foresight",
    "History",
    "Hypergradient",
    "HypergradientEstimate",
    "Iterate",
    "Journal",
    "JournalError",
    "L1Ball",
    "LpBall",
    "MemoryBiZOL",
    "Method",
    "Move",
    "NuclearNormBall",
    "Objective",
    "OrthonormalBlocks",
    "Polytope",
    "PowerLaw",
    "Problem",
    "ProblemCheck",
    "Product",
    "ProjectableSet",
    "Rademacher",
    "ResponseError",
    "Retries",
    "Scaled",
    "Sensitivity",
    "Simplex",
    "Solution",
    "Spectraplex",
    "Sphere",
    "State",
    "Status",
    "Translated",
    "bizol_gap",
    "certify",
    "clarke_gap",
    "estimate_hypergradient",
    "followers",
    "horizon_tuned",
    "inverse_sqrt",
    "iterate",
    "minimize",
    "objectives",
    "open_loop",
    "smooth_gap",
    "testing",
    "theory",
    "transfer",
]
