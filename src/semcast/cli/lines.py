"""Lines of a file or a pipe for an event loop: they are given as soon as they are there.

A thread reads, because a terminal, a pipe and a file have nothing else in common: event loops cannot wait for files.
It reads the descriptor itself. Python's buffered reader waits until its buffer is full, and a thread that is stopped
inside it at the end of the process makes Python abort.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from semcast.model import SemcastError

_PIECE = 1 << 16
"""Bytes that are read at a time, at most: what a pipe holds."""
_AHEAD = 4
"""Pieces that are read ahead of those who take them."""


class Lines:
    """Iterate over it: each batch is all lines of one read, without their ends. ``stop`` ends it before the file does.

    Made within a running loop; SemcastError where the file cannot be opened or read.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read a file, or stdin."""
        self._name = str(file) if file is not None else "stdin"
        if file is None and sys.stdin is None:
            raise SemcastError("stdin is closed: name a file")
        try:
            self._descriptor = os.open(file, os.O_RDONLY) if file is not None else sys.stdin.fileno()
        except OSError as error:
            raise self._unreadable(error) from None
        self._loop = asyncio.get_running_loop()
        self._batches: asyncio.Queue[list[bytes] | SemcastError | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._stopped = False
        threading.Thread(target=self._read, name="lines", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[list[bytes]]:
        while (batch := await self._batches.get()) is not None:
            self._room.release()
            if isinstance(batch, SemcastError):
                raise batch
            yield batch

    @property
    def ahead(self) -> int:
        """Batches that nobody has taken yet."""
        return self._batches.qsize()

    def stop(self) -> None:
        """Read no more: batches that were read are given, then it ends. A line without its end is not given."""
        self._stopped = True
        self._batches.put_nowait(None)

    def _read(self) -> None:
        begun: list[bytes] = []  # pieces of a line that has no end yet: joined once, however long it becomes
        try:
            while piece := os.read(self._descriptor, _PIECE):
                first, *more = piece.split(b"\n")
                begun.append(first)
                if more:
                    lines = [b"".join(begun), *more[:-1]]
                    begun = [more[-1]]
                    self._give(lines)
            if any(begun):
                self._give([b"".join(begun)])
            self._give(None)
        except OSError as error:
            self._give(self._unreadable(error))

    def _give(self, batch: list[bytes] | SemcastError | None) -> None:
        """Hand a batch to the loop; waits while nobody takes those before it."""
        self._room.acquire()
        if isinstance(batch, list):
            batch = [line.rstrip(b"\r") for line in batch]
        try:
            self._loop.call_soon_threadsafe(self._take, batch)
        except RuntimeError:  # the loop is closed: nobody wants more
            sys.exit()

    def _take(self, batch: list[bytes] | SemcastError | None) -> None:
        if not self._stopped:
            self._batches.put_nowait(batch)

    def _unreadable(self, error: OSError) -> SemcastError:
        return SemcastError(f"{self._name}: cannot be read ({error.strerror})")
