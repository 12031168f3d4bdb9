"""The publishers' side: messages are handed to a source until it has them for good, each once."""

from __future__ import annotations

from collections import deque
from itertools import islice

from semcast.model.message import Message
from semcast.protocol.contract import Command, Event, PublishMessages, Received, Send, Tick
from semcast.protocol.results import MessageRefused, MessagesPublished, PublisherBehind
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Publish, Published, Refused
from semcast.protocol.wire.frames.base import MOST_PUBLISHED
from semcast.protocol.wire.framing import fitting


class Publisher:
    """Hands messages to one source until it has them for good, each once."""

    def __init__(self, name: str, source: str, *, settings: Settings, first: int = 0) -> None:
        self.name = name
        self.source = source
        self._settings = settings
        self._first = first
        self._waiting: deque[Message] = deque()
        self._sent_at = float("-inf")
        self._in_flight = 0
        self._attempt = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case PublishMessages(messages):
                self._waiting.extend(messages)
                return self._send(now, self._in_flight)
            case Received(_, Published(origin=self.name) as published):
                return self._published(published, now)
            case Received(_, Refused(origin=self.name, expected=int(expected))) if expected >= self._first:
                self._in_flight = 0
                return []
            case Received(_, Refused(origin=self.name, expected=int(expected))):
                return [PublisherBehind(expected)]
            case Received(_, Refused(origin=self.name, attempt=self._attempt, unfit=int(number), reason=reason)):
                return self._given_up(number - self._first, reason, now)
            case Tick() if self._waiting and now - self._sent_at >= self._settings.resend_s:
                return self._send(now, 0)
        return []

    def _send(self, now: float, skip: int) -> list[Command]:
        messages = tuple(islice(self._waiting, skip, skip + min(self._settings.batch, MOST_PUBLISHED)))
        messages = messages[: fitting(len(message.payload) for message in messages)]
        if not messages:
            return []
        self._sent_at = now
        self._in_flight = skip + len(messages)
        return [Send(self.source, Publish(self.name, self._first + skip, messages, 0, self._attempt))]

    def _given_up(self, place: int, reason: str, now: float) -> list[Command]:
        """One will never be taken: those behind it take its number, since a source takes in nothing beyond a gap."""
        if not 0 <= place < len(self._waiting):
            return []
        del self._waiting[place]
        self._attempt += 1
        return [MessageRefused(place, reason), *self._send(now, 0)]

    def _published(self, published: Published, now: float) -> list[Command]:
        """Everything through a number is in the log: there is room for more."""
        through = published.through
        count = through + 1 - self._first
        if count <= 0:
            return []
        for _ in range(count):
            self._waiting.popleft()
        first, self._first = self._first, through + 1
        self._in_flight = max(0, self._in_flight - count)
        done = MessagesPublished(first, through, published.position, published.together)
        return [done, *self._send(now, self._in_flight)]
