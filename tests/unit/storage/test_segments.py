"""Segments: what large commits leave on disk, and what becomes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from semcast.storage.broker_store import FILE, SEGMENTS, BrokerStore
from semcast.storage.database import StoreError, UnwritableError
from semcast.storage.segments import LEAST_BYTES
from tests.unit.storage.written import flip, log_of, on_disk, records, segment_of, write

BATCHES = [records(1, 3), records(4, 2), records(6, 4), records(10, 1)]


def opened(folder: Path, *, segmented: int = 1, segment_bytes: int = 1 << 20, repair: bool = False) -> BrokerStore:
    """A store whose records are all on disk only, where they are read."""
    return BrokerStore(
        folder, source=True, recent_bytes=1, segmented=segmented, segment_bytes=segment_bytes, repair=repair
    )


def numbers(store: BrokerStore) -> list[int]:
    return [each.number for each in log_of(store).read(0, 1 << 30, 1 << 30)]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / SEGMENTS).iterdir()) if (folder / SEGMENTS).exists() else []


def test_large_commits_go_to_a_segment_and_small_ones_stay_in_the_file(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    log_of(store).append(records(1, 3))
    store.commit()
    assert files(tmp_path) == []
    log_of(store).append(records(4, 300, size=1000))
    store.commit()
    store.close()
    assert (tmp_path / SEGMENTS / "00000001").stat().st_size > LEAST_BYTES
    assert (tmp_path / FILE).stat().st_size < LEAST_BYTES
    store = BrokerStore(tmp_path, source=True)
    assert log_of(store).read(0, 1000, 1000) == records(1, 3) + records(4, 300, size=1000)
    assert store.verify() == 303
    store.close()


def test_a_segment_that_is_full_is_followed_by_another_and_deleted_when_all_in_it_is_trimmed(tmp_path: Path) -> None:
    store = opened(tmp_path, segment_bytes=100)
    log = log_of(store)
    for first in range(1, 61, 10):
        log.append(records(first, 10))
        store.commit()
    assert files(tmp_path) == [f"0000000{number}" for number in range(1, 7)]
    log.trim(25)
    store.commit()
    assert files(tmp_path) == [f"0000000{number}" for number in range(3, 7)]  # the third is needed from 26 on
    assert numbers(store) == list(range(26, 61))
    log.trim(60)
    store.commit()
    assert files(tmp_path) == ["00000006"]  # may be written on
    store.close()


def test_what_no_row_tells_of_is_deleted_and_its_number_is_not_used_again(tmp_path: Path) -> None:
    write(tmp_path, BATCHES, segmented=1)
    (tmp_path / SEGMENTS / "00000007").write_bytes(b"written, but never committed")
    store = opened(tmp_path)
    assert files(tmp_path) == ["00000001"]
    log_of(store).append(records(11, 2))
    store.commit()
    assert files(tmp_path) == ["00000001", "00000008"]
    assert numbers(store) == list(range(1, 13))
    store.close()


def test_nothing_is_deleted_under_somebody_who_verifies(tmp_path: Path) -> None:
    store = opened(tmp_path, segment_bytes=1)
    log = log_of(store)
    for first in (1, 2, 3):
        log.append(records(first, 1))
        store.commit()
    log.trim(2)
    with log.segments.pinned():
        store.commit()
        assert files(tmp_path) == ["00000001", "00000002", "00000003"]
    log.append(records(4, 1))
    log.trim(3)
    store.commit()
    assert files(tmp_path) == ["00000004"]
    store.close()


def write_apart(folder: Path) -> None:
    """Each batch in a segment of its own."""
    store = opened(folder, segment_bytes=1)
    for batch in BATCHES:
        log_of(store).append(batch)
        store.commit()
    store.close()


def spoil(folder: Path, way: str, first: int) -> None:
    """Let the chunk that begins with a record rot, or lose it."""
    ((told,),) = on_disk(folder, "SELECT records FROM chunks WHERE first = ?", first)
    assert isinstance(told, bytes)
    path, place = segment_of(folder, told)
    match way:
        case "rot":
            flip(folder, first)
        case "short":
            os.truncate(path, place.offset + place.size - 1)
        case "gone":
            path.unlink()
        case "place":
            on_disk(folder, "UPDATE chunks SET records = ? WHERE first = ?", told[:-1], first)
        case "huge":
            on_disk(folder, "UPDATE chunks SET records = ? WHERE first = ?", told[:-1] + b"\xff", first)


@pytest.mark.parametrize("way", ["rot", "short", "gone", "place", "huge"])
def test_a_broken_end_is_given_up(tmp_path: Path, way: str) -> None:
    write_apart(tmp_path)
    spoil(tmp_path, way, 10)
    store = opened(tmp_path)
    assert "records 10 to 10 are lost" in store.warnings[0]
    assert numbers(store) == list(range(1, 10))
    assert store.verify() == 9
    store.close()


@pytest.mark.parametrize("way", ["rot", "gone", "place"])
def test_a_broken_middle_is_an_error_until_it_is_given_up_and_nothing_is_deleted_before(
    tmp_path: Path, way: str
) -> None:
    write_apart(tmp_path)
    spoil(tmp_path, way, 4)
    before = files(tmp_path)
    with pytest.raises(StoreError, match=r"is damaged: records 4 to 5 \(.*\) cannot be read.*repair"):
        opened(tmp_path)
    assert files(tmp_path) == before
    store = opened(tmp_path, repair=True)
    assert numbers(store) == [1, 2, 3, 6, 7, 8, 9, 10]
    assert store.verify() == 8
    store.close()


def test_a_file_that_could_not_be_synced_is_not_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    log = log_of(store)
    log.append(records(1, 3))
    store.commit()
    kept = (tmp_path / SEGMENTS / "00000001").stat().st_size

    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    log.append(records(4, 2))
    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fails)
        for _ in range(2):
            with pytest.raises(UnwritableError, match=f"{SEGMENTS} cannot be written: Input/output error"):
                store.commit()
    assert log.durable == 3
    assert (tmp_path / SEGMENTS / "00000001").stat().st_size == kept
    assert files(tmp_path) == ["00000001"]
    assert store.commit() == 5
    assert files(tmp_path) == ["00000001", "00000003"]
    assert numbers(store) == [1, 2, 3, 4, 5]
    store.close()


def test_what_sqlite_could_not_commit_leaves_its_room(tmp_path: Path) -> None:
    store = opened(tmp_path)
    log = log_of(store)
    log.append(records(1, 3))
    store.commit()
    kept = (tmp_path / SEGMENTS / "00000001").stat().st_size
    on_disk(tmp_path, "CREATE TRIGGER no BEFORE INSERT ON chunks BEGIN SELECT RAISE(ABORT, 'no'); END")
    log.append(records(4, 2))
    with pytest.raises(StoreError, match="no"):
        store.commit()
    assert (tmp_path / SEGMENTS / "00000001").stat().st_size == kept
    on_disk(tmp_path, "DROP TRIGGER no")
    assert store.commit() == 5
    assert numbers(store) == [1, 2, 3, 4, 5]
    store.close()


def test_a_write_that_takes_only_a_part_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.writev
    monkeypatch.setattr(os, "writev", lambda file, pieces: whole(file, [pieces[0][:100]]))
    store = opened(tmp_path)
    log_of(store).append(records(1, 700, size=50))
    store.commit()
    monkeypatch.undo()
    assert log_of(store).read(0, 700, 700) == records(1, 700, size=50)
    assert store.verify() == 700
    store.close()


def test_a_store_of_the_first_version_is_read_and_then_of_this_one(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    on_disk(tmp_path, "PRAGMA user_version = 1")
    store = opened(tmp_path)
    assert numbers(store) == list(range(1, 11))
    store.close()
    assert on_disk(tmp_path, "PRAGMA user_version") == [(2,)]
