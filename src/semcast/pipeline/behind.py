"""How far a pipeline is behind its source: what is there and was in no batch yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from semcast.pipeline.feeds import Feed

_HIDDEN = ("_", ".")  # what Spark takes for none of a folder's files begins so
_RECURSIVE = ("json", "xml")


class Behind(NamedTuple):
    """What was in no batch yet."""

    much: int
    unit: str
    """files or messages."""


class Lag:
    """Compares a query's checkpoint with its source.

    Of Kafka the newest offsets are those that Spark saw when it made the batch before, so the first batch tells
    nothing. A rate is never behind. Where the checkpoint is not in this machine's file system, nothing is told.
    """

    def __init__(self, feed: Feed, checkpoint: str, last: Callable[[], Mapping[str, int]]) -> None:
        """``last`` asks the sources for the ends of their logs."""
        self._feed = feed
        self._last = last
        found = urlsplit(checkpoint)
        self._checkpoint = Path(found.path if found.scheme == "file" else checkpoint)
        self._taken = _Taken(self._checkpoint / "sources" / "0")

    def after(self, batch: int, progress: Mapping[str, Any] | None) -> Behind | None:
        """How far it is behind with this batch; ``progress`` is Spark's of the one before."""
        match self._feed.kind:
            case "rate":
                return None
            case "kafka":
                return _apart(self._newest(progress), self._ends(batch), "messages")
            case "ingest":
                return _apart({"": dict(self._last())}, {"": self._ends(batch)}, "messages")
        there = set(files_in(Path(self._feed.where), recursive=self._feed.kind in _RECURSIVE))
        taken = self._taken.paths()
        return None if taken is None else Behind(len(there - taken), "files")

    def _ends(self, batch: int) -> Any:
        """The offset through which the batch reads, as the query wrote it down before it began."""
        try:
            return msgspec.json.decode((self._checkpoint / "offsets" / str(batch)).read_bytes().splitlines()[-1])
        except (OSError, IndexError, msgspec.DecodeError):
            return None

    @staticmethod
    def _newest(progress: Mapping[str, Any] | None) -> Any:
        """Topic → partition → the newest offset that Spark knows of."""
        told = progress["sources"][0].get("latestOffset") if progress and progress.get("sources") else None
        try:
            return msgspec.json.decode(told) if isinstance(told, str) else told
        except msgspec.DecodeError:
            return None


def _apart(newest: Any, ends: Any, unit: str) -> Behind | None:
    """The sum over partitions of what lies between; what is in one of them only has no distance."""
    if not isinstance(newest, Mapping) or not isinstance(ends, Mapping) or None in ends.values():
        return None
    pairs = [
        (end, ends[name].get(part, end))
        for name, held in newest.items()
        if name in ends
        for part, end in held.items()
    ]  # fmt: skip
    return Behind(sum(max(0, end - at) for end, at in pairs), unit)


def files_in(folder: Path, *, recursive: bool) -> Iterator[str]:
    """The files that Spark reads of a folder."""
    for path in folder.rglob("*") if recursive else folder.iterdir():
        parts = path.relative_to(folder).parts
        if not any(part.startswith(_HIDDEN) for part in parts) and path.is_file():
            yield str(path)


class _Taken:
    """The files of a query's batches so far: what its source writes down, a file of lines per batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self._paths: set[str] = set()

    def paths(self) -> set[str] | None:
        """None where nothing is written down here. Reads what is new."""
        try:
            written = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        except OSError:
            return None
        for name in written:
            if name not in self._seen:
                self._seen.add(name)
                self._read(self._folder / name)
        return self._paths

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_bytes().splitlines()[1:]
        except OSError:  # compacted into another meanwhile
            return
        self._paths |= {unquote(urlsplit(msgspec.json.decode(line)["path"]).path) for line in lines}
