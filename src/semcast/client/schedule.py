"""When subscribers are due: one timer for all subscriptions of a party, whether it has one or a hundred thousand.

A subscriber is ticked at the turn after something has happened to it, and else when it says that it is due. What one
turn says to a gateway leaves in few frames. One subscription speaks for all that hang on the same gateway: while it is
answered, none of them goes elsewhere, and the others say only as often that they are there as their sessions need it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from semcast.protocol.contract import ClientEvent, GatewayHeard, GatewayMet, Tick
from semcast.protocol.profile_texts import LONG
from semcast.protocol.wire.frames import AnyFrame, Attach, AttachMany, Taken, TakenMany
from semcast.protocol.wire.frames.base import MOST_SESSIONS

if TYPE_CHECKING:
    from semcast.client.party import Party
    from semcast.client.subscription import Subscription

_SLICE = 256
"""Subscribers that are ticked before the event loop sees to everything else: about 3 ms."""
_TAKEN = 256
"""Sessions of which one frame tells how far they are: a gateway takes it in one turn."""
_ASKED = 256
"""Subscriptions that may wait to be live before they are asked for again less often."""
_FRAME_BYTES = 256 << 10
"""Bytes of a frame of attaches, about: gateways read a frame in one turn."""
_TICK = Tick()
_ATTACH_BYTES, _NUMBER_BYTES, _CHARACTER_BYTES = 160, 9, 4


class _Line:
    """A gateway, and the subscriptions that hang on it."""

    __slots__ = ("alarmed_at", "heard", "members", "said_at")

    def __init__(self, gateway: str, now: float) -> None:
        self.members: dict[Subscription, None] = {}
        self.heard = GatewayHeard(gateway, now)
        self.said_at = self.alarmed_at = now


class Schedule:
    """Drives the subscribers of one party."""

    def __init__(self, party: Party) -> None:
        self._party = party
        self._members: dict[Subscription, tuple[str, ...]] = {}
        """Each with the gateways that it hangs on."""
        self._lines: dict[str, _Line] = {}
        self._stirred: dict[Subscription, tuple[ClientEvent, ...]] = {}
        """Those that the next turn ticks, each with what it has to hear before that."""
        self._queue: deque[tuple[Subscription, tuple[ClientEvent, ...]]] = deque()
        """Those that are ticked in this turn."""
        self._due: list[tuple[float, int, Subscription]] = []
        """A heap of when to look at a subscription again. Only its earliest entry counts, which it knows itself; where
        it is due later by then, it is put in again. So one that is ticked often leaves no entry for each tick."""
        self._ties = count()
        self._attaches: dict[str, list[Attach]] = {}
        self._taken: dict[str, list[Taken]] = {}
        self._turning = False
        self._asking: set[Subscription] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._dozing = False
        """Is the next turn further away than a tick, because nothing is to be done before?"""
        self._slicing: asyncio.Handle | None = None

    # --- who is driven

    def add(self, subscription: Subscription) -> None:
        """Begin to drive a subscription, in this turn of the event loop and with all others that begin in it."""
        self._members[subscription] = ()
        self._asking.add(subscription)
        self._hang(subscription)
        self._queue.append((subscription, ()))
        self._slice_soon()
        self._rouse()

    def remove(self, subscription: Subscription) -> None:
        """It is over."""
        for gateway in self._members.pop(subscription, ()):
            self._part(subscription, gateway)
        self._asking.discard(subscription)
        self._stirred.pop(subscription, None)
        if not self._members and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._due.clear()

    def settled(self, subscription: Subscription) -> None:
        """It is live, or will never be."""
        self._asking.discard(subscription)

    def stir(self, subscription: Subscription, *events: ClientEvent) -> None:
        """Something has happened to it: the next turn ticks it, behind these events."""
        if subscription in self._members:
            self._stirred[subscription] = self._stirred.get(subscription, ()) + events
            if self._dozing:
                self._rouse()

    @property
    def asking(self) -> int:
        """Subscriptions that wait to be live."""
        return len(self._asking)

    def heard(self, gateway: str) -> None:
        """A gateway has said something, to whichever subscription."""
        line = self._lines.get(gateway)
        if line is not None:
            line.heard = GatewayHeard(gateway, asyncio.get_running_loop().time())

    def met(self, gateway: str) -> None:
        """There is a new connection to a gateway."""
        line = self._lines.get(gateway)
        for subscription in line.members if line is not None else ():
            self.stir(subscription, GatewayMet(gateway))
        if line is not None and not self._queue:
            self._take_in()

    def _hang(self, subscription: Subscription) -> None:
        """Note where a subscription hangs now."""
        before, now = self._members[subscription], subscription.at
        if before == now:
            return
        for gateway in before:
            if gateway not in now:
                self._part(subscription, gateway)
        for gateway in now:
            if gateway not in self._lines:
                self._lines[gateway] = _Line(gateway, asyncio.get_running_loop().time())
            self._lines[gateway].members[subscription] = None
        self._members[subscription] = now

    def _part(self, subscription: Subscription, gateway: str) -> None:
        line = self._lines[gateway]
        line.members.pop(subscription, None)
        if not line.members:
            del self._lines[gateway]

    # --- time

    def _rouse(self) -> None:
        """Have a turn within a tick."""
        if self._timer is not None and self._dozing:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._dozing = False
            self._timer = asyncio.get_running_loop().call_later(self._party.settings.tick_s, self._turn)

    def _turn(self) -> None:
        self._dozing = False
        now = asyncio.get_running_loop().time()
        while self._due and self._due[0][0] <= now:
            at, _, subscription = heappop(self._due)
            if at == subscription.queued_at and subscription in self._members:
                subscription.queued_at = float("inf")
                if subscription.due_at <= now:
                    self.stir(subscription)
                else:
                    self._wait(subscription)
        for line in self._lines.values():
            self._look_at(line, now)
        pause_s = self._pause_s(now)
        self._dozing = pause_s > self._party.settings.tick_s
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._turn)
        self._take_in()

    def _pause_s(self, now: float) -> float:
        """How long nothing is to be done, unless something happens: a tick at least."""
        settings = self._party.settings
        if self._stirred or self._queue:
            return settings.tick_s
        waits = [line.said_at + settings.beat_s for line in self._lines.values()]
        waits += [max(line.heard.at, line.alarmed_at) + settings.dead_s for line in self._lines.values()]
        waits += [self._due[0][0]] if self._due else []
        return max(settings.tick_s, min(waits, default=now) - now)

    def _look_at(self, line: _Line, now: float) -> None:
        settings = self._party.settings
        if now - max(line.heard.at, line.alarmed_at) > settings.dead_s:
            line.alarmed_at = now
            for subscription in line.members:
                if subscription.has_choice:
                    self.stir(subscription)  # it goes elsewhere
        elif now - line.said_at >= settings.beat_s:
            speaker = next(iter(line.members))
            self.stir(speaker)
            del line.members[speaker]  # the next one speaks where this one is not attached yet
            line.members[speaker] = None

    def _take_in(self) -> None:
        """Begin to tick those that were stirred; those that are stirred by that wait for the next turn."""
        self._queue.extend(self._stirred.items())
        self._stirred.clear()
        if self._queue:
            self._slice_soon()

    def _slice_soon(self) -> None:
        if self._slicing is None:
            self._slicing = asyncio.get_running_loop().call_soon(self._slice)

    def _slice(self) -> None:
        self._slicing = None
        now = asyncio.get_running_loop().time()
        self._turning = True
        try:
            for _ in range(min(_SLICE, len(self._queue))):
                subscription, events = self._queue.popleft()
                if subscription in self._members:
                    self._tick(subscription, events, now)
        finally:
            self._turning = False
            self._leave()
            if self._queue:
                self._slice_soon()

    def _tick(self, subscription: Subscription, events: Sequence[ClientEvent], now: float) -> None:
        alone = True
        for gateway in self._members[subscription]:
            line = self._lines[gateway]
            subscription.handle(line.heard)
            alone &= len(line.members) == 1
        for event in events:
            subscription.handle(event)
        subscription.handle(_TICK)
        if subscription not in self._members:
            return  # it has failed
        self._hang(subscription)
        settings = self._party.settings
        # A gateway ends a session whose client is silent for four times ``dead_s``.
        idle_s = settings.beat_s if alone else 2 * settings.dead_s
        resend_s = settings.resend_s * (1 + len(self._asking) // _ASKED)
        asked_at, taken_at, left_at = subscription.waits
        due_at = min(asked_at + resend_s, taken_at + idle_s, left_at + settings.resend_s)
        subscription.due_at = max(due_at, now)
        self._wait(subscription)

    def _wait(self, subscription: Subscription) -> None:
        if subscription.due_at < subscription.queued_at:
            subscription.queued_at = subscription.due_at
            heappush(self._due, (subscription.due_at, next(self._ties), subscription))

    # --- what leaves

    def say(self, to: str, frame: AnyFrame) -> None:
        """Send a frame of a subscriber; what a turn says of many sessions leaves together at its end."""
        line = self._lines.get(to)
        if line is not None:
            line.said_at = asyncio.get_running_loop().time()
        if self._turning and type(frame) is Attach:
            self._attaches.setdefault(to, []).append(frame)
        elif self._turning and type(frame) is Taken:
            self._taken.setdefault(to, []).append(frame)
        else:
            self._party.say(to, frame)

    def _leave(self) -> None:
        attaches, self._attaches = self._attaches, {}
        taken, self._taken = self._taken, {}
        for to, asked in attaches.items():
            self._leave_for(to, asked, [AttachMany(tuple(part)) if len(part) > 1 else part[0] for part in cut(asked)])
        for to, had in taken.items():
            parts = [had[begin : begin + _TAKEN] for begin in range(0, len(had), _TAKEN)]
            self._leave_for(to, had, [TakenMany(tuple(part)) if len(part) > 1 else part[0] for part in parts])

    def _leave_for(self, to: str, each: Sequence[AnyFrame], together: Sequence[AnyFrame]) -> None:
        many = self._party.takes_many(to)
        if many is None:
            # The first has the gateway dialled. When it is there, all of them are said again (``met``).
            each = each[:1]
        for frame in together if many else each:
            self._party.say(to, frame)


def cut(attaches: Sequence[Attach]) -> Iterator[list[Attach]]:
    """Attaches as frames take them: each part has one that is long, or as many as fit; none is empty."""
    part: list[Attach] = []
    total = 0
    for attach in attaches:
        size = _size(attach)
        if part and (total + size > _FRAME_BYTES or len(part) == MOST_SESSIONS):
            yield part
            part, total = [], 0
        part.append(attach)
        total += size
    if part:
        yield part


def _size(attach: Attach) -> int:
    """Bytes that an attach has at most; of one with a long profile, enough to send it alone."""
    texts = (attach.session, attach.profile.stream, attach.profile.text, attach.before.text if attach.before else "")
    positions = (*attach.cursor, *attach.until, *attach.have)
    characters = sum(map(len, texts)) + sum(len(source) + 3 for source, _ in positions)
    if len(attach.profile.text) >= LONG or (attach.before is not None and len(attach.before.text) >= LONG):
        return _FRAME_BYTES
    numbers = len(attach.cursor) + len(attach.until) + sum(len(numbers) + 2 for _, numbers in attach.have)
    return _ATTACH_BYTES + _CHARACTER_BYTES * characters + _NUMBER_BYTES * numbers
