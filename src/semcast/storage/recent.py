"""Records that are in memory: the end of the log, and chunks that were read from disk a moment ago."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

from semcast.protocol.stores import Record

_OBJECT_BYTES = 400  # what a record takes beside its body: a struct, numbers, tuples


def size_of(records: Sequence[Record]) -> int:
    """About how much memory they take, in bytes."""
    return sum([len(record.body) for record in records]) + _OBJECT_BYTES * len(records)


class Recent:
    """The end of the log: all that is not durable yet, and of the rest as much as there is room for."""

    def __init__(self, end: int, room_bytes: int) -> None:
        self.base = end
        """Everything behind this position is here."""
        self._room = room_bytes
        self._records: list[Record] = []
        self._sizes: deque[tuple[int, int]] = deque()
        self._bytes = 0

    def add(self, records: list[Record]) -> None:
        size = size_of(records)
        self._records += records
        self._sizes.append((records[-1].number, size))
        self._bytes += size

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        """At most ``limit`` records with ``first`` < number ≤ ``through``; ``first`` is not before ``base``."""
        begin = first - self.base
        return self._records[begin : min(through - self.base, begin + limit)]

    def make_room(self, durable: int) -> None:
        """Let go of the oldest, but of nothing behind ``durable``.

        A little more than there is room for is borne, so that the list is not moved up for each record; not much more,
        since the event loop waits while many records are let go of at once.
        """
        if self._bytes <= self._room + self._room // 32:
            return
        base = self.base
        while self._bytes > self._room and self._sizes and self._sizes[0][0] <= durable:
            base, size = self._sizes.popleft()
            self._bytes -= size
        del self._records[: base - self.base]
        self.base = base


class Cache:
    """Chunks by their first number, the least recently used go first."""

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._chunks: OrderedDict[int, tuple[list[Record], int]] = OrderedDict()
        self._bytes = 0

    def get(self, first: int) -> list[Record] | None:
        held = self._chunks.get(first)
        if held is None:
            return None
        self._chunks.move_to_end(first)
        return held[0]

    def put(self, first: int, records: list[Record]) -> None:
        size = size_of(records)
        self._chunks[first] = records, size
        self._bytes += size
        while self._bytes > self._room and len(self._chunks) > 1:
            _, (_, dropped) = self._chunks.popitem(last=False)
            self._bytes -= dropped
