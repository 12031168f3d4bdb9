"""One subscription of the overlay, and the MQTT sessions that it goes to: one, or a group that shares it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from semcast.client.messages import Gap, Received
from semcast.client.subscription import Refused
from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.server.local import LocalClient

log = logging.getLogger("semcast")


class Entry:
    """A message on its way to a client; it counts as taken when it is settled, and so are all before it."""

    __slots__ = ("feed", "gaps", "reached", "received", "settled")

    def __init__(self, feed: Feed, received: Received, gaps: tuple[str, ...]) -> None:
        self.feed, self.received, self.gaps = feed, received, gaps
        self.reached = feed.subscription.reached
        self.settled = False


class _Over(Exception):
    """The subscription has ended."""


class Taker(Protocol):
    """Who messages can be given to."""

    def ready(self, feed: Feed) -> bool:
        """Can it be given a message right now?"""

    def give(self, entry: Entry) -> None:
        """Send it, and settle the entry when the client has it."""


class Feed:
    """Takes messages from a subscription, in source order, and gives each to one of its takers.

    It takes one ahead of what can be sent, no more: what a client does not take stays in the sources' logs.
    """

    def __init__(
        self,
        client: LocalClient,
        profile: ProfileText,
        failed: Callable[[Feed, str], None],
        *,
        session: str | None = None,
        expiry_s: float | None = None,
        cursor: Mapping[str, int] | None = None,
        idle: Callable[[Feed], bool] | None = None,
    ) -> None:
        """Subscribe for ``client``, which is this feed's alone; with a ``session`` the overlay keeps it.

        ``cursor`` is where it begins; ``idle`` is asked whenever nothing is left to be given: is it over now?
        """
        self.profile = profile
        self.takers: list[Taker] = []
        self.over = False
        self._failed, self._idle = failed, idle
        self._asking = 0
        self._unsettled: deque[Entry] = deque()
        self._gaps: list[str] = []
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()
        """Held by whoever is about to give: what came back from a taker, or what is new."""
        self._client = client
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.subscription = client.subscribe(
            profile.stream, profile, session=session, ordered=True, expiry_s=expiry_s, cursor=cursor, on_gap=self._gap
        )
        self._tasks = {asyncio.get_running_loop().create_task(self._pump())}

    def join(self, taker: Taker) -> None:
        """Give messages to somebody, too."""
        if taker not in self.takers:
            self.takers.append(taker)
        self.wake()

    def part(self, taker: Taker) -> None:
        self.takers.remove(taker)

    @property
    def given(self) -> dict[str, int]:
        """Per source: everything through here was given."""
        subscription = self.subscription
        above = {source: max(numbers) for source, numbers in subscription.have.items() if numbers}
        return {s: max(at, above.get(s, 0)) for s, at in (above | subscription.cursor).items()}

    def wake(self) -> None:
        """A taker may be ready that was not, or be through with what it was sent."""
        self._wake.set()
        if self._idle is not None:
            self.subscription.nudge()

    async def live(self) -> None:
        """Wait until nothing is missed any more; SemcastError where that will never be."""
        live = asyncio.ensure_future(self.subscription.live())
        self._asking += 1
        try:
            await asyncio.wait([live, self._closed], return_when=asyncio.FIRST_COMPLETED)
            if not live.done():
                raise SemcastError("the subscription was given up before it was live")
            live.result()
        finally:
            self._asking -= 1
            live.cancel()

    async def replace(self, profile: ProfileText) -> None:
        """Ask for something else, atomically."""
        before, self.profile = self.profile, profile
        try:
            await self.subscription.replace(profile.text)
        except Refused:
            self.profile = before
            raise

    def _gap(self, gap: Gap) -> None:
        self._gaps.append(f"{gap.source}:{gap.first + 1}-{gap.through}")

    def again(self, entries: list[Entry]) -> None:
        """What a taker had and did not take is given to others, or to itself when it is back."""
        if entries and not self.over:
            task = asyncio.get_running_loop().create_task(self._give_all(entries))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def settle(self, entry: Entry) -> None:
        """The client has it."""
        entry.settled = True
        last: Entry | None = None
        while self._unsettled and self._unsettled[0].settled:
            last = self._unsettled.popleft()
        if last is not None:
            self.subscription.confirm(last.reached if self._unsettled else None)

    async def close(self, *, keep: bool = False) -> None:
        """End it; with ``keep`` the overlay's session stays, with all that is not settled."""
        self.over = True
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if not self._closed.done():
            self._closed.set_result(None)
        await self.subscription.close(keep=keep, taken=not keep)
        await self._client.close()

    async def _pump(self) -> None:
        try:
            while True:
                received = await self._next()
                gaps, self._gaps = tuple(self._gaps), []
                entry = Entry(self, received, gaps)
                self._unsettled.append(entry)
                async with self._turn:
                    (await self._ready()).give(entry)
        except (_Over, asyncio.CancelledError):
            return
        except SemcastError as error:
            if not self._asking:  # whoever waits for it to be live is told there
                self._failed(self, str(error))
        except Exception as error:
            log.exception("%s: delivery fails", self.subscription.session)
            self._failed(self, f"delivery fails: {error}")

    async def _next(self) -> Received:
        while (received := self.subscription.ready()) is None:
            if self.subscription.over or (self._idle is not None and not self._unsettled and self._idle(self)):
                raise _Over
            await self.subscription.news()
        return received

    async def _give_all(self, entries: list[Entry]) -> None:
        async with self._turn:
            for entry in entries:
                (await self._ready()).give(entry)

    async def _ready(self) -> Taker:
        """The next who can take; each in turn."""
        while True:
            for place, taker in enumerate(self.takers):
                if taker.ready(self):
                    self.takers.append(self.takers.pop(place))
                    return taker
            self._wake.clear()
            await self._wake.wait()
