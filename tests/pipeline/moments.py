"""What a running pipeline is doing at a moment, as its checkpoint and the logs of the overlay's sources tell it.

Nothing is asked of the pipeline itself, so whoever looks on changes nothing, and sees what is on disk: what a process
that is killed now leaves behind.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from statistics import median

PHASES = ("start-up", "before append", "appending", "committing", "between batches")
"""Until a driver's first commit; the batch is planned, nothing of it is in a log; some of it is; all of it is, but
the batch is not committed; the last batch is committed, and no next one planned."""


class Sight:
    """Looks at a pipeline that reads files of ``rows`` messages each, all of which somebody wants."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._checkpoint = folder / "checkpoint"
        self._rows = rows
        self._open = ExitStack()
        stores = sorted((folder / "data").glob("*/broker.sqlite3"))
        self._logs = [
            self._open.enter_context(closing(sqlite3.connect(f"file:{at}?mode=ro", uri=True))) for at in stores
        ]
        self._ends = [0] * len(stores)
        self._taken: dict[int, int] = {-1: 0}
        self._begun_with = -1
        self.lasted: defaultdict[str, list[float]] = defaultdict(list)
        """Phase → how many seconds it took, each time."""
        self._phase, self._since = "start-up", 0.0

    def close(self) -> None:
        self._open.close()

    def driver_begins(self, now: float) -> None:
        self._begun_with = self.committed
        self._phase, self._since = "start-up", now

    @property
    def committed(self) -> int:
        """The last batch that is through; -1: none."""
        return _newest(self._checkpoint / "commits")

    @property
    def planned(self) -> int:
        return _newest(self._checkpoint / "offsets")

    def phase(self, now: float) -> str:
        """What is going on; call it often, since it also learns how long phases take."""
        found = self._look()
        if found != self._phase:
            self.lasted[self._phase].append(now - self._since)
            self._phase, self._since = found, now
        return found

    def typical_s(self, phase: str, unknown: float = 0.05) -> float:
        return median(self.lasted[phase][-9:]) if self.lasted[phase] else unknown

    def _look(self) -> str:
        committed, planned = self.committed, self.planned
        if committed <= self._begun_with:
            return "start-up"
        if planned <= committed:
            return "between batches"
        before, whole = self._rows * self.files_through(planned - 1), self._rows * self.files_through(planned)
        logged = self.logged()
        return "before append" if logged <= before else "appending" if logged < whole else "committing"

    def logged(self) -> int:
        """How many messages are durable at the sources."""
        for at, log in enumerate(self._logs):
            with suppress(sqlite3.OperationalError):  # a broker that has no log
                (last,) = log.execute("SELECT max(last) FROM chunks").fetchone()
                self._ends[at] = max(self._ends[at], last or 0)
        return sum(self._ends)

    def files_through(self, batch: int) -> int:
        """How many files are in this batch and those before it; 0 where the checkpoint does not tell it any more."""
        if batch not in self._taken:
            try:
                offset = json.loads((self._checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1])[
                    "logOffset"
                ]
                self._taken[batch] = self._files(offset)
            except (OSError, ValueError):  # it is being written
                return 0
        return self._taken[batch]

    def _files(self, offset: int) -> int:
        folder = self._checkpoint / "sources" / "0"
        entries: set[str] = set()
        for file in folder.glob("[0-9]*"):
            lines = file.read_text().splitlines()[1:]
            entries |= {entry["path"] for entry in map(json.loads, lines) if entry["batchId"] <= offset}
        return len(entries)


def _newest(folder: Path) -> int:
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1
