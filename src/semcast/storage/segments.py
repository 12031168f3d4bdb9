"""Large commits of a log, in files that are only appended to; SQLite has where in them a chunk lies.

SQLite writes everything twice, first to its write-ahead log and then into its file, and adds all of it up on the way:
2 MB cost 9 ms of CPU, much of it with Python's lock held, beside 1 ms for a plain file. So what a commit of many
messages writes goes here. The row that tells its place has its checksum too, and is committed when the file is synced:
without that row nothing of it counts. A small commit stays in SQLite, which then needs one sync and not two.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from semcast.storage.chunks import BrokenChunk, Chunk
from semcast.storage.database import explained_io
from semcast.storage.files import Files, OsFiles

LEAST_BYTES = 256 << 10
"""A commit of so many bytes goes to a segment."""
SEGMENT_BYTES = 64 << 20
"""A segment that has so many is followed by another; it is deleted when all in it has been trimmed."""

FAR = 2
"""In a chunk's form: its row has the place of its records, not the records."""

_VECTOR = 512  # pieces that are written at a time; systems take 1,024
_place = struct.Struct("<QQQ")


class Place(NamedTuple):
    segment: int
    offset: int
    size: int


def place_of(data: bytes) -> Place | None:
    """Where a row says that its records are; None where that has rotted."""
    return Place._make(_place.unpack(data)) if len(data) == _place.size else None


class Segments:
    """The segments of one log.

    ``put``, ``keep``, ``give_up`` and ``drop`` are for the thread that commits; ``whole`` is for any.
    """

    def __init__(
        self,
        folder: Path,
        lasts: Mapping[int, int],
        least: int = LEAST_BYTES,
        most: int = SEGMENT_BYTES,
        files: Files | None = None,
    ) -> None:
        """``lasts``: the last record in each segment in use; ``files``: where they lie, if not in the folder."""
        self._folder = folder
        self._files = OsFiles(folder) if files is None else files
        self._least, self._most = least, most
        self._lasts = dict(lasts)
        self._open = False
        self._size = self._kept = 0
        """Of the segment that is written: bytes that are there, and that a row tells of."""
        self._lock = Lock()
        self._pins = 0
        self._current = max([0, *self._files.numbers(), *lasts])

    def clean(self) -> None:
        """Delete what a crash has left behind, when nobody can want to look for anything in it."""
        self._unlink(number for number in self._files.numbers() if number not in self._lasts)

    def wants(self, chunks: Iterable[Chunk]) -> bool:
        """Are they enough for a file's sync of their own?"""
        return sum(len(chunk.data) for chunk in chunks) >= self._least

    def put(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Write chunks and sync them; what their rows have to say instead. UnwritableError where that cannot be."""
        try:
            if not self._open or self._size >= self._most:
                self._begin()
            offset, far = self._size, []
            for chunk in chunks:
                told = _place.pack(self._current, offset, len(chunk.data))
                far.append(chunk._replace(form=chunk.form | FAR, data=told))
                offset += len(chunk.data)
            self._write([chunk.data for chunk in chunks])
            self._files.sync()
        except OSError as error:
            self._abandon()
            raise explained_io(error, self._folder) from error
        return far

    def keep(self, last: int) -> None:
        """What was put last is told of by rows, up to this record."""
        if self._size > self._kept:
            self._kept = self._size
            self._lasts[self._current] = last

    def give_up(self) -> None:
        """What was put last is told of by no row."""
        if self._size > self._kept:
            self._abandon()

    def drop(self, trimmed: int) -> None:
        """Delete the segments that end by this record, which no row tells of any more."""
        with self._lock:
            if self._pins:
                return  # the next commit will
            gone = [number for number, last in self._lasts.items() if last <= trimmed and number != self._current]
            for number in gone:
                del self._lasts[number]
        self._unlink(gone)

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Nothing is deleted meanwhile: for who reads by rows as they were when it began."""
        with self._lock:
            self._pins += 1
        try:
            yield
        finally:
            with self._lock:
                self._pins -= 1

    def whole(self, row: Chunk) -> Chunk:
        """A chunk with its records, wherever they are; BrokenChunk where they are not."""
        if not row.form & FAR:
            return row
        place = place_of(row.data)
        if place is None:
            raise BrokenChunk("where they are cannot be read")
        try:
            size = self._files.size(place.segment)
        except OSError as error:
            raise BrokenChunk(f"their segment {place.segment} cannot be opened: {error.strerror}") from error
        if place.offset + place.size > size:
            raise BrokenChunk(f"their segment {place.segment} is too short")
        try:
            data = self._files.read(place.segment, place.offset, place.size)
        except OSError as error:
            raise BrokenChunk(f"their segment {place.segment} cannot be read: {error}") from error
        return row._replace(form=row.form & ~FAR, data=data)

    def close(self) -> None:
        self._files.close()
        self._open, self._size, self._kept = False, 0, 0

    def _begin(self) -> None:
        """A segment is in its folder for good before anything in it counts."""
        self.close()
        self._current += 1
        self._files.create(self._current)
        self._open = True

    def _abandon(self) -> None:
        """Leave the room that no row tells of. A file whose sync has failed is not used again: pages may be lost."""
        with suppress(OSError):
            if self._kept:
                self._files.truncate(self._kept)
            else:
                self._files.unlink(self._current)
        self.close()

    def _write(self, pieces: list[bytes]) -> None:
        for first in range(0, len(pieces), _VECTOR):
            left = pieces[first : first + _VECTOR]
            while left:
                written = self._files.append(left)
                self._size += written
                left = _behind(left, written)

    def _unlink(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            with suppress(OSError):  # the next opening tries again
                self._files.unlink(number)


def _behind(pieces: list[bytes], written: int) -> list[bytes]:
    """What is left to write: a call may take a part, in the middle of a piece too."""
    for place, piece in enumerate(pieces):
        if written < len(piece):
            return [piece[written:], *pieces[place + 1 :]]
        written -= len(piece)
    return []
