"""Sources that follow the roster: what each was told, what it has said that it matches by, and saying the rest.

A source that is a little behind is told the changes since its version. One that is far behind, or from a future that
this coordinator's store does not know, is told everything, piece by piece, while changes go on: a piece says who wants
a profile now, and the changes since the snapshot began follow it, so in the end all is as it stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command, Note, Send
from semcast.protocol.coordinator.roster import Roster
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import (
    Heartbeat,
    PieceTaken,
    RosterChange,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
)

_BYTES = 1 << 20
"""Of the texts in one frame, but for the last of them."""
_AHEAD = 4000
"""Changes that a source is told before it confirms any."""
_PIECES = 2
"""Pieces of a snapshot under way."""


class _Snapshot:
    """The whole roster on its way to one source."""

    def __init__(self, number: int, version: int, names: list[str]) -> None:
        self.number = number
        self.version = version
        self.names = names
        self.begins = [0]
        """Where pieces begin in the names; the last is where the next one will."""
        self.sent = 0
        self.taken = 0
        """Pieces."""


class _Source:
    def __init__(self) -> None:
        self.incarnation = -1
        self.version = 0
        self.position = 0
        self.told = 0
        self.told_at = float("-inf")
        self.snapshot: _Snapshot | None = None
        self.astray = False

    def begin(self, incarnation: int, version: int, position: int) -> None:
        self.incarnation, self.version, self.position = incarnation, version, position
        self.told, self.snapshot, self.astray = version, None, False


class Followers:
    """One leader's dealings with the sources' rosters."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sources: dict[str, _Source] = {}
        self._snapshots = 0

    def version(self, source: str) -> int:
        """The newest version that a source has confirmed in its present incarnation; -1: it has not spoken yet."""
        known = self._sources.get(source)
        return known.version if known is not None and known.incarnation >= 0 else -1

    def has(self, source: str, least: int, newest: int) -> bool:
        """Does a source match by one of these versions, as far as it knows itself?"""
        known = self._sources.get(source)
        astray = known is None or known.astray or known.snapshot is not None
        return not astray and least <= self.version(source) <= newest

    def position(self, source: str) -> int:
        """Where in its log that version took effect."""
        return self._sources[source].position

    # --- what sources say

    def heard(self, beat: Heartbeat) -> None:
        self._confirmed(beat.broker, beat.incarnation, beat.version, beat.version_since)

    def followed(self, said: RosterFollowed) -> list[Command]:
        known = self._confirmed(said.source, said.incarnation, said.version, said.position)
        if known is None or not said.astray or known.astray:
            return []
        known.begin(said.incarnation, 0, 0)
        known.astray = True
        return [Note("roster astray", {"source": said.source, "version": said.version})]

    def _confirmed(self, source: str, incarnation: int, version: int, position: int) -> _Source | None:
        known = self._sources.setdefault(source, _Source())
        if incarnation < known.incarnation:
            return None
        if incarnation > known.incarnation:
            known.begin(incarnation, version, position)
        elif version > known.version and not known.astray:
            known.version, known.position = version, position
            known.told = max(known.told, version)
        return known

    def taken(self, said: PieceTaken) -> None:
        known = self._sources.get(said.source)
        if known is None or known.snapshot is None or known.incarnation != said.incarnation:
            return
        snapshot = known.snapshot
        if said.snapshot == snapshot.number and said.place == snapshot.taken < snapshot.sent:
            snapshot.taken += 1
            known.told_at = float("-inf")
            if snapshot.taken == snapshot.sent and snapshot.begins[-1] >= len(snapshot.names):
                # It matches by all of it from its next word on, which says where in its log.
                known.snapshot, known.told, known.astray = None, snapshot.version, False
                known.version = min(known.version, snapshot.version)

    # --- what they are told

    def tell(self, roster: Roster, sources: Iterable[str], term: int, now: float) -> list[Command]:
        """Tell sources what they do not know yet."""
        commands: list[Command] = []
        for source in sources:
            known = self._sources.get(source)
            if known is None or known.incarnation < 0:
                continue
            if known.snapshot is not None:
                commands += self._pieces(source, known, known.snapshot, roster, term, now)
            else:
                commands += self._changes(source, known, roster, term, now)
        return commands

    def _changes(self, source: str, known: _Source, roster: Roster, term: int, now: float) -> list[Command]:
        if known.version < known.told and now - known.told_at >= self._settings.resend_s:
            known.told = known.version
        commands: list[Command] = []
        while known.told != roster.version and known.told - known.version < _AHEAD:
            changes = None if known.astray else roster.since(known.told, self._settings.roster_frame)
            if changes is None:
                return commands + self._begin(source, known, roster, term, now)
            changes = changes[: _fitting(change.profile for change in changes)]
            last = changes[-1]
            places, held = _placed((change.name, change.profile, change.gateways) for change in changes)
            frame = RosterChanges(term, known.told, last.version, places, held, last.digest)
            commands.append(Send(source, frame))
            known.told, known.told_at = last.version, now
        return commands

    def _begin(self, source: str, known: _Source, roster: Roster, term: int, now: float) -> list[Command]:
        self._snapshots += 1
        snapshot = known.snapshot = _Snapshot(self._snapshots, roster.version, roster.names())
        known.told_at = float("-inf")
        known.version = min(known.version, roster.version)
        about = {"source": source, "version": roster.version, "profiles": len(snapshot.names)}
        return [Note("roster sent", about), *self._pieces(source, known, snapshot, roster, term, now)]

    def _pieces(
        self, source: str, known: _Source, snapshot: _Snapshot, roster: Roster, term: int, now: float
    ) -> list[Command]:
        if snapshot.taken < snapshot.sent and now - known.told_at >= self._settings.resend_s:
            snapshot.sent = snapshot.taken
        commands: list[Command] = []
        while snapshot.sent - snapshot.taken < _PIECES and (not snapshot.sent or not self._ended(snapshot)):
            commands.append(Send(source, _piece(snapshot, roster, term, self._settings.roster_frame)))
            snapshot.sent += 1
            known.told_at = now
        return commands

    @staticmethod
    def _ended(snapshot: _Snapshot) -> bool:
        """Has the last piece been sent?"""
        return snapshot.sent == len(snapshot.begins) - 1 and snapshot.begins[-1] >= len(snapshot.names)


