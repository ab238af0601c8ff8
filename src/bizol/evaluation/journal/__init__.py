"""The journal of a run: its events, its file, where the run stands, and what it is of."""

from bizol.evaluation.journal.events import Event, Record, decode, encode
from bizol.evaluation.journal.file import AnswerError, Journal, JournalError
from bizol.evaluation.journal.fingerprint import (
    describe_method,
    fingerprint,
    name_in_code,
    refuse_other_run,
)
from bizol.evaluation.journal.summary import Summary, summarize

__all__ = [
    "AnswerError",
    "Event",
    "Journal",
    "JournalError",
    "Record",
    "Summary",
    "decode",
    "describe_method",
    "encode",
    "fingerprint",
    "name_in_code",
    "refuse_other_run",
    "summarize",
]
