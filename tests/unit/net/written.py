"""What tests of stores write, and how they look at what is on disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from semcast.net.broker_store import FILE, BrokerStore
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
