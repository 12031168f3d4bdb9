"""What coordinators of one host share, in a SQLite file that all of them have open."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from semcast.protocol.stores import FencedError, UnreachableError
from semcast.storage.database import Kind, checksum_of, connect, damaged, explained, transaction
from semcast.storage.lease import Lease, asked

_KIND = Kind(
    "a coordinators' store",
    0x5343636F,  # "SCco"
    1,
    """
    CREATE TABLE lead (term INTEGER NOT NULL, leader TEXT, granted REAL NOT NULL, until REAL NOT NULL);
    CREATE TABLE state (name TEXT PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL);
    INSERT INTO lead VALUES (0, NULL, 0, 0)
    """,
)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteCoordinatorStore:
    """The lead, its term, and all that was decided.

    Leases are judged by the host's monotonic clock: it is the same for all processes of the host, and the one by which
    coordinators judge their own leases. The clock on the wall may be set forwards, and would end a lease that its
    holder still believes in. After a restart of the host, or on another one, the clock may be behind the moment when
    the last lease was given; that lease then counts anew.

    A call waits for others at most ``timeout_s``, then it is an UnreachableError. It may come from any thread.
    """

    def __init__(self, path: Path | str, *, timeout_s: float = 1.0, now: Callable[[], float] = time.monotonic) -> None:
        self.path = Path(path)
        self._now = now
        self._lock = Lock()
        self._connection = connect(self.path, _KIND, busy_s=timeout_s)

    def lead(self, who: str, lease_s: float, above: int = 0) -> int | None:
        with self._reached() as connection, transaction(connection):
            row = connection.execute("SELECT term, leader, granted, until FROM lead").fetchone()
            lease = asked(Lease._make(row), who, lease_s, self._now(), above)
            if lease != row:
                connection.execute("UPDATE lead SET term = ?, leader = ?, granted = ?, until = ?", lease)
        return lease.term if lease.leader == who else None

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        kept = [(name, value, checksum_of(name, value)) for name, value in changes.items() if value is not None]
        removed = [(name,) for name, value in changes.items() if value is None]
        with self._reached() as connection, transaction(connection):
            newest = connection.execute("SELECT term FROM lead").fetchone()[0]
            if term != newest:
                raise FencedError(f"term {term} is over, {newest} is the newest")
            connection.executemany("INSERT OR REPLACE INTO state (name, value, checksum) VALUES (?, ?, ?)", kept)
            connection.executemany("DELETE FROM state WHERE name = ?", removed)

    def read(self) -> dict[str, bytes]:
        with self._reached() as connection:
            rows = connection.execute("SELECT name, value, checksum FROM state ORDER BY name").fetchall()
        for name, value, checksum in rows:
            if checksum_of(name, value) != checksum:
                raise damaged(self.path, f"the checksum of {name!r} is wrong")
        return {name: value for name, value, _ in rows}

    def close(self) -> None:
        """Whoever leads goes on leading until the lease is over."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reached(self) -> Iterator[sqlite3.Connection]:
        """One call at a time; a file that is damaged is a StoreError, all else that goes wrong may pass."""
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                reason = explained(error, self.path)
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN:
                    raise reason from error
                raise UnreachableError(f"the store does not answer: {reason}") from error
