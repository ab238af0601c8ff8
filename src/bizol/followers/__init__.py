"""Ready followers: callables from a decision x (n,) to the response y (m,).

They also take k decisions at once, (k, n), and return their responses, (k, m).
"""

from bizol.followers.command import Command
from bizol.followers.cvxpy import CvxpyFollower
from bizol.followers.estimator import FittedEstimator
from bizol.followers.games import AggregativeGame, VariationalEquilibrium
from bizol.followers.http import Http
from bizol.followers.outside import Outside
from bizol.followers.population import Population, ProjectionPopulation
from bizol.followers.predictive_control import PredictiveControl
from bizol.followers.projections import BallProjection, BoxProjection, SimplexProjection
from bizol.followers.quadratic_program import QuadraticProgram
from bizol.followers.saturation import SmoothSaturation
from bizol.followers.traffic import TrafficEquilibrium

__all__ = [
    "AggregativeGame",
    "BallProjection",
    "BoxProjection",
    "Command",
    "CvxpyFollower",
    "FittedEstimator",
    "Http",
    "Outside",
    "Population",
    "PredictiveControl",
    "ProjectionPopulation",
    "QuadraticProgram",
    "SimplexProjection",
    "SmoothSaturation",
    "TrafficEquilibrium",
    "VariationalEquilibrium",
]
