"""A client's subscription as its gateway holds it: what it was sent, what it has taken, where it stands.

Per source, a session is *pending* until its profile is live, *filling* while it is served from the source's log
(because it began in the past, or could not keep up), and else *following* what arrives at the gateway. Whatever it
cannot hold it drops and fills in later, so it is bounded and its siblings never wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command, Send
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.wire.frames import Attach, Deliver, Detach, Gap, Progress

Inboxes = Mapping[str, Inbox]
_SAVED = 1024
"""Messages above the cursor that are remembered across a crash of the gateway, per source: the newest. What a client
says that leaves in order is kept whole."""


class Saved(msgspec.Struct, frozen=True):
    """What a gateway remembers of a durable session across a crash."""

    attach: Attach
    client: str


@dataclass(slots=True)
class Way:
    """One source, as far as one session is concerned."""

    told: int
    """The client was sent all that is its own through here."""
    target: int
    """A fill has to reach this position before arrivals may be followed again."""
    filling: bool = True
    after: int = 0
    """And the source has to match by this version of the roster or a later one."""
    sure: int = 0
    """Behind this position the source matched with what is asked for."""
    quiet: int = 0
    """It asked for the earliest there is, and has heard nothing yet: what is gone through here is not missed."""
    held: dict[int, bytes] = field(default_factory=dict)
    """What has arrived and must wait: for the fill, or, in source order, for what comes before it."""
    sent: Set[int] = frozenset()
    """What was sent above ``told``."""
    began: int = 0
    """All that is the session's own behind this position is sent."""

    def send(self, number: int) -> None:
        if isinstance(self.sent, set):
            self.sent.add(number)
        else:
            self.sent = {number}

    def forget(self, through: int) -> None:
        """What was sent through here counts as told. No set is kept for the many sessions that are sent nothing."""
        if self.sent:
            self.sent = {number for number in self.sent if number > through} or frozenset()


