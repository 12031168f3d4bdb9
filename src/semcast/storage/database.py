"""SQLite files of ours: opened with the settings that make a commit durable, and errors that say what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from semcast.model import SemcastError

_PAGE_BYTES = 8192  # beside 4 and 16 KB: large chunks cost the least CPU, and a lone record not much more
_WAL_PAGES = 512
"""Of the write-ahead log, until it is brought into the file: 4 MB. A commit of one small message takes some pages, so
that with 4,096 pages 3,430 messages filled 32 MB; those took 2 to 10 % less CPU."""
_RETRY_S = 0.01
_WAL_BYTES = _WAL_PAGES * _PAGE_BYTES  # what a huge commit made longer is given back


class StoreError(SemcastError):
    """What is on disk cannot be used, or nothing more can be put there."""


class UnwritableError(StoreError):
    """Nothing could be written for now, and nothing of it was; the next try may succeed.

    A full disk, a lock, a device that fails. Trying again is safe also after a failed fsync, of which the system may
    keep nothing: SQLite then writes all of it again, not only the rest.
    """


class Kind(NamedTuple):
    """What a file is for; one of another kind, or of a later version, is refused and not touched.

    Versions so far have the same tables; a later one puts more into them.
    """

    what: str
    application_id: int
    version: int
    schema: str


def explained(error: sqlite3.Error, path: Path) -> StoreError:
    """The same in words for who can mend it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return UnwritableError(
                f"{path} cannot be written (look at the owner and the mode of the file and of its folder)"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return UnwritableError(
                f"{path} cannot be opened (look at the owner and the mode of the file and of its folder)"
            )
        case sqlite3.SQLITE_NOTADB:
            return StoreError(
                f"{path} is no SQLite database, and was not touched (move it away, or name another place)"
            )
        case sqlite3.SQLITE_CORRUPT:
            return damaged(path, str(error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return UnwritableError(f"{path} is locked by another program (which one has it open?)")
        case sqlite3.SQLITE_IOERR if _has_no_room(path):  # what SQLite says where its shared memory cannot grow
            return _full(path)
        case sqlite3.SQLITE_IOERR:
            return UnwritableError(f"{path}: the disk fails: {error}; nothing of this was acknowledged")
    return StoreError(f"{path}: {error}")


def explained_io(error: OSError, path: Path) -> UnwritableError:
    """The same of a file of ours that SQLite knows nothing of."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    return UnwritableError(f"{path} cannot be written: {error.strerror or error}; nothing of this was acknowledged")


def _has_no_room(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def _full(path: Path) -> UnwritableError:
    return UnwritableError(
        f"{path}: the disk is full; nothing of this was written, and all goes on where there is room"
    )


def damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path} is damaged: {what} (docs/operations.md, “Damage”, says what can be done)")


def checksum_of(name: str, value: bytes) -> int:
    """What is kept beside a value: SQLite would not notice that it has rotted."""
    return crc32(value, crc32(name.encode()))


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error


def connect(path: Path, kind: Kind, *, busy_s: float = 5.0) -> sqlite3.Connection:
    """Open a file for reading and writing, made where there is none; every commit is on disk when it returns."""
    with explaining(path):
        connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        try:
            _patiently(lambda: _prepare(connection, path, kind), busy_s)
        except BaseException:
            connection.close()
            raise
    return connection


def _patiently(step: Callable[[], None], busy_s: float) -> None:
    """Changing a fresh file's journal mode fails at once where another process does the same: SQLite does not wait."""
    give_up_at = time.monotonic() + busy_s
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up_at:
                raise
        time.sleep(_RETRY_S)


def connect_reader(path: Path) -> sqlite3.Connection:
    """A second way into a file that is open already: it sees what is committed, and waits for no writer."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All or nothing. Whoever else writes waits."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # the first error says more
                connection.execute("ROLLBACK")
        raise


def _prepare(connection: sqlite3.Connection, path: Path, kind: Kind) -> None:
    fresh = _is_fresh(connection, path, kind)
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # counts for a fresh file only
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves data in the drive's cache
    connection.execute("PRAGMA secure_delete = OFF")  # Debian's default writes zeros over all that is trimmed
    connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    if fresh:
        with transaction(connection):
            if not _pragma(connection, "application_id"):  # nobody else was faster
                _create(connection, kind)
    elif _pragma(connection, "user_version") < kind.version:
        connection.execute(f"PRAGMA user_version = {kind.version}")  # an earlier SemCast would misread what is added


def _is_fresh(connection: sqlite3.Connection, path: Path, kind: Kind) -> bool:
    """Has nobody made tables yet? StoreError where somebody made others."""
    connection.execute("BEGIN")  # all as of one moment: another process may be making them right now
    try:
        application_id, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        if connection.in_transaction:  # an error has ended it, and says more than that there is none
            connection.execute("ROLLBACK")
    if not (application_id or version or tables):
        return True
    if application_id != kind.application_id:
        raise StoreError(f"{path} is a database, but not {kind.what}; it was not touched (name another place)")
    if version > kind.version:
        raise StoreError(
            f"{path} was written by a later SemCast (version {version} of its form, {kind.version} is known here)"
        )
    return False


def _create(connection: sqlite3.Connection, kind: Kind) -> None:
    for statement in kind.schema.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {kind.application_id}")
    connection.execute(f"PRAGMA user_version = {kind.version}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
