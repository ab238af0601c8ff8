"""Where the run of a journal stands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import nan
from typing import Any, final

from bizol.evaluation.journal.events import Event
from bizol.evaluation.journal.file import Journal


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Where the run of a journal stands, from its rows alone."""

    spec: dict[str, Any]
    budget: int
    asked: int  # different queries
    spent: int  # executions that came to an end
    answered: int
    failed: int  # executions that failed
    given_up: int  # queries that failed for good
    pending: int
    restarted: int  # executions that were begun again after a crash
    iteration: int
    best: float
    status: str  # how the last session ended; "running" where it has not
    seconds: float  # from the first to the last event


def summarize(journal: Journal) -> Summary:
    """Return where the run of a journal stands."""
    events = list(journal.events())
    kinds = Counter(event.kind for event in events)
    asks = [event for event in events if event.kind == "ask"]
    executions = Counter((event.key, event.attempt) for event in asks)
    return Summary(
        spec=journal.spec,
        budget=_latest(events, "budget", ("begin",)) or 0,
        asked=len({event.key for event in asks}),
        spent=kinds["ok"] + kinds["fail"],
        answered=kinds["ok"],
        failed=kinds["fail"],
        given_up=kinds["gave_up"] - kinds["again"],
        pending=len(journal.pending()),
        restarted=executions.total() - len(executions),
        iteration=max((event.key[0] for event in events), default=0),
        best=_latest(events, "best", ("ask", "end"), default=nan),
        status=_status(events),
        seconds=events[-1].time - events[0].time,
    )


def _latest(events: list[Event], name: str, kinds: tuple[str, ...], default: Any = None) -> Any:
    """Return what the latest event of some kinds that says anything of `name` says."""
    said = (event.details.get(name) for event in reversed(events) if event.kind in kinds)
    return next((value for value in said if value is not None), default)


def _status(events: list[Event]) -> str:
    sessions = (event for event in reversed(events) if event.kind in ("begin", "end"))
    last = next(sessions, None)
    ended = last is not None and last.kind == "end"
    return str(last.details["status"]) if ended and last is not None else "running"
