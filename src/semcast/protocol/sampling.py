"""What a source remembers of its latest messages: for statistics, and for people who want to see some.

Statistics need only which profiles matched. To be shown, a message is kept with its way, per stream, so that a busy
stream leaves a quiet one its place; large ones are left out, which bounds the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from semcast.model.message import Message
from semcast.protocol.following import Routed
from semcast.protocol.frames import Key

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


class Sampling:
    """The latest of one message in so many."""

    def __init__(self, every: int, most: int) -> None:
        self.every = every
        self.matched: deque[tuple[str, ...]] = deque(maxlen=most)
        self._shown: dict[str, deque[Seen]] = {}

    def take(self, number: int, epoch: int, message: Message, routed: Routed) -> None:
        """A message has been routed; it is sampled or passed over."""
        if number % self.every:
            return
        self.matched.append(routed.profiles)
        if len(message.payload) <= LARGEST:
            held = self._shown.get(message.stream)
            if held is None:
                held = self._shown[message.stream] = deque(maxlen=SHOWN)
            held.append(Seen(number, epoch, message, routed.profiles, routed.routes))

    def take_all(self, first: int, epoch: int, messages: Sequence[Message], routed: Sequence[Routed]) -> None:
        """The same for messages that follow each other."""
        for row in range(-first % self.every, len(messages), self.every):
            self.take(first + row, epoch, messages[row], routed[row])

    @property
    def shown(self) -> Mapping[str, deque[Seen]]:
        """Per stream, the oldest first."""
        return self._shown
