"""Frozen records: how they are filled, and a constructor that takes half the time."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from bizol.evaluation.query import Batch, make_batch
from bizol.methods import Move
from bizol.methods.protocol import make_move
from bizol.records import assign, quick


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    place: str
    value: float = 2.0
    notes: list[str] = field(default_factory=list)
    remembered: int | None = field(default=None, init=False)


make_reading = quick(Reading)


def test_a_record_that_was_made_quickly_is_the_record() -> None:
    made, usual = make_reading(place="roof"), Reading(place="roof")
    assert type(made) is Reading
    assert made == usual
    assert repr(made) == repr(usual)
    assert made.notes is not make_reading(place="roof").notes
    assert replace(made, value=3.0) == Reading(place="roof", value=3.0)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == usual


def test_it_is_frozen_and_so_is_the_class() -> None:
    for record in (make_reading(place="roof"), Reading(place="roof")):
        with pytest.raises(FrozenInstanceError):
            record.value = 1.0  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            del record.value
        assign(record, value=1.0, remembered=7)
        assert (record.value, record.remembered) == (1.0, 7)


@pytest.mark.parametrize(
    "given", [{}, {"place": "roof", "size": 3}, {"place": "a", "remembered": 1}]
)
def test_it_takes_what_the_class_takes_and_nothing_else(given: dict[str, Any]) -> None:
    for make in (Reading, make_reading):
        with pytest.raises(TypeError):
            make(**given)


def test_the_records_of_the_loop_are_made_so() -> None:
    assert type(make_batch(0, 1, 2)) is Batch  # type: ignore[arg-type]
    given = dict.fromkeys(("at", "anchor", "hypergradient", "vertex", "gap_estimate"), None)
    move = make_move(**given, step=0.1, delta=0.2, queries=3)  # type: ignore[arg-type]
    assert type(move) is Move
    assert move.landed is None
    with pytest.raises(FrozenInstanceError):
        move.step = 1.0  # type: ignore[misc]
