"""The default method: forecasts of the response, and φ minimized through them."""

from bizol.methods.foresight.method import Foresight

__all__ = ["Foresight"]
