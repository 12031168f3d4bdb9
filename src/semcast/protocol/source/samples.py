"""What a source remembers of its latest messages: for statistics, and for people who want to see some.

Statistics need only which profiles matched. To be shown, a message is kept with its way, per stream, so that a busy
stream leaves a quiet one its place; large ones are left out, which bounds the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from semcast.model.message import Message
from semcast.protocol.source.followed_plan import Routed
from semcast.protocol.wire.frames import Key

SHOWN = 200
"""Messages kept of each stream."""
LARGEST = 4096
"""Bytes of a payload that is kept."""


class Seen(NamedTuple):
    """A message as the source sent it."""

    number: int
    epoch: int
    message: Message
    profiles: tuple[str, ...]
    routes: tuple[tuple[Key, int], ...]


class _Batch(NamedTuple):
    """Messages that followed each other, all of one stream."""

    rows: range
    first: int
    epoch: int
    messages: Sequence[Message]
    routed: Sequence[Routed]
    small: int
    """Rows that can be shown."""

    def seen(self) -> Iterator[Seen]:
        for row in self.rows:
            message, way = self.messages[row], self.routed[row]
            if len(message.payload) <= LARGEST:
                yield Seen(self.first + row, self.epoch, message, way.profiles, way.routes)


class Sampling:
    """The latest of one message in so many.

    Most are never shown: batches are kept as they came until somebody looks, which takes a tenth of the time.
    """

    def __init__(self, every: int, most: int) -> None:
        self.every = every
        self.matched: deque[tuple[str, ...]] = deque(maxlen=most)
        self._shown: dict[str, deque[Seen]] = {}
        self._late: dict[str, deque[_Batch]] = {}
        self._waiting: dict[str, int] = {}
        """Messages in these batches."""

    def take(self, number: int, epoch: int, message: Message, routed: Routed) -> None:
        """A message has been routed; it is sampled or passed over."""
        self.take_all(number, epoch, (message,), (routed,))

    def take_all(self, first: int, epoch: int, messages: Sequence[Message], routed: Sequence[Routed]) -> None:
        """The same for messages that follow each other."""
        rows = range(-first % self.every, len(messages), self.every)
        self.matched.extend([routed[row].profiles for row in rows])
        streams = {messages[row].stream for row in rows}
        if len(streams) > 1:
            for row in rows:
                self._keep(messages[row].stream, first + row, epoch, (messages[row],), (routed[row],), range(1))
        for stream in streams if len(streams) == 1 else ():
            self._keep(stream, first, epoch, messages, routed, rows)

    def _keep(
        self,
        stream: str,
        first: int,
        epoch: int,
        messages: Sequence[Message],
        routed: Sequence[Routed],
        rows: range,
    ) -> None:
        small = sum([len(messages[row].payload) <= LARGEST for row in rows])
        late = self._late.setdefault(stream, deque())
        late.append(_Batch(rows, first, epoch, messages, routed, small))
        waiting = self._waiting.get(stream, 0) + small
        while waiting - late[0].small >= SHOWN:
            waiting -= late.popleft().small
        self._waiting[stream] = waiting
        if small < len(messages):
            self._look(stream)  # or what will not be shown would be kept for the sake of what will

    def _look(self, stream: str) -> None:
        shown = self._shown.setdefault(stream, deque(maxlen=SHOWN))
        self._waiting[stream] = 0
        for batch in self._late.pop(stream, ()):
            shown.extend(batch.seen())

    @property
    def shown(self) -> Mapping[str, deque[Seen]]:
        """Per stream, the oldest first."""
        for stream in list(self._late):
            self._look(stream)
        return self._shown