class Early:
    """Messages that match what is not live yet; bounded, and it knows what it could not hold."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: dict[str, dict[int, bytes]] = {}
        self._lost: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._held.values()))

    def put(self, source: str, number: int, body: bytes) -> None:
        if len(self) < self._room:
            self._held.setdefault(source, {})[number] = body
        else:
            self._lost[source] = max(number, self._lost.get(source, 0))

    def take(self, source: str) -> tuple[dict[int, bytes], int]:
        """What was held of a source, and the last that was not (0: all was)."""
        return self._held.pop(source, {}), self._lost.pop(source, 0)


_NOTHING: dict[str, set[int]] = {}
"""Of most sessions; nobody puts anything in."""


class Session:
    """One subscription of one client at one gateway. There may be very many, of which most are idle."""

    __slots__ = (
        "_above", "_early", "_early_next", "_have", "_room", "_sent_at", "_unacked", "attach", "away", "base", "before",
        "client", "cursor", "dirty", "expected_delay_ms", "expiry_s", "fitted", "heard_at", "left_over", "live", "next",
        "order", "positions", "returning", "said", "sequence", "tops", "ways",
    )  # fmt: skip

    def __init__(self, attach: Attach, client: str, base: int, room: int, expiry_s: float, now: float) -> None:
        self.attach = attach
        self.said = attach
        """As the client said it when it came, to know what it only says again."""
        self.client = client
        self.base = base
        self.cursor: dict[str, int] = dict(attach.cursor)
        """Per source: the client has taken everything through here."""
        self.returning = bool(attach.cursor)
        self.expiry_s = expiry_s
        self.live = False
        self.ways: dict[str, Way] = {}
        self.positions: dict[str, int] = {}
        self.before: tuple[ProfileText, dict[str, int]] | None = (
            None if attach.before is None else (attach.before, dict(attach.until))
        )
        """What it asked for earlier, which still counts for messages through these positions."""
        self.next: Attach | None = None
        """What it asks for instead, as soon as that is live."""
        self.tops: Mapping[str, int] = {}
        """Per source the highest position that the gateway had heard of when it was asked; what came before went by."""
        self.fitted: tuple[tuple[ProfileText, ...], tuple[ProfileText, ...]] = (), ()
        """What it is known to hold and to need."""
        self.order = 0
        """Sessions are served in the order in which they came: a client with several sees one order."""
        self.heard_at = now
        self.dirty = True
        self.expected_delay_ms: float | None = None
        self._early: Early | None = None
        self._early_next: Early | None = None
        self._have = {source: set(numbers) for source, numbers in attach.have} or _NOTHING
        self._above: dict[str, set[int]] = {source: set(numbers) for source, numbers in attach.have} or _NOTHING
        """Per source: what the client took above the cursor, so that one without a memory can go on too."""
        self.left_over = False
        """A crash of the gateway left it behind, and no client has taken it up since."""
        self.away = False
        """The client has left: nothing is sent until it comes back."""
        self._room = room
        self.sequence = base
        """The last that was used."""
        self._unacked: deque[Deliver | Progress | Gap] | None = None
        self._sent_at = now

    @property
    def id(self) -> str:
        return self.attach.session

    @property
    def profile(self) -> ProfileText:
        return self.attach.profile

    @property
    def room(self) -> int:
        return self._room - len(self._unacked or ())

    @property
    def waiting(self) -> int:
        """How many messages it holds, in all."""
        return (
            len(self._unacked or ())
            + len(self._early or ())
            + len(self._early_next or ())
            + sum(len(way.held) for way in self.ways.values())
        )

    @property
    def began(self) -> dict[str, int]:
        """Per source: all that is its own behind this position is sent."""
        return {source: way.began for source, way in self.ways.items()}

    @property
    def asked(self) -> Attach | None:
        """What is to be live next; None where all is.

        A replacement waits until the client was sent all that the one before last counts for: only one is remembered.
        """
        if self.live:
            return self.next if self._reached() else None
        return self.attach if self.returning or self.next is None else self.next

    def profiles(self) -> list[ProfileText]:
        """All that its messages have to be matched with."""
        asked = [self.profile]
        if self.next is not None:
            asked.append(self.next.profile)
        if self.before is not None:
            asked.append(self.before[0])
        return asked

    def needs(self) -> tuple[ProfileText, ...]:
        """What has to be matched by sources for it, from now on."""
        if self.next is None or self.next.profile == self.profile:
            return (self.profile,)
        return self.profile, self.next.profile

    @property
    def idle(self) -> bool:
        """Does it neither owe nor wait for anything?"""
        if self._unacked or self.dirty or self.before is not None:
            return False
        return not any(way.filling or way.held for way in self.ways.values())

    def above(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Per source: what the client has taken above the cursor."""
        return tuple((source, tuple(sorted(taken))) for source, taken in sorted(self._above.items()) if taken)

    def saved(self) -> Saved:
        cursor = tuple(sorted(self.cursor.items()))
        have = self.above() if self.away else tuple((source, taken[-_SAVED:]) for source, taken in self.above())
        return Saved(msgspec.structs.replace(self.attach, cursor=cursor, have=have), self.client)

    # --- going live

    def go_live(self, positions: Mapping[str, int], inboxes: Inboxes, unsure: Mapping[str, int]) -> None:
        """What it asks for is matched by all sources, behind these positions.

        ``unsure`` sources matched without it for a while, until they follow a version of the roster; what came in
        between is filled in.
        """
        if self.live and self.next is not None:
            self._replace(self.next, positions, unsure)
            return
        if self.next is not None and not self.returning:
            self.attach, self.next = self.next, None  # what was never live needs no end
            self._early = self._early_next
        self.live, self.positions = True, dict(positions)
        for source, position in positions.items():
            self._enter(source, position, inboxes.get(source), unsure.get(source, 0))

    def meet(self, inbox: Inbox) -> None:
        """A source that was not there when the session went live: all of its messages are news."""
        if self.live and inbox.source not in self.ways:
            self.positions.setdefault(inbox.source, 0)
            self._enter(inbox.source, 0, inbox, 0)

    def _enter(self, source: str, position: int, inbox: Inbox | None, after: int) -> None:
        earliest = self.attach.start == "earliest"
        first = self.cursor.get(source, 0 if self.returning or earliest else position)
        held, lost = self._early.take(source) if self._early is not None else ({}, 0)
        # What an earlier profile counts for may never come here, where nobody asked for it: the log has it.
        until = self.before[1].get(source, 0) if self.before is not None else 0
        way = Way(first, max(first, position, lost, until), after=after, sure=position)
        way.quiet = position if earliest and source not in self.cursor else 0
        if source in self._have:
            way.sent = {number for number in self._have.pop(source) if number > first}
        way.held = {number: body for number, body in held.items() if number > first}
        self.ways[source], way.began = way, first
        self.cursor.setdefault(source, first)
        if inbox is not None:
            self.caught_up(inbox)

    def _replace(self, attach: Attach, positions: Mapping[str, int], unsure: Mapping[str, int]) -> None:
        """Another profile counts, for messages behind these positions (thesis §3.2.1: atomically)."""
        positions = {source: max(place, self._passed(source)) for source, place in positions.items()}
        self.before = (self.profile, positions)
        self.positions = self.positions | dict(positions)
        until = tuple(sorted(positions.items()))
        self.attach = msgspec.structs.replace(attach, before=self.profile, until=until)
        self.next, self.dirty = None, True
        for source, way in self.ways.items():
            since = positions.get(source, 0)
            held, lost = self._early_next.take(source) if self._early_next is not None else ({}, 0)
            way.held = {number: body for number, body in way.held.items() if number <= since}
            way.held |= {number: body for number, body in held.items() if number > max(since, way.told)}
            if lost > since or source in unsure:
                self._lag(way, lost)
                way.after = unsure.get(source, 0)

    def _passed(self, source: str) -> int:
        """Where another profile can begin to count at the earliest: what the client is beyond stays as it was."""
        way = self.ways.get(source)
        if way is None:
            return 0
        return max([way.told, *way.sent])

    def _reached(self) -> bool:
        """Was the client sent everything for which the earlier profile counts?"""
        if self.before is None:
            return True
        return all(way.told >= self.before[1].get(source, 0) for source, way in self.ways.items())

    def settle(self, frontiers: Mapping[str, int]) -> bool:
        """Forget the earlier profile when nothing is to come that it counts for; did that happen?

        Who is not live yet has been sent nothing here, whatever has come to the gateway by now.
        """
        if self.before is None or not self.live or not self._reached():
            return False
        if any(place < self.before[1].get(source, 0) for source, place in frontiers.items()):
            return False
        self.before = None
        return True

    # --- messages

    def offer(self, source: str, number: int, body: bytes, matched: Set[ProfileText]) -> list[Command]:
        """A message that has arrived at the gateway, with the profiles that match it."""
        if self.next is not None and self.next.profile in matched:
            self._early_next = self._early_next or Early(self._room)
            self._early_next.put(source, number, body)
        if self._asked(source, number) not in matched:
            return []
        way = self.ways.get(source)
        if way is None:
            if not self.live:
                self._early = self._early or Early(self._room)
                self._early.put(source, number, body)
            return []
        if number <= way.told or number in way.sent:
            return []
        if way.filling or self.attach.ordered:
            self._hold(way, number, body)
            return []
        return self._push(way, source, number, body)

    def _asked(self, source: str, number: int) -> ProfileText:
        """The profile that counts at a position."""
        if self.before is not None and number <= self.before[1].get(source, 0):
            return self.before[0]
        return self.profile

    def _hold(self, way: Way, number: int, body: bytes) -> None:
        if len(way.held) < self._room:
            way.held[number] = body
        else:
            self._lag(way, number)

    def _lag(self, way: Way, number: int) -> None:
        """It cannot keep up: let go of what waits, and fill it in from the log."""
        way.target = max([way.target, number, *way.held])
        way.held.clear()
        way.filling = True

    def _push(self, way: Way, source: str, number: int, body: bytes) -> list[Command]:
        if self.room <= 0:
            self._lag(way, number)
            return []
        way.send(number)
        return self._send(Deliver(self.id, self.sequence + 1, source, number, body))

    def release(self, source: str, frontier: int) -> list[Command]:
        """What has waited long enough: nothing can come before it any more."""
        way = self.ways.get(source)
        if way is None or way.filling or not way.held:
            return []
        commands: list[Command] = []
        for number in sorted(way.held):
            if number not in way.held or (self.attach.ordered and number > frontier):
                break  # what cannot be sent makes it lag, and lets all go
            body = way.held.pop(number)
            if number > way.told and number not in way.sent:
                commands += self._push(way, source, number, body)
        return commands

    # --- filling

    def to_fill(self, source: str) -> tuple[ProfileText, int] | None:
        """What to ask a source's log for: a profile, and the position to begin behind."""
        way = self.ways.get(source)
        if way is None or not way.filling or self.room <= 0:
            return None
        return self._asked(source, way.told + 1), way.told

    def filled(self, source: str, found: Mapping[int, bytes], through: int, lost: int) -> list[Command]:
        """The log's answer to ``to_fill``: all that matches, through a position."""
        way = self.ways[source]
        if self.before is not None and way.told < self.before[1].get(source, 0):
            through = min(through, self.before[1][source])
        commands = self.gap(source, lost, 0)
        for number, body in sorted(found.items()):
            if way.told < number <= through and number not in way.sent:
                if self.room <= 0:
                    return commands
                way.send(number)
                commands += self._send(Deliver(self.id, self.sequence + 1, source, number, body))
        return commands + self.progress(source, through)

    def caught_up(self, inbox: Inbox) -> bool:
        """Has a fill come to where arrivals can be followed?"""
        way = self.ways[inbox.source]
        if way.filling and inbox.begun is not None and inbox.version >= way.after:
            if way.after:
                way.target, way.after = max(way.target, inbox.version_since), 0
                way.sure = max(way.sure, inbox.version_since)
            way.filling = way.told < max(way.target, inbox.begun)
            way.held = {number: body for number, body in way.held.items() if number > way.told}
        return not way.filling

    # --- progress

    def progress(self, source: str, through: int) -> list[Command]:
        """Tell the client that it was sent everything through a position."""
        way = self.ways[source]
        if through <= way.told or self.room <= 0:
            return []
        way.told, way.quiet = through, 0
        way.forget(through)
        return self._send(Progress(self.id, self.sequence + 1, source, through))

    def gap(self, source: str, lost: int, frontier: int) -> list[Command]:
        """Tell the client what it will never get; nothing through the gateway's frontier is lost for who follows."""
        way = self.ways.get(source)
        if way is None or lost <= way.told:
            return []
        first, way.told = way.told if way.filling else max(way.told, frontier), lost
        first = max(first, way.quiet)
        way.forget(lost)
        way.held = {number: body for number, body in way.held.items() if number > lost}
        return [] if first >= lost else self._send(Gap(self.id, self.sequence + 1, source, first, lost))

    def needed(self, source: str, frontier: int) -> int:
        """The log may forget what comes before, as far as this session is concerned."""
        if self.live or self.returning:
            known = 0 if self.returning else frontier
        else:
            known = 0 if self.attach.start == "earliest" else self.tops.get(source, 0)  # it will be live behind that
        return min(self.cursor.get(source, known), frontier)

    # --- the client's side

    def _send(self, frame: Deliver | Progress | Gap) -> list[Command]:
        self.sequence = frame.sequence
        if self._unacked is None:
            self._unacked = deque()
        self._unacked.append(frame)
        return [] if self.away else [Send(self.client, frame)]

    def taken(self, sequence: int, now: float) -> None:
        """The client has all through a sequence number."""
        self.heard_at = now
        while self._unacked and self._unacked[0].sequence <= sequence:
            frame = self._unacked.popleft()
            self._sent_at = now
            if isinstance(frame, Deliver):
                if frame.number > self.cursor.get(frame.source, 0):
                    self._took(frame.source, (frame.number,))
            else:
                self._through(frame.source, frame.through)
            self.dirty = True
        if not self._unacked:
            self._unacked = None  # an empty deque takes more than all the rest of an idle session

    def _through(self, source: str, position: int) -> None:
        self.cursor[source] = max(self.cursor.get(source, 0), position)
        above = self._above.get(source)
        if above:
            self._above[source] = {number for number in above if number > position}

    def _took(self, source: str, numbers: Iterable[int]) -> None:
        """The client has these above its cursor."""
        if self._above is _NOTHING:
            self._above = {}
        self._above.setdefault(source, set()).update(numbers)

    def leave(self, detach: Detach, now: float) -> None:
        """The client goes, and says what it has taken: exactly the rest is its own when it comes back."""
        self.taken(detach.sequence, now)
        for source, numbers in detach.have:
            self._took(source, numbers)
        for source, position in detach.cursor:
            self._through(source, position)
        self.away = self.dirty = True

    def resend(self, now: float, after_s: float) -> list[Command]:
        """Say again what was not taken."""
        if self.away or not self._unacked or now - self._sent_at < after_s:
            return []
        self._sent_at = now
        return [Send(self.client, frame) for frame in self._unacked or ()]
