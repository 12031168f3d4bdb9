"""Disks that take nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """The disk is full to its last byte."""
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while file.write(b"."):
            pass
    try:
        yield
    finally:
        ballast.unlink()
