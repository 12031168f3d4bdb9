"""A subscription within the gateway's process, which takes batches in source order."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence

from semcast.client.messages import Gap
from semcast.client.subscription import Refused
from semcast.model.message import ProfileText
from semcast.protocol.client.near import Begun, Given, Missed, NearSubscriber, Outcome
from semcast.protocol.contract import EndSubscription, Event, Received, Send, Tick, TookThrough
from semcast.server.broker import BrokerHost

Take = Callable[[str, Sequence[int], Sequence[bytes]], None]
"""Given (source, numbers, bodies) of what comes next; all of it counts as taken when it returns."""


class NearSubscription:
    """Drives a NearSubscriber on the event loop of its gateway."""

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
        self._host = host
        self._machine = NearSubscriber(self.name, host.name, profile, host.settings)
        self._take, self._on_gap, self._failed = take, on_gap, failed
        self._loop = asyncio.get_running_loop()
        self._live: asyncio.Future[None] = self._loop.create_future()
        self._live.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._timer: asyncio.TimerHandle | None = None
        host.locals[self.name] = lambda sender, frame: self._feed(Received(sender, frame))
        host.near[self.name] = self._feed
        self._tick()

    @property
    def over(self) -> bool:
        return self._machine.over

    @property
    def cursor(self) -> dict[str, int]:
        """Per source: everything through here was given."""
        return self._machine.cursor

    async def live(self) -> None:
        """Wait until nothing is missed any more; Refused where that will never be."""
        await asyncio.shield(self._live)

    def close(self) -> None:
        if self.over:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._feed(EndSubscription())
        self._host.near.pop(self.name, None)
        self._host.forget_local(self.name)
        if not self._live.done():
            self._live.set_exception(Refused("the subscription was given up before it was live"))

    def _tick(self) -> None:
        if not self.over:
            self._timer = self._loop.call_later(self._host.settings.beat_s / 2, self._tick)
            self._feed(Tick())

    def _feed(self, event: Event) -> None:
        self._do(self._machine.handle(event, self._loop.time()))

    def _do(self, results: Sequence[Outcome]) -> None:
        for result in results:
            if isinstance(result, Send):
                self._host.told(self.name, result.frame)
            elif self.over:
                return  # whoever took it has left in between
            elif isinstance(result, Given):
                if result.numbers:
                    self._take(result.source, result.numbers, result.bodies)
                self._feed(TookThrough(result.source, result.through))
            elif isinstance(result, Missed):
                if result.first < result.through:
                    self._on_gap(Gap(result.source, result.first, result.through))
                self._feed(TookThrough(result.source, result.through))
            elif isinstance(result, Begun):
                if not self._live.done():
                    self._live.set_result(None)
            else:
                if not self._live.done():
                    self._live.set_exception(Refused(result.reason))
                self._failed(result.reason)
