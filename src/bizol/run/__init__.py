"""A run: the only loop, what it records, and what it returns."""

from bizol.run.solution import History, Iterate, Solution, Status
from bizol.run.solve import iterate, minimize

__all__ = ["History", "Iterate", "Solution", "Status", "iterate", "minimize"]
