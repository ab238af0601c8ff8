"""What is run, what comes of it, and the file of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, final

Begin: TypeAlias = Literal["fixed", "random"]
Status: TypeAlias = Literal["done", "late", "failed", "skipped"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run to be made: what it is known by in the file of runs.

    Attributes:
        begin: where it starts: "fixed", at the start of the case, or "random", at a random feasible
            point that is the same for all solvers with the same seed.

    """

    case: str
    solver: str
    seed: int
    budget: int
    begin: Begin = "fixed"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of a job.

    Attributes:
        status: "done"; "late" when the time limit ended it, with what it had found; "failed", with
            the message; "skipped" when the solver does not take the case, with the reason.
        seconds: processor time, the follower included.
        value, x: the best feasible value and where it was; None when there is none.
        start: φ where it started.
        reference: the best known value at the time.
        gaps: (best − reference)/(start − reference) by the number of queries, as far as the budget
            goes.
        trace: the queries at which the best value fell, and to what: profiles take gaps from it,
            with the references known by then.

    """

    case: str
    solver: str
    seed: int
    budget: int
    begin: Begin = "fixed"
    n: int
    split: str
    tags: list[str]
    status: Status
    message: str
    queries: int
    seconds: float
    value: float | None
    x: list[float] | None = None
    start: float
    reference: float
    gaps: dict[str, float] = field(default_factory=dict)
    trace: list[tuple[int, float]] = field(default_factory=list)

    @property
    def job(self) -> Job:
        """What it is known by."""
        return Job(
            case=self.case,
            solver=self.solver,
            seed=self.seed,
            budget=self.budget,
            begin=self.begin,
        )


def read_runs(path: Path) -> list[Run]:
    """Return the runs in a file, the last of each job; a line cut short is skipped."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            found.append(Run(**json.loads(line)))
        except (json.JSONDecodeError, TypeError):
            continue
    return latest(found)


def latest(*groups: Iterable[Run]) -> list[Run]:
    """Return the last run of each job."""
    return list({run.job: run for group in groups for run in group}.values())
