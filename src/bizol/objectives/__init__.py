"""Ready objectives, each with its exact partial gradients; add them up with `+`.

Their methods take one pair, x (n,) and y (m,), or k pairs at once, x (k, n) and y (k, m). Only
`Average` takes one pair at a time.
"""

from bizol.objectives.average import Average
from bizol.objectives.learning import ValidationLoss
from bizol.objectives.market import Payment, Revenue, SocialCost
from bizol.objectives.quadratic import Quadratic
from bizol.objectives.tracking import Tracking

__all__ = ["Average", "Payment", "Quadratic", "Revenue", "SocialCost", "Tracking", "ValidationLoss"]
