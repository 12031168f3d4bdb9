"""Clients at a semantic router: the same sessions as at any gateway, over logs that keep nothing.

What a client has not taken waits here, as far as memory goes (``Settings.recent_bytes``); what had to be let go, and
what went by while a client was at another router, ends in a gap notice. What never came here is missed without a
word: a semantic network does not count what it sends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command
from semcast.protocol.gateway.filtering_table import FilteringTable
from semcast.protocol.gateway.gateway import Gateway
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.ports import GatewayInterests
from semcast.protocol.gateway.recent import Recent
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Notes
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import Caught, GatewayChanges, Live, Noted, Repair


class RouterInterests:
    """What clients here want: the router filters by it at once, so all of it is live, from what comes next on."""

    at_once = True
    unsettled = False

    def __init__(self, inboxes: Mapping[str, Inbox]) -> None:
        self.serial = 0
        self._profiles: dict[ProfileText, None] = {}
        self._inboxes = inboxes

    @property
    def profiles(self) -> Collection[ProfileText]:
        return self._profiles.keys()

    def need(self, profiles: Sequence[ProfileText]) -> None:
        if profiles:
            self._profiles |= dict.fromkeys(profiles)
            self.serial += 1

    def complete(self) -> None:
        """Nobody waits for it."""

    def bound(self, profile: ProfileText, max_delay_ms: float | None) -> None:
        """Routers know no bounds on delays."""

    def drop(self, profile: ProfileText) -> None:
        del self._profiles[profile]
        self.serial += 1

    def settle(self) -> None:
        """Nothing is ever left to do."""

    def confirm(self, live: Live, sender: str) -> list[ProfileText]:
        """Nothing waits for a coordinator's word."""
        return []

    def note(self, noted: Noted, sender: str) -> None:
        """Nor is anything stored."""

    def serves(self, profile: ProfileText) -> Live | None:
        if profile not in self._profiles:
            return None
        places = tuple((source, inbox.frontier) for source, inbox in self._inboxes.items())
        return Live(0, 0, self.serial, 0, places)

    def late(self, profile: ProfileText) -> float | None:
        return None

    def says(self, coordinators: Sequence[str], now: float) -> list[tuple[str, GatewayChanges]]:
        return []


class NoRequests:
    """There is no log to be asked."""

    def fetch(self, inbox: Inbox, now: float) -> list[Command]:
        return []

    def fill(self, session: Session, source: str, wanted: tuple[ProfileText, int], now: float) -> list[Command]:
        return []

    def came(self, repair: Repair) -> None:
        return None

    def finish(self, caught: Caught) -> None:
        return None


def memory_or_loss(recent: Recent, session: Session, inbox: Inbox) -> list[Command]:
    """Catch up from memory; what it does not hold any more is lost, and the session is told so."""
    wanted = session.to_fill(inbox.source)
    if wanted is None or inbox.begun is None:
        return []
    way = session.ways[inbox.source]
    first = max([way.told, *way.sent])  # a tree keeps its order: what was sent last is how far it was served
    commands = session.progress(inbox.source, first)
    through, lost = inbox.frontier, inbox.frontier
    found: dict[int, bytes] = {}
    if inbox.begun <= first and recent.has(inbox.source, wanted[0], first):
        found, through = recent.find(inbox.source, wanted[0], first, through, session.room - 1)
        lost = 0
    commands += session.filled(inbox.source, found, through, lost)
    session.caught_up(inbox)
    return commands + session.release(inbox.source, inbox.frontier)


class PacketDoor:
    """Gives packets that a router has matched to the clients of the gateway beside it."""

    def __init__(
        self, me: str, notes: Notes, settings: Settings, incarnation: int, now: float, streams: Streams
    ) -> None:
        inboxes: dict[str, Inbox] = {}
        self._table = FilteringTable(settings.recent_bytes, memory_or_loss)
        self.gateway = Gateway(
            me,
            notes,
            settings,
            incarnation,
            now,
            streams,
            (),
            inboxes=inboxes,
            interests=RouterInterests(inboxes),
            requests=NoRequests(),
            table=self._table,
        )

    @property
    def interests(self) -> GatewayInterests:
        return self.gateway.interests

    def offered(self, source: str, number: int, body: bytes, profiles: Sequence[ProfileText]) -> list[Command]:
        """A packet that some profiles here match."""
        inbox = self.gateway.inboxes.get(source) or self._meet(source, number - 1)
        if not inbox.passed(number):
            return []
        commands: list[Command] = []
        held = set(profiles)
        for session in self._table.keep(source, number, body, profiles):
            commands += session.offer(source, number, body, held)
            commands += session.release(source, number)
        return commands

    def _meet(self, source: str, position: int) -> Inbox:
        """A source of which nothing has come here so far: what there was before is missed by who was behind it."""
        inbox = Inbox(source, window=0, begun=position)
        for session in self.gateway.sessions.values():
            session.cursor.setdefault(source, position)
        self.gateway.meet(inbox)
        return inbox
