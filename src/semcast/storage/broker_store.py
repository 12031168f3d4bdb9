"""All that a broker has to remember: one commit makes log and notes durable together."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from semcast.storage.committed_store import CommittedStore
from semcast.storage.damage import examine, open_log, segments_in_use, unreadable
from semcast.storage.database import Kind, connect, connect_reader, damaged, explaining, transaction
from semcast.storage.disk import put_file
from semcast.storage.folder import Folder
from semcast.storage.log import ORIGINS, RECENT_BYTES, SqliteLog
from semcast.storage.notes import SqliteNotes
from semcast.storage.origins import KEYS
from semcast.storage.segments import LEAST_BYTES, SEGMENT_BYTES, Segments

SEGMENTS = "segments"
FILE = "broker.sqlite3"
INCARNATION = "incarnation"

KIND = Kind(
    "a broker's store",
    0x53436272,  # "SCbr"
    2,  # the first had no segments
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE notes (name TEXT PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE chunks (
        first INTEGER PRIMARY KEY, last INTEGER NOT NULL, form INTEGER NOT NULL, checksum INTEGER NOT NULL,
        records BLOB NOT NULL
    );
    CREATE TABLE holes (first INTEGER PRIMARY KEY, last INTEGER NOT NULL);
    CREATE TABLE origins (origin TEXT PRIMARY KEY, sequence INTEGER NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO facts VALUES ('incarnation', 0), ('trimmed', 0)
    """,
)


class BrokerStore(CommittedStore):
    """A broker's folder, opened.

    ``log`` and ``notes`` belong to the thread of the event loop. ``commit`` is called from another one, by as many at
    once as like; whatever was appended or put before the call is durable when it returns. ``recent_bytes`` of the log's
    end and the marks of so many ``origins`` are kept in memory, and all notes. What was published under a key
    (``origins.KEY``) is remembered for the next ``keys`` messages, all else for good. Commits of ``segmented`` bytes
    and more go to segments (``segments.py``) of ``segment_bytes`` each. The incarnation is at least
    ``least_incarnation``.
    """

    def __init__(
        self,
        folder: Path | str,
        source: bool,
        *,
        repair: bool = False,
        recent_bytes: int = RECENT_BYTES,
        origins: int = ORIGINS,
        keys: int = KEYS,
        segmented: int = LEAST_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        least_incarnation: int = 1,
    ) -> None:
        self._folder = Folder(Path(folder))
        super().__init__(self._folder.path / FILE)
        self.warnings: tuple[str, ...] = ()
        """What was found damaged and given up; whoever opens a store has to show them."""
        self._least_incarnation = least_incarnation
        self._connections: list[sqlite3.Connection] = []
        try:
            self._open(source, repair, recent_bytes, origins, keys, (segmented, segment_bytes))
        except BaseException:
            self.close()
            raise

    def _open(
        self, source: bool, repair: bool, recent_bytes: int, origins: int, keys: int, sizes: tuple[int, int]
    ) -> None:
        self._writer = connect(self.path, KIND)
        self._connections.append(self._writer)
        with explaining(self.path):
            self.notes = SqliteNotes(self._writer, self.path)
            if source:
                segments = Segments(self._folder.path / SEGMENTS, segments_in_use(self._writer), *sizes)
                opened = open_log(self._writer, segments, self.path, self._folder.end, repair=repair)
                segments.clean()
                reader = connect_reader(self.path)
                self._connections.append(reader)
                self.log = SqliteLog(
                    reader, segments, self.path, opened, recent_bytes=recent_bytes, origins=origins, keys=keys
                )
                self.warnings = opened.warnings
            self.incarnation = self._rise()
            """Rises with each opening; on disk before anybody sees it."""

    def _remember(self, end: int) -> None:
        self._folder.remember(end)

    def verify(self) -> int:
        """Read the whole log from disk and check it: how many records there are, or StoreError.

        For any thread; whoever appends and commits meanwhile does not wait.
        """
        if self.log is None:
            return 0
        segments = self.log.segments
        with explaining(self.path), closing(connect_reader(self.path)) as connection, segments.pinned():
            connection.execute("BEGIN")  # all as of one moment
            faults = [row[0] for row in connection.execute("PRAGMA quick_check(1)") if row[0] != "ok"]
            if faults:
                raise damaged(self.path, faults[0])
            report = examine(connection, segments, everything=True)
        if report.middle or report.tail:
            raise unreadable(self.path, report.middle + report.tail)
        return report.records

    def close(self) -> None:
        """Let go of the folder. What was not committed is lost, as in a crash."""
        with self._committing:
            if self.log is not None:
                self.log.segments.close()
            for connection in reversed(self._connections):
                connection.close()
            self._connections.clear()
            self._folder.release()

    def _rise(self) -> int:
        """The next incarnation, in a file of its own first: without its write-ahead log SQLite has an older one."""
        row = self._writer.execute("SELECT value FROM facts WHERE name = 'incarnation'").fetchone()
        file = self._folder.path / INCARNATION
        risen = max(int(row[0]) + 1, _number_in(file) + 1, self._least_incarnation)
        put_file(file, b"%d\n" % risen, durable=True)
        with transaction(self._writer):
            self._writer.execute("UPDATE facts SET value = ? WHERE name = 'incarnation'", (risen,))
        return risen


def _number_in(file: Path) -> int:
    """What stands in a file; 0 where nothing sensible does."""
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return 0
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0


def repair_store(folder: Path) -> tuple[str, ...]:
    """Read all of a log and give up what is damaged; what that was, in words. Where there is no store, none is made."""
    if not (folder / FILE).exists():
        return ()
    with closing(BrokerStore(folder, source=True, repair=True)) as store:
        return store.warnings
