"""From queries to responses: in-process or on any executor, isolated, journaled, asked again when they fail."""

from bizol.evaluation.engine import Execution
from bizol.evaluation.evaluator import Evaluator, Slots
from bizol.evaluation.failures import (
    BreakerError,
    HaltError,
    PendingError,
    Retries,
    SpentError,
    TerminatedError,
)
from bizol.evaluation.isolation import die_with_parent
from bizol.evaluation.journal.file import Event, Journal, JournalError
from bizol.evaluation.journal.fingerprint import refuse_other, specification
from bizol.evaluation.outcomes import Outcome, Query
from bizol.evaluation.question import takes_seed

__all__ = [
    "BreakerError",
    "Evaluator",
    "Event",
    "Execution",
    "HaltError",
    "Journal",
    "JournalError",
    "Outcome",
    "PendingError",
    "Query",
    "Retries",
    "Slots",
    "SpentError",
    "TerminatedError",
    "die_with_parent",
    "refuse_other",
    "specification",
    "takes_seed",
]
