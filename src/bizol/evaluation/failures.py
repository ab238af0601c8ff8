"""Failed queries: how often they are asked again, and when too many failures end a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bizol.arrays import ArgumentError, is_real
from bizol.evaluation.outcomes import ENGINE, Kind
from bizol.evaluation.query import Query


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a failed query is asked again, by the class of its failure.

    Every attempt counts as a query.

    Args:
        engine: how often after a process died, a time limit was exceeded, or a worker or an engine
            was lost. The query keeps its seed, as the follower may not be the cause.
        follower: how often after an exception, or a response that is not finite or has the wrong
            shape. The query gets another seed. A `PermissionError` is never retried.
        wait: seconds before the first retry, doubled before every further one, up to a minute.
        breaker: the run ends when at least five queries, and more than this share of those of the
            last two batches, failed. You can resume it once you have found the cause.

    Example:
        >>> Retries(engine=0).again(["died"])
        False

    """

    engine: int = 3
    follower: int = 1
    wait: float = 0.1
    breaker: float = 0.5

    def __post_init__(self) -> None:
        for name in ("engine", "follower"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                what = f"must be a count, 0 or more, got {getattr(self, name)!r}."
                raise ArgumentError("Retries", name, what)
        if not is_real(self.wait) or self.wait < 0:
            what = f"must be seconds, 0 or more, got {self.wait!r}."
            raise ArgumentError("Retries", "wait", what)
        if not is_real(self.breaker) or not 0 < self.breaker <= 1:
            what = f"must be a share in (0, 1], got {self.breaker!r}."
            raise ArgumentError("Retries", "breaker", what)

    def again(self, failures: list[Kind]) -> bool:
        """Whether a query that failed in these ways is asked again."""
        if "refused" in failures:  # asking again would not help
            return False
        engine = sum(kind in ENGINE for kind in failures)
        return engine <= self.engine and len(failures) - engine <= self.follower

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after that many failures of a query."""
        return min(60.0, self.wait * 2.0 ** (failures - 1)) if failures else 0.0


class HaltError(Exception):
    """A reason to end a run that is not a bug; the run can be resumed."""


@final
class TerminatedError(KeyboardInterrupt):
    """The process was asked to end (SIGTERM)."""


@final
class SpentError(HaltError):
    """The budget does not cover the queries that must be asked again."""


@final
class BreakerError(HaltError):
    """Too many queries failed."""


@final
class PendingError(HaltError):
    """Some queries wait for an answer from outside."""

    def __init__(self, queries: list[Query]) -> None:
        super().__init__(f"Pending: {', '.join(query.id for query in queries)}.")
        self.queries = queries


@final
class Breaker:
    """Counts failures over the last two batches, and over as many as make twenty attempts."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._batches: list[list[int]] = []  # attempts and failures of each

    def next_batch(self) -> None:
        """Begin a new batch, and forget the batches that are no longer needed."""
        self._batches.append([0, 0])
        while len(self._batches) > 2 and sum(attempts for attempts, _ in self._batches[1:]) >= 20:
            del self._batches[0]

    def count(self, *, failed: bool) -> None:
        """Count one attempt."""
        self._batches[-1][0] += 1
        self._batches[-1][1] += failed

    def check(self, why: str) -> None:
        """Raise a `BreakerError` where too many attempts failed, with what the last one said."""
        for recent in (self._batches[-2:], self._batches):
            attempts, failures = (sum(column) for column in zip(*recent, strict=True))
            if failures >= 5 and failures > self._share * attempts:
                raise BreakerError(
                    f"{failures} of the last {attempts} queries failed, the last one so: {why}"
                )
