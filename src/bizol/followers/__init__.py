"""Ready followers: callables from a decision x (n,), or k of them (k, n), to the response y (m,) or (k, m)."""

from bizol.followers.projections import BallProjection, BoxProjection

__all__ = ["BallProjection", "BoxProjection"]
