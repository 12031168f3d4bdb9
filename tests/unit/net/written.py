"""What tests of stores write, and how they look at what is on disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from semcast.net.broker_store import FILE, BrokerStore
from semcast.net.database import StoreError
from semcast.net.log import SqliteLog
from semcast.protocol.stores import Record


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


def write(folder: Path, batches: list[list[Record]]) -> None:
    """A store with one commit, and so one chunk, per small batch."""
    store = BrokerStore(folder, source=True)
    for batch in batches:
        log_of(store).append(batch)
        store.commit()
    store.close()


def on_disk(folder: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Look at a store's file, or spoil it, past the store."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        return connection.execute(sql, values).fetchall()


def flip(folder: Path, first: int) -> None:
    """Let a bit of a chunk's records rot."""
    ((data,),) = on_disk(folder, "SELECT records FROM chunks WHERE first = ?", first)
    assert isinstance(data, bytes)
    middle = len(data) // 2
    rotten = data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
    on_disk(folder, "UPDATE chunks SET records = ? WHERE first = ?", rotten, first)


def fill(store: BrokerStore) -> int:
    """Append and commit until there is no more room; the last position that was committed."""
    log = log_of(store)
    for first in range(1, 100_000, 50):
        log.append(records(first, 50, size=2000))
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
    with pytest.raises(StoreError, match=rf"{FILE}: the disk is full; nothing of this was written"):
        store.commit()
    assert on_disk(folder, "SELECT max(last) FROM chunks") == [(committed,)]
    assert on_disk(folder, "SELECT CAST(value AS TEXT) FROM notes") == [(str(committed),)]
