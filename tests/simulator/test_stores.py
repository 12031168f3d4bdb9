"""Stores in memory: what the ones on disk have to do as well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.protocol.stores import FencedError, Record, UnreachableError
from semcast.sim.stores import MemoryCoordinatorStore, MemoryLog, MemoryNotes, StoreLine


def record(number: int, origin: str = "o", sequence: int | None = None) -> Record:
    return Record(number, origin, number - 1 if sequence is None else sequence, 1, (), b"body %d" % number)


def filled(count: int) -> MemoryLog:
    log = MemoryLog()
    log.append(record(number) for number in range(1, count + 1))
    return log


def numbers(records: list[Record]) -> list[int]:
    return [found.number for found in records]


def test_a_read_begins_behind_first_and_ends_with_through_or_the_limit() -> None:
    log = filled(10)
    assert numbers(log.read(2, 5, 100)) == [3, 4, 5]
    assert numbers(log.read(2, 50, 3)) == [3, 4, 5]
    assert numbers(log.read(0, 10, 0)) == []
    assert numbers(log.read(5, 2, 10)) == []
    assert numbers(log.read(9, 99, 10)) == [10]


def test_numbers_go_on_from_the_end() -> None:
    log = filled(3)
    with pytest.raises(ValueError, match="record 5 cannot follow 3"):
        log.append([record(5)])
    log.append([record(4)])
    assert log.end == 4


def test_trimmed_records_are_not_read_and_the_end_stays() -> None:
    log = filled(6)
    log.sync(6)
    log.trim(4)
    log.trim(2)
    assert (log.trimmed, log.end) == (4, 6)
    assert numbers(log.read(0, 6, 100)) == [5, 6]
    assert numbers(log.read(0, 6, 1)) == [5]


def test_only_what_is_synced_can_be_trimmed() -> None:
    log = filled(3)
    log.sync(2)
    with pytest.raises(ValueError, match="3 is not synced yet"):
        log.trim(3)


def test_trimming_does_not_forget_an_origins_high_water() -> None:
    log = MemoryLog()
    log.append([record(1, "a", 7), record(2, "b", 0), record(3, "a", 8)])
    log.sync(3)
    log.trim(3)
    assert log.high_water("a") == (8, 3)
    assert log.high_water("b") == (0, 2)
    assert log.high_water("c") == (-1, 0)


def test_a_crash_keeps_what_was_synced_and_a_first_part_of_the_rest() -> None:
    ends = set()
    for seed in range(60):
        log = filled(8)
        log.sync(5)
        lost = log.crash(np.random.default_rng(seed))
        assert log.end == 8 - lost
        assert numbers(log.read(0, 99, 99)) == list(range(1, log.end + 1))
        assert log.high_water("o") == (log.end - 1, log.end)
        ends.add(log.end)
    assert ends == {5, 6, 7, 8}


@given(st.lists(st.tuples(st.sampled_from("asctr"), st.integers(0, 12)), max_size=40), st.integers(0, 5))
def test_a_log_is_a_list_that_loses_only_its_unsynced_tail(steps: list[tuple[str, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    log = MemoryLog()
    model: list[Record] = []
    synced = trimmed = 0
    for step, value in steps:
        if step == "a":
            added = [record(len(model) + at + 1, f"o{value % 3}", len(model) + at) for at in range(value % 4)]
            log.append(added)
            model += added
        elif step == "s":
            log.sync(value)
            synced = max(synced, min(value, len(model)))
        elif step == "t" and value <= synced:
            log.trim(value)
            trimmed = max(trimmed, value)
        elif step == "c":
            log.crash(rng)
            assert synced <= log.end <= len(model)
            model = model[: log.end]
            synced = log.end
        first, limit = value, 3
        assert log.read(first, len(model), limit) == model[max(first, trimmed) :][:limit]
    assert (log.end, log.trimmed, log.synced) == (len(model), trimmed, synced)
    for origin in ("o0", "o1", "o2"):
        last = [(found.sequence, found.number) for found in model if found.origin == origin]
        assert log.high_water(origin) == (last[-1] if last else (-1, 0))


def test_notes_are_found_by_prefix_in_order_of_their_names() -> None:
    notes = MemoryNotes()
    for name in ("b/2", "a", "b/10", "c"):
        notes.put(name, name.encode())
    notes.put("c", None)
    notes.put("never", None)
    assert notes.items("b/") == [("b/10", b"b/10"), ("b/2", b"b/2")]
    assert notes.get("a") == b"a"
    assert notes.get("c") is None


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_lead_is_kept_by_asking_and_taken_over_only_when_it_has_run_out() -> None:
    time = Time()
    store = MemoryCoordinatorStore(time)
    assert store.lead("c0", 3.0) == 1
    time.now = 2.9
    assert store.lead("c1", 3.0) is None
    assert store.lead("c0", 3.0) == 1
    time.now = 5.8
    assert store.lead("c1", 3.0) is None
    assert store.leader == "c0"
    time.now = 5.9
    assert store.leader is None
    assert store.lead("c1", 3.0) == 2
    assert store.lead("c0", 3.0) is None


def test_who_let_the_lead_run_out_gets_a_new_term() -> None:
    time = Time()
    store = MemoryCoordinatorStore(time)
    assert store.lead("c0", 1.0) == 1
    time.now = 1.0
    assert store.lead("c0", 1.0) == 2


def test_a_commit_of_an_older_term_changes_nothing() -> None:
    time = Time()
    store = MemoryCoordinatorStore(time)
    store.commit(store.lead("c0", 1.0) or 0, {"a": b"1", "b": b"2"})
    time.now = 1.5
    store.lead("c1", 1.0)
    with pytest.raises(FencedError, match="term 1 is over, 2 is the newest"):
        store.commit(1, {"a": None, "c": b"3"})
    assert store.read() == {"a": b"1", "b": b"2"}
    store.commit(2, {"a": None, "c": b"3"})
    assert store.read() == {"b": b"2", "c": b"3"}


def test_what_is_read_is_a_copy() -> None:
    store = MemoryCoordinatorStore(Time())
    store.commit(store.lead("c0", 1.0) or 0, {"a": b"1"})
    store.read().clear()
    assert store.read() == {"a": b"1"}


def test_a_coordinator_that_is_cut_off_reaches_nothing_and_others_do() -> None:
    store = MemoryCoordinatorStore(Time())
    cut, other = StoreLine(store), StoreLine(store)
    cut.cuts += 1
    for call in (cut.read, lambda: cut.lead("c0", 1.0), lambda: cut.commit(0, {})):
        with pytest.raises(UnreachableError):
            call()
    assert other.lead("c1", 1.0) == 1
    cut.cuts -= 1
    assert cut.lead("c0", 1.0) is None
