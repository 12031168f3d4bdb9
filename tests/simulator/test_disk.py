"""The simulated disk: what a crash keeps, and what its faults do to the real log."""

from __future__ import annotations

import numpy as np
import pytest

from semcast.protocol.stores import Record
from semcast.sim.clock import Chance
from semcast.sim.disk import SimulatedFiles, SimulatedStore
from semcast.storage.database import StoreError, UnwritableError


def records(first: int, last: int) -> list[Record]:
    return [Record(number, "p", number - 1, 1, (), b"body %d" % number) for number in range(first, last + 1)]


def store(segmented: int = 1) -> SimulatedStore:
    made = SimulatedStore(source=True, segmented=segmented, rng=np.random.default_rng(7))
    made.open()
    return made


def lived_on(made: SimulatedStore) -> SimulatedStore:
    made.crash()
    made.open()
    return made


def numbers(made: SimulatedStore) -> list[int]:
    assert made.known is not None
    return [record.number for record in made.known.read(0, made.known.end, 1000)]


@pytest.mark.parametrize("segmented", [1, 1 << 18])
def test_what_was_committed_survives_a_crash_and_nothing_else(segmented: int) -> None:
    made = store(segmented)
    assert made.known is not None
    made.notes.put("kept", b"1")
    made.known.append(records(1, 3))
    assert made.commit() == 3
    made.notes.put("lost", b"2")
    made.known.append(records(4, 5))
    lived_on(made)
    assert numbers(made) == [1, 2, 3]
    assert [record.number for record in made.known.history] == [1, 2, 3]
    assert (made.notes.get("kept"), made.notes.get("lost")) == (b"1", None)


def test_a_commit_that_a_crash_interrupts_counts_for_nothing_and_leaves_nothing_in_the_way() -> None:
    left_behind = 0
    for seed in range(20):
        made = SimulatedStore(source=True, segmented=1, rng=np.random.default_rng(seed))
        made.open()
        assert made.known is not None
        made.known.append(records(1, 2))
        made.commit()
        before = made.files.size(1)
        made.known.append(records(3, 4))
        made.crash(within=True)
        left_behind += made.files.size(1) > before
        made.open()
        assert numbers(made) == [1, 2]
        made.known.append(records(3, 3))
        made.commit()
        assert numbers(lived_on(made)) == [1, 2, 3]
    assert 0 < left_behind <= 20


@pytest.mark.parametrize("how", ["full", "failing"])
@pytest.mark.parametrize("segmented", [1, 1 << 18])
def test_what_could_not_be_written_is_written_later(how: str, segmented: int) -> None:
    made = store(segmented)
    assert made.known is not None
    made.known.append(records(1, 2))
    made.change(how, 1, 0.0)  # type: ignore[arg-type]
    with pytest.raises(UnwritableError):
        made.commit()
    made.known.append(records(3, 3))
    made.change(how, -1, 0.0)  # type: ignore[arg-type]
    assert made.commit() == 3
    assert numbers(lived_on(made)) == [1, 2, 3]


def test_a_crash_tears_what_was_not_synced_and_may_flip_a_bit_of_it() -> None:
    outcomes = set()
    for seed in range(60):
        files = SimulatedFiles(Chance(np.random.default_rng(seed)))
        files.create(1)
        while files.size(1) < 4:
            files.append([b"sure"[files.size(1) :]])  # a write may take a part only
        files.sync()
        while files.size(1) < 8:
            files.append([b"surelost"[files.size(1) :]])
        files.crash()
        content = files.read(1, 0, 100)
        assert content[:4] == b"sure"
        outcomes.add(("torn" if len(content) < 8 else "whole", content[4:] == b"lost"[: len(content) - 4]))
    assert outcomes == {("torn", True), ("torn", False), ("whole", True), ("whole", False)}


def test_a_segment_that_was_never_synced_is_found_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedFiles, "sync", lambda self: None)
    made = store()
    assert made.known is not None
    made.known.append(records(1, 1))
    made.commit()
    monkeypatch.undo()
    made.known.append(records(2, 3))
    made.commit()
    made.files._synced[1] = made.files._written[1] = b"rotten" + made.files._written[1][6:]
    made.crash()
    with pytest.raises(StoreError, match="records 1 to 1"):
        made.open()
    made.open(repair=True)
    assert numbers(made) == [2, 3]
    assert made.known.history[0].origin == ""
