"""Where messages leave: filtered for each client, once, in order where it asks for that.

A gateway keeps no messages for its clients: what they have not taken is in the sources' logs, and acks hold it there.
So all that a crash must not take are the durable sessions' profiles and cursors.

Who is asked for messages, and what a session is given that is behind, is decided by the parts that a gateway is handed
(``ports``). Nothing here looks at all sessions in one turn: those with something to do are known, the others are
visited in turn (``visits``).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import median_low

import msgspec

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.protocol.contract import Command, Continue, Send
from semcast.protocol.gateway.filtering_table import FilteringTable
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.ports import GatewayInterests, LogRequests
from semcast.protocol.gateway.register import Register
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.gateway.visits import Visits
from semcast.protocol.results import SessionExpired
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Notes
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import (
    Attach,
    Attached,
    AttachMany,
    Beat,
    Caught,
    Data,
    Detach,
    Detached,
    Install,
    Key,
    Live,
    ProtocolError,
    Repair,
    Taken,
    Tally,
)

_ARRIVING, _AGAIN_S = 10_000, 10
"""Subscriptions that may wait to be taken up; more would wait for longer than clients have patience. And how long it
takes until there is room again, about."""
_ANNOUNCED = 48
"""Sessions that go live in one turn."""


@dataclass
class Came:
    """What a channel brought, and how much of it some client here wanted and did not have yet."""

    messages: int = 0
    useful: int = 0


class Gateway:
    """The gateway at one broker."""

    def __init__(
        self,
        me: str,
        notes: Notes,
        settings: Settings,
        incarnation: int,
        now: float,
        streams: Streams,
        near: Container[str],
        *,
        inboxes: dict[str, Inbox],
        interests: GatewayInterests,
        requests: LogRequests,
        table: FilteringTable,
    ) -> None:
        """``near``: clients within this process, who are handed what they subscribe to in source order (Handed).

        ``inboxes`` is empty, and shared with whoever else has to know what has come of each source.
        """
        self.me = me
        self.inboxes = inboxes
        self.members: dict[str, dict[int, frozenset[Key]]] = {}
        """Source → epoch → the trees over which its messages may come."""
        self.interests = interests
        self.came: dict[str, Came] = {}
        """Per channel, what it brought; repairs from logs are under none."""
        self._bit: int | None = None
        self._settings = settings
        self._streams = streams
        self._incarnation = incarnation
        self._register = Register(notes, settings, incarnation, near, now)
        self._table = table
        self._requests = requests
        self._visits = Visits(self._register.sessions)
        self._needs: dict[ProfileText, int] = {}
        """How many sessions need a profile."""
        self._bounds: dict[ProfileText, dict[str, float]] = {}
        """Profile → session → the delay that it allows."""
        self._arriving: OrderedDict[str, tuple[str, Attach]] = OrderedDict()
        """Subscriptions that have come and are not taken up yet, by session, each with its client."""
        self._pending: dict[ProfileText, dict[str, Session]] = {}
        """Sessions that wait for a profile to be live."""
        self._due: deque[Session] = deque()
        """Those whose profile is live by now."""
        self.live_sessions = 0
        self.shed = 0
        """Subscriptions that were sent away since too many came."""
        # Said before anything else, or the coordinator would think that nothing is wanted here any more.
        self._fit(self.sessions.values())
        interests.complete()
        for session in () if interests.at_once else self.sessions.values():
            self._try_live(session)

    @property
    def sessions(self) -> dict[str, Session]:
        return self._register.sessions

    @property
    def waiting(self) -> int:
        """Messages that are held for clients."""
        return sum(session.waiting for session in self._visits.called())

    # --- from the coordinator

    def install(self, install: Install, now: float) -> None:
        """The trees that this gateway belongs to, and the sources it may hear of."""
        self._bit = install.bit
        known = {(source, epoch) for source, epochs in self.members.items() for epoch in epochs}
        self.members = {
            source: {
                epoch: frozenset(key for key, user in trees if user in (None, source))
                for epoch, trees in install.members
            }
            for source in install.sources
        }
        for source in install.sources:
            inbox = self.inboxes.get(source) or Inbox(source, self._settings.window)
            if any(keys and (source, epoch) not in known for epoch, keys in self.members[source].items()):
                inbox.expect(now)
            self.meet(inbox)

    def meet(self, inbox: Inbox) -> None:
        """A source may be heard of from now on."""
        if self.inboxes.get(inbox.source) is inbox:
            return
        self.inboxes[inbox.source] = inbox
        for session in self.sessions.values():
            session.meet(inbox)

    def live(self, live: Live, sender: str) -> list[Command]:
        """All that was asked for with a serial is matched everywhere."""
        busy = self._busy
        for profile in self.interests.confirm(live, sender):
            self._due.extend(self._pending.pop(profile, {}).values())
        return [] if busy else self._announce()

    def _announce(self) -> list[Command]:
        """Some of the sessions whose profile is live go live; the others in the next turn."""
        commands: list[Command] = []
        for _ in range(min(_ANNOUNCED, len(self._due))):
            session = self._due.popleft()
            if self.sessions.get(session.id) is session:
                commands += self._try_live(session)
        return commands + ([Continue()] if self._due else [])

    def _try_live(self, session: Session) -> list[Command]:
        """Let a session go live by what it asks for now, or wait for that."""
        commands: list[Command] = []
        while (asked := session.asked) is not None:
            live = self.interests.serves(asked.profile)
            if live is None:
                self._pending.setdefault(asked.profile, {})[session.id] = session
                break
            session.expected_delay_ms = self.interests.late(asked.profile)
            unsure = dict.fromkeys(live.unsure, live.version)
            commands += self._went_live(session, dict(live.positions), unsure)
        return commands

    def _went_live(self, session: Session, positions: dict[str, int], unsure: dict[str, int]) -> list[Command]:
        for source in self.inboxes:
            positions[source] = max(positions.get(source, 0), session.tops.get(source, 0))
        self.live_sessions += not session.live
        session.go_live(positions, self.inboxes, unsure)
        self._register.save(session)  # before the client hears of it: from then on nothing may be missed
        commands = [self._attached(session)]
        for source, inbox in self.inboxes.items():
            commands += session.release(source, inbox.frontier)
        self._fit([session])
        self._visits.call(session)
        return commands

    def _attached(self, session: Session) -> Command:
        answer = Attached(
            session.id,
            session.attach.version,
            tuple(sorted(session.positions.items())),
            session.base,
            session.expected_delay_ms,
            tuple(sorted(session.began.items())),
        )
        return Send(session.client, answer)

    # --- from trees and logs

    def data(self, data: Data) -> list[Command]:
        inbox = self.inboxes.get(data.source)
        if inbox is None:
            return []
        return self._take_in(inbox, data.key, data.numbers, data.bodies)

    def _take_in(
        self, inbox: Inbox, key: Key | None, numbers: tuple[int, ...], bodies: tuple[bytes, ...]
    ) -> list[Command]:
        new = [(number, body) for number, body in zip(numbers, bodies, strict=True) if inbox.arrived(key, number)]
        came = self.came.setdefault(key[0], Came()) if key is not None else Came()
        came.messages += len(numbers)
        if not new or not self.sessions:
            return []
        before = self._table.useful
        commands = self._table.offer(inbox.source, new, self._visits.call)
        came.useful += self._table.useful - before
        return commands

    def tally(self, tally: Tally, now: float) -> list[Command]:
        inbox = self.inboxes.get(tally.source)
        if inbox is None or self._bit is None:
            return []
        before = inbox.frontier
        inbox.tally(tally, self._bit, self.members.get(tally.source, {}), now)
        return self._moved(inbox) if inbox.frontier > before else []

    def _moved(self, inbox: Inbox) -> list[Command]:
        """Nothing is missing through a later position: what waited for that can go."""
        commands: list[Command] = []
        for session in sorted(self._visits.called(), key=_order):
            commands += session.release(inbox.source, inbox.frontier)
        return commands

    def repair(self, repair: Repair) -> list[Command]:
        """Messages from a log, for the gateway or for one session."""
        asked = self._requests.came(repair)
        if asked is None or asked.session is not None:
            return []
        return self._take_in(self.inboxes[repair.source], None, repair.numbers, repair.bodies)

    def caught(self, caught: Caught, now: float) -> list[Command]:
        """The end of a log's answer; it counts only if all of it has come."""
        asked = self._requests.finish(caught)
        inbox = self.inboxes.get(caught.source)
        if asked is None or inbox is None:
            return []
        inbox.heard_at = now
        if asked.session is not None:
            session = self.sessions.get(asked.session)
            if session is None or session.to_fill(caught.source) != (asked.profile, caught.first):
                return []
            commands = session.filled(caught.source, asked.found, caught.through, caught.lost)
            session.caught_up(inbox)
            self._visits.call(session)
            return commands + session.release(caught.source, inbox.frontier)
        commands = []
        if caught.lost:
            for session in self.sessions.values():
                told = session.gap(caught.source, caught.lost, inbox.frontier)
                if told:
                    self._visits.call(session)
                    commands += told
        inbox.caught(caught)
        for session in self._visits.called():
            if caught.source in session.ways:
                session.caught_up(inbox)
        return commands + self._moved(inbox)

    # --- from clients

    def attach(self, attach: Attach, client: str, now: float) -> list[Command]:
        """A subscription: new, repeated, coming back, or with another profile."""
        return self._queued((attach,), client, now)

    def attach_many(self, many: AttachMany, client: str, now: float) -> list[Command]:
        """Many subscriptions of one client; one that is refused leaves the others alone.

        They are taken up some at a time, so that everything else goes on between.
        """
        return self._queued(many.attaches, client, now)

    def _queued(self, attaches: Sequence[Attach], client: str, now: float) -> list[Command]:
        busy, shed = self._busy, []
        for attach in attaches:
            if len(self._arriving) < _ARRIVING or attach.session in self._arriving:
                self._arriving[attach.session] = client, attach
            else:
                reason = f"{_ARRIVING:,} subscriptions wait at {self.me}: try again in {_AGAIN_S} s"
                shed.append(Send(client, ProtocolError(reason, attach.session)))
        self.shed += len(shed)
        return [*shed, *([] if busy else self._admit(now))]

    @property
    def _busy(self) -> bool:
        """Is there more to do than one turn should take? Then it goes on in turns of its own."""
        return bool(self._arriving or self._due)

    def proceed(self, now: float) -> list[Command]:
        """Go on with what was too much for one turn."""
        if self._due:
            commands = self._announce()
        elif self._arriving:
            commands = self._admit(now)
        else:
            self.interests.settle()
            commands = []
        if (self._busy or self.interests.unsettled) and Continue() not in commands[-1:]:
            commands.append(Continue())
        return commands

    def _admit(self, now: float) -> list[Command]:
        commands: list[Command] = []
        come: list[tuple[Session, str]] = []
        tops = self._tops()
        for _ in range(min(self._settings.admitted, len(self._arriving))):
            _, (client, attach) = self._arriving.popitem(last=False)
            try:
                session = self._taken_up(attach, client, tops, now)
            except SemcastError as error:
                commands.append(Send(client, ProtocolError(str(error), attach.session)))
                continue
            come.append((session, client))
        self._fit(session for session, _ in come)
        for session, client in come:
            if self.sessions.get(session.id) is session:
                commands += self._answered(session, client, now)
        return commands + ([Continue()] if self._arriving else [])

    def _taken_up(self, attach: Attach, client: str, tops: dict[str, int], now: float) -> Session:
        """The session that an attach is for, new or known; SemcastError where its profile is none."""
        before = self._streams.canonical(attach.before) if attach.before is not None else None
        attach = msgspec.structs.replace(attach, profile=self._streams.canonical(attach.profile), before=before)
        session = self.sessions.get(attach.session)
        attached = session is not None and client == session.client and _goes_on(session, attach)
        if session is None or not (attached or (attach == session.said and client == session.client)):
            if session is not None:
                self._visits.forget(session)
            replaced, session = session, self._register.begin(attach, client, tops, now)
            if replaced is not None:
                self.live_sessions -= replaced.live
                self._table.hand_over(replaced, session)
            self._visits.came(session)
        session.heard_at, session.away = now, False
        if attached and attach.version > (session.next or session.attach).version:
            session.next, session.tops, session.said = attach, tops, attach
        return session

    def _answered(self, session: Session, client: str, now: float) -> list[Command]:
        self._visits.call(session)
        if session.asked is None:
            return [self._attached(session)]
        # It may take a while; the client shall not go elsewhere.
        return self._try_live(session) or [Send(client, Beat(now))]

    def _tops(self) -> dict[str, int]:
        return {source: inbox.top for source, inbox in self.inboxes.items()}

    def detach(self, detach: Detach, client: str, now: float) -> list[Command]:
        """A session ends, or its client leaves it for a while."""
        session = self.sessions.get(detach.session)
        if session is None or not (session.client == client or session.left_over):
            pass  # it is over, or another client has it by now
        elif detach.keep and session.attach.durable:
            session.leave(detach, now)
            self._register.save(session)  # before the client hears of it
        else:
            self._end(session)
        more: list[Command] = [Continue()] if self.interests.unsettled else []
        return [Send(client, Detached(detach.session)), *more]

    def _end(self, session: Session) -> None:
        self._register.end(session.id)
        self.live_sessions -= session.live
        self._visits.forget(session)
        for profile in self._table.drop(session):
            self._unneeded(profile, session)

    def taken(self, taken: Taken, client: str, now: float) -> list[Command]:
        session = self.sessions.get(taken.session)
        if session is None:
            return [Send(client, ProtocolError("the session is not known here", taken.session, unknown=True))]
        if session.client != client:
            return [Send(client, Beat(now))]  # another client has it by now
        session.taken(taken.sequence, now)
        self._visits.call(session)
        if session.live and taken.sequence < session.base:
            return [self._attached(session)]  # it has not heard that the session has begun anew
        caught = [command for inbox in self.inboxes.values() for command in self._table.catch_up(session, inbox)]
        return [*caught, Send(client, Beat(now))]

    # --- what it asks for

    def _fit(self, sessions: Iterable[Session]) -> None:
        """Sessions are new, or ask for something else: fit filter and interests to them.

        What comes is asked for before what goes is given up: the one may cover the other.
        """
        fresh: list[ProfileText] = []
        left: list[tuple[ProfileText, Session]] = []
        for session in sessions:
            came, gone = self._table.fit(session, self._tops)
            left += [(profile, session) for profile in gone]
            for profile in came:
                self._needs[profile] = self._needs.get(profile, 0) + 1
                if self._needs[profile] == 1:
                    fresh.append(profile)
            for attach in (session.attach, session.next):
                if attach is not None and attach.max_delay_ms is not None:
                    self._bounds.setdefault(attach.profile, {})[session.id] = attach.max_delay_ms
                    self._bound(attach.profile)
        self.interests.need(fresh)
        for profile, session in left:
            self._unneeded(profile, session)

    def _unneeded(self, profile: ProfileText, session: Session) -> None:
        bounds = self._bounds.get(profile)
        if bounds is not None and bounds.pop(session.id, None) is not None:
            self._bound(profile)
        pending = self._pending.get(profile)
        if pending is not None:
            pending.pop(session.id, None)
            if not pending:
                del self._pending[profile]
        self._needs[profile] -= 1
        if not self._needs[profile]:
            del self._needs[profile]
            self.interests.drop(profile)

    def _bound(self, profile: ProfileText) -> None:
        held = self._bounds[profile].values()
        choose = min if self._settings.bound == "strictest" else median_low
        self.interests.bound(profile, choose(held) if held else None)
        if not held:
            del self._bounds[profile]

    def asks(self, coordinators: list[str], now: float) -> list[Command]:
        """Tell the coordinators what is wanted, until they say that it is live."""
        return [Send(to, frame) for to, frame in self.interests.says(coordinators, now)]

    # --- time

    def tick(self, now: float) -> list[Command]:
        """Fetch what is missing, fill what lags, tell clients how far they are, forget who is gone."""
        commands = self._resume() if self.interests.at_once else []
        for source, inbox in self.inboxes.items():
            concerned = bool(self.sessions) or any(self.members.get(source, {}).values())
            if concerned and inbox.missing(now, self._settings.grace_s, self._settings.silence_s):
                commands += self._requests.fetch(inbox, now)
        frontiers = {source: inbox.frontier for source, inbox in self.inboxes.items()}
        for session in self._visits.next(self.inboxes):
            if now - session.heard_at > session.expiry_s:
                self._end(session)
                commands.append(SessionExpired(session.id))
                continue
            commands += session.resend(now, self._settings.resend_s)
            for source, inbox in self.inboxes.items():
                commands += self._serve(session, source, inbox, now)
            if session.before is not None and session.settle(frontiers):
                self._fit([session])
                if session.next is not None:
                    commands += self._try_live(session)
            if session.dirty:
                self._register.save(session)
        # A driver that could write nothing for a while may have forgotten that it was asked to come again.
        return commands + self.proceed(now)

    def _resume(self) -> list[Command]:
        """Sessions that a crash left behind go on: there is nobody whose word they would have to wait for."""
        kept = [session for session in self._visits.called() if not session.live]
        return [command for session in kept for command in self._went_live(session, {}, {})]

    def _serve(self, session: Session, source: str, inbox: Inbox, now: float) -> list[Command]:
        way = session.ways.get(source)
        if way is None:
            return []
        if session.caught_up(inbox):
            if inbox.frontier <= way.told and not way.held:
                return []
            released = session.release(source, inbox.frontier)
            return released + (session.progress(source, inbox.frontier) if not way.filling else [])
        caught = self._table.catch_up(session, inbox)
        if caught:
            return caught
        wanted = session.to_fill(source)
        return [] if wanted is None else self._requests.fill(session, source, wanted, now)

    def acks(self, source: str) -> int | None:
        """All clients have everything of a source through here; None where that is not known."""
        inbox = self.inboxes[source]
        return None if inbox.begun is None else self._visits.floor(source, inbox.frontier)

    def ack(self) -> dict[str, int]:
        """Per source, what the logs may forget as far as this gateway is concerned."""
        found = {source: self.acks(source) for source in self.inboxes}
        return {source: place for source, place in found.items() if place is not None}

    def clean(self) -> tuple[tuple[str, int], ...]:
        return tuple(
            (source, inbox.clean(self.members.get(source, {}))) for source, inbox in sorted(self.inboxes.items())
        )


_order = attrgetter("order")


def _goes_on(session: Session, attach: Attach) -> bool:
    """Is it said by a client that has this very session, or has not heard yet that it is live?

    Else what is on its way to the client would count by one profile for the client, and by another one here.
    """
    if attach.base is not None:
        return attach.base == session.base
    unheard = session.live and not session.returning and not attach.cursor and not attach.have
    return unheard and attach.version > session.attach.version
