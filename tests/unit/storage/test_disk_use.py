"""What stores take on disk does not grow with how many small commits there were."""

from __future__ import annotations

from pathlib import Path

from semcast.storage.broker_store import BrokerStore
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from tests.unit.storage.written import log_of, records

MOST_BYTES = 6 << 20
"""Of one store: the write-ahead log has 4 MB, and what is kept here takes well under one."""


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_source_that_commits_messages_one_by_one_takes_a_few_megabytes(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    most = 0
    for number in range(1, 3_431):
        log_of(store).append(records(number, 1, size=100))
        store.commit()
        if number % 100 == 0:
            log_of(store).trim(number - 50)
            most = max(most, size_of(tmp_path))
    store.close()
    assert most < MOST_BYTES


def test_a_huge_commit_gives_the_room_back(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    store.notes.put("huge", bytes(20 << 20))
    store.commit()
    store.notes.put("huge", None)
    for number in range(1, 1_001):
        log_of(store).append(records(number, 1, size=100))
        store.commit()
    assert (tmp_path / "broker.sqlite3-wal").stat().st_size < MOST_BYTES
    store.close()


def test_a_coordinator_that_renews_its_lead_takes_a_few_megabytes(tmp_path: Path) -> None:
    now = 0.0
    store = SqliteCoordinatorStore(tmp_path / "coordinator.db", now=lambda: now)
    for _ in range(2_000):
        now += 1.0
        assert store.lead("c0", 3.0) is not None
    assert size_of(tmp_path) < MOST_BYTES
    store.close()
