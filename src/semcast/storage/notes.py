"""A broker's few durable facts: in memory for whoever asks, on disk with the next commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from semcast.storage.database import checksum_of, damaged

Changes = Mapping[str, bytes | None]


class SqliteNotes:
    """Notes of which those that a commit has taken in survive a crash.

    All methods but ``write`` are for the thread of the event loop, or do not care.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._values = dict(_read(connection, path))
        self._lock = Lock()
        self._changes: dict[str, bytes | None] = {}
        self._under_way: dict[str, bytes | None] = {}
        self.puts = 0
        """How often something was put."""

    @property
    def dirty(self) -> bool:
        """Something that was put is not durable yet."""
        with self._lock:
            return bool(self._changes or self._under_way)

    def get(self, name: str) -> bytes | None:
        return self._values.get(name)

    def put(self, name: str, value: bytes | None) -> None:
        """None removes. Seen at once, durable when a commit that began later is done."""
        if value is None:
            self._values.pop(name, None)
        else:
            value = self._values[name] = bytes(value)
        self.puts += 1
        with self._lock:
            self._changes[name] = value

    def items(self, prefix: str) -> list[tuple[str, bytes]]:
        return sorted((name, value) for name, value in self._values.items() if name.startswith(prefix))

    # --- for the commit, in its thread

    def take(self) -> Changes:
        """All that was put since the last commit."""
        with self._lock:
            self._under_way, self._changes = self._changes, {}
        return self._under_way

    def write(self, connection: sqlite3.Connection, changes: Changes) -> None:
        kept = [(name, value, checksum_of(name, value)) for name, value in changes.items() if value is not None]
        removed = [(name,) for name, value in changes.items() if value is None]
        connection.executemany("INSERT OR REPLACE INTO notes (name, value, checksum) VALUES (?, ?, ?)", kept)
        connection.executemany("DELETE FROM notes WHERE name = ?", removed)

    def written(self) -> None:
        with self._lock:
            self._under_way = {}

    def failed(self) -> None:
        """What was taken waits for the next commit, under what was put meanwhile."""
        with self._lock:
            self._changes, self._under_way = self._under_way | self._changes, {}


def _read(connection: sqlite3.Connection, path: Path) -> list[tuple[str, bytes]]:
    held = []
    for name, value, checksum in connection.execute("SELECT name, value, checksum FROM notes"):
        if checksum_of(name, value) != checksum:
            raise damaged(path, f"the checksum of note {name!r} is wrong")
        held.append((name, value))
    return held
