"""Small files that are there as a whole, and waiting for a disk that takes nothing for now."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from semcast.storage.database import UnwritableError, explained_io
from semcast.storage.folder import sync_file, sync_folder

AGAIN_S = 1.0
"""Between tries to start where nothing can be written."""
Troubled = Callable[[str], None]
log = logging.getLogger("semcast")

T = TypeVar("T")


def put_file(file: Path, text: bytes, *, durable: bool = False) -> None:
    """Write a small file: whoever reads it sees the old text or the new, after a power cut too where it is durable.

    UnwritableError where that cannot be; then the old text is still there.
    """
    new = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _write(descriptor, text)
            if durable:
                sync_file(descriptor)
        finally:
            os.close(descriptor)
        os.replace(new, file)
        if durable:
            sync_folder(file.parent)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise explained_io(error, file) from error


def _write(descriptor: int, text: bytes) -> None:
    while text:
        written = os.write(descriptor, text)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        text = text[written:]


async def when_writable(name: str, step: Callable[[], T], troubled: Troubled | None = None) -> T:
    """What a step returns, as soon as the disk lets it: it is tried again every second.

    The log says why, once for each reason, and ``troubled`` is told each time it is tried in vain.
    """
    told = ""
    while True:
        try:
            found = step()
        except UnwritableError as error:
            if str(error) != told:
                told = str(error)
                log.warning("%s: stands still, and tries again every %g s: %s", name, AGAIN_S, told)
            if troubled is not None:
                troubled(told)
        else:
            if told:
                log.info("%s: can write again, and goes on", name)
            return found
        await asyncio.sleep(AGAIN_S)
