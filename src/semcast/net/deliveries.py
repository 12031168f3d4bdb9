"""What a gateway hands to its clients, and how old it is by then."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from semcast.protocol.frames import Deliver

BUCKETS_MS = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0, 10000.0)

_SESSIONS = 65536


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The beginning of a message, as far as its time: the payload is passed over, not copied."""

    stream: msgspec.Raw
    payload: msgspec.Raw
    topic: msgspec.Raw
    time_ms: int = 0


_decoder = msgspec.msgpack.Decoder(_Head)


class Deliveries:
    """Counters, and a histogram of ages; messages without an event time have no age."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.aged = 0
        self.total_ms = 0.0
        self.ages = [0] * (len(BUCKETS_MS) + 1)
        """Per bucket those that are older than the one before allows; the last has no end."""
        self._counted: dict[str, int] = {}

    def took(self, frame: Deliver, now_ms: float) -> None:
        """A message leaves; what is said again, since nobody has answered, counts once. About a microsecond."""
        if frame.sequence <= self._counted.get(frame.session, -1):
            return
        if len(self._counted) >= _SESSIONS:
            self._counted.clear()  # at worst something is counted twice
        self._counted[frame.session] = frame.sequence
        self.messages += 1
        self.bytes += len(frame.body)
        at = _decoder.decode(frame.body).time_ms
        if at:
            age = now_ms - at
            if age < 0.0:
                age = 0.0  # clocks differ a little
            self.aged += 1
            self.total_ms += age
            self.ages[bisect_left(BUCKETS_MS, age)] += 1
