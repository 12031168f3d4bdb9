"""Clients at a semantic router: the same sessions as at any gateway, over logs that keep nothing.

What a client has not taken waits here, as far as memory goes (``Settings.recent_bytes``); what had to be let go, and
what went by while a client was at another router, ends in a gap notice. What never came here is missed without a
word: a semantic network does not count what it sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command
from semcast.protocol.gateway.filtering_table import FilteringTable
from semcast.protocol.gateway.gateway import Gateway
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.interests import InterestSet
from semcast.protocol.gateway.requests import Requests
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Notes
from semcast.protocol.streams import Streams


class Wanted(InterestSet):
    """What clients here want: the router filters by it at once, so all of it is live, from what comes next on."""

    def __init__(self, inboxes: Mapping[str, Inbox]) -> None:
        super().__init__()
        self._inboxes = inboxes

    def serves(self, profile: ProfileText) -> dict[str, int] | None:
        if profile not in self.profiles:
            return None
        return {source: inbox.frontier for source, inbox in self._inboxes.items()}

    def unsure(self, profile: ProfileText) -> dict[str, int]:
        return {}

    def settle(self, needed: Mapping[ProfileText, float | None]) -> bool:
        if set(needed) == set(self.profiles):
            return False
        self.profiles = tuple(needed)
        self.serial += 1
        self.confirmed = self.serial
        return True


class Passing(Inbox):
    """What has come of one source. A tree keeps its order, so all that will ever come before it has come."""

    def __init__(self, source: str, number: int) -> None:
        super().__init__(source, 0)
        self.begun = self.frontier = self.top = number

    def missing(self, now: float, grace_s: float, silence_s: float) -> bool:
        return False


class _Unanswered(Requests):
    """There is no log to be asked."""

    def fill(self, session: Session, source: str, wanted: tuple[ProfileText, int], now: float) -> list[Command]:
        return []


class PassingTable(FilteringTable):
    """A filtering table behind a router, which has matched already; what it does not hold any more is lost."""

    def offered(self, source: str, number: int, body: bytes, profiles: Sequence[ProfileText]) -> list[Command]:
        """A packet that some profiles match, to every session that it concerns."""
        self._recent.put(source, number, body, profiles)
        commands: list[Command] = []
        held = set(profiles)
        holders = {session.id: session for profile in profiles for session in self._holders.get(profile, ())}
        for session in holders.values():
            commands += session.offer(source, number, body, held)
            commands += session.release(source, number)
        return commands

    def catch_up(self, session: Session, inbox: Inbox) -> list[Command]:
        """What a session could not take when it came, or word that it is lost."""
        wanted = session.to_fill(inbox.source)
        if wanted is None or inbox.begun is None:
            return []
        way = session.ways[inbox.source]
        first = max([way.told, *way.sent])  # a tree keeps its order: what was sent last is how far it was served
        commands = session.progress(inbox.source, first)
        through, lost = inbox.frontier, inbox.frontier
        found: dict[int, bytes] = {}
        if inbox.begun <= first and self._recent.has(inbox.source, wanted[0], first):
            found, through = self._recent.find(inbox.source, wanted[0], first, through, session.room - 1)
            lost = 0
        commands += session.filled(inbox.source, found, through, lost)
        session.caught_up(inbox)
        return commands + session.release(inbox.source, inbox.frontier)


class Door(Gateway):
    """The clients of one router."""

    def __init__(
        self, me: str, notes: Notes, settings: Settings, incarnation: int, now: float, streams: Streams
    ) -> None:
        super().__init__(me, notes, settings, incarnation, now, streams)
        self.interests: InterestSet = Wanted(self.inboxes)
        self._requests: Requests = _Unanswered(me, settings, incarnation)
        self._table: FilteringTable = PassingTable(settings.recent_bytes)
        self._changed()

    def offered(self, source: str, number: int, body: bytes, profiles: Sequence[ProfileText]) -> list[Command]:
        """A packet that some profiles here match."""
        assert isinstance(self._table, PassingTable)
        inbox = self.inboxes.get(source) or self._meet(source, number - 1)
        if number <= inbox.frontier:
            return []
        inbox.frontier = inbox.top = number
        return self._table.offered(source, number, body, profiles)

    def _meet(self, source: str, position: int) -> Inbox:
        """A source of which nothing has come here so far: what there was before is missed by who was behind it."""
        inbox = self.inboxes[source] = Passing(source, position)
        for session in self.sessions.values():
            session.cursor.setdefault(source, position)
            session.meet(inbox)
        return inbox

    def tick(self, now: float) -> list[Command]:
        commands: list[Command] = []
        for session in self.sessions.values():
            if not session.live:  # kept over a crash
                commands += self._went_live(session, {}, {})
        return commands + super().tick(now)
