"""Ready objectives, each with its exact partial gradients; add them up with `+`."""

from bizol.objectives.objectives import (
    Average,
    Payment,
    Quadratic,
    Revenue,
    SocialCost,
    Tracking,
    ValidationLoss,
)

__all__ = ["Average", "Payment", "Quadratic", "Revenue", "SocialCost", "Tracking", "ValidationLoss"]
