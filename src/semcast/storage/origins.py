"""The last record of each origin: what makes publishing idempotent."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from semcast.protocol.stores import Record
from semcast.storage.database import explaining

Mark = tuple[int, int]
"""(sequence, position) of an origin's last record."""

KEY = "http-key:"
"""Origins of this prefix stand for one request each, and are forgotten in time."""
KEYS = 1_000_000
"""For so many messages of a log a key is remembered, at least."""

_NONE: Mark = (-1, 0)
_PRUNE = "DELETE FROM origins WHERE origin >= ? AND origin < ? AND position <= ?"
_PUT = (
    "INSERT INTO origins (origin, sequence, position) VALUES (?, ?, ?) "
    "ON CONFLICT (origin) DO UPDATE SET sequence = excluded.sequence, position = excluded.position"
)


class Origins:
    """Marks that are not durable yet, and those asked for of late; all others are on disk only."""

    def __init__(self, reader: sqlite3.Connection, path: Path, room: int) -> None:
        self._reader = reader
        self._path = path
        self._room = room
        self._marks: OrderedDict[str, Mark] = OrderedDict()

    def get(self, origin: str) -> Mark:
        mark = self._marks.get(origin)
        if mark is None:
            mark = self._marks[origin] = self._on_disk(origin)
        else:
            self._marks.move_to_end(origin)
        return mark

    def _on_disk(self, origin: str) -> Mark:
        with explaining(self._path):
            row = self._reader.execute("SELECT sequence, position FROM origins WHERE origin = ?", (origin,)).fetchone()
        return row or _NONE

    def add(self, records: Iterable[Record]) -> None:
        for origin, mark in last_marks(records).items():
            self._marks[origin] = mark
            self._marks.move_to_end(origin)

    def make_room(self, durable: int) -> None:
        """Forget what was not asked for of late, but nothing that is not on disk."""
        while len(self._marks) > self._room:
            oldest = next(iter(self._marks))
            if self._marks[oldest][1] > durable:
                break
            del self._marks[oldest]


def last_marks(records: Iterable[Record]) -> dict[str, Mark]:
    return {record.origin: (record.sequence, record.number) for record in records}


def write_marks(connection: sqlite3.Connection, records: Iterable[Record]) -> None:
    rows = [(origin, sequence, position) for origin, (sequence, position) in last_marks(records).items()]
    connection.executemany(_PUT, sorted(rows))


def prune_keys(connection: sqlite3.Connection, first: int, last: int, kept: int) -> None:
    """Forget keys that are ``kept`` messages old, where the records from first through last are being written.

    It looks at all keys, so it does so once in an eighth of that: there are never more than 9/8 as many as are kept.
    """
    step = max(1, kept // 8)
    if (first - 1) // step < last // step:
        connection.execute(_PRUNE, (KEY, KEY[:-1] + chr(ord(KEY[-1]) + 1), last - kept))
