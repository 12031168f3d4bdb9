"""The roster: who wants what, as it stands in the coordinators' store.

Gateways' changes are checked and wait; a group of them is written at a time, and counts when it is durable. So what is
read here is what the store holds, and may be told. A *version* counts the changes of who wants a profile. The last
changes are kept, so that sources that were away for a moment hear of these alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.roster_digest import fingerprint, replaced
from semcast.protocol.wire.frames import GatewayChanges, Wish

_ROW, _GONE, _GATEWAY, _VERSION = "roster/", "gone/", "gateway/", "version"
_GROUP = 250
"""Changes that are written together, at most: more would keep the event loop for too long."""
_KEPT = 10_000
"""Changes that are remembered at most, and profiles that have gone."""


class Holding(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A gateway wants a profile, as it said last in an incarnation."""

    gateway: str
    incarnation: int
    max_delay_ms: float | None = None


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A profile that somebody wants."""

    name: str
    """It tells the version in which the profile came, so no other ever has it."""
    profile: ProfileText
    version: int
    """The newest change of who wants it."""
    holdings: tuple[Holding, ...]

    @property
    def gateways(self) -> tuple[str, ...]:
        return tuple([holding.gateway for holding in self.holdings])

    def fingerprint(self) -> int:
        return fingerprint(self.name, self.profile, self.gateways)


class Stand(msgspec.Struct, frozen=True, array_like=True):
    """How far a gateway's changes are stored."""

    incarnation: int = -1
    serial: int = 0
    complete: bool = False
    """Has this incarnation said all that it wanted when it began?"""


class Logged(NamedTuple):
    """A change; ``profile`` is None where nobody wants it any more."""

    version: int
    name: str
    profile: ProfileText | None
    gateways: tuple[str, ...]
    digest: int | None
    """Of the whole roster after it; None where that is not known any more."""


class Grown(NamedTuple):
    """A gateway's changes are stored, and in the roster since a version."""

    version: int
    gateway: str
    stand: Stand
    bounded: tuple[tuple[int, str, float], ...] = ()
    """(serial, profile's name, bound in ms) of those with a bound."""


class _Waiting(NamedTuple):
    gateway: str
    incarnation: int
    serial: int
    wish: Wish | None
    """None: the incarnation begins, and at the second time, all was said that it wanted then."""
    left_over: bool = False
    """Not the gateway's word: nothing was heard of it since the gateway's incarnation began."""


class _Group:
    """Changes that are being written, and what will be when they are."""

    def __init__(self, version: int, digest: int) -> None:
        self.version = version
        self.digest = digest
        self.entries: dict[ProfileText, Entry | None] = {}
        self.stands: dict[str, Stand] = {}
        self.log: list[Logged] = []
        self.bounded: dict[str, list[tuple[int, str, float]]] = {}


