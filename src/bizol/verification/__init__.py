"""The numbered statements of the paper, each checked by a function that returns a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bizol.verification import algorithm, geometry, stationarity
from bizol.verification.finding import Finding

STATEMENTS: dict[str, Callable[[], Finding]] = {
    "Remark 1": geometry.remark_1,
    "Proposition 1": geometry.proposition_1,
    "Remark 2": geometry.remark_2,
    "Proposition 2": geometry.proposition_2,
    "Definition 1": geometry.definition_1,
    "Proposition 3": geometry.proposition_3,
    "Definition 2": geometry.definition_2,
    "Proposition 4": geometry.proposition_4,
    "Corollary 1": geometry.corollary_1,
    "Definition 3": stationarity.definition_3,
    "Definition 4": stationarity.definition_4,
    "Definition 5": stationarity.definition_5,
    "Proposition 5": stationarity.proposition_5,
    "Proposition 6": stationarity.proposition_6,
    "Lemma 1": algorithm.lemma_1,
    "Lemma 2": algorithm.lemma_2,
    "Lemma 3": algorithm.lemma_3,
    "Theorem 1": algorithm.theorem_1,
    "Remark 3": algorithm.remark_3,
    "Corollary 2": algorithm.corollary_2,
    "Remark 4": algorithm.remark_4,
    "Lemma 4": algorithm.lemma_4,
}


def verify(names: Sequence[str] = ()) -> Iterator[Finding]:
    """Check the named statements, all of them by default, in the order of the paper."""
    unknown = [name for name in names if name not in STATEMENTS]
    if unknown:
        known = ", ".join(STATEMENTS)
        raise ValueError(f"Unknown statement {unknown[0]!r}; the paper has {known}.")
    for name, statement in STATEMENTS.items():
        if not names or name in names:
            yield statement()


__all__ = ["STATEMENTS", "Finding", "verify"]
