"""A party that makes plans for coordinators."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from semcast.client.overlay import OverlayConnection
from semcast.net.connection import Connection
from semcast.protocol.wire.codec import AnyView
from semcast.protocol.wire.frames import FoundPlan, Greeting, OfferPlans, OrderPlan
from semcast.protocol.wire.framing import FrameError

_TOLD = 500
"""Characters of a reason."""


class PlanMaker(OverlayConnection):
    """Offers every coordinator of an overlay to make its plans, as often as it is connected to it.

    ``make`` gets the order as it came and gives the plan, packed both; it is called on a thread of its own, for one
    order at a time. Of orders that come meanwhile only the last is made: a coordinator has one at a time.
    """

    def __init__(self, url: str | None, make: Callable[[bytes], bytes], where: str = "") -> None:
        super().__init__(url, name=f"planner-{uuid.uuid4().hex[:12]}")
        self._make, self._where = make, where
        self._thread = ThreadPoolExecutor(1, "semcast-planner")
        self._next: tuple[str, OrderPlan] | None = None
        self._working: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Go; a plan that is being made is not waited for, and whoever ordered it makes it himself."""
        self._next = None
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
        self._thread.shutdown(wait=False, cancel_futures=True)
        await super().close()

    def met(self, peer: Connection) -> None:
        if peer.role == "coordinator":
            peer.send(OfferPlans(self._where))

    def greeted(self, peer: Connection, greeting: Greeting) -> None:
        super().greeted(peer, greeting)
        assert self.view is not None
        self.keep(self.view.coordinators)

    def frame(self, peer: Connection, frame: AnyView) -> None:
        if not isinstance(frame, OrderPlan):
            super().frame(peer, frame)
            return
        self._next = (peer.name, frame)
        if self._working is None or self._working.done():
            self._working = self._loop.create_task(self._work())

    async def _work(self) -> None:
        while self._next is not None and self.running:
            to, order = self._next
            self._next = None
            found = await self._loop.run_in_executor(self._thread, self._found, order)
            try:
                self.say(to, found)
            except FrameError as error:
                self.say(to, FoundPlan(order.number, b"", str(error)))

    def _found(self, order: OrderPlan) -> FoundPlan:
        try:
            return FoundPlan(order.number, self._make(order.order))
        except Exception as error:
            told = (str(error).strip().splitlines() or [""])[0]
            return FoundPlan(order.number, b"", f"{type(error).__name__}: {told}"[:_TOLD])
