"""A subscription within the gateway's own process, which takes batches in source order.

Between the two nothing is lost and nothing overtakes, but the gateway may forget the session, or be another life of
itself. So the subscriber knows what it was given (its *cursor*) and goes on asking for all behind that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.contract import EndSubscription, Event, Handed, Received, Send, Tick, TookThrough
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Attach, Attached, Deliver, Detach, Gap, Progress, ProtocolError, Taken


class Given(msgspec.Struct, frozen=True, gc=False):
    """Messages of one source; with them the taker has everything through a position. Then comes ``TookThrough``."""

    source: str
    numbers: Sequence[int]
    bodies: Sequence[bytes]
    through: int


class Missed(msgspec.Struct, frozen=True, gc=False):
    """What matched in (first, through] of a source is lost. ``TookThrough`` when the taker knows."""

    source: str
    first: int
    through: int


class Begun(msgspec.Struct, frozen=True, gc=False):
    """Nothing that matches is missed behind these positions."""

    positions: tuple[tuple[str, int], ...]


class Declined(msgspec.Struct, frozen=True, gc=False):
    """The gateway will not have this subscription."""

    reason: str


Outcome = Send | Given | Missed | Begun | Declined

_PIECE = 1 << 20
"""Bytes that are given at a time, but for the last message of them: who cannot keep up is noticed in between."""


def _cuts(bodies: Sequence[bytes]) -> Iterator[int]:
    """Where pieces of a batch end."""
    size = 0
    for place, body in enumerate(bodies, 1):
        size += len(body)
        if size >= _PIECE or place == len(bodies):
            yield place
            size = 0


class NearSubscriber:
    """Asks the gateway of this process for a profile. Ticks may come as often as twice per ``beat_s``, or more."""

    def __init__(self, name: str, gateway: str, profile: ProfileText, settings: Settings) -> None:
        self.name = name
        self.cursor: dict[str, int] = {}
        """Per source: everything through here was given."""
        self.over = False
        self._gateway, self._profile, self._settings = gateway, profile, settings
        self._base: int | None = None
        self._sequence = self._told = 0
        self._said_at = float("-inf")

    @property
    def served(self) -> bool:
        """Has the gateway taken the session up, as far as is known?"""
        return self._base is not None

    def handle(self, event: Event, now: float) -> list[Outcome]:
        match event:
            case EndSubscription():
                self.over = True
                return [Send(self._gateway, Detach(self.name))]
            case TookThrough(source, through):
                self.cursor[source] = max(through, self.cursor.get(source, 0))
            case _ if self.over:
                return []
            case Tick() if now - self._said_at >= self._settings.beat_s:
                return self._say(now)
            case Received(_, frame):
                return self._heard(frame, now)
            case Handed() if self._base is not None and event.sequence > self._sequence:
                return self._handed(event, now)
        return []

    def _say(self, now: float) -> list[Outcome]:
        """Ask until it is answered; then tell now and then what was taken: the gateway forgets who is silent."""
        self._said_at = now
        if self._base is None:
            cursor = tuple(sorted(self.cursor.items()))
            return [Send(self._gateway, Attach(self.name, self._profile, ordered=True, cursor=cursor))]
        return self._say_taken()

    def _say_taken(self) -> list[Outcome]:
        self._told = self._sequence
        return [Send(self._gateway, Taken(self.name, self._sequence))]

    # --- what the gateway says

    def _heard(self, frame: object, now: float) -> list[Outcome]:
        match frame:
            case Attached():
                return self._attached(frame)
            case Deliver() | Progress() | Gap() if self._base is not None and frame.sequence > self._sequence:
                if frame.sequence > self._sequence + 1:
                    return self._begin_again(now)
                self._sequence = frame.sequence
                return self._next(frame)
            case ProtocolError(unknown=True):
                return self._begin_again(now)
            case ProtocolError(reason):
                return [Declined(reason)]
        return []

    def _next(self, frame: Deliver | Progress | Gap) -> list[Outcome]:
        if isinstance(frame, Progress):
            return [Given(frame.source, (), (), frame.through)]
        if isinstance(frame, Gap):
            return [Missed(frame.source, max(frame.first, self.cursor.get(frame.source, 0)), frame.through)]
        given: list[Outcome] = [Given(frame.source, (frame.number,), (frame.body,), frame.number)]
        if self._sequence - self._told >= self._settings.held // 4:
            given += self._say_taken()  # a gateway that hands no batches has only so much room
        return given

    def _handed(self, handed: Handed, now: float) -> list[Outcome]:
        if handed.sequence > self._sequence + 1:
            return self._begin_again(now)
        self._sequence = handed.sequence
        found: list[Outcome] = []
        first = 0
        for end in _cuts(handed.bodies):
            numbers = handed.numbers[first:end]
            found.append(Given(handed.source, numbers, handed.bodies[first:end], numbers[-1]))
            first = end
        return [*found, Given(handed.source, (), (), handed.through)]

    def _attached(self, frame: Attached) -> list[Outcome]:
        behind = dict(frame.behind)
        for source, position in frame.positions:
            self.cursor.setdefault(source, behind.get(source, position))
        if self._base != frame.base:
            self._base = self._sequence = self._told = frame.base
        return [Begun(frame.positions)]

    def _begin_again(self, now: float) -> list[Outcome]:
        """Something is missing, or the gateway knows nothing of this: ask it for all behind the cursor."""
        if self._base is None:
            return []
        self._base = None
        return self._say(now)
