"""The roster as a source follows it: what messages are matched with, and which gateways want each profile."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from semcast.model.message import Message, ProfileText
from semcast.protocol.filters import Filter
from semcast.protocol.roster_digest import fingerprint, replaced
from semcast.protocol.wire.frames import RosterChange, RosterChanges, RosterPiece

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside

_ADDED = 10_000
"""Additions that are remembered, for messages that were matched elsewhere by an earlier version."""


class FollowedRoster:
    """Profiles by the coordinator's names, as of one version."""

    def __init__(self, aside: Aside | None = None) -> None:
        self.version = 0
        self.digest = 0
        self.gateways: list[str] = []
        """In the order of masks' bits here: those of the plan are others."""
        self.astray = 0
        """How often its digest was not the coordinator's."""
        self.repeated = 0
        """How often it was told what it knew."""
        self.matching: Filter[str] = Filter(aside=aside)
        self.held: Counter[str] = Counter()
        """Per gateway, how many profiles it wants."""
        self._places: dict[str, int] = {}
        self._entries: dict[str, tuple[ProfileText, int]] = {}
        self._added: deque[tuple[int, str]] = deque()
        self._forgotten = 0
        """Additions through this version are not remembered."""
        self._late = _Late()
        self._snapshot: _Snapshot | None = None
        self._taken: tuple[int, int] | None = None
        """The last snapshot that was taken whole."""

    def __len__(self) -> int:
        return len(self._entries)

    def mask(self, names: Iterable[str]) -> int:
        """The gateways that want any of these profiles."""
        found = 0
        for name in names:
            found |= self._entries[name][1]
        return found

    def profiles(self) -> Iterator[tuple[str, ProfileText, tuple[str, ...]]]:
        """All of it: name, profile and gateways."""
        named: dict[int, tuple[str, ...]] = {}
        for name, (profile, mask) in self._entries.items():
            if mask not in named:
                named[mask] = self._named(mask)
            yield name, profile, named[mask]

    # --- following

    def change(self, said: RosterChanges) -> bool:
        """Take changes that follow what is known; False where that leads astray: then all of it is needed."""
        if said.version <= self.version:
            self.repeated += 1
            return True
        if said.since > self.version or self._snapshot is not None:
            return True  # some are missing, and will be said again
        self._apply(said.changes, said.gateways, said.version)
        self.version = said.version
        if said.digest is None or said.digest == self.digest:
            return True
        self.astray += 1
        self.version = 0
        return False

    def piece(self, said: RosterPiece) -> bool:
        """Take a piece of the whole; was it taken, now or before?"""
        number = said.term, said.snapshot
        if number == self._taken:
            return True
        if said.place == 0 and (self._snapshot is None or self._snapshot.number != number):
            self._snapshot = _Snapshot(number)
        snapshot = self._snapshot
        if snapshot is None or snapshot.number != number or said.place > snapshot.place:
            return False
        if said.place == snapshot.place:
            snapshot.place += 1
            self._apply(said.changes, said.gateways, said.version)
            for change in said.changes:
                snapshot.take(change, [said.gateways[place] for place in change.gateways])
            if said.last:
                for name in [name for name in self._entries if name not in snapshot.seen]:
                    self._set(name, None, 0)
                self.version, self._snapshot, self._taken = said.version, None, number
                # What was kept up change by change may have gone wrong with the entries: it begins again with them.
                self.digest, self.held = snapshot.digest, snapshot.held
        return True

    def _apply(self, changes: Sequence[RosterChange], gateways: Sequence[str], version: int) -> None:
        places = [self._place(gateway) for gateway in gateways]
        masks: dict[tuple[int, ...], int] = {}
        for change in changes:
            held = change.gateways
            if held not in masks:
                masks[held] = sum({1 << places[place] for place in held})
            profile = change.profile if masks[held] else None
            if profile is not None:
                before = self._entries.get(change.name)
                if before is None or masks[held] & ~before[1]:
                    self._remember(version, change.name)
            self._set(change.name, profile, masks[held])

    def _set(self, name: str, profile: ProfileText | None, mask: int) -> None:
        before = self._entries.get(name)
        was = 0
        if before is not None:
            was = fingerprint(name, before[0], self._named(before[1]))
            for gateway in self._named(before[1]):
                self.held[gateway] -= 1
        if profile is None:
            if before is not None:
                del self._entries[name]
                self.matching.remove(name)
            now = 0
        else:
            profile = before[0] if before is not None and before[0] == profile else profile
            named = self._named(mask)
            self._entries[name] = profile, mask
            self.matching.add(name, profile)
            self.held.update(named)
            now = fingerprint(name, profile, named)
        self.digest = replaced(self.digest, was, now)

    def _place(self, gateway: str) -> int:
        place = self._places.get(gateway)
        if place is None:
            place = self._places[gateway] = len(self.gateways)
            self.gateways.append(gateway)
        return place

    def _named(self, mask: int) -> tuple[str, ...]:
        found = []
        while mask:
            found.append(self.gateways[(mask & -mask).bit_length() - 1])
            mask &= mask - 1
        return tuple(found)

    # --- messages that were matched elsewhere, by an earlier version

    def _remember(self, version: int, name: str) -> None:
        self._added.append((version, name))
        while len(self._added) > _ADDED:
            self._forgotten = self._added.popleft()[0]

    def knows_since(self, version: int) -> bool:
        """Are all additions behind a version remembered?"""
        return self._forgotten <= version <= self.version

    def match_since(self, version: int, messages: Sequence[Message]) -> list[int]:
        """Per message the gateways that want it, by what was added behind a version."""
        if version >= self.version:
            return [0] * len(messages)
        recent = takewhile(lambda added: added[0] > version, reversed(self._added))
        added = {name: self._entries[name] for _, name in recent if name in self._entries}
        return self._late.match(added, messages)


class _Late:
    """What was added lately, in a matcher of its own: the next frame asks for nearly the same."""

    def __init__(self) -> None:
        self._filter: Filter[str] = Filter()

    def match(self, added: dict[str, tuple[ProfileText, int]], messages: Sequence[Message]) -> list[int]:
        self._filter.keep({name: profile for name, (profile, _) in added.items()})
        found = []
        for names in self._filter.match(messages):
            mask = 0
            for name in names:
                mask |= added[name][1]
            found.append(mask)
        return found


class _Snapshot:
    """Pieces of the whole roster that have come."""

    def __init__(self, number: tuple[int, int]) -> None:
        self.number = number
        self.place = 0
        self.seen: set[str] = set()
        self.digest = 0
        self.held: Counter[str] = Counter()

    def take(self, change: RosterChange, gateways: Sequence[str]) -> None:
        self.seen.add(change.name)
        if change.profile is not None and gateways:
            self.digest = replaced(self.digest, 0, fingerprint(change.name, change.profile, gateways))
            self.held.update(gateways)
