"""A gateway's filtering table (2005 §2): which of its clients a message is for, and what came for them lately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from semcast.model.message import ProfileText, unpacked
from semcast.protocol.contract import Command
from semcast.protocol.filters import Filter
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.ports import CatchingUp
from semcast.protocol.gateway.recent import Recent
from semcast.protocol.gateway.sessions import Session

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside

Holders = Session | dict[str, Session]
"""Most profiles have one session: no dictionary is made for it."""


class FilteringTable:
    """Profiles with the sessions that hold them: each message is matched once, however many sessions there are."""

    def __init__(self, recent_bytes: int, catching_up: CatchingUp, aside: Aside | None = None) -> None:
        """``catching_up`` decides what a session is given that could not take a message when it came."""
        self._filter: Filter[ProfileText] = Filter(aside=aside)
        self._holders: dict[ProfileText, Holders] = {}
        """Who is concerned by a profile: nobody else is looked at when it matches."""
        self._recent = Recent(recent_bytes)
        self._catching_up = catching_up
        self.useful = 0
        """Messages that were somebody's."""

    def fit(
        self, session: Session, tops: Callable[[], Mapping[str, int]]
    ) -> tuple[list[ProfileText], list[ProfileText]]:
        """A session has come or changed: what it needs now, and did not before, and the other way round.

        ``tops`` say per source what had come, or was heard of, before.
        """
        held, needs = tuple(dict.fromkeys(session.profiles())), session.needs()
        needs = held if held == needs else needs
        before_held, before_needs = session.fitted
        session.fitted = held, needs
        for profile in held:
            if profile not in before_held:
                self._hold(profile, session, tops)
        for profile in before_held:
            if profile not in held:
                self._release(profile, session)
        return [p for p in needs if p not in before_needs], [p for p in before_needs if p not in needs]

    def drop(self, session: Session) -> tuple[ProfileText, ...]:
        """A session has gone; returns what it needed."""
        held, needs = session.fitted
        session.fitted = (), ()
        for profile in held:
            self._release(profile, session)
        return needs

    def hand_over(self, old: Session, new: Session) -> None:
        """Another session stands under the same name; what it holds is fitted to it next."""
        new.fitted, old.fitted = old.fitted, ((), ())
        for profile in new.fitted[0]:
            holders = self._holders[profile]
            if isinstance(holders, dict):
                holders[new.id] = new
            else:
                self._holders[profile] = new

    def _hold(self, profile: ProfileText, session: Session, tops: Callable[[], Mapping[str, int]]) -> None:
        holders = self._holders.get(profile)
        if holders is None:
            self._holders[profile] = session
            self._filter.add(profile, profile)
            self._recent.watch(profile, tops())
        elif isinstance(holders, dict):
            holders[session.id] = session
        else:
            self._holders[profile] = {holders.id: holders, session.id: session}

    def _release(self, profile: ProfileText, session: Session) -> None:
        holders = self._holders[profile]
        if isinstance(holders, dict):
            holders.pop(session.id, None)
            if holders:
                return
        del self._holders[profile]
        self._filter.remove(profile)
        self._recent.unwatch(profile)

    def _concerned(self, profiles: Iterable[ProfileText]) -> list[Session]:
        found: dict[str, Session] = {}
        for profile in profiles:
            holders = self._holders.get(profile)
            if isinstance(holders, dict):
                found |= holders
            elif holders is not None:
                found[holders.id] = holders
        return list(found.values())

    def offer(self, source: str, new: Sequence[tuple[int, bytes]], call: Callable[[Session], None]) -> list[Command]:
        """Messages that have come for the first time, to every session that they concern, which is ``call``ed."""
        commands: list[Command] = []
        matched = self._filter.match([unpacked(body) for _, body in new])
        concerned: dict[tuple[ProfileText, ...], tuple[frozenset[ProfileText], list[Session]]] = {}
        for (number, body), names in zip(new, matched, strict=True):
            if not names:
                continue
            profiles = tuple(names)
            if profiles not in concerned:
                sessions = self._concerned(profiles)
                concerned[profiles] = frozenset(profiles), sessions
                for session in sessions:
                    call(session)
            self.useful += 1
            held, sessions = concerned[profiles]
            self._recent.put(source, number, body, profiles)
            for session in sessions:
                commands += session.offer(source, number, body, held)
        return commands

    def keep(self, source: str, number: int, body: bytes, profiles: Sequence[ProfileText]) -> list[Session]:
        """Remember a message that was matched elsewhere, and return the sessions that it concerns."""
        self._recent.put(source, number, body, profiles)
        return self._concerned(profiles)

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
