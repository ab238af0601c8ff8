"""From queries to responses: here or on any executor, isolated, journaled, retried."""

from bizol.evaluation.direct import Direct
from bizol.evaluation.durable import Durable
from bizol.evaluation.engine import Execution
from bizol.evaluation.evaluation import Evaluation, choose_evaluation
from bizol.evaluation.failures import (
    BreakerError,
    HaltError,
    PendingError,
    Retries,
    SpentError,
    TerminatedError,
)
from bizol.evaluation.journal import Event, Journal, JournalError
from bizol.evaluation.ledger import Ledger
from bizol.evaluation.query import Answers, Batch, Query, Slot

__all__ = [
    "Answers",
    "Batch",
    "BreakerError",
    "Direct",
    "Durable",
    "Evaluation",
    "Event",
    "Execution",
    "HaltError",
    "Journal",
    "JournalError",
    "Ledger",
    "PendingError",
    "Query",
    "Retries",
    "Slot",
    "SpentError",
    "TerminatedError",
    "choose_evaluation",
]
