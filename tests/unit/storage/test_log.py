"""The log on disk, seen by the machine that appends and reads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semcast.storage.broker_store import BrokerStore
from semcast.storage.chunks import CHUNK_BYTES
from semcast.storage.origins import KEY
from tests.unit.storage.written import log_of, on_disk, record, records, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BrokerStore]:
    """A store that keeps hardly anything in memory."""
    store = BrokerStore(tmp_path, source=True, recent_bytes=1, origins=2)
    yield store
    store.close()


def test_what_is_appended_is_read_at_once_and_durable_after_a_commit(store: BrokerStore, tmp_path: Path) -> None:
    log = log_of(store)
    assert (log.end, log.trimmed, log.durable) == (0, 0, 0)
    log.append(iter(records(1, 3)))
    assert log.read(0, 99, 99) == records(1, 3)
    assert (log.end, log.durable, log.dirty, store.dirty) == (3, 0, True, True)
    assert store.commit() == 3
    assert (log.durable, log.dirty, store.dirty) == (3, False, False)
    log.append(records(4, 1))
    store.close()
    again = BrokerStore(tmp_path, source=True)
    assert log_of(again).end == 3
    assert log_of(again).read(0, 99, 99) == records(1, 3)
    again.close()


def test_a_number_out_of_turn_is_refused_and_nothing_of_its_batch_is_taken(store: BrokerStore) -> None:
    log = log_of(store)
    log.append(records(1, 2))
    with pytest.raises(ValueError, match="record 5 cannot follow 3"):
        log.append([record(3), record(5)])
    assert log.end == 2
    assert log.read(0, 9, 9) == records(1, 2)
    assert log.high_water("o") == (2, 2)


@pytest.mark.parametrize("recent_bytes", [1, 1 << 20])
def test_every_range_can_be_read_whether_in_memory_or_on_disk(tmp_path: Path, recent_bytes: int) -> None:
    store = BrokerStore(tmp_path, source=True, recent_bytes=recent_bytes)
    log = log_of(store)
    for first, count in ((1, 4), (5, 1), (6, 7), (13, 2)):
        log.append(records(first, count))
        if first < 13:
            store.commit()
    log.append(records(15, 1))
    log.trim(2)
    everything = records(1, 15)
    for first in range(-1, 17):
        for through in range(-1, 18):
            for limit in (-1, 0, 1, 3, 99):
                expected = [each for each in everything if max(first, 2) < each.number <= through][: max(limit, 0)]
                assert log.read(first, through, limit) == expected
    store.close()


def test_the_end_is_read_from_memory_and_older_chunks_are_read_once(tmp_path: Path) -> None:
    write(tmp_path, [records(1, 10)])
    store = BrokerStore(tmp_path, source=True)
    log = log_of(store)
    log.append(records(11, 5))
    store.commit()
    assert log.read(0, 3, 9) == records(1, 3)
    on_disk(tmp_path, "DELETE FROM chunks WHERE first = 11")
    on_disk(tmp_path, "UPDATE chunks SET records = x'00' WHERE first = 1")
    assert log.read(3, 99, 99) == records(4, 12)
    store.close()


def test_trimming_hides_at_once_and_deletes_with_the_next_commits(store: BrokerStore, tmp_path: Path) -> None:
    log = log_of(store)
    log.append(records(1, 400, size=CHUNK_BYTES // 2))
    store.commit()
    log.trim(399)
    log.trim(5)
    assert log.trimmed == 399
    assert [each.number for each in log.read(0, 999, 9)] == [400]
    assert on_disk(tmp_path, "SELECT count(*) FROM chunks") == [(200,)]
    left = []
    while store.unswept:
        store.commit()
        left.append(on_disk(tmp_path, "SELECT count(*), min(first) FROM chunks")[0])
    assert left == [(136, 129), (72, 257), (8, 385), (1, 399)]
    assert [each.number for each in log.read(0, 999, 9)] == [400]


def test_what_is_trimmed_stays_trimmed_and_deleting_goes_on_after_a_restart(tmp_path: Path) -> None:
    write(tmp_path, [records(1, 400, size=CHUNK_BYTES // 2)])
    store = BrokerStore(tmp_path, source=True)
    log_of(store).trim(400)
    store.commit()
    store.close()
    store = BrokerStore(tmp_path, source=True)
    log = log_of(store)
    assert (log.end, log.trimmed) == (400, 400)
    assert store.unswept
    while store.unswept:
        store.commit()
    assert on_disk(tmp_path, "SELECT count(*) FROM chunks") == [(0,)]
    store.close()
    store = BrokerStore(tmp_path, source=True)
    assert (log_of(store).end, log_of(store).trimmed, store.unswept, store.warnings) == (400, 400, False, ())
    log_of(store).append(records(401, 1))
    assert store.commit() == 401
    store.close()


def test_what_is_not_durable_cannot_be_trimmed(store: BrokerStore) -> None:
    log = log_of(store)
    log.append(records(1, 2))
    with pytest.raises(ValueError, match="2 is not durable yet, 0 is"):
        log.trim(2)
    store.commit()
    log.trim(2)


def test_an_origins_mark_outlives_trimming_restarts_and_a_small_memory(store: BrokerStore, tmp_path: Path) -> None:
    log = log_of(store)
    marks = {}
    for number in range(1, 41):
        origin = f"o{number % 7}"
        log.append([record(number, origin, 100 + number)])
        marks[origin] = (100 + number, number)
        assert {name: log.high_water(name) for name in marks} == marks
        if number % 5 == 0:
            store.commit()
    assert log.high_water("nobody") == (-1, 0)
    log.trim(40)
    while store.unswept:
        store.commit()
    store.close()
    again = BrokerStore(tmp_path, source=True)
    assert {name: log_of(again).high_water(name) for name in marks} == marks
    again.close()


def test_appending_and_reading_go_on_while_another_thread_commits(store: BrokerStore) -> None:
    log = log_of(store)
    with ThreadPoolExecutor(1) as worker:
        commit = worker.submit(store.commit)
        for first in range(1, 6001, 3):
            log.append(records(first, 3, f"o{first % 5}"))
            assert log.read(first - 20, first + 2, 99)[-1] == record(first + 2, f"o{first % 5}")
            back = max(0, first * 7 % first)
            assert [each.number for each in log.read(back, first, 4)] == list(range(back + 1, min(back + 5, first + 1)))
            assert log.high_water(f"o{first % 5}") == (first + 2, first + 2)
            if commit.done():
                durable = commit.result()
                assert log.durable == durable <= log.end
                commit = worker.submit(store.commit)
        commit.result()
        assert worker.submit(store.commit).result() == 6000
    assert [each.number for each in log.read(0, 6000, 9999)] == list(range(1, 6001))
    assert store.verify() == 6000


def test_what_a_failed_commit_had_taken_comes_before_what_was_appended_meanwhile(
    store: BrokerStore, tmp_path: Path
) -> None:
    log = log_of(store)
    log.append(records(1, 2))
    taken = log.take()
    log.append(records(3, 2))
    log.failed(taken)
    assert store.commit() == 4
    store.close()
    again = BrokerStore(tmp_path, source=True)
    assert log_of(again).read(0, 9, 9) == records(1, 4)
    again.close()


def test_long_bodies_and_many_gateways_come_back(store: BrokerStore, tmp_path: Path) -> None:
    log = log_of(store)
    held = [record(1, size=200_000), record(2, mask=1 << 4000), record(3, size=0, mask=(1 << 64) - 1)]
    log.append(held)
    store.commit()
    store.close()
    again = BrokerStore(tmp_path, source=True)
    assert log_of(again).read(0, 9, 9) == held
    again.close()


def test_a_key_is_forgotten_after_so_many_messages_and_no_other_origin_is(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True, origins=1, keys=8)
    log = log_of(store)
    log.append([record(1, f"{KEY}a", 0), record(2, "http-session:a", 0), record(3, "http-kez", 0)])
    store.commit()
    for number in range(4, 9):
        log.append([record(number, f"{KEY}{number}", 0)])
        store.commit()
    assert log.high_water(f"{KEY}a") == (0, 1)  # the eighth message is there, and none is eight messages old yet
    log.append([record(9, f"{KEY}9", 0)])
    store.commit()
    assert log.high_water(f"{KEY}9") == (0, 9)
    assert [log.high_water(name)[0] for name in (f"{KEY}a", f"{KEY}4", "http-session:a", "http-kez")] == [-1, 0, 0, 0]
    store.close()


def test_keys_stay_few_however_many_are_published_in_one_commit(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True, origins=1, keys=16)
    log = log_of(store)
    for first in range(1, 200, 3):
        log.append([record(number, f"{KEY}{number}", 0) for number in range(first, first + 3)])
        store.commit()
        assert on_disk(tmp_path, "SELECT count(*) FROM origins")[0][0] <= 16 + 16 // 8 + 3
    store.close()