def _piece(snapshot: _Snapshot, roster: Roster, term: int, most: int) -> RosterPiece:
    begin = snapshot.begins[snapshot.sent]
    if snapshot.sent == len(snapshot.begins) - 1:
        entries = [roster.entry(name) for name in snapshot.names[begin : begin + most]]
        snapshot.begins.append(begin + _fitting(entry.profile if entry is not None else None for entry in entries))
    end = snapshot.begins[snapshot.sent + 1]
    names, held = _placed(_standing(roster, snapshot.names[begin:end]))
    last = end >= len(snapshot.names)
    return RosterPiece(term, snapshot.number, snapshot.sent, snapshot.version, names, held, last)


def _standing(roster: Roster, names: Iterable[str]) -> Iterator[tuple[str, ProfileText | None, tuple[str, ...]]]:
    for name in names:
        entry = roster.entry(name)
        if entry is not None:  # else it has gone meanwhile, which the changes tell that follow
            yield name, entry.profile, entry.gateways


def _placed(
    changes: Iterable[tuple[str, ProfileText | None, tuple[str, ...]]],
) -> tuple[tuple[str, ...], tuple[RosterChange, ...]]:
    """Changes as they travel: gateways by their places in a list."""
    places: dict[str, int] = {}
    held = [
        RosterChange(name, profile, tuple([places.setdefault(gateway, len(places)) for gateway in gateways]))
        for name, profile, gateways in changes
    ]
    return tuple(places), tuple(held)


def _fitting(profiles: Iterable[ProfileText | None]) -> int:
    """How many of them fit into a frame; one does always."""
    count = size = 0
    for profile in profiles:
        size += len(profile.text) if profile is not None else 0
        if count and size > _BYTES:
            break
        count += 1
    return max(count, 1)
