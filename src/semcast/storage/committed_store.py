"""Notes and a log that one commit makes durable together."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock

from semcast.storage.database import explaining, transaction
from semcast.storage.log import SqliteLog, Taken
from semcast.storage.notes import Changes, SqliteNotes


class CommittedStore:
    """What a commit does. Who opens a store gives it ``notes``, maybe a ``log``, and a connection to write with."""

    notes: SqliteNotes
    _writer: sqlite3.Connection

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log: SqliteLog | None = None
        self._committing = Lock()

    @property
    def dirty(self) -> bool:
        """Something that was appended or put is not durable yet."""
        return self.notes.dirty or (self.log is not None and self.log.dirty)

    @property
    def puts(self) -> int:
        """How often notes were put: whoever sees it rise knows that a commit is due."""
        return self.notes.puts

    @property
    def unswept(self) -> bool:
        """Trimmed records may still be on disk. Each commit deletes some; one now and then, when idle, will do."""
        return self.log is not None and self.log.unswept

    def commit(self) -> int:
        """Make everything durable that was appended or put so far; the position through which the log is.

        One transaction and one fsync, or two where it is large. Where it fails nothing is written, and the next commit
        tries it all again.
        """
        with self._committing, explaining(self.path):
            notes = self.notes.take()
            log = self.log.take() if self.log is not None else None
            if notes or (log and not log.nothing):
                self._write(notes, log)
            return self.log.durable if self.log is not None else 0

    def _write(self, notes: Changes, log: Taken | None) -> None:
        swept = True
        try:
            with transaction(self._writer):
                if notes:
                    self.notes.write(self._writer, notes)
                if self.log is not None and log is not None:
                    swept = self.log.write(self._writer, log)
        except BaseException:
            self.notes.failed()
            if self.log is not None and log is not None:
                self.log.failed(log)
            raise
        self.notes.written()
        if self.log is not None and log is not None:
            self.log.written(log, swept)
            self._remember(self.log.durable)

    def _remember(self, end: int) -> None:
        """The log is durable through here."""
