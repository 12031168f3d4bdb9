"""A broker's folder: one process holds it at a time, and it remembers how far the log was."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path
from zlib import crc32

from semcast.storage.database import StoreError, explained_io

_LOCK = "lock"
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""What may be over at the next try."""


class Folder:
    """A folder and the lock on it, which ends with the process, however that ends.

    The lock's file also has the last position that was committed. It is written after each commit and never synced, so
    it may be older than the log, but never newer: where it is, the log has lost what it had on disk. SQLite itself
    cannot tell, since it takes a damaged or missing write-ahead log for the end of what was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_folder(path)
            self._lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno in _PASSING:
                raise explained_io(error, path) from error
            raise StoreError(f"{path} cannot be used as a broker's folder: {error.strerror or error}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            who = os.pread(self._lock, 64, 0).split(b" ")[0].decode("ascii", "replace")
            os.close(self._lock)
            raise StoreError(
                f"{path} is in use by another process{f' ({who})' if who.isdecimal() else ''}; "
                "two brokers cannot share a folder (stop that one, or name another folder)"
            ) from error
        self.end = _position(os.pread(self._lock, 64, 0))
        """Through here the log was on disk once, as far as is known."""
        self.remember(self.end)

    def remember(self, end: int) -> None:
        """Note how far the log is. A few microseconds; what goes wrong here costs no more than the hint."""
        self.end = end
        text = b"%d %d" % (os.getpid(), end)
        try:
            os.pwrite(self._lock, (b"%s %08x\n" % (text, crc32(text))).ljust(64), 0)
        except OSError:
            return

    def release(self) -> None:
        """Let others have it; a second time does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def make_folder(path: Path) -> None:
    """With its parents; a folder that was made is still there after a power cut."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def sync_file(file: int) -> None:
    """All that was written to it is on disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # fsync leaves data in the drive's cache
    else:
        os.fdatasync(file)


def sync_folder(path: Path) -> None:
    """What was made in it is still there after a power cut."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _position(held: bytes) -> int:
    text, _, checksum = held.rstrip().rpartition(b" ")
    if b"%08x" % crc32(text) != checksum:
        return 0
    return int(text.split(b" ")[1])
