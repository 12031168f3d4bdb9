"""Where messages enter: taken in once, logged for good, then sent and acknowledged.

What is in the log is what is sent. How messages are routed, when they may be taken in and how long the log keeps them
is decided by the source's *outlet* (``outlet.Outlet``), which is another one for each way to run an overlay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Generic, TypeVar

from semcast.protocol.contract import Command, Note, Send, Sync
from semcast.protocol.settings import Settings
from semcast.protocol.source.followed_plan import Following
from semcast.protocol.source.outlet import Carried, Outgoing, Outlet
from semcast.protocol.source.samples import Sampling
from semcast.protocol.stores import Log, Record
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import Append, Key, Publish, Published, Refused
from semcast.protocol.wire.framing import fitting

O_co = TypeVar("O_co", bound=Outlet, covariant=True)


class Source(Generic[O_co]):
    """The source at one broker. What it wants sent is returned by ``synced`` and ``tick``."""

    def __init__(self, log: Log, settings: Settings, streams: Streams, outlet: O_co) -> None:
        self.log = log
        self.sent = log.end
        """All before a crash counts as sent: gateways will fetch what did not arrive."""
        self._settings = settings
        self._streams = streams
        self._outlet = outlet
        self._waiting: deque[tuple[int, str, Published]] = deque()

    @property
    def outlet(self) -> O_co:
        return self._outlet

    @property
    def following(self) -> Following | None:
        return self._outlet.following

    @property
    def epoch(self) -> int:
        following = self._outlet.following
        return following.epoch if following else 0

    @property
    def version(self) -> int:
        """Of the roster that messages are matched by."""
        return self._outlet.stand(self.sent)[2]

    @property
    def profiles(self) -> int:
        """How many profiles messages are matched with."""
        following = self._outlet.following
        return following.profiles if following is not None else 0

    @property
    def astray(self) -> int:
        """How often the roster had to be replaced."""
        return self._outlet.astray

    def stand(self) -> tuple[int, int, int, int]:
        """The plan and the roster's version that are followed behind durable positions, each with its position."""
        return self._outlet.stand(self.sent)

    @property
    def sampling(self) -> Sampling:
        return self._outlet.sampling

    def carried(self) -> Mapping[Key, Carried]:
        """What was sent on each tree of the plan that is followed."""
        return self._outlet.carried()

    def leased(self, now: float) -> bool:
        """May messages be taken in now?"""
        return self._outlet.leased(now)

    # --- from publishers

    def publish(self, publish: Publish, sender: str, now: float) -> list[Command]:
        """Take messages in; they are acknowledged when they are durable."""
        expected = self._expected(publish, len(publish.messages), sender, now)
        if isinstance(expected, list):
            return expected
        new = publish.messages[expected - publish.first :]
        refusal = self._streams.refusal
        for number, message in enumerate(new, expected):
            unfit = refusal(message)
            if unfit is not None:
                refused = Refused(publish.origin, publish.first, unfit, unfit=number, attempt=publish.attempt)
                return [Send(sender, refused)]
        self._outlet.append(publish.origin, expected, new)
        return self._confirming(publish, sender, len(new))

    def append(self, append: Append, sender: str, now: float) -> list[Command]:
        """Take in what was matched and routed elsewhere, if the outlet takes such routes."""
        expected = self._expected(append, len(append.bodies), sender, now)
        if isinstance(expected, list):
            return expected
        routes = self._outlet.routes(append)
        if isinstance(routes, Refused):
            return [Send(sender, routes)]
        skip, end, epoch = expected - append.first, self.log.end, self.epoch
        self.log.append(
            Record(end + 1 + place, append.origin, expected + place, epoch, way, body)
            for place, (way, body) in enumerate(zip(routes[skip:], append.bodies[skip:], strict=True))
        )
        self.sampling.matched.extend(append.samples)
        return self._confirming(append, sender, len(routes) - skip)

    def _expected(self, said: Publish | Append, count: int, sender: str, now: float) -> int | list[Command]:
        """The number of the first message that is new, or the answer where there is none or it is not its turn."""
        last = said.first + count - 1
        high, position = self.log.high_water(said.origin)
        if high >= last:
            known = position if high == last else 0
            if position <= self.sent:
                return [Send(sender, Published(said.origin, last, known))]
            self._waiting.append((position, sender, Published(said.origin, last, known)))
            return []
        expected = max(high + 1, min(said.since, said.first))
        if said.first > expected:
            reason = f"message {expected} of {said.origin!r} has not come"
            return [Send(sender, Refused(said.origin, said.first, reason, expected))]
        if not self.leased(now):
            return [Send(sender, Refused(said.origin, said.first, "the source has no lease from a coordinator"))]
        return expected

    def _confirming(self, said: Publish | Append, sender: str, count: int) -> list[Command]:
        """What was appended last is acknowledged when it is durable."""
        end = self.log.end
        through = self.log.high_water(said.origin)[0]
        self._waiting.append((end, sender, Published(said.origin, through, end, count)))
        return [Sync(end)]

    # --- to the outlet

    def synced(self, through: int) -> tuple[list[Command], list[Outgoing]]:
        """What is durable is sent and acknowledged."""
        frames: list[Outgoing] = []
        while self.sent < through:
            records = self.log.read(self.sent, through, self._settings.batch)
            if not records:
                break
            records = records[: fitting(len(record.body) for record in records)]
            frames += self._outlet.frames(records)
            self.sent = records[-1].number
        commands: list[Command] = []
        while self._waiting and self._waiting[0][0] <= self.sent:
            _, publisher, published = self._waiting.popleft()
            commands.append(Send(publisher, published))
        return commands + self._outlet.confirmed(self.sent), frames

    def tick(self, now: float) -> list[Outgoing]:
        """What is to be sent now besides messages."""
        return self._outlet.tick(self.sent, now)

    def trim(self) -> list[Command]:
        """Let go of what nobody needs any more."""
        through = self._outlet.spare(self.sent)
        if through <= self.log.trimmed:
            return []
        self.log.trim(through)
        return [Note("trimmed", {"through": through})]
