"""What coordinators of several hosts share, in PostgreSQL."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from semcast.protocol.stores import FencedError, UnreachableError
from semcast.storage.database import StoreError
from semcast.storage.lease import Lease, asked

if TYPE_CHECKING:
    from psycopg import Connection

_SETUP = 0x53436370  # an advisory lock of ours: two that make the tables at once would trip over each other
_TABLES = """
    CREATE TABLE IF NOT EXISTS semcast_lead (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        term bigint NOT NULL, leader text, granted double precision NOT NULL, until double precision NOT NULL
    );
    CREATE TABLE IF NOT EXISTS semcast_state (name text PRIMARY KEY, value bytea NOT NULL);
    INSERT INTO semcast_lead VALUES (true, 0, NULL, 0, 0) ON CONFLICT DO NOTHING
"""
_THERE = "SELECT to_regclass('semcast_lead') IS NOT NULL AND to_regclass('semcast_state') IS NOT NULL"
_HELD = "SELECT term, leader, granted, until FROM semcast_lead FOR UPDATE"
_NOW = "SELECT extract(epoch FROM clock_timestamp())::double precision"
_PUT = "INSERT INTO semcast_state (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class PostgresCoordinatorStore:
    """The lead, its term, and all that was decided, in two tables of the first schema in the search path.

    Leases are judged by the database's clock. Where somebody sets it forwards a lease may end while its holder still
    believes in it; the term fences it off then. Backwards does no harm.

    A call takes ``timeout_s`` at most, also where the server stands still; then it is an UnreachableError, and the next
    call connects anew, which may take two seconds more, and as long as it takes to look up the host's name. A commit
    that ends so may have been done nevertheless. Nothing is connected before the first call. Calls may come from any
    thread; those at a time have a connection each, so that none waits here for another.
    """

    def __init__(self, url: str, *, timeout_s: float = 2.0) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise StoreError("coordinators on PostgreSQL need psycopg: pip install 'semcast[postgres]'") from error
        self._psycopg = psycopg
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            reason = str(error).replace(url, "…").strip()  # there may be a password in it
            raise StoreError(f"this is no address of a PostgreSQL database: {reason}") from error
        self._where = f"{parts.get('host', 'localhost')}/{parts.get('dbname', parts.get('user', ''))}"
        self._url = url
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._idle: list[Connection[tuple[Any, ...]]] = []
        """Connections that no call uses at the moment."""
        self._closed = False

    def lead(self, who: str, lease_s: float, above: int = 0) -> int | None:
        with self._reached() as connection, connection.transaction():
            row = connection.execute(_HELD).fetchone()
            moment = connection.execute(_NOW).fetchone()  # now() is when the transaction began: before it waited
            assert row is not None
            assert moment is not None
            lease = asked(Lease._make(row), who, lease_s, moment[0], above)
            if lease != row:
                connection.execute("UPDATE semcast_lead SET term = %s, leader = %s, granted = %s, until = %s", lease)
        return lease.term if lease.leader == who else None

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        kept = [(name, value) for name, value in sorted(changes.items()) if value is not None]
        removed = [name for name, value in changes.items() if value is None]
        with self._reached() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(_PUT, kept)
            cursor.execute("DELETE FROM semcast_state WHERE name = ANY(%s)", (removed,))
            # Last, so that whoever asks for the lead waits for the end of a write and not for all of it.
            held = cursor.execute(_HELD).fetchone()
            assert held is not None
            if term != held[0]:
                raise FencedError(f"term {term} is over, {held[0]} is the newest")

    def read(self) -> dict[str, bytes]:
        with self._reached() as connection:
            rows = connection.execute("SELECT name, value FROM semcast_state").fetchall()
        return {name: bytes(value) for name, value in sorted(rows)}

    def close(self) -> None:
        """Whoever leads goes on leading until the lease is over."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            self._drop(connection)

    @contextmanager
    def _reached(self) -> Iterator[Connection[tuple[Any, ...]]]:
        """A connection of an earlier call that did not fail, or a new one."""
        psycopg = self._psycopg
        passing = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or self._connect()
            with _hung_up_after(connection, self._timeout_s):
                yield connection
        except psycopg.Error as error:
            if connection is not None:
                self._drop(connection)
            if isinstance(error, passing):
                raise UnreachableError(f"the store at {self._where} does not answer: {error}") from error
            raise StoreError(f"PostgreSQL at {self._where}: {error}") from error
        except BaseException:
            self._give_back(connection)
            raise
        self._give_back(connection)

    def _give_back(self, connection: Connection[tuple[Any, ...]] | None) -> None:
        with self._lock:
            if connection is not None and not self._closed:
                self._idle.append(connection)
                return
        if connection is not None:
            self._drop(connection)

    def _connect(self) -> Connection[tuple[Any, ...]]:
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,  # few statements, and poolers trip over prepared ones
            connect_timeout=max(2, round(self._timeout_s)),
            application_name="semcast coordinator",
        )
        try:
            with _hung_up_after(connection, self._timeout_s):
                self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection[tuple[Any, ...]]) -> None:
        """Bounds for the server's side too: who stands still in a transaction must not keep others out of it."""
        milliseconds = max(1, round(1000 * self._timeout_s))
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"SET {name} = {milliseconds}")
        if connection.execute("SHOW synchronous_commit").fetchone() in (("off",), ("local",)):
            connection.execute("SET synchronous_commit = on")
        if connection.execute(_THERE).fetchone() != (True,):  # else the right to make tables may be missing
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({_SETUP})")
                connection.execute(_TABLES)

    def _drop(self, connection: Connection[tuple[Any, ...]]) -> None:
        with suppress(self._psycopg.Error):
            connection.close()


@contextmanager
def _hung_up_after(connection: Connection[Any], seconds: float) -> Iterator[None]:
    """Shut the line after so long: the server's own timeouts do nothing where the server stands still."""
    line = socket.socket(fileno=os.dup(connection.fileno()))
    timer = Timer(seconds, _hang_up, (line,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.close()


def _hang_up(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
