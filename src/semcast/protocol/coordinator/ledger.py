"""What coordinators have decided and heard: as it stands in their store, and as it will stand there.

What is said rests on the first alone, so nothing is said before it is durable. A change goes into the second at once;
changes that come while others are written are written together, behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from enum import Enum

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.coordinator.deployment import Deployment
from semcast.protocol.coordinator.roster import Roster
from semcast.protocol.settings import Settings


class Phase(Enum):
    SETTLED = "settled"
    INSTALLING = "installing"
    SWITCHING = "switching"


class _Book(msgspec.Struct):
    """Everything, in the form in which it is stored."""

    epoch: int = 0
    phase: Phase = Phase.SETTLED
    current: Deployment | None = None
    target: Deployment | None = None
    draining: list[tuple[Deployment, int]] = []


class Ledger:
    """Reads are of what is durable, unless they say otherwise; a change is read when it is ``committed``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._book = _Book()
        self._ahead = _Book()
        """The book with all changes that are not durable yet."""
        self.roster = Roster(settings.roster_log)
        self._waiting: dict[str, object] = {}
        self._writing: dict[str, object] | None = None
        self.batch = 1
        """The batch that takes the next change: those through ``written`` are durable."""
        self.written = 0

    @staticmethod
    def of(held: Mapping[str, bytes], settings: Settings) -> Ledger:
        """A ledger that begins with what the store holds. In any thread."""
        found = Ledger(settings)
        known = {name: msgspec.msgpack.decode(held[name], type=_KINDS[name]) for name in _KINDS if name in held}
        found._start(_Book(**known))
        found.roster.load(held)
        return found

    def adopt(self, other: Ledger) -> None:
        """Begin with what another one has read, which nobody uses after that."""
        self._start(other._book)
        self.roster = other.roster

    def forget(self) -> None:
        self._start(_Book())
        self.roster.forget()

    def _start(self, book: _Book) -> None:
        self._book, self._ahead = book, copy(book)
        self._waiting, self._writing = {}, None
        self.batch, self.written = 1, 0

    def _write(self, **changes: object) -> None:
        for name, value in changes.items():
            setattr(self._ahead, name, value)
        self._waiting |= changes

    def to_commit(self) -> dict[str, bytes | None] | None:
        """All changes that wait, to be written together; None as long as others are being written."""
        if self._writing is not None:
            return None
        rows = self.roster.to_commit()
        if rows is None and not self._waiting:
            return None
        self._writing, self._waiting = self._waiting, {}
        self.batch += 1
        return (rows or {}) | {name: msgspec.msgpack.encode(value) for name, value in self._writing.items()}

    def committed(self) -> None:
        """What ``to_commit`` gave is durable."""
        for name, value in (self._writing or {}).items():
            setattr(self._book, name, value)
        self._writing, self.written = None, self.batch - 1
        self.roster.committed()

    @property
    def deciding(self) -> bool:
        """Is a step of a change of plan not durable yet?"""
        return not _STEPS.isdisjoint(self._waiting) or not _STEPS.isdisjoint(self._writing or {})

    # --- what is known

    @property
    def phase(self) -> Phase:
        return self._book.phase

    @property
    def current(self) -> Deployment | None:
        return self._book.current

    @property
    def target(self) -> Deployment | None:
        return self._book.target

    @property
    def draining(self) -> list[tuple[Deployment, int]]:
        """Old plans some of whose trees may still carry something, each with the epoch that came after it."""
        return self._book.draining

    def next_epoch(self) -> int:
        return self._book.epoch + 1

    def profiles(self) -> dict[str, ProfileText]:
        """All that is asked for, by name."""
        return {entry.name: entry.profile for entry in self.roster.entries()}

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Profile's name → the gateways that ask for it."""
        return {entry.name: tuple(sorted(entry.gateways)) for entry in self.roster.entries()}

    def bounds(self) -> dict[tuple[str, str], float]:
        """(gateway, profile's name) → the bound that was asked for."""
        return {
            (held.gateway, entry.name): held.max_delay_ms
            for entry in self.roster.entries()
            for held in entry.holdings
            if held.max_delay_ms is not None
        }

    # --- what changes

    def begin(self, target: Deployment) -> None:
        self._write(epoch=target.epoch, target=target, phase=Phase.INSTALLING)

    def abandon(self) -> None:
        """Nobody follows it yet; another will come, with another epoch."""
        self._write(target=None, phase=Phase.SETTLED)

    def switching(self) -> None:
        self._write(phase=Phase.SWITCHING)

    def finish(self) -> None:
        """The target is the plan."""
        target, old = self._book.target, self._book.current
        assert target is not None
        draining = list(self._book.draining)
        if old is not None and set(old.keys()) - set(target.keys()):
            draining.append((old, target.epoch))
        self._write(current=target, target=None, phase=Phase.SETTLED, draining=draining)

    def drained(self, successor: int) -> None:
        self._write(draining=[(old, epoch) for old, epoch in self._ahead.draining if epoch != successor])


_STEPS = frozenset({"epoch", "phase", "current", "target", "draining"})
_KINDS: dict[str, object] = {
    "epoch": int,
    "phase": Phase,
    "current": Deployment | None,
    "target": Deployment | None,
    "draining": list[tuple[Deployment, int]],
}
