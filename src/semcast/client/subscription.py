"""A subscription: messages as they come, each once, across gateways that fail."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semcast.client.messages import Gap, Received
from semcast.model import SemcastError
from semcast.model.message import unpacked
from semcast.net.runner import Runner
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import (
    Command,
    ConfirmTaken,
    EndSubscription,
    GiveBack,
    MeetGateways,
    ReplaceProfile,
    Send,
    Tick,
)
from semcast.protocol.contract import Received as Heard
from semcast.protocol.results import Delivered, MessagesLost, SessionEnded, SubscriptionRefused, WentLive
from semcast.protocol.wire.frames import AnyFrame, Deliver, Detached, Progress
from semcast.protocol.wire.frames import Gap as GapFrame

if TYPE_CHECKING:
    from semcast.client.party import Party

_STARTING_S = 10.0
"""How long a subscription waits for a gateway to come up."""
_LEAVING_S = 0.6
"""How long a subscription that ends waits for its gateway's word."""
log = logging.getLogger("semcast")


class Refused(SemcastError):
    """A subscription or a message that will never be accepted."""


@dataclass
class Staleness:
    """How old messages were when they came, against what was asked for."""

    bound_ms: float | None
    messages: int = 0
    late: int = 0
    """Messages that were older than the bound."""
    worst_ms: float = 0.0
    total_ms: float = 0.0
    error_ms: float = 0.0
    """Clocks differ: each figure is within so much."""

    @property
    def mean_ms(self) -> float:
        """Mean age; 0 before the first message."""
        return self.total_ms / self.messages if self.messages else 0.0

    def took(self, age_ms: float, error_ms: float) -> None:
        self.messages += 1
        self.total_ms += age_ms
        self.worst_ms = max(self.worst_ms, age_ms)
        self.error_ms = max(self.error_ms, error_ms)
        self.late += self.bound_ms is not None and age_ms > self.bound_ms


