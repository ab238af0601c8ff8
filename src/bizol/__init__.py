"""bizol: optimization when someone else answers.

    minimize   φ(x, y(x))   over x ∈ X

φ and its partial gradients are known; the response y(x) can only be asked for. Keep exact
information exact, and estimate only what is missing.

These are the names people type. The rest is reached through its module: `bizol.methods` (schedules,
moves), `bizol.directions`, `bizol.followers`, `bizol.objectives`, `bizol.certificates`,
`bizol.structure`, `bizol.evaluation`, `bizol.testing`, `bizol.theory`.
"""

from bizol import directions, followers, objectives, structure, testing, theory
from bizol.certificates import Certificate, bizol_gap, certify, clarke_gap, smooth_gap, transfer
from bizol.evaluation import Journal, JournalError, Retries
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
from bizol.methods import VZO, BiZOL, Foresight, MemoryBiZOL, Method
from bizol.problem import EvaluationError, Objective, Problem, ResponseError
from bizol.run import History, Solution, Status, iterate, minimize
from bizol.testing import check
from bizol.version import __version__ as __version__

__all__ = [
    "VZO",
    "Ball",
    "BiZOL",
    "Box",
    "BudgetSet",
    "CappedSimplex",
    "Certificate",
    "ConvexHull",
    "Ellipsoid",
    "EvaluationError",
    "FeasibleSet",
    "Foresight",
    "History",
    "Journal",
    "JournalError",
    "L1Ball",
    "LpBall",
    "MemoryBiZOL",
    "Method",
    "NuclearNormBall",
    "Objective",
    "Polytope",
    "Problem",
    "Product",
    "ResponseError",
    "Retries",
    "Scaled",
    "Simplex",
    "Solution",
    "Spectraplex",
    "Status",
    "Translated",
    "bizol_gap",
    "certify",
    "check",
    "clarke_gap",
    "directions",
    "followers",
    "iterate",
    "minimize",
    "objectives",
    "smooth_gap",
    "structure",
    "testing",
    "theory",
    "transfer",
]
