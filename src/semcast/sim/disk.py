"""A broker's disk with faults, under the very code that production stores with.

Real: the log, its chunks and segments, the look at damage when it is opened, the notes, and what a commit does
(``storage``). Modelled: SQLite keeps its database in memory here and is taken at its word. What a transaction has
committed survives every crash, what it has not is lost. So faults of SQLite show at its commit, which fails as a whole.
The files of segments are modelled to the byte: a crash keeps a first part of what was not synced, maybe with a flipped
bit in it; writes may be short; a full disk takes a part of a write; a sync may fail.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np

from semcast.model.message import Message, packed
from semcast.protocol.stores import Record
from semcast.sim.clock import Chance
from semcast.storage.broker_store import KIND
from semcast.storage.committed_store import CommittedStore
from semcast.storage.damage import open_log, segments_in_use
from semcast.storage.database import StoreError
from semcast.storage.log import ORIGINS, SqliteLog
from semcast.storage.notes import SqliteNotes
from semcast.storage.origins import KEYS
from semcast.storage.segments import Segments

_RECENT_BYTES = 1 << 14
"""So little of a log stays in memory that old records are read from the disk."""
_SEGMENT_BYTES = 1 << 14
_SHORT = 0.2
"""The share of writes that take only a part."""
_NOWHERE = Path("simulated")


class SimulatedFiles:
    """Segments' files: what was synced, and what was written since."""

    def __init__(self, chance: Chance) -> None:
        self.full = self.failing = 0
        """How many faults of this kind last at the moment."""
        self.dying = False
        """The process falls within a commit: at a sync or behind it, and it cleans nothing up."""
        self._chance = chance
        self._synced: dict[int, bytes] = {}
        self._written: dict[int, bytes] = {}
        self._open: int | None = None

    def numbers(self) -> list[int]:
        return sorted(self._synced)

    def create(self, number: int) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on the simulated disk")
        if number in self._synced:
            raise OSError(errno.EEXIST, "the file exists")
        self._synced[number] = self._written[number] = b""
        self._open = number

    def append(self, pieces: list[bytes]) -> int:
        data = b"".join(pieces)
        if self.full or self._chance.happens(_SHORT):
            data = data[: int(self._chance() * len(data))]
        if not data and self.full:
            raise OSError(errno.ENOSPC, "no space left on the simulated disk")
        data = data or pieces[0][:1]
        self._written[self._appended()] += data
        return len(data)

    def sync(self) -> None:
        if self.failing or (self.dying and self._chance.happens(0.5)):
            raise OSError(errno.EIO, "the simulated disk fails")
        number = self._appended()
        self._synced[number] = self._written[number]

    def truncate(self, size: int) -> None:
        if self.dying:
            return
        number = self._appended()
        self._written[number] = self._written[number][:size]
        self._synced[number] = self._synced[number][:size]

    def close(self) -> None:
        self._open = None

    def size(self, number: int) -> int:
        return len(self._content(number))

    def read(self, number: int, offset: int, size: int) -> bytes:
        return self._content(number)[offset : offset + size]

    def unlink(self, number: int) -> None:
        if self.dying:
            return
        self._synced.pop(number, None)
        self._written.pop(number, None)

    def crash(self) -> None:
        """Of what was not synced a first part is kept, torn anywhere, maybe with a bit flipped."""
        self._open = None
        for number, written in self._written.items():
            synced = self._synced[number]
            tail = bytearray(
                written[len(synced) : len(synced) + int(self._chance() * (len(written) - len(synced) + 1))]
            )
            if tail and self._chance.happens(0.5):
                tail[int(self._chance() * len(tail))] ^= 1 << int(self._chance() * 8)
            self._synced[number] = self._written[number] = synced + bytes(tail)

    def _appended(self) -> int:
        if self._open is None:
            raise OSError(errno.EBADF, "no file is open")
        return self._open

    def _content(self, number: int) -> bytes:
        if number not in self._written:
            raise OSError(errno.ENOENT, "there is no such file")
        return self._written[number]


