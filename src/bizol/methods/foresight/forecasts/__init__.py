"""Forecasts of the response around a decision, and who judges them.

Steps are in units in which the feasible set is about as wide along every coordinate.
"""

from bizol.methods.foresight.forecasts.curved import Curved, fit_curved
from bizol.methods.foresight.forecasts.everywhere import Everywhere, fit_everywhere
from bizol.methods.foresight.forecasts.judge import Errors, choose, judged
from bizol.methods.foresight.forecasts.overlaid import Overlaid
from bizol.methods.foresight.forecasts.pieces import Pieces, fit_pieces
from bizol.methods.foresight.forecasts.protocol import Forecast, KinkedForecast, Kinks
from bizol.methods.foresight.forecasts.straight import Straight

__all__ = [
    "Curved",
    "Errors",
    "Everywhere",
    "Forecast",
    "KinkedForecast",
    "Kinks",
    "Overlaid",
    "Pieces",
    "Straight",
    "choose",
    "fit_curved",
    "fit_everywhere",
    "fit_pieces",
    "judged",
]
