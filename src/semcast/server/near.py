"""A subscription within the gateway's process, for who takes whatever comes: batches, in source order."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence

from semcast.client.messages import Gap
from semcast.client.subscription import Refused
from semcast.model.message import ProfileText
from semcast.protocol.contract import Handed
from semcast.protocol.wire.frames import AnyFrame, Attach, Attached, Deliver, Detach, Progress, ProtocolError, Taken
from semcast.protocol.wire.frames import Gap as Lost
from semcast.server.broker import BrokerHost

Take = Callable[[str, Sequence[int], Sequence[bytes]], None]
"""Given (source, numbers, bodies) of what comes next; all of it counts as taken when it returns."""


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


class NearSubscription:
    """Asks the gateway here for a profile, and goes on asking: behind ``cursor`` it is owed everything."""

    def __init__(
        self,
        host: BrokerHost,
        profile: ProfileText,
        take: Take,
        *,
        on_gap: Callable[[Gap], None],
        failed: Callable[[str], None],
    ) -> None:
        self.name = f"near-{host.name}-{uuid.uuid4().hex[:12]}"
        self.cursor: dict[str, int] = {}
        """Per source: everything through here was given."""
        self._host, self._profile = host, profile
        self._take, self._on_gap, self._failed = take, on_gap, failed
        self._base: int | None = None
        self._sequence = self._told = 0
        self._loop = asyncio.get_running_loop()
        self._live: asyncio.Future[None] = self._loop.create_future()
        self._live.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        host.locals[self.name] = self._heard
        host.near[self.name] = self._handed
        self._say()

    @property
    def over(self) -> bool:
        return self._over

    async def live(self) -> None:
        """Wait until nothing is missed any more; Refused where that will never be."""
        await asyncio.shield(self._live)

    def close(self) -> None:
        if self._over:
            return
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        self._host.told(self.name, Detach(self.name))
        self._host.near.pop(self.name, None)
        self._host.forget_local(self.name)
        if not self._live.done():
            self._live.set_exception(Refused("the subscription was given up before it was live"))

    def _say(self) -> None:
        """Ask until it is answered; then tell now and then what was taken: the gateway forgets who is silent."""
        if self._over:
            return
        self._timer = self._loop.call_later(self._host.settings.beat_s, self._say)
        if self._base is None:
            cursor = tuple(sorted(self.cursor.items()))
            self._host.told(self.name, Attach(self.name, self._profile, ordered=True, cursor=cursor))
        else:
            self._say_taken()

    def _say_taken(self) -> None:
        self._told = self._sequence
        self._host.told(self.name, Taken(self.name, self._sequence))

    # --- what the gateway says

    def _heard(self, sender: str, frame: AnyFrame) -> None:
        match frame:
            case _ if self._over:
                return
            case Attached():
                self._attached(frame)
            case Deliver() if self._follows(frame.sequence):
                self._take(frame.source, (frame.number,), (frame.body,))
                self._through(frame.source, frame.number)
                if self._sequence - self._told >= self._host.settings.held // 4:
                    self._say_taken()  # a gateway that hands no batches has only so much room
            case Progress() if self._follows(frame.sequence):
                self._through(frame.source, frame.through)
            case Lost() if self._follows(frame.sequence):
                first = max(frame.first, self.cursor.get(frame.source, 0))
                if first < frame.through:
                    self._on_gap(Gap(frame.source, first, frame.through))
                self._through(frame.source, frame.through)
            case ProtocolError(unknown=True):
                self._begin_again()
            case ProtocolError(reason):
                if not self._live.done():
                    self._live.set_exception(Refused(reason))
                self._failed(reason)

    def _handed(self, handed: Handed) -> None:
        if self._over or not self._follows(handed.sequence):
            return
        first = 0
        for end in _cuts(handed.bodies):
            if self.over:
                return  # whoever took it has left in between
            self._take(handed.source, handed.numbers[first:end], handed.bodies[first:end])
            self._through(handed.source, handed.numbers[end - 1])
            first = end
        self._through(handed.source, handed.through)

    def _attached(self, frame: Attached) -> None:
        behind = dict(frame.behind)
        for source, position in frame.positions:
            self.cursor.setdefault(source, behind.get(source, position))
        if self._base != frame.base:
            self._base = self._sequence = self._told = frame.base
        if not self._live.done():
            self._live.set_result(None)

    def _follows(self, sequence: int) -> bool:
        """Is it the next? What is older was given; where something is missing, it is asked for again."""
        if self._base is None or sequence <= self._sequence:
            return False
        if sequence == self._sequence + 1:
            self._sequence = sequence
            return True
        self._begin_again()
        return False

    def _begin_again(self) -> None:
        if self._base is not None:
            self._base = None
            self._loop.call_soon(self._ask_again)

    def _ask_again(self) -> None:
        if self._base is None and not self._over:
            if self._timer is not None:
                self._timer.cancel()
            self._say()

    def _through(self, source: str, position: int) -> None:
        self.cursor[source] = max(position, self.cursor.get(source, 0))