class Roster:
    """Reads are of what is durable; ``take`` and ``expire`` are ahead of it."""

    def __init__(self, kept: int = _KEPT) -> None:
        """``kept``: changes that are remembered, so that a source that is a little behind hears of these alone."""
        self._kept = kept
        self._begin()

    def _begin(self) -> None:
        self.version = 0
        self.digest = 0
        self.grown: deque[Grown] = deque()
        """What became durable and nobody has called live yet, in order."""
        self._stored: list[Grown] = []
        self._entries: dict[ProfileText, Entry] = {}
        self._names: dict[str, ProfileText] = {}
        self._stands: dict[str, Stand] = {}
        self._log: deque[Logged] = deque()
        self._known_since = 0
        """Changes behind this version are in the log."""
        self._gone: deque[str] = deque()
        """Rows of the store that say which profiles have gone, the oldest first."""
        self._left_over: dict[str, set[ProfileText]] = {}
        """Gateway → what an earlier incarnation wanted, and the present one has not said again."""
        self._held: dict[str, set[ProfileText]] = {}
        self._heard: dict[str, tuple[int, int]] = {}
        self._marked: dict[str, int] = {}
        """Gateway → the incarnation that has said all that it wanted when it began."""
        self._waiting: deque[_Waiting] = deque()
        self._writing: _Group | None = None
        self._sets: dict[tuple[Holding, ...], tuple[Holding, ...]] = {}
        """Equal holdings of many profiles are one object."""

    def forget(self) -> None:
        self._begin()

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Begin with what the store holds."""
        self._begin()
        log: list[tuple[int, str, Entry | None]] = []
        entry_of = msgspec.msgpack.Decoder(Entry).decode
        gateways: dict[str, str] = {}
        for name, value in rows.items():
            if name.startswith(_ROW):
                entry = entry_of(value)
                holdings = tuple(
                    Holding(gateways.setdefault(held.gateway, held.gateway), held.incarnation, held.max_delay_ms)
                    for held in entry.holdings
                )
                entry = Entry(entry.name, entry.profile, entry.version, self._shared(holdings))
                self._put(entry.profile, entry)
                self.digest = replaced(self.digest, 0, entry.fingerprint())
                log.append((entry.version, entry.name, entry))
            elif name.startswith(_GONE):
                self._gone.append(name)
                log.append((int(name.removeprefix(_GONE), 16), value.decode(), None))
            elif name.startswith(_GATEWAY):
                self._stands[name.removeprefix(_GATEWAY)] = msgspec.msgpack.decode(value, type=Stand)
        self.version = msgspec.msgpack.decode(rows[_VERSION], type=int) if _VERSION in rows else 0
        self._gone = deque(sorted(self._gone))
        self._recall(sorted(log, key=lambda change: change[0]))
        for gateway, stand in self._stands.items():
            self._heard[gateway] = stand.incarnation, stand.serial
            if stand.complete:
                self._marked[gateway] = stand.incarnation
            self.grown.append(Grown(self.version, gateway, stand))
            held = self._held.get(gateway, set())
            self._left_over[gateway] = {p for p in held if self._said_in(p, gateway) < stand.incarnation}

    def _recall(self, log: list[tuple[int, str, Entry | None]]) -> None:
        """What changed last, as far as the store tells: of each profile the newest change. Only the end has a digest.

        Rows of profiles that have gone are kept for so many only: before the oldest of these nothing is known.
        """
        gone = [version for version, _, entry in log if entry is None]
        self._known_since = gone[0] - 1 if len(gone) >= _KEPT else 0
        recent = [change for change in log if change[0] > self._known_since][-self._kept :]
        if len(recent) == self._kept:
            self._known_since = recent[0][0] - 1
        for version, name, entry in recent:
            profile, gateways = (entry.profile, entry.gateways) if entry is not None else (None, ())
            self._log.append(Logged(version, name, profile, gateways, None))
        if self._log:
            self._log[-1] = self._log[-1]._replace(digest=self.digest)

    # --- what is durable

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def names(self) -> list[str]:
        return list(self._names)

    def entry(self, name: str) -> Entry | None:
        profile = self._names.get(name)
        return self._entries[profile] if profile is not None else None

    def stand(self, gateway: str) -> Stand:
        return self._stands.get(gateway, Stand())

    def stands(self) -> dict[str, tuple[int, int]]:
        return {gateway: (stand.incarnation, stand.serial) for gateway, stand in sorted(self._stands.items())}

    def heard(self) -> dict[str, tuple[int, int]]:
        """What every gateway said last, durable or not."""
        return dict(sorted(self._heard.items()))

    def since(self, version: int, most: int) -> list[Logged] | None:
        """Changes behind a version, at most so many; None where some are forgotten, or it is from the future."""
        if version > self.version or version < self._known_since:
            return None
        if version == self.version:
            return []
        first = self._log[0].version
        # Versions in the log follow each other, but where they were read from a store: then some are left out.
        place = max(0, min(version + 1 - first, len(self._log)))
        while place > 0 and self._log[place - 1].version > version:
            place -= 1
        return list(islice(self._log, place, place + most))

    def stored(self) -> list[Grown]:
        """What has become durable since this was last asked."""
        found, self._stored = self._stored, []
        return found

    # --- what is ahead

    @property
    def busy(self) -> bool:
        """Does anything wait, or is it being written?"""
        return bool(self._waiting) or self._writing is not None

    def lacks(self, said: GatewayChanges) -> bool:
        """Were some of a gateway's changes left out that came before these?"""
        known, serial = self._heard.get(said.gateway, (-1, 0))
        return said.first > (serial if said.incarnation == known else 0) + 1

    def take(self, wishes: GatewayChanges) -> bool:
        """Take a gateway's changes; False where there are none, they were said before, or some were left out."""
        gateway, incarnation = wishes.gateway, wishes.incarnation
        known, serial = self._heard.get(gateway, (-1, 0))
        serial = serial if incarnation == known else 0
        if incarnation < known or self.lacks(wishes):
            return False
        new = wishes.changes[serial + 1 - wishes.first :]
        if incarnation > known:
            self._left_over[gateway] = set(self._held.get(gateway, ()))
            self._waiting.append(_Waiting(gateway, incarnation, 0, None))
        self._waiting.extend(
            [_Waiting(gateway, incarnation, number, wish) for number, wish in enumerate(new, serial + 1)]
        )
        self._heard[gateway] = incarnation, serial + len(new)
        marked = self._marked.get(gateway) == incarnation
        if wishes.complete is not None and wishes.complete <= serial + len(new) and not marked:
            self._marked[gateway] = incarnation
            self._waiting.append(_Waiting(gateway, incarnation, wishes.complete, None))
        return bool(new)

    def left_over(self) -> list[str]:
        """Gateways that have said all they want, and of which an earlier incarnation wanted more."""
        return [g for g, held in self._left_over.items() if held and self.stand(g).complete and self._current(g)]

    def _current(self, gateway: str) -> bool:
        return self._heard.get(gateway, (-1, 0))[0] == self.stand(gateway).incarnation

    def expire(self, gateway: str, most: int) -> None:
        """Forget some of what an earlier incarnation of a gateway wanted."""
        held = self._left_over[gateway]
        stand = self.stand(gateway)
        for profile in list(islice(held, most)):
            held.discard(profile)
            self._waiting.append(_Waiting(gateway, stand.incarnation, 0, Wish(profile, False), True))

    # --- writing

    def to_commit(self) -> dict[str, bytes | None] | None:
        """The next group of changes as rows of the store; None where none waits or one is being written."""
        if self._writing is not None or not self._waiting:
            return None
        group = self._writing = _Group(self.version, self.digest)
        for _ in range(min(_GROUP, len(self._waiting))):
            self._apply(group, self._waiting.popleft())
        rows: dict[str, bytes | None] = {}
        encode = msgspec.msgpack.encode
        for profile, entry in group.entries.items():
            before = self._entries.get(profile)
            if before is not None and (entry is None or entry.name != before.name):
                rows[_ROW + before.name] = None
            if entry is not None:
                rows[_ROW + entry.name] = encode(entry)
        for change in group.log:
            if change.profile is None:
                rows[f"{_GONE}{change.version:016x}"] = change.name.encode()
                self._gone.append(f"{_GONE}{change.version:016x}")
        while len(self._gone) > _KEPT:
            rows[self._gone.popleft()] = None
        rows |= {_GATEWAY + gateway: encode(stand) for gateway, stand in group.stands.items()}
        if group.version > self.version:
            rows[_VERSION] = encode(group.version)
        return rows

    def committed(self) -> None:
        """What ``to_commit`` gave is durable."""
        group, self._writing = self._writing, None
        if group is None:
            return
        for profile, entry in group.entries.items():
            self._put(profile, entry)
        self._log.extend(group.log)
        while len(self._log) > self._kept:
            self._known_since = self._log.popleft().version
        self.version, self.digest = group.version, group.digest
        self._stands |= group.stands
        for gateway, stand in group.stands.items():
            bounded = tuple(group.bounded.get(gateway, ()))
            self._stored.append(Grown(group.version, gateway, stand, bounded))
        self.grown.extend(self._stored[-len(group.stands) :] if group.stands else ())

    def _apply(self, group: _Group, waiting: _Waiting) -> None:
        gateway, incarnation, serial, wish, left_over = waiting
        stand = group.stands.get(gateway, self.stand(gateway))
        if wish is None:
            known = stand.incarnation == incarnation
            group.stands[gateway] = Stand(incarnation, stand.serial if known else 0, known)
            return
        if not left_over:
            group.stands[gateway] = Stand(incarnation, serial, stand.complete and stand.incarnation == incarnation)
        profile = wish.profile
        entry = group.entries[profile] if profile in group.entries else self._entries.get(profile)
        others = tuple([held for held in entry.holdings if held.gateway != gateway]) if entry is not None else ()
        was_held = entry is not None and len(others) < len(entry.holdings)
        if not wish.wanted:
            if not was_held or (left_over and self._said_in_entry(entry, gateway) >= incarnation):
                return
            self._changed(group, profile, entry, others)
            return
        left = self._left_over.get(gateway)
        if left is not None:
            left.discard(profile)
        holdings = (*others, Holding(gateway, incarnation, wish.max_delay_ms))
        if was_held and entry is not None:
            group.entries[profile] = Entry(entry.name, profile, entry.version, self._shared(holdings))
        else:
            self._changed(group, profile, entry, holdings)
        if wish.max_delay_ms is not None:
            now = group.entries[profile]
            assert now is not None
            group.bounded.setdefault(gateway, []).append((serial, now.name, wish.max_delay_ms))

    def _changed(self, group: _Group, profile: ProfileText, entry: Entry | None, holdings: tuple[Holding, ...]) -> None:
        """Other gateways want it than before: a new version."""
        group.version += 1
        before = entry.fingerprint() if entry is not None else 0
        name = entry.name if entry is not None else f"p{group.version}"
        now = Entry(name, profile, group.version, self._shared(holdings)) if holdings else None
        group.digest = replaced(group.digest, before, now.fingerprint() if now is not None else 0)
        group.entries[profile] = now
        gateways = now.gateways if now is not None else ()
        group.log.append(
            Logged(group.version, name, profile if now is not None else None, gateways, group.digest)
        )  # fmt: skip

    def _put(self, profile: ProfileText, entry: Entry | None) -> None:
        before = self._entries.get(profile)
        was = {held.gateway for held in before.holdings} if before is not None else set()
        now = {held.gateway for held in entry.holdings} if entry is not None else set()
        for gateway in was - now:
            self._held[gateway].discard(profile)
        for gateway in now - was:
            self._held.setdefault(gateway, set()).add(profile)
            if self._said_in_entry(entry, gateway) < self._heard.get(gateway, (-1, 0))[0]:
                self._left_over.setdefault(gateway, set()).add(profile)  # it waited while the gateway fell
        if before is not None and (entry is None or entry.name != before.name):
            del self._names[before.name]
        if entry is None:
            self._entries.pop(profile, None)
        else:
            self._entries[profile] = entry
            self._names[entry.name] = profile

    def _said_in(self, profile: ProfileText, gateway: str) -> int:
        return self._said_in_entry(self._entries.get(profile), gateway)

    @staticmethod
    def _said_in_entry(entry: Entry | None, gateway: str) -> int:
        holdings = entry.holdings if entry is not None else ()
        return next((held.incarnation for held in holdings if held.gateway == gateway), -1)

    def _shared(self, holdings: tuple[Holding, ...]) -> tuple[Holding, ...]:
        if any(held.max_delay_ms is not None for held in holdings):
            return holdings
        return self._sets.setdefault(holdings, holdings)
