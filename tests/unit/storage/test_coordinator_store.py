"""The coordinators' store in SQLite: clocks, others that write at the same time, and files that fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcast.protocol.stores import FencedError, UnreachableError
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from semcast.storage.database import StoreError


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "coordinator.sqlite3"


@pytest.fixture
def store(path: Path, clock: Time) -> Iterator[SqliteCoordinatorStore]:
    store = SqliteCoordinatorStore(path, timeout_s=0.01, now=clock)
    yield store
    store.close()


def test_the_lead_and_what_was_decided_outlive_everybody(
    store: SqliteCoordinatorStore, path: Path, clock: Time
) -> None:
    assert store.lead("c0", 3.0) == 1
    store.commit(1, {"plan": b"p", "old": b"o"})
    store.commit(1, {"old": None})
    store.close()
    again = SqliteCoordinatorStore(path, now=clock)
    assert again.read() == {"plan": b"p"}
    assert again.lead("c1", 3.0) is None
    clock.now += 3.0
    assert again.lead("c1", 3.0) == 2
    with pytest.raises(FencedError, match="term 1 is over, 2 is the newest"):
        again.commit(1, {"plan": None})
    assert again.read() == {"plan": b"p"}
    again.close()


def test_a_clock_that_begins_anew_lets_the_lease_end_late_but_end(store: SqliteCoordinatorStore, clock: Time) -> None:
    assert store.lead("c0", 3.0) == 1
    clock.now = 5.0  # the host was restarted
    assert store.lead("c1", 3.0) is None
    clock.now = 7.9
    assert store.lead("c1", 3.0) is None
    clock.now = 8.0
    assert store.lead("c1", 3.0) == 2


def test_whoever_leads_goes_on_with_its_term_when_the_clock_begins_anew(
    store: SqliteCoordinatorStore, clock: Time
) -> None:
    assert store.lead("c0", 3.0) == 1
    clock.now = 5.0
    assert store.lead("c0", 3.0) == 1
    clock.now = 8.0
    assert store.lead("c0", 3.0) == 2


def test_who_asks_in_vain_does_not_write(store: SqliteCoordinatorStore, path: Path) -> None:
    store.lead("c0", 3.0)
    wal = path.with_name(path.name + "-wal")
    before = wal.stat().st_mtime_ns, wal.stat().st_size
    assert store.lead("c1", 3.0) is None
    assert (wal.stat().st_mtime_ns, wal.stat().st_size) == before


def test_whoever_keeps_others_waiting_makes_the_store_unreachable_for_writers(
    store: SqliteCoordinatorStore, path: Path
) -> None:
    store.commit(store.lead("c0", 3.0) or 0, {"a": b"1"})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnreachableError, match=r"does not answer: .*coordinator.sqlite3 is locked by another program"):
        store.lead("c0", 3.0)
    with pytest.raises(UnreachableError):
        store.commit(1, {"a": None})
    assert store.read() == {"a": b"1"}
    other.execute("ROLLBACK")
    other.close()
    assert store.lead("c0", 3.0) == 1


def test_a_full_disk_makes_the_store_unreachable_and_writes_nothing(store: SqliteCoordinatorStore) -> None:
    term = store.lead("c0", 3.0) or 0
    store.commit(term, {"a": b"1"})
    store._connection.execute("PRAGMA max_page_count = 8")
    with pytest.raises(UnreachableError, match="the disk is full"):
        store.commit(term, {"a": None, "b": bytes(1 << 20)})
    assert store.read() == {"a": b"1"}
    store._connection.execute("PRAGMA max_page_count = 1000")
    store.commit(term, {"a": None, "b": b"2"})
    assert store.read() == {"b": b"2"}


def test_a_file_that_is_something_else_is_left_alone(path: Path) -> None:
    path.write_text("my diary\n" * 1000)
    with pytest.raises(StoreError, match=r"coordinator.sqlite3 is no SQLite database, and was not touched"):
        SqliteCoordinatorStore(path)
    assert path.read_text() == "my diary\n" * 1000


def test_a_value_that_has_rotted_is_not_believed(store: SqliteCoordinatorStore, path: Path) -> None:
    store.commit(store.lead("c0", 3.0) or 0, {"plan": b"1"})
    other = sqlite3.connect(path)
    with other:
        other.execute("UPDATE state SET value = x'32'")
    other.close()
    with pytest.raises(StoreError, match="damaged: the checksum of 'plan' is wrong"):
        store.read()
