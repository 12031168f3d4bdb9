"""What of a log on disk is sound, and what becomes of the rest.

Broken records are never served. Where they are the log's end, as when the last writes before a power cut did not reach
the disk although it said so, they are given up at once. Where sound records follow, somebody has to decide. What is
given up becomes a *hole*: its numbers have been seen by gateways and mean those messages for ever, so they are not
used again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from semcast.storage.chunks import CHUNK_RECORDS, BrokenChunk, Chunk, unpack
from semcast.storage.database import StoreError, transaction
from semcast.storage.segments import FAR, Segments, place_of

_LOOKED_AT = 64
_LOOKED_AT_BYTES = 4 << 20
_MISSING = "they are missing"

_NEWEST_FIRST = "SELECT first, last, form, checksum, records FROM chunks ORDER BY first DESC"
_UNSWEPT = "SELECT 1 FROM chunks WHERE first <= :trimmed AND last <= :trimmed LIMIT 1"

Hole = tuple[int, int]
"""First and last number."""


class Break(NamedTuple):
    """Records that cannot be read, and why."""

    first: int
    last: int
    why: str


@dataclass
class Report:
    """What was found, from the newest chunk on."""

    segments: Segments
    trimmed: int
    holes: Sequence[Hole]
    sound: int = 0
    """The last record that can be read, 0 if none."""
    end: int = 0
    """The last there ever was, as far as can be seen."""
    records: int = 0
    looked_at: int = 0
    """Sound chunks, and their size."""
    size_bytes: int = 0
    tail: list[Break] = field(default_factory=list)
    middle: list[Break] = field(default_factory=list)
    above: int | None = None
    """Where the chunk before this one, which is the next newer one, begins."""

    def take(self, chunk: Chunk) -> None:
        """Look at the next older chunk."""
        why = self._why_broken(chunk)
        if why is None:
            self.reach(chunk.last + 1)
            self.sound = self.sound or chunk.last
            self.end = max(self.end, chunk.last)
            self.records += chunk.last - max(chunk.first - 1, self.trimmed)
            self.looked_at += 1
        else:
            self._broken(chunk.first, _last(chunk, None) if self.above is None else self.above - 1, why)
        self.above = chunk.first

    def _why_broken(self, row: Chunk) -> str | None:
        try:
            chunk = self.segments.whole(row)
            unpack(chunk)
        except BrokenChunk as error:
            return str(error)
        self.size_bytes += len(chunk.data)
        return None

    def reach(self, first: int) -> None:
        """From here to the chunk above there must be nothing but holes that are known of."""
        if self.above is not None and not _covered(first, self.above - 1, self.holes):
            self._broken(first, self.above - 1, _MISSING)

    def _broken(self, first: int, last: int, why: str) -> None:
        (self.middle if self.sound else self.tail).append(Break(first, last, why))
        self.end = max(self.end, last)


def examine(connection: sqlite3.Connection, segments: Segments, *, everything: bool) -> Report:
    """Look at chunks from the newest on: at all, or until enough are sound, 4 MB at most."""
    report = Report(segments, *_stand(connection))
    with closing(connection.execute(_NEWEST_FIRST)) as rows:
        for chunk in map(Chunk._make, rows):
            if _last(chunk, report.above) <= report.trimmed:
                break  # not swept yet
            report.take(chunk)
            if not everything and (report.looked_at >= _LOOKED_AT or report.size_bytes >= _LOOKED_AT_BYTES):
                return report
    report.reach(report.trimmed + 1)
    return report


def _stand(connection: sqlite3.Connection) -> tuple[int, list[Hole]]:
    trimmed = int(connection.execute("SELECT value FROM facts WHERE name = 'trimmed'").fetchone()[0])
    return trimmed, connection.execute("SELECT first, last FROM holes ORDER BY first").fetchall()


def _last(chunk: Chunk, above: int | None) -> int:
    """Where a chunk ends that may be broken: as it says, if that may be true, else before the one above."""
    if chunk.first <= chunk.last < chunk.first + CHUNK_RECORDS:
        return chunk.last
    return chunk.first if above is None else above - 1


def _covered(first: int, last: int, holes: Sequence[Hole]) -> bool:
    """Are all of these numbers in holes? Holes do not overlap."""
    missing = last - first + 1
    return missing <= sum(max(0, min(last, end) - max(first, begin) + 1) for begin, end in holes)


class Opened(NamedTuple):
    """A log as it stands after opening."""

    end: int
    trimmed: int
    swept: bool
    """Nothing that was trimmed is still on disk."""
    holes: tuple[Hole, ...]
    warnings: tuple[str, ...]


def segments_in_use(connection: sqlite3.Connection) -> dict[int, int]:
    """Per segment the last record that is in it."""
    found: dict[int, int] = {}
    for last, told in connection.execute("SELECT last, records FROM chunks WHERE form & ?", (FAR,)):
        place = place_of(told)
        if place is not None:
            found[place.segment] = max(found.get(place.segment, 0), last)
    return found


def open_log(connection: sqlite3.Connection, segments: Segments, path: Path, known_end: int, *, repair: bool) -> Opened:
    """Check a log and give up what must be given up.

    ``known_end`` is a position through which the log is known to have been on disk. With ``repair`` all of the log is
    checked, and what is broken in its middle is given up too; else that is a StoreError.
    """
    report = examine(connection, segments, everything=repair)
    trimmed, holes = report.trimmed, report.holes
    if report.middle and not repair:
        raise unreadable(path, report.middle)
    end = max([report.end, trimmed, *(last for _, last in holes)])
    lost = list(report.middle)
    if report.tail:
        lost.append(Break(max(report.sound, trimmed) + 1, max(end, known_end), report.tail[0].why))
    elif known_end > end:
        lost.append(Break(end + 1, known_end, "what was written last is gone"))
    if lost:
        _give_up(connection, report.tail + report.middle, lost)
        _, holes = _stand(connection)
    swept = connection.execute(_UNSWEPT, {"trimmed": trimmed}).fetchone() is None
    return Opened(max(end, known_end), trimmed, swept, tuple(holes), tuple(_warning(path, each) for each in lost))


def _give_up(connection: sqlite3.Connection, broken: list[Break], lost: list[Break]) -> None:
    with transaction(connection):
        connection.executemany("DELETE FROM chunks WHERE first = ?", [(each.first,) for each in broken])
        for first, last, _ in lost:
            connection.execute("DELETE FROM holes WHERE first >= ? AND last <= ?", (first, last))
            connection.execute("INSERT INTO holes (first, last) VALUES (?, ?)", (first, last))


def unreadable(path: Path, found: Sequence[Break]) -> StoreError:
    places = ", ".join(f"{each.first} to {each.last} ({each.why})" for each in sorted(found)[:5])
    more = f" and {len(found) - 5} further places" if len(found) > 5 else ""
    return StoreError(
        f"{path} is damaged: records {places}{more} cannot be read. Copy the folder, look after the disk, then start "
        "the broker once with --repair, which gives these records up (docs/operations.md, “Damage”)"
    )


def _warning(path: Path, lost: Break) -> str:
    return (
        f"{path}: records {lost.first} to {lost.last} are lost ({lost.why}). They had been written, so some may have "
        "been acknowledged. Numbers go on behind them"
    )