class _Connection(sqlite3.Connection):
    """SQLite in memory, whose commits fail while the disk does."""

    files: SimulatedFiles

    def execute(self, sql: str, parameters: Iterable[object] = ()) -> sqlite3.Cursor:  # type: ignore[override]
        if sql == "COMMIT" and (self.files.full or self.files.failing or self.files.dying):
            error = sqlite3.OperationalError("the simulated disk is full or fails")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL if self.files.full else sqlite3.SQLITE_IOERR
            raise error
        return super().execute(sql, parameters)  # type: ignore[arg-type]


class KnownLog:
    """A log as the machine sees it, which also tells laws what ever was in it. Numbers that were given up are holes."""

    def __init__(self, log: SqliteLog, history: list[Record]) -> None:
        self.history = history
        """Record n at place n − 1, also when it is trimmed."""
        self._log = log
        del history[log.end :]
        for first, last in log.holes:
            history[first - 1 : last] = [_hole(number) for number in range(first, last + 1)]

    @property
    def end(self) -> int:
        return self._log.end

    @property
    def trimmed(self) -> int:
        return self._log.trimmed

    def append(self, records: Iterable[Record]) -> None:
        added = list(records)
        self._log.append(added)
        self.history += added

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        return self._log.read(first, through, limit)

    def trim(self, through: int) -> None:
        self._log.trim(through)

    def high_water(self, origin: str) -> tuple[int, int]:
        return self._log.high_water(origin)


def _hole(number: int) -> Record:
    return Record(number, "", -number, 0, (), packed(Message("", b"")))


class SimulatedStore(CommittedStore):
    """A broker's store over a disk that outlives the broker's process."""

    def __init__(self, *, source: bool, segmented: int, rng: np.random.Generator) -> None:
        """Commits of ``segmented`` bytes and more go to segments."""
        super().__init__(_NOWHERE)
        chance = Chance(rng)
        self.files = SimulatedFiles(chance)
        self.known: KnownLog | None = None
        self.slow_s = 0.0
        """How much longer a commit takes at the moment."""
        self.between: Callable[[float, float], float] = chance.between
        self._source, self._segmented = source, segmented
        self._durable = 0
        """The log was once durable through here, as production's lock file remembers."""
        self._history: list[Record] = []
        self._writer = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=_Connection)
        assert isinstance(self._writer, _Connection)
        self._writer.files = self.files
        for statement in KIND.schema.split(";"):
            self._writer.execute(statement)

    def open(self, *, repair: bool = False) -> None:
        """For a new life of the broker; StoreError where the log is damaged in its middle, unless it is repaired."""
        self.notes = SqliteNotes(self._writer, self.path)
        if not self._source:
            return
        segments = Segments(self.path, segments_in_use(self._writer), self._segmented, _SEGMENT_BYTES, files=self.files)
        opened = open_log(self._writer, segments, self.path, self._durable, repair=repair)
        segments.clean()
        self.log = SqliteLog(
            self._writer, segments, self.path, opened, recent_bytes=_RECENT_BYTES, origins=ORIGINS, keys=KEYS
        )
        self.known = KnownLog(self.log, self._history)

    def _remember(self, end: int) -> None:
        self._durable = end

    def change(self, how: Literal["full", "failing", "slow"], by: int, slow_s: float) -> None:
        """A fault begins (1) or is over (−1)."""
        if how == "full":
            self.files.full += by
        elif how == "failing":
            self.files.failing += by
        else:
            self.slow_s = max(0.0, self.slow_s + by * slow_s)

    def crash(self, *, within: bool = False) -> int:
        """The process is gone, with all that was not committed; how many records are lost.

        ``within``: a commit was under way, and may have come as far as to a segment.
        """
        end = self.log.end if self.log is not None else 0
        if within:
            self.files.dying = True
            with suppress(StoreError):
                self.commit()
            self.files.dying = False
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        self.files.crash()
        return end - (self.log.durable if self.log is not None else 0)
