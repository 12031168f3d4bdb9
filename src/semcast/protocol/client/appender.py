"""A publisher for programs that may be killed and run again: frames of one origin, each of them logged once.

Unlike ``Publisher`` it chooses no numbers. Whoever runs again gives the same messages the same numbers, and the
source's log, which knows the last number of each origin, takes in what it does not have.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from semcast.protocol.contract import AppendFrame, Command, Event, Received, ResumeAppending, Send, Tick
from semcast.protocol.results import Appended, AppendRefused, AppendTrouble, PlanStale
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Append, Publish, Published, Refused

_WINDOW = 4
"""Frames under way; more would only wait at the source."""
_MOST = 8
"""Times as long as at first it is waited before a frame is said again."""


class Appender:
    """Hands frames to one source, in the order of their numbers, until they are in its log for good.

    Where a message will never be taken (``AppendRefused``) nothing goes on; nor where messages were routed by another
    plan than the one that the source follows (``PlanStale``), until ``ResumeAppending``.
    """

    def __init__(self, origin: str, source: str, *, settings: Settings) -> None:
        self.origin = origin
        self.source = source
        self._settings = settings
        self._waiting: deque[Publish | Append] = deque()
        self._in_flight = 0
        self._sent_at = float("-inf")
        self._patience_s = settings.resend_s
        self._over = False

    @property
    def waiting(self) -> int:
        """Frames that are not in the log, as far as is known."""
        return len(self._waiting)

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case AppendFrame(frame):
                self._waiting.append(frame)
                return self._send(now)
            case ResumeAppending(frames):
                self._waiting = deque(frames)
                self._in_flight, self._over = 0, False
                return self._send(now)
            case Received(_, Published(origin=self.origin, through=through)):
                return self._durable(through, now)
            case Received(_, Refused(origin=self.origin, unfit=int(number), reason=reason)):
                self._over = True
                return [AppendRefused(number, reason)]
            case Received(_, Refused(origin=self.origin, epoch=int(epoch), version=version)):
                return self._stale(epoch, version)
            case Received(_, Refused(origin=self.origin, reason=reason)):
                return [AppendTrouble(reason)]  # a lost frame, or a lost lease: said again in time
            case Tick() if self._in_flight and not self._over and now - self._sent_at >= self._patience_s:
                # A source that is busy is not helped by hearing everything twice.
                self._patience_s = min(2 * self._patience_s, _MOST * self._settings.resend_s)
                self._in_flight = 0
                return self._send(now)
        return []

    def _stale(self, epoch: int, version: int) -> list[Command]:
        routed = [(frame.epoch, frame.version) for frame in self._waiting if isinstance(frame, Append)]
        if self._over or not any(by < (epoch, version) for by in routed):
            return []  # they were routed anew meanwhile
        self._over = True
        return [PlanStale(epoch, version)]

    @property
    def frames(self) -> list[Publish | Append]:
        """What is not in the log yet, as far as is known."""
        return list(self._waiting)

    def _durable(self, through: int, now: float) -> list[Command]:
        done = 0
        while self._waiting and last_of(self._waiting[0]) <= through:
            self._waiting.popleft()
            done += 1
        if not done:
            return []
        self._in_flight, self._patience_s = max(0, self._in_flight - done), self._settings.resend_s
        return [Appended(through), *self._send(now)]

    def _send(self, now: float) -> list[Command]:
        if self._over:
            return []
        frames = list(islice(self._waiting, self._in_flight, _WINDOW))
        if frames:
            self._sent_at = now
            self._in_flight += len(frames)
        return [Send(self.source, frame) for frame in frames]


def last_of(frame: Publish | Append) -> int:
    """The number of a frame's last message."""
    return frame.first + len(frame.messages if isinstance(frame, Publish) else frame.bodies) - 1
