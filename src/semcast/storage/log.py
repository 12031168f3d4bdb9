"""A source's log on disk: appended to in memory, made durable by commits in another thread, read from both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from semcast.protocol.stores import Record
from semcast.storage.chunks import BrokenChunk, Chunk, cut, pack, unpack
from semcast.storage.damage import Break, Opened, unreadable
from semcast.storage.database import explaining
from semcast.storage.origins import KEYS, Mark, Origins, prune_keys, write_marks
from semcast.storage.recent import Cache, Recent
from semcast.storage.segments import Segments

RECENT_BYTES = 32 << 20
_CACHE_BYTES = 8 << 20
ORIGINS = 16_384
_SWEPT = 64  # chunks deleted per commit, at least; twice as many as it writes, so that it keeps up

_KEYS = (
    "SELECT first, last FROM chunks "
    "WHERE first >= coalesce((SELECT max(first) FROM chunks WHERE first <= :next), 0) AND first <= :end ORDER BY first"
)
_SWEEP = (
    "DELETE FROM chunks WHERE first IN "
    "(SELECT first FROM chunks WHERE first <= :trimmed AND last <= :trimmed ORDER BY first LIMIT :most)"
)


class Taken(NamedTuple):
    """What a commit has to write."""

    records: list[Record]
    trimmed: int
    sweep: bool

    @property
    def nothing(self) -> bool:
        return not self.records and not self.sweep


class SqliteLog:
    """The end in memory, everything durable in chunks on disk.

    The interface of ``Log`` is for the thread of the event loop. ``take``, ``write``, ``written`` and ``failed`` are
    for a commit in another one; the two meet under a lock that is held for the moment of swapping a list. Nothing near
    the end is read from disk: what was appended last stays in memory, durable or not.
    """

    def __init__(
        self,
        reader: sqlite3.Connection,
        segments: Segments,
        path: Path,
        opened: Opened,
        *,
        recent_bytes: int,
        origins: int,
        keys: int = KEYS,
    ) -> None:
        self.holes = opened.holes
        """Numbers whose records were given up; reading passes over them."""
        self.segments = segments
        self._path = path
        self._reader = reader
        self._end = self._durable = opened.end
        self._trimmed = self._trimmed_on_disk = opened.trimmed
        self._recent = Recent(opened.end, recent_bytes)
        self._cache = Cache(_CACHE_BYTES)
        self._origins = Origins(reader, path, origins)
        self._kept_keys = keys
        self._lock = Lock()
        self._pending: list[Record] = []
        self._swept = opened.swept

    @property
    def end(self) -> int:
        return self._end

    @property
    def trimmed(self) -> int:
        return self._trimmed

    @property
    def durable(self) -> int:
        """Everything through here survives a crash."""
        return self._durable

    @property
    def dirty(self) -> bool:
        """Something that was appended is not durable yet."""
        return self._durable < self._end

    @property
    def unswept(self) -> bool:
        """Something that was trimmed may still be on disk."""
        return not self._swept or self._trimmed_on_disk < self._trimmed

    def append(self, records: Iterable[Record]) -> None:
        """Add records, numbered on from ``end``, all or none. Well under a microsecond each; no disk is touched."""
        added = list(records)
        for number, record in enumerate(added, self._end + 1):
            if record.number != number:
                raise ValueError(f"record {record.number} cannot follow {number - 1}")
        if not added:
            return
        self._recent.add(added)
        self._origins.add(added)
        with self._lock:
            self._pending += added
            self._end = added[-1].number
        self._recent.make_room(self._durable)
        self._origins.make_room(self._durable)

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        begin, end = max(first, self._trimmed, 0), min(through, self._end)
        if begin >= end or limit <= 0:
            return []
        base = self._recent.base
        found = self._from_disk(begin, min(end, base), limit) if begin < base else []
        if end > base and len(found) < limit:
            found += self._recent.read(max(begin, base), end, limit - len(found))
        return found

    def trim(self, through: int) -> None:
        """Forget everything through a position: for readers at once, on disk slice by slice in the next commits."""
        if through > self._durable:
            raise ValueError(f"{through} is not durable yet, {self._durable} is")
        self._trimmed = max(self._trimmed, through)

    def high_water(self, origin: str) -> Mark:
        """As of the last append; from disk where the origin was not heard of lately."""
        mark = self._origins.get(origin)
        self._origins.make_room(self._durable)
        return mark

    # --- reading from disk

    def _from_disk(self, begin: int, end: int, limit: int) -> list[Record]:
        found: list[Record] = []
        with explaining(self._path):
            place = begin
            for first, last in self._keys(begin, end):
                self._expect(place, first)
                records = self._chunk(first)
                found += records[max(0, place - first + 1) : end - first + 1]
                place = last
                if len(found) >= limit:
                    return found[:limit]
            self._expect(place, end + 1)
        return found

    def _keys(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """First and last number of the chunks from the one on that may hold the record behind ``begin``."""
        rows = self._reader.execute(_KEYS, {"next": begin + 1, "end": end})
        try:
            yield from rows
        finally:
            rows.close()  # a statement that is left open keeps the write-ahead log from being reused

    def _chunk(self, first: int) -> list[Record]:
        records = self._cache.get(first)
        if records is None:
            row = self._reader.execute(
                "SELECT first, last, form, checksum, records FROM chunks WHERE first = ?", (first,)
            ).fetchone()
            try:
                records = unpack(self.segments.whole(Chunk._make(row)))
            except BrokenChunk as error:
                raise unreadable(self._path, [Break(row[0], row[1], str(error))]) from error
            self._cache.put(first, records)
        return records

    def _expect(self, place: int, following: int) -> None:
        """Between two records there may be holes that are known of, and nothing else."""
        known = sum(max(0, min(last, following - 1) - max(first - 1, place)) for first, last in self.holes)
        if place + known < following - 1:
            raise unreadable(self._path, [Break(place + 1, following - 1, "they are missing")])

    # --- for the commit, in its thread

    def take(self) -> Taken:
        with self._lock:
            records, self._pending = self._pending, []
        return Taken(records, self._trimmed, self.unswept)

    def write(self, connection: sqlite3.Connection, taken: Taken) -> bool:
        """Within a transaction; whether all that was trimmed is deleted."""
        chunks = [pack(records) for records in cut(taken.records)]
        if self.segments.wants(chunks):
            chunks = self.segments.put(chunks)
        connection.executemany(
            "INSERT INTO chunks (first, last, form, checksum, records) VALUES (?, ?, ?, ?, ?)", chunks
        )
        write_marks(connection, taken.records)
        if taken.records:
            prune_keys(connection, taken.records[0].number, taken.records[-1].number, self._kept_keys)
        if not taken.sweep:
            return True
        most = max(_SWEPT, 2 * len(chunks))
        connection.execute("UPDATE facts SET value = ? WHERE name = 'trimmed'", (taken.trimmed,))
        connection.execute("DELETE FROM holes WHERE last <= ?", (taken.trimmed,))
        return connection.execute(_SWEEP, {"trimmed": taken.trimmed, "most": most}).rowcount < most

    def written(self, taken: Taken, swept: bool) -> None:
        if taken.sweep:
            self._trimmed_on_disk, self._swept = taken.trimmed, swept
            if swept:
                self.segments.drop(taken.trimmed)
        if taken.records:
            self._durable = taken.records[-1].number
            self.segments.keep(self._durable)

    def failed(self, taken: Taken) -> None:
        """What was taken waits for the next commit."""
        self.segments.give_up()
        with self._lock:
            self._pending[:0] = taken.records
