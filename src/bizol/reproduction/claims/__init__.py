"""What Section V says in words, checked as statements on the measured data.

`responses` and `dimensions` hold the claims of the text, `targets` how near our numbers are to the
paper's; `statement` is what they are made of, `formats` how their numbers are written.
"""

from __future__ import annotations

from bizol.reproduction.claims import dimensions, responses, targets
from bizol.reproduction.claims.statement import Claim, Statement, check_statements

STATEMENTS: list[Statement] = [*responses.STATEMENTS, *dimensions.STATEMENTS]
TARGETS: list[Statement] = targets.TARGETS

__all__ = ["STATEMENTS", "TARGETS", "Claim", "Statement", "check_statements"]
