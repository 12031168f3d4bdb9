"""A subscription of somebody within the gateway's own process, who is given a batch at a time.

Between the two nothing is lost and nothing overtakes, so nothing is said again, and what is released together is handed
over together. What was handed over is held in the logs, as for every session, until it is known to be taken.
"""

from __future__ import annotations

from collections import deque

from semcast.protocol.contract import Command, Handed, Send
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.wire.frames import Attach, Deliver, Gap, Progress


class Tap(Session):
    """A session in source order whose client takes whatever it is given: it lags only where the gateway does."""

    __slots__ = ("_handed",)

    def __init__(self, attach: Attach, client: str, base: int, room: int, expiry_s: float, now: float) -> None:
        super().__init__(attach, client, base, room, expiry_s, now)
        self._handed: deque[tuple[int, str, int]] = deque()
        """Sequence number, source and position of what is not known to be taken."""

    def release(self, source: str, frontier: int) -> list[Command]:
        way = self.ways.get(source)
        if way is None or way.filling or frontier <= way.told:
            return []
        due = sorted(number for number in way.held if way.told < number <= frontier and number not in way.sent)
        bodies = tuple([way.held[number] for number in due])
        way.held = {number: body for number, body in way.held.items() if number > frontier}
        way.forget(frontier)
        way.told, way.quiet = frontier, 0
        self.sequence += 1
        self._handed.append((self.sequence, source, frontier))
        return [Handed(self.client, self.id, self.sequence, source, tuple(due), bodies, frontier)]

    def _send(self, frame: Deliver | Progress | Gap) -> list[Command]:
        """What comes from a log, and what is lost, is said as to every client."""
        self.sequence = frame.sequence
        if not isinstance(frame, Deliver):
            self._handed.append((frame.sequence, frame.source, frame.through))
        return [Send(self.client, frame)]

    def taken(self, sequence: int, now: float) -> None:
        self.heard_at = now
        while self._handed and self._handed[0][0] <= sequence:
            _, source, through = self._handed.popleft()
            self.cursor[source] = max(self.cursor.get(source, 0), through)
