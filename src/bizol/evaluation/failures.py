"""What is done about queries that fail: how often they are asked again, and when a run gives up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bizol.arrays import ArgumentError, is_real
from bizol.evaluation.outcomes import ENGINE, Kind, Query


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a failed query is asked again, by the class of its failure; every attempt counts as
    a query.

    Args:
        engine: for a process that died, a time limit, a worker or an engine that was lost: asked
            again with the same seed, as the follower may be innocent.
        follower: for an exception, a response that is not finite or has the wrong shape: asked
            again with another seed. A `PermissionError` is final.
        wait: seconds before the first time, doubled with every further one, a minute at most.
        breaker: when at least five queries and more than this share of those of the last two
            batches failed, the run ends, to be resumed once the cause is found.

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
                raise ArgumentError(
                    "Retries", name, f"must be a count, 0 or more, got {getattr(self, name)!r}."
                )
        if not is_real(self.wait) or self.wait < 0:
            raise ArgumentError(
                "Retries", "wait", f"must be seconds, 0 or more, got {self.wait!r}."
            )
        if not is_real(self.breaker) or not 0 < self.breaker <= 1:
            raise ArgumentError(
                "Retries", "breaker", f"must be a share in (0, 1], got {self.breaker!r}."
            )

    def again(self, failures: list[Kind]) -> bool:
        """Whether a query that failed in these ways is asked once more."""
        engine = sum(kind in ENGINE for kind in failures)
        return (
            engine <= self.engine
            and len(failures) - engine <= self.follower
            and "refused" not in failures
        )

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after that many failures of a query."""
        return min(60.0, self.wait * 2.0 ** (failures - 1)) if failures else 0.0


class HaltError(Exception):
    """Something that ends a run but is no mistake; it can be resumed."""


@final
class TerminatedError(KeyboardInterrupt):
    """The process was asked to end (SIGTERM)."""


@final
class SpentError(HaltError):
    """The budget does not cover the queries that have to be asked again."""


@final
class BreakerError(HaltError):
    """Too many queries fail."""


@final
class PendingError(HaltError):
    """Answers have to come from outside."""

    def __init__(self, queries: list[Query]) -> None:
        super().__init__(f"Pending: {', '.join(query.id for query in queries)}.")
        self.queries = queries


@final
class Breaker:
    """Counts what failed in the last two batches, and in as many as make twenty attempts."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._batches: list[list[int]] = []  # attempts and failures of each

    def next_batch(self) -> None:
        """Begin a new batch, and forget those that are not needed any more."""
        self._batches.append([0, 0])
        while (
            len(self._batches) > 2
            and sum(attempts for attempts, _ in self._batches) - self._batches[0][0] >= 20
        ):
            del self._batches[0]

    def count(self, *, failed: bool) -> None:
        """Take note of one attempt."""
        self._batches[-1][0] += 1
        self._batches[-1][1] += failed

    def check(self, why: str) -> None:
        """End the run where too many attempts failed."""
        for lately in (self._batches[-2:], self._batches):
            attempts, failures = (sum(column) for column in zip(*lately, strict=True))
            if failures >= 5 and failures > self._share * attempts:
                raise BreakerError(
                    f"{failures} of the last {attempts} queries failed, the last one so: {why}"
                )