class Subscription:
    """Iterate over it with ``async for``. A message counts as taken when the next one is asked for.

    So who is slow is sent no more than fits, who crashes in the middle of a message gets it again in a durable session,
    and nobody else waits.
    """

    def __init__(
        self,
        party: Party,
        machine: Subscriber,
        stream: str,
        *,
        max_delay_ms: float | None,
        on_gap: Callable[[Gap], None] | None,
    ) -> None:
        self._party = party
        self.stream = stream
        self._machine = machine
        self._on_gap = on_gap
        self._loop = asyncio.get_running_loop()
        self._frames: deque[tuple[str, AnyFrame]] = deque()
        self._queued: set[tuple[str, int]] = set()
        """Of which the numbers that stand for one thing only."""
        self._given: deque[Received] = deque()
        self._news = asyncio.Event()
        self._holding = False
        self._error: SemcastError | None = None
        self._live: asyncio.Future[None] = self._loop.create_future()
        self._live.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._detached = asyncio.Event()
        self._versions: dict[int, asyncio.Future[None]] = {}
        self._waiting: asyncio.TimerHandle | None = None
        self.expected_delay_ms: float | None = None
        """Where the bound cannot be met: what to expect instead, as told when the subscription went live."""
        self.staleness = Staleness(max_delay_ms)
        self.gaps: list[Gap] = []
        self._runner = Runner(machine, self._do, tick_s=party.settings.tick_s, failed=self._failed)

    @property
    def session(self) -> str:
        """The name under which its gateway knows it."""
        return self._machine.session

    @property
    def durable(self) -> bool:
        """Does its session wait for a client that is away?"""
        return self._machine.durable

    @property
    def cursor(self) -> dict[str, int]:
        """Per source: everything through here was given out."""
        return dict(self._machine.cursor)

    def begin(self) -> None:
        self._runner.start()
        if not self._machine.gateways:
            self._waiting = self._loop.call_later(_STARTING_S, self._nobody_came)

    def meet(self, gateways: Sequence[str]) -> None:
        """The overlay was still starting, and has gateways now."""
        if not self._machine.gateways:
            self._runner.feed(MeetGateways(gateways))
            if self._waiting is not None:
                self._waiting.cancel()
            self._runner.feed(Tick())

    def _nobody_came(self) -> None:
        self._refused(SemcastError(f"no gateway has come up within {_STARTING_S:g} s"))

    async def live(self) -> None:
        """Wait until nothing that matches is missed any more; Refused where the profile makes no sense."""
        await asyncio.shield(self._live)

    def __await__(self) -> Generator[Any, None, Subscription]:
        """``await client.subscribe(…)`` gives the subscription when it is live."""
        yield from self.live().__await__()
        return self

    async def replace(self, profile: str) -> None:
        """Ask for something else, atomically; returns when it counts."""
        text = self._party.streams.profile(self.stream, profile)
        self._runner.feed(ReplaceProfile(text))
        version = self._machine.wishes
        done = self._versions[version] = self._loop.create_future()
        await done

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Received:
        self.confirm()
        while (message := self.ready()) is None:
            if self._runner.over:
                raise StopAsyncIteration
            await self.news()
        return message

    # --- the same in pieces, for who hands messages on and cannot say at once that they were taken

    def ready(self) -> Received | None:
        """The next message, if there is one now; those before it do not count as taken yet."""
        while not self._given:
            if self._error is not None:
                raise self._error
            if not self._frames or self._runner.over:
                return None
            self._runner.feed(Heard(*self._unqueued()))
        self._holding = True
        return self._given.popleft()

    def _unqueued(self) -> tuple[str, AnyFrame]:
        sender, frame = self._frames.popleft()
        self._queued.discard((sender, getattr(frame, "sequence", -1)))
        return sender, frame

    async def news(self) -> None:
        """Wait until ``ready`` may have something new to say; what came since the last time counts."""
        if self._error is None and not self._runner.over:
            await self._news.wait()
            self._news.clear()

    def nudge(self) -> None:
        """Let who waits for news look again, for a reason of his own."""
        self._news.set()

    @property
    def over(self) -> bool:
        return self._runner.over

    @property
    def is_live(self) -> bool:
        """Is nothing that matches missed any more?"""
        return self._live.done() and not self._live.cancelled() and self._live.exception() is None

    @property
    def have(self) -> Mapping[str, Set[int]]:
        """Per source what was given out above the cursor."""
        return self._machine.have

    @property
    def reached(self) -> dict[str, int]:
        """How far it is, for ``confirm``: with the message that ``ready`` has given out last."""
        return self._machine.reached

    def confirm(self, reached: Mapping[str, int] | None = None) -> None:
        """All that was given out is taken, or what was given out until then."""
        if self._holding:
            self._holding = reached is not None
            self._runner.feed(ConfirmTaken(reached))

    async def close(self, *, keep: bool = False, taken: bool = True) -> None:
        """End the subscription; with ``keep`` a durable session stays at its gateway, to be taken up again.

        What was given out counts as taken, or not: then it comes again.
        """
        if taken:
            self.confirm()
        if not self._runner.over and self._party.running and (self.durable or not keep):
            await self._leave(keep=keep)
        if self._waiting is not None:
            self._waiting.cancel()
        await self._runner.stop()
        self._news.set()
        self._party.ended(self)

    async def _leave(self, *, keep: bool) -> None:
        """Tell the gateway, and wait for its word; not for long, since it may have gone."""
        if keep and not all(map(self._party.closes_orderly, self._machine.reached)):
            return
        while not self._holding and self._given:
            message = self._given.pop()
            self._runner.feed(GiveBack(message.source, message.number))
        self._runner.feed(EndSubscription(keep))
        self._runner.feed(Tick())
        try:
            async with asyncio.timeout(_LEAVING_S):
                await self._detached.wait()
        except TimeoutError:
            log.debug("%s: nobody confirmed its end", self.session)

    # --- from the connection

    def heard(self, sender: str, frame: AnyFrame) -> None:
        """A frame of a gateway. It waits while a message does; a gateway sends no more than a session may hold.

        It says again what is not taken for long. What waits here already does not wait twice.
        """
        if isinstance(frame, Detached):
            self._runner.feed(Heard(sender, frame))  # what waits before it will not be read any more
        elif self._given or self._frames or (self._holding and isinstance(frame, Deliver)):
            if isinstance(frame, Deliver | Progress | GapFrame):
                if (sender, frame.sequence) in self._queued or frame.sequence <= self.reached.get(sender, 0):
                    return
                self._queued.add((sender, frame.sequence))
            self._frames.append((sender, frame))
        else:
            self._runner.feed(Heard(sender, frame))
        self._news.set()

    def beat(self, sender: str, frame: AnyFrame) -> None:
        """A word that brings nothing but that the gateway is there."""
        self._runner.feed(Heard(sender, frame))

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Send(to, frame):
                    self._party.say(to, frame)
                case Delivered(source, number, body):
                    self._delivered(Received(source, number, unpacked(body)))
                case WentLive(version, _, expected_delay_ms):
                    self._went_live(version, expected_delay_ms)
                case MessagesLost(source, first, through):
                    self._lost(Gap(source, first, through))
                case SessionEnded():
                    self._detached.set()
                case SubscriptionRefused(reason):
                    self._refused(Refused(reason))

    def _went_live(self, version: int, expected_delay_ms: float | None) -> None:
        self.expected_delay_ms = expected_delay_ms
        if not self._live.done():
            self._live.set_result(None)
        for earlier in [asked for asked in self._versions if asked <= version]:
            self._versions.pop(earlier).set_result(None)

    def _lost(self, gap: Gap) -> None:
        self.gaps.append(gap)
        log.warning("%s: messages %d to %d of %s are lost", self.session, gap.first + 1, gap.through, gap.source)
        if self._on_gap is not None:
            self._on_gap(gap)

    def _delivered(self, message: Received) -> None:
        self._given.append(message)
        if message.time_ms:
            now_s, error_s = self._party.overlay_time()
            age_ms = 1000 * now_s - message.time_ms
            self.staleness.took(max(0.0, age_ms), 1000 * error_s)

    def _refused(self, error: SemcastError) -> None:
        waiting = [future for future in self._versions.values() if not future.done()]
        self._versions.clear()
        if not self._live.done():
            self._error = error
            self._live.set_exception(error)
        for future in waiting:
            future.set_exception(error)
        self._news.set()

    def _failed(self, error: BaseException) -> None:
        self._error = SemcastError(f"the subscription cannot go on: {error}")
        log.error("%s", self._error, exc_info=error)
        self._news.set()
