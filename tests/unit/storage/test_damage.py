"""Logs that have rotted, or lost what had been on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcast.protocol.stores import Record
from semcast.storage.broker_store import FILE, BrokerStore, repair_store
from semcast.storage.chunks import CHUNK_BYTES
from semcast.storage.database import StoreError
from tests.unit.storage.written import flip, log_of, on_disk, records, write

BATCHES = [records(1, 3), records(4, 2), records(6, 4), records(10, 1)]


def numbers(store: BrokerStore) -> list[int]:
    return [each.number for each in log_of(store).read(0, 1 << 30, 1 << 30)]


def test_a_broken_end_is_given_up_and_its_numbers_are_not_used_again(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    for first in (6, 10):
        flip(tmp_path, first)
    store = BrokerStore(tmp_path, source=True)
    (warning,) = store.warnings
    assert str(tmp_path / FILE) in warning
    assert "records 6 to 10 are lost (their checksum is wrong)" in warning
    assert numbers(store) == [1, 2, 3, 4, 5]
    log = log_of(store)
    assert (log.end, log.holes) == (10, ((6, 10),))
    log.append(records(11, 2))
    store.commit()
    assert store.verify() == 7
    store.close()
    store = BrokerStore(tmp_path, source=True)
    assert store.warnings == ()
    assert numbers(store) == [1, 2, 3, 4, 5, 11, 12]
    log = log_of(store)
    assert [each.number for each in log.read(7, 12, 1)] == [11]
    log.trim(11)
    store.commit()
    assert numbers(store) == [12]
    assert on_disk(tmp_path, "SELECT count(*) FROM holes") == [(0,)]
    store.close()


def test_a_log_that_is_broken_altogether_goes_on_behind_it(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    for first in (1, 4, 6, 10):
        flip(tmp_path, first)
    store = BrokerStore(tmp_path, source=True)
    assert (log_of(store).end, log_of(store).holes, numbers(store)) == (10, ((1, 10),), [])
    log_of(store).append(records(11, 1))
    store.commit()
    assert numbers(store) == [11]
    store.close()


def test_an_end_that_breaks_behind_an_earlier_hole_is_given_up_too(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    flip(tmp_path, 10)
    BrokerStore(tmp_path, source=True).close()
    flip(tmp_path, 6)
    store = BrokerStore(tmp_path, source=True)
    assert (log_of(store).end, log_of(store).holes, numbers(store)) == (10, ((6, 10),), [1, 2, 3, 4, 5])
    store.close()


def test_a_broken_end_behind_which_something_is_gone_is_given_up_with_it(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    flip(tmp_path, 6)
    on_disk(tmp_path, "DELETE FROM chunks WHERE first = 10")
    store = BrokerStore(tmp_path, source=True)
    assert (log_of(store).end, log_of(store).holes, numbers(store)) == (10, ((6, 10),), [1, 2, 3, 4, 5])
    store.close()


@pytest.mark.parametrize("spoil", ["flip", "delete"])
def test_what_is_broken_in_the_middle_is_an_error_until_it_is_given_up(tmp_path: Path, spoil: str) -> None:
    write(tmp_path, BATCHES)
    if spoil == "flip":
        flip(tmp_path, 4)
    else:
        on_disk(tmp_path, "DELETE FROM chunks WHERE first = 4")
    with pytest.raises(StoreError, match=r"broker.sqlite3 is damaged: records 4 to 5 \(.*\) cannot be read.*repair"):
        BrokerStore(tmp_path, source=True)
    store = BrokerStore(tmp_path, source=True, repair=True)
    assert "records 4 to 5 are lost" in store.warnings[0]
    assert numbers(store) == [1, 2, 3, 6, 7, 8, 9, 10]
    assert store.verify() == 8
    store.close()
    store = BrokerStore(tmp_path, source=True)
    assert (numbers(store), store.warnings) == ([1, 2, 3, 6, 7, 8, 9, 10], ())
    store.close()


def test_repair_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    assert repair_store(tmp_path / "nothing") == ()
    assert not (tmp_path / "nothing").exists()


def long_log(folder: Path) -> None:
    """More chunks than opening looks at, of one record each."""
    write(folder, [records(1, 100, size=CHUNK_BYTES)])


def test_what_opening_does_not_look_at_is_an_error_when_it_is_read_or_verified(tmp_path: Path) -> None:
    long_log(tmp_path)
    flip(tmp_path, 7)
    on_disk(tmp_path, "DELETE FROM chunks WHERE first = 9")
    store = BrokerStore(tmp_path, source=True)
    log = log_of(store)
    assert [each.number for each in log.read(0, 6, 99)] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(StoreError, match=r"records 7 to 7 .their checksum is wrong. cannot be read"):
        log.read(0, 8, 99)
    with pytest.raises(StoreError, match=r"records 9 to 9 .they are missing. cannot be read"):
        log.read(7, 20, 99)
    with pytest.raises(StoreError, match=r"records 9 to 9 .they are missing. cannot be read"):
        log.read(7, 9, 99)
    with pytest.raises(StoreError, match=r"records 7 to 7 .*, 9 to 9 .* cannot be read"):
        store.verify()
    log.trim(9)
    store.commit()
    assert store.verify() == 91
    store.close()


def test_broken_records_that_were_trimmed_do_not_matter(tmp_path: Path) -> None:
    long_log(tmp_path)
    store = BrokerStore(tmp_path, source=True)
    log_of(store).trim(99)
    store.commit()
    assert store.unswept
    store.close()
    for first in (70, 80, 90):
        flip(tmp_path, first)
    store = BrokerStore(tmp_path, source=True)
    assert (numbers(store), store.warnings, store.verify()) == ([100], (), 1)
    store.close()


def test_a_page_that_sqlite_cannot_follow_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, [records(first, 50, size=300) for first in range(1, 2001, 50)])
    file = tmp_path / FILE
    (page,) = {row[0] for row in on_disk(tmp_path, "SELECT rootpage FROM sqlite_master WHERE name = 'chunks'")}
    assert isinstance(page, int)
    data = bytearray(file.read_bytes())
    data[(page - 1) * 8192 : (page - 1) * 8192 + 100] = b"\xff" * 100
    file.write_bytes(data)
    with pytest.raises(StoreError, match=r"broker.sqlite3 is damaged: database disk image is malformed .*Damage"):
        BrokerStore(tmp_path, source=True)


@pytest.mark.parametrize("lost", ["missing", "truncated", "rotten"])
def test_what_was_lost_with_the_write_ahead_log_is_noticed(tmp_path: Path, lost: str) -> None:
    """SQLite takes a damaged or missing write-ahead log for the end of what was written, and says nothing."""
    store = BrokerStore(tmp_path / "a", source=True)
    written: list[Record] = []
    for batch in BATCHES:
        log_of(store).append(batch)
        store.commit()
        written += batch
    (tmp_path / "b").mkdir()
    for name in (FILE, f"{FILE}-wal", "lock"):
        (tmp_path / "b" / name).write_bytes((tmp_path / "a" / name).read_bytes())
    store.close()
    spoil(tmp_path / "b" / f"{FILE}-wal", lost)
    store = BrokerStore(tmp_path / "b", source=True)
    left = numbers(store)
    assert left == [each.number for each in written][: len(left)]
    assert len(left) < 10
    log = log_of(store)
    assert (log.end, log.holes) == (10, ((len(left) + 1, 10),))
    (warning,) = store.warnings
    assert f"records {len(left) + 1} to 10 are lost (what was written last is gone)" in warning
    log.append(records(11, 1))
    store.commit()
    assert numbers(store) == [*left, 11]
    store.close()


def spoil(wal: Path, how: str) -> None:
    data = bytearray(wal.read_bytes())
    if how == "missing":
        wal.unlink()
    elif how == "truncated":
        wal.write_bytes(data[: len(data) * 3 // 4])
    else:
        data[len(data) * 3 // 4] ^= 1
        wal.write_bytes(data)
