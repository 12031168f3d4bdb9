"""What tests of stores write, and how they look at what is on disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from semcast.protocol.stores import Record
from semcast.storage.broker_store import FILE, SEGMENTS, BrokerStore
from semcast.storage.database import StoreError
from semcast.storage.log import SqliteLog
from semcast.storage.segments import FAR, LEAST_BYTES, Place, place_of


def record(number: int, origin: str = "o", sequence: int | None = None, size: int = 8, mask: int = 5) -> Record:
    """A record whose body tells its number."""
    body = b"%d;" % number
    sequence = number if sequence is None else sequence
    return Record(number, origin, sequence, 1, ((("c", 1), mask),), body.ljust(size, b"."))


def records(first: int, count: int, origin: str = "o", size: int = 8) -> list[Record]:
    return [record(first + place, origin, size=size) for place in range(count)]


def log_of(store: BrokerStore) -> SqliteLog:
    assert store.log is not None
    return store.log


def write(folder: Path, batches: list[list[Record]], segmented: int = LEAST_BYTES) -> None:
    """A store with one commit, and so one chunk, per small batch."""
    store = BrokerStore(folder, source=True, segmented=segmented)
    for batch in batches:
        log_of(store).append(batch)
        store.commit()
    store.close()


def on_disk(folder: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Look at a store's file, or spoil it, past the store."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        return connection.execute(sql, values).fetchall()


def flip(folder: Path, first: int) -> None:
    """Let a bit of a chunk's records rot, wherever they are."""
    ((form, data),) = on_disk(folder, "SELECT form, records FROM chunks WHERE first = ?", first)
    assert isinstance(form, int)
    assert isinstance(data, bytes)
    if form & FAR:
        path, place = segment_of(folder, data)
        path.write_bytes(_rotten(path.read_bytes(), place.offset + place.size // 2))
    else:
        on_disk(folder, "UPDATE chunks SET records = ? WHERE first = ?", _rotten(data, len(data) // 2), first)


def segment_of(folder: Path, told: bytes) -> tuple[Path, Place]:
    """The file that a row tells of, and the place in it."""
    place = place_of(told)
    assert place is not None
    return folder / SEGMENTS / f"{place.segment:08d}", place


def _rotten(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def fill(store: BrokerStore, batch: int = 50) -> int:
    """Append and commit until there is no more room; the last position that was committed."""
    log = log_of(store)
    for first in range(1, 100_000, batch):
        log.append(records(first, batch, size=2000))
        store.notes.put("position", b"%d" % log.end)
        try:
            store.commit()
        except StoreError:
            return first - 1
    raise AssertionError("the disk has no end")


def check_after_full(store: BrokerStore, folder: Path, committed: int) -> None:
    log = log_of(store)
    assert log.durable == committed
    assert store.dirty
    assert [each.number for each in log.read(0, 1 << 30, 1 << 30)] == list(range(1, log.end + 1))
    with pytest.raises(StoreError, match=rf"({FILE}|{SEGMENTS}): the disk is full; nothing of this was written"):
        store.commit()
    assert on_disk(folder, "SELECT max(last) FROM chunks") == [(committed,)]
    assert on_disk(folder, "SELECT CAST(value AS TEXT) FROM notes") == [(str(committed),)]
