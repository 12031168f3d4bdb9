"""The few operations on files that segments need, so that a simulator can put a disk with faults in their place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from semcast.storage.folder import make_folder, sync_file, sync_folder


class Files(Protocol):
    """Numbered files in one folder, of which one at a time is appended to. Everything may raise OSError."""

    def numbers(self) -> list[int]:
        """Of the files that are there."""

    def create(self, number: int) -> None:
        """Begin a new file and append to it from now on; it is in its folder for good."""

    def append(self, pieces: list[bytes]) -> int:
        """Write to the file that was begun last; how many bytes of the pieces were taken, at least one."""

    def sync(self) -> None:
        """All that was appended is on disk."""

    def truncate(self, size: int) -> None:
        """Cut the file that was begun last."""

    def close(self) -> None:
        """Append no more."""

    def size(self, number: int) -> int: ...

    def read(self, number: int, offset: int, size: int) -> bytes: ...

    def unlink(self, number: int) -> None: ...


class OsFiles:
    """The files of a folder of the operating system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1

    def numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]

    def create(self, number: int) -> None:
        self.close()
        make_folder(self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._path(number), flags, 0o644)
        sync_folder(self._folder)

    def append(self, pieces: list[bytes]) -> int:
        return os.writev(self._file, pieces)

    def sync(self) -> None:
        sync_file(self._file)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._file, size)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def size(self, number: int) -> int:
        return self._path(number).stat().st_size

    def read(self, number: int, offset: int, size: int) -> bytes:
        file = os.open(self._path(number), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(file, size, offset)
        finally:
            os.close(file)

    def unlink(self, number: int) -> None:
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}"
