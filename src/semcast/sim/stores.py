"""Stores in memory that can lose what a crash would lose: the reference for stores on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from semcast.protocol.stores import CoordinatorStore, FencedError, Record, UnreachableError


class MemoryLog:
    """A source's log of which only what was synced is sure to survive a crash.

    Trimmed records stay in ``history``, where tests look for what really was in the log; readers never see them.
    """

    def __init__(self) -> None:
        self.history: list[Record] = []
        """Record n at place n − 1, also when it is trimmed."""
        self._trimmed = 0
        self._synced = 0
        self._high: dict[str, tuple[int, int]] = {}

    @property
    def end(self) -> int:
        return len(self.history)

    @property
    def trimmed(self) -> int:
        return self._trimmed

    @property
    def synced(self) -> int:
        """Everything through here survives a crash."""
        return self._synced

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.number != len(self.history) + 1:
                raise ValueError(f"record {record.number} cannot follow {len(self.history)}")
            self.history.append(record)
            self._high[record.origin] = record.sequence, record.number

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        begin = max(first, self._trimmed, 0)
        return self.history[begin : min(max(through, begin), begin + max(0, limit))]

    def trim(self, through: int) -> None:
        if through > self._synced:
            raise ValueError(f"{through} is not synced yet, {self._synced} is")
        self._trimmed = max(self._trimmed, through)

    def high_water(self, origin: str) -> tuple[int, int]:
        return self._high.get(origin, (-1, 0))

    def sync(self, through: int) -> None:
        """What a Sync asks for; through more than there is, through the end."""
        self._synced = max(self._synced, min(through, self.end))

    def crash(self, rng: np.random.Generator) -> int:
        """Lose all that was not synced but for a random first part of it; how many records are lost."""
        kept = int(rng.integers(self._synced, self.end + 1))
        lost = self.end - kept
        if lost:
            del self.history[kept:]
            self._high = {record.origin: (record.sequence, record.number) for record in self.history}
        self._synced = kept  # who reads it after the crash finds it on disk
        return lost


class MemoryNotes:
    """A broker's durable facts, for brokers that are given frames: what is put survives every crash.

    Their commands are done at once, as if each commit took no time. Where that matters, brokers are run as in
    production, over a disk (``sim.disk``) on which notes that no commit has taken are lost.
    """

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self._values.get(name)

    def put(self, name: str, value: bytes | None) -> None:
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = bytes(value)

    def items(self, prefix: str) -> list[tuple[str, bytes]]:
        return sorted((name, value) for name, value in self._values.items() if name.startswith(prefix))


class MemoryCoordinatorStore:
    """What coordinators share, judged by true time: a coordinator's own clock has no say in who leads."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._values: dict[str, bytes] = {}
        self._term = 0
        self._leader: str | None = None
        self._until = 0.0

    @property
    def term(self) -> int:
        """The newest term; it never goes back."""
        return self._term

    @property
    def leader(self) -> str | None:
        """Who holds the lead right now."""
        return self._leader if self._now() < self._until else None

    def lead(self, who: str, lease_s: float, above: int = 0) -> int | None:
        holder = self.leader
        if holder is not None and holder != who:
            return None
        if holder is None or self._term <= above:
            self._term += 1
        self._leader, self._until = who, self._now() + lease_s
        return self._term

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        if term != self._term:
            raise FencedError(f"term {term} is over, {self._term} is the newest")
        for name, value in changes.items():
            if value is None:
                self._values.pop(name, None)
            else:
                self._values[name] = bytes(value)

    def get(self, name: str) -> bytes | None:
        """One value; for laws, which look at the store whenever somebody speaks."""
        return self._values.get(name)

    def read(self) -> dict[str, bytes]:
        return dict(sorted(self._values.items()))


class StoreLine:
    """One coordinator's way to the store, which can be cut, and slow."""

    def __init__(self, store: CoordinatorStore) -> None:
        self.store = store
        self.cuts = 0
        """How many faults cut it at the moment."""
        self.slow_s = 0.0
        """A call takes up to so much longer at the moment."""
        self.issued = 0
        """Calls so far."""
        self.read_at = 0
        """How many calls had been issued when the store was last read."""

    def lead(self, who: str, lease_s: float, above: int = 0) -> int | None:
        return self._reached().lead(who, lease_s, above)

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        self._reached().commit(term, changes)

    def read(self) -> dict[str, bytes]:
        return self._reached().read()

    def _reached(self) -> CoordinatorStore:
        if self.cuts:
            raise UnreachableError("the store does not answer")
        return self.store
