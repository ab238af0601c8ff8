"""Followers with limited capacity: what they would like to do, projected onto what they can do.

Section V of the paper: a follower with baseline d, moved by the incentive A x, minimizes its
discomfort

    g(x, y) = ½ ‖y − d‖² − (A x)ᵀ y     over y ∈ Y,     so that     y(x) = Π_Y(d + A x).
"""

from bizol.followers.projections.ball import BallProjection
from bizol.followers.projections.box import BoxProjection
from bizol.followers.projections.simplex import SimplexProjection

__all__ = ["BallProjection", "BoxProjection", "SimplexProjection"]
