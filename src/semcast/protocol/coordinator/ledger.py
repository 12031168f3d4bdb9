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
from semcast.protocol.wire.frames import Interests

Said = tuple[int, int]
"""(incarnation, serial): which of a gateway's words is meant."""


class Phase(Enum):
    SETTLED = "settled"
    INSTALLING = "installing"
    SWITCHING = "switching"


class LiveNote(msgspec.Struct, frozen=True):
    """Since where the interests of a gateway are live."""

    said: Said
    epoch: int
    positions: tuple[tuple[str, int], ...]
    unsure: tuple[str, ...] = ()
    late: tuple[tuple[int, float], ...] = ()


class _Book(msgspec.Struct):
    """Everything, in the form in which it is stored."""

    epoch: int = 0
    phase: Phase = Phase.SETTLED
    current: Deployment | None = None
    target: Deployment | None = None
    draining: list[tuple[Deployment, int]] = []
    interests: dict[str, Interests] = {}
    names: dict[str, ProfileText] = {}
    live: dict[str, LiveNote] = {}


class Ledger:
    """Reads are of what is durable, unless they say otherwise; a change is read when it is ``committed``."""

    def __init__(self) -> None:
        self._book = _Book()
        self._ahead = _Book()
        """The book with all changes that are not durable yet."""
        self._waiting: dict[str, object] = {}
        self._writing: dict[str, object] = {}
        self.batch = 1
        """The batch that takes the next change: those through ``written`` are durable."""
        self.written = 0

    def load(self, held: Mapping[str, bytes]) -> None:
        """Begin with what the store holds."""
        known = {name: msgspec.msgpack.decode(held[name], type=_KINDS[name]) for name in _KINDS if name in held}
        self._start(_Book(**known))

    def forget(self) -> None:
        self._start(_Book())

    def _start(self, book: _Book) -> None:
        self._book, self._ahead = book, copy(book)
        self._waiting, self._writing = {}, {}
        self.batch, self.written = 1, 0

    def _write(self, **changes: object) -> None:
        for name, value in changes.items():
            setattr(self._ahead, name, value)
        self._waiting |= changes

    def to_commit(self) -> dict[str, bytes] | None:
        """All changes that wait, to be written together; None as long as others are being written."""
        if self._writing or not self._waiting:
            return None
        self._writing, self._waiting = self._waiting, {}
        self.batch += 1
        return {name: msgspec.msgpack.encode(value) for name, value in self._writing.items()}

    def committed(self) -> None:
        """What ``to_commit`` gave is durable."""
        for name, value in self._writing.items():
            setattr(self._book, name, value)
        self._writing, self.written = {}, self.batch - 1

    @property
    def deciding(self) -> bool:
        """Is a step of a change of plan not durable yet?"""
        return not _STEPS.isdisjoint(self._waiting) or not _STEPS.isdisjoint(self._writing)

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

    @property
    def live(self) -> dict[str, LiveNote]:
        return self._book.live

    def heard(self, gateway: str) -> Said:
        """What a gateway asked for last, durable or not."""
        return _said(self._ahead, gateway)

    def all_heard(self) -> dict[str, Said]:
        return {gateway: _said(self._ahead, gateway) for gateway in sorted(self._ahead.interests)}

    def all_said(self) -> dict[str, Said]:
        return {gateway: _said(self._book, gateway) for gateway in sorted(self._book.interests)}

    def next_epoch(self) -> int:
        return self._book.epoch + 1

    def profiles(self) -> dict[str, ProfileText]:
        """All that is asked for, by id."""
        asked = {profile for interests in self._book.interests.values() for profile in interests.profiles}
        return {name: profile for name, profile in self._book.names.items() if profile in asked}

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Profile id → the gateways that ask for it."""
        holders: dict[ProfileText, list[str]] = {}
        for gateway, interests in sorted(self._book.interests.items()):
            for profile in interests.profiles:
                holders.setdefault(profile, []).append(gateway)
        return {name: tuple(holders[profile]) for name, profile in self.profiles().items()}

    def bounds(self) -> dict[tuple[str, str], float]:
        """(gateway, profile id) → the bound that was asked for."""
        ids = {profile: name for name, profile in self._book.names.items()}
        return {
            (gateway, ids[profile]): bound
            for gateway, asked in sorted(self._book.interests.items())
            for profile, bound in zip(asked.profiles, asked.max_delay_ms, strict=False)
            if bound is not None
        }

    # --- what changes

    def take(self, interests: Interests) -> None:
        """Store what a gateway asks for; every profile gets an id that never stood for another."""
        names = dict(self._ahead.names)
        known = set(names.values())
        for profile in interests.profiles:
            if profile not in known:
                known.add(profile)
                names[f"p{len(names)}"] = profile
        self._write(names=names, interests=self._ahead.interests | {interests.gateway: interests})

    def begin(self, target: Deployment) -> None:
        self._write(epoch=target.epoch, target=target, phase=Phase.INSTALLING)

    def abandon(self) -> None:
        """Nobody follows it yet; another will come, with another epoch."""
        self._write(target=None, phase=Phase.SETTLED)

    def switching(self) -> None:
        self._write(phase=Phase.SWITCHING)

    def finish(self, positions: dict[str, int], unsure: tuple[str, ...]) -> list[str]:
        """The target is the plan; returns the gateways some of whose interests will be live by it."""
        target, old = self._book.target, self._book.current
        assert target is not None
        draining = list(self._book.draining)
        if old is not None and set(old.keys()) - set(target.keys()):
            draining.append((old, target.epoch))
        before = old.interests if old is not None else {}
        changed = [gateway for gateway, said in target.interests.items() if before.get(gateway) != said]
        note = tuple(sorted(positions.items()))
        live = self._book.live | {
            gateway: LiveNote(target.interests[gateway], target.epoch, note, unsure, self._late(gateway, target))
            for gateway in changed
        }
        self._write(current=target, target=None, phase=Phase.SETTLED, draining=draining, live=live)
        return changed

    def _late(self, gateway: str, target: Deployment) -> tuple[tuple[int, float], ...]:
        """Which of a gateway's profiles will wait longer than asked for: their places in what it said last."""
        said = self._book.interests.get(gateway)
        places = {profile: place for place, profile in enumerate(said.profiles)} if said is not None else {}
        ids = {name: places.get(profile) for name, profile in target.profiles.items()}
        found = [(ids.get(name), target.late.get(f"{gateway}/{name}")) for name in target.profiles]
        return tuple((place, delay) for place, delay in found if place is not None and delay is not None)

    def drained(self, successor: int) -> None:
        self._write(draining=[(old, epoch) for old, epoch in self._ahead.draining if epoch != successor])


def _said(book: _Book, gateway: str) -> Said:
    known = book.interests.get(gateway)
    return (known.incarnation, known.serial) if known is not None else (-1, -1)


_STEPS = frozenset({"epoch", "phase", "current", "target", "draining", "live"})
_KINDS: dict[str, object] = {
    "epoch": int,
    "phase": Phase,
    "current": Deployment | None,
    "target": Deployment | None,
    "draining": list[tuple[Deployment, int]],
    "interests": dict[str, Interests],
    "names": dict[str, ProfileText],
    "live": dict[str, LiveNote],
}
