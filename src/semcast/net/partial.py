"""What all connections of a member hold together of frames, packets and bodies that are not whole yet.

One connection may hold a frame of 16 MB. A thousand that each send half of one would fill the memory, so there is a
bound for all together. Where it is passed, the connection whose frame began first is ended: honest frames are whole
soon. Links between brokers are spared: they hold little, and messages travel over them.
"""

from __future__ import annotations

from typing import Protocol

from semcast.protocol.wire.framing import MAX_FRAME

MOST_BYTES = 4 * MAX_FRAME


class Holder(Protocol):
    """A connection that has read the beginning of something."""

    def evict(self, reason: str) -> None:
        """End it."""


class Partial:
    """The bytes of one member, by connection."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.total = 0
        self.evicted = 0
        """Connections that were ended."""
        self._most = most_bytes
        self._held: dict[Holder, int] = {}

    def hold(self, holder: Holder, size: int, *, begun: bool = False) -> None:
        """Note how many bytes a connection holds; ``begun``: they belong to something new. O(1)."""
        before = self._held.get(holder, 0)
        if not size or begun:
            self._held.pop(holder, None)
        if size:
            self._held[holder] = size
        self.total += size - before
        while self.total > self._most:
            oldest = next(iter(self._held))
            self.hold(oldest, 0)
            self.evicted += 1
            oldest.evict(f"all connections together hold more than {self._most >> 20} MB of what is not whole yet")
