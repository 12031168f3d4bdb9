"""A gateway's filtering table (2005 §2): which of its clients a message is for, and what came for them lately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from semcast.model.message import ProfileText, unpacked
from semcast.protocol.contract import Command
from semcast.protocol.filters import Filter
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.ports import CatchingUp
from semcast.protocol.gateway.recent import Recent
from semcast.protocol.gateway.sessions import Session


class FilteringTable:
    """Profiles with the sessions that hold them: each message is matched once, however many sessions there are."""

    def __init__(self, recent_bytes: int, catching_up: CatchingUp) -> None:
        """``catching_up`` decides what a session is given that could not take a message when it came."""
        self._filter: Filter[ProfileText] = Filter()
        self._holders: dict[ProfileText, list[Session]] = {}
        """Who is concerned by a profile: nobody else is looked at when it matches."""
        self._recent = Recent(recent_bytes)
        self._catching_up = catching_up
        self.useful = 0
        """Messages that were somebody's."""

    def fit(self, sessions: Iterable[Session], tops: Mapping[str, int]) -> None:
        """Sessions have come, gone or changed; ``tops`` say per source what had come, or was heard of, before."""
        self._holders = {}
        for session in sessions:
            for profile in dict.fromkeys(session.profiles()):
                self._holders.setdefault(profile, []).append(session)
        self._filter.keep({profile: profile for profile in self._holders})
        self._recent.watch(self._holders, tops)

    def offer(self, source: str, new: Sequence[tuple[int, bytes]]) -> list[Command]:
        """Messages that have come for the first time, to every session that they concern."""
        commands: list[Command] = []
        matched = self._filter.match([unpacked(body) for _, body in new])
        concerned: dict[tuple[ProfileText, ...], tuple[frozenset[ProfileText], list[Session]]] = {}
        for (number, body), names in zip(new, matched, strict=True):
            if not names:
                continue
            profiles = tuple(names)
            if profiles not in concerned:
                holders = {session.id: session for profile in profiles for session in self._holders[profile]}
                concerned[profiles] = frozenset(profiles), list(holders.values())
            self.useful += 1
            held, sessions = concerned[profiles]
            self._recent.put(source, number, body, profiles)
            for session in sessions:
                commands += session.offer(source, number, body, held)
        return commands

    def keep(self, source: str, number: int, body: bytes, profiles: Sequence[ProfileText]) -> list[Session]:
        """Remember a message that was matched elsewhere, and return the sessions that it concerns."""
        self._recent.put(source, number, body, profiles)
        holders = {session.id: session for profile in profiles for session in self._holders.get(profile, ())}
        return list(holders.values())

    def catch_up(self, session: Session, inbox: Inbox) -> list[Command]:
        """What a session could not take when it came."""
        return self._catching_up(self._recent, session, inbox)


def from_memory(recent: Recent, session: Session, inbox: Inbox) -> list[Command]:
    """Catch up as long as what is wanted is still here; else the source's log is asked."""
    wanted = session.to_fill(inbox.source)
    if wanted is None or inbox.begun is None or session.ways[inbox.source].after:
        return []
    profile, first = wanted
    known = max(inbox.begun, session.ways[inbox.source].sure)
    if not known <= first < inbox.frontier or not recent.has(inbox.source, profile, first):
        return []
    found, through = recent.find(inbox.source, profile, first, inbox.frontier, session.room - 1)
    commands = session.filled(inbox.source, found, through, 0)
    session.caught_up(inbox)
    return commands + session.release(inbox.source, inbox.frontier)
