"""What a gateway hands to its clients, and how old it is by then."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from semcast.protocol.wire.frames import Deliver

BUCKETS_MS = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0, 10000.0)

_SESSIONS = 65536


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The beginning of a message, as far as its time: the payload is passed over, not copied."""

    stream: msgspec.Raw
    payload: msgspec.Raw
    topic: msgspec.Raw
    time_ms: int = 0


_decoder = msgspec.msgpack.Decoder(_Head)


@dataclass(slots=True)
class Given:
    """What one session was handed, and how old it was."""

    sequence: int = -1
    """The last that was counted."""
    messages: int = 0
    aged: int = 0
    total_ms: float = 0.0
    last_ms: float = 0.0
    worst_ms: float = 0.0

    def as_dict(self) -> dict[str, float | None]:
        """Ages are None where no message had an event time."""
        ages = (self.total_ms / self.aged, self.last_ms, self.worst_ms) if self.aged else (None, None, None)
        mean, last, worst = (None if age is None else round(age, 3) for age in ages)
        return {"messages": self.messages, "mean_ms": mean, "last_ms": last, "worst_ms": worst}


class Deliveries:
    """Counters, and a histogram of ages; messages without an event time have no age."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.aged = 0
        self.total_ms = 0.0
        self.ages = [0] * (len(BUCKETS_MS) + 1)
        """Per bucket those that are older than the one before allows; the last has no end."""
        self._given: dict[str, Given] = {}

    def to(self, session: str) -> Given:
        """What a session was handed since this gateway was started."""
        return self._given.get(session) or Given()

    def took(self, frame: Deliver, now_ms: float) -> None:
        """A message leaves; what is said again, since nobody has answered, counts once. About a microsecond."""
        given = self._to(frame.session)
        if frame.sequence <= given.sequence:
            return
        given.sequence = frame.sequence
        given.messages += 1
        self.messages += 1
        self.bytes += len(frame.body)
        self._aged(given, _decoder.decode(frame.body).time_ms, now_ms, 1, 1)

    def handed(
        self, session: str, times_ms: Collection[int], bodies: Iterable[bytes], clients: int, now_ms: float
    ) -> None:
        """Messages of a session leave together, each to all clients that share it."""
        given = self._to(session)
        given.messages += len(times_ms)
        self.messages += clients * len(times_ms)
        self.bytes += clients * sum(map(len, bodies))
        for at_ms, count in Counter(times_ms).items():
            self._aged(given, at_ms, now_ms, count, clients)

    def _to(self, session: str) -> Given:
        given = self._given.get(session)
        if given is None:
            if len(self._given) >= _SESSIONS:
                self._given.clear()  # at worst something is counted twice
            given = self._given[session] = Given()
        return given

    def _aged(self, given: Given, at_ms: int, now_ms: float, count: int, clients: int) -> None:
        if not at_ms:
            return
        age = now_ms - at_ms
        if age < 0.0:
            age = 0.0  # clocks differ a little
        self.aged += count * clients
        self.total_ms += count * clients * age
        self.ages[bisect_left(BUCKETS_MS, age)] += count * clients
        given.aged += count
        given.total_ms += count * age
        given.last_ms = age
        if age > given.worst_ms:
            given.worst_ms = age
