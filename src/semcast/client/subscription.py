"""A subscription: messages as they come, each once, across gateways that fail."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from semcast.client.closing import close_all
from semcast.client.messages import Gap, Received
from semcast.client.staleness import Staleness
from semcast.model import SemcastError
from semcast.model.message import unpacked
from semcast.protocol.client.subscriber import Subscriber, Waits
from semcast.protocol.contract import (
    Command,
    ConfirmTaken,
    EndSubscription,
    Event,
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
log = logging.getLogger("semcast")


class Refused(SemcastError):
    """A subscription or a message that will never be accepted."""


class Subscription:
    """Iterate over it with ``async for``. A message counts as taken when the next one is asked for.

    So who is slow is sent no more than fits, who crashes in the middle of a message gets it again in a durable session,
    and nobody else waits.
    """

    # A client may have a hundred thousand of them: what only a busy one needs is made when it is needed.
    __slots__ = (
        "__weakref__", "_detached", "_error", "_frames", "_given", "_holding", "_is_live", "_leaving", "_live", "_loop",
        "_machine", "_news", "_on_gap", "_over", "_party", "_queued", "_told", "_versions", "_waiting", "due_at",
        "expected_delay_ms", "gaps", "listener", "queued_at", "staleness", "stream",
    )  # fmt: skip

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
        self._frames: deque[tuple[str, AnyFrame]] | None = None
        """What waits while a message does."""
        self._queued: set[tuple[str, int]] | None = None
        """Of which the numbers that stand for one thing only."""
        self._given: list[Received] = []
        """At most a few: what one frame brought."""
        self._told = False
        """Was there something new before anybody waited for it?"""
        self._news: asyncio.Event | None = None
        self.listener: Callable[[Subscription], None] | None = None
        """Called whenever there may be something new, by whoever reads many subscriptions."""
        self._holding = self._over = False
        self._error: SemcastError | None = None
        self._is_live = self._detached = False
        self._live: asyncio.Future[None] | None = None
        self._leaving: asyncio.Future[None] | None = None
        self._versions: dict[int, asyncio.Future[None]] = {}
        self._waiting: asyncio.TimerHandle | None = None
        self.due_at = self.queued_at = float("inf")
        """When it has to be ticked next, and when its schedule looks at it next."""
        self.expected_delay_ms: float | None = None
        """Where the bound cannot be met: what to expect instead, as told when the subscription went live."""
        self.staleness = Staleness(max_delay_ms)
        self.gaps: list[Gap] = []

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
        self._party.schedule.add(self)
        if not self._machine.gateways:
            self._waiting = self._loop.call_later(_STARTING_S, self._nobody_came)

    def meet(self, gateways: Sequence[str]) -> None:
        """The overlay was still starting, and has gateways now."""
        if not self._machine.gateways:
            if self._waiting is not None:
                self._waiting.cancel()
            self._feed(MeetGateways(gateways))

    def _nobody_came(self) -> None:
        self._refused(SemcastError(f"no gateway has come up within {_STARTING_S:g} s"))

    async def live(self) -> None:
        """Wait until nothing that matches is missed any more; Refused where the profile makes no sense."""
        if self._is_live:
            return
        if self._error is not None:
            raise self._error
        if self._live is None:
            self._live = self._loop.create_future()
            self._live.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._live)

    def __await__(self) -> Generator[Any, None, Subscription]:
        """``await client.subscribe(…)`` gives the subscription when it is live."""
        yield from self.live().__await__()
        return self

    async def replace(self, profile: str) -> None:
        """Ask for something else, atomically; returns when it counts."""
        text = self._party.streams.profile(self.stream, profile)
        self._feed(ReplaceProfile(text))
        version = self._machine.wishes
        done = self._versions[version] = self._loop.create_future()
        await done

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Received:
        self.confirm()
        while (message := self.ready()) is None:
            if self._over:
                raise StopAsyncIteration
            await self.news()
        return message

    # --- the same in pieces, for who hands messages on and cannot say at once that they were taken

    def ready(self) -> Received | None:
        """The next message, if there is one now; those before it do not count as taken yet."""
        while not self._given:
            if self._error is not None:
                raise self._error
            if not self._frames or self._over:
                return None
            sender, frame = self._frames.popleft()
            if self._queued is not None:
                self._queued.discard((sender, getattr(frame, "sequence", -1)))
            self._feed(Heard(sender, frame))
        self._holding = True
        return self._given.pop(0)

    async def news(self) -> None:
        """Wait until ``ready`` may have something new to say; what came since the last time counts."""
        if self._error is not None or self._over:
            return
        if self._news is None:
            self._news = asyncio.Event()
            if self._told:
                self._news.set()
        await self._news.wait()
        self._news.clear()

    def nudge(self) -> None:
        """Let who waits for news look again, for a reason of his own."""
        self._told = True
        if self._news is not None:
            self._news.set()
        if self.listener is not None:
            self.listener(self)

    @property
    def over(self) -> bool:
        return self._over

    @property
    def is_live(self) -> bool:
        """Is nothing that matches missed any more?"""
        return self._is_live

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
            self._feed(ConfirmTaken(reached))

    async def close(self, *, keep: bool = False, taken: bool = True) -> None:
        """End the subscription; with ``keep`` a durable session stays at its gateway, to be taken up again.

        What was given out counts as taken, or not: then it comes again.
        """
        await close_all([self], keep=keep, taken=taken)

    def begin_leaving(self, *, keep: bool, taken: bool) -> bool:
        """Tell the gateway that it ends, where there is anything to tell; ``left`` waits for its word then."""
        if taken:
            self.confirm()
        if self._over or not self._party.running or (keep and not self.durable):
            return False
        if keep and not all(map(self._party.closes_orderly, self._machine.reached)):
            return False
        while not self._holding and self._given:
            message = self._given.pop()
            self._feed(GiveBack(message.source, message.number))
        self._feed(EndSubscription(keep))
        self._feed(Tick())
        return True

    async def left(self) -> None:
        """Wait for the gateway's word that the subscription has ended, or that its session waits there."""
        if not self._detached:
            self._leaving = self._loop.create_future()
            await self._leaving

    def end(self) -> None:
        """No more of it: nothing is told, and nothing heard."""
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()
        self._party.ended(self)
        self.nudge()

    # --- from the connection

    def heard(self, sender: str, frame: AnyFrame) -> None:
        """A frame of a gateway. It waits while a message does; a gateway sends no more than a session may hold.

        It says again what is not taken for long. What waits here already does not wait twice.
        """
        if isinstance(frame, Detached):
            self._feed(Heard(sender, frame))  # what waits before it will not be read any more
        elif self._given or self._frames or (self._holding and isinstance(frame, Deliver)):
            self._enqueue(sender, frame)
        else:
            self._feed(Heard(sender, frame))
        self.nudge()

    def _enqueue(self, sender: str, frame: AnyFrame) -> None:
        if self._frames is None or self._queued is None:
            self._frames, self._queued = deque(), set()
        if isinstance(frame, Deliver | Progress | GapFrame):
            if (sender, frame.sequence) in self._queued or frame.sequence <= self.reached.get(sender, 0):
                return
            self._queued.add((sender, frame.sequence))
        self._frames.append((sender, frame))

    @property
    def behind(self) -> int:
        """Frames that wait until the messages before them are taken."""
        return len(self._frames or ())

    @property
    def at(self) -> tuple[str, ...]:
        """The gateways that it hangs on."""
        return self._machine.at

    @property
    def has_choice(self) -> bool:
        """Is there another gateway that it could go to?"""
        return len(self._machine.gateways) > 1

    @property
    def waits(self) -> Waits:
        """What it has to be ticked for, if nothing happens until then."""
        return self._machine.waits

    def _feed(self, event: Event) -> None:
        """Give the machine an event; what has to be said by and by because of it, the next turn says."""
        self.handle(event)
        self._party.schedule.stir(self)

    def handle(self, event: Event) -> None:
        """Give the machine an event, and do what it says."""
        if self._over:
            return
        try:
            commands = self._machine.handle(event, self._loop.time())
        except Exception as error:
            self._failed(error)
        else:
            if commands:
                self._do(commands)

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Send(to, frame):
                    self._party.schedule.say(to, frame)
                case Delivered(source, number, body):
                    self._delivered(Received(source, number, unpacked(body)))
                case WentLive(version, _, expected_delay_ms):
                    self._went_live(version, expected_delay_ms)
                case MessagesLost(source, first, through):
                    self._lost(Gap(source, first, through))
                case SessionEnded():
                    self._detached = True
                    if self._leaving is not None and not self._leaving.done():
                        self._leaving.set_result(None)
                case SubscriptionRefused(reason):
                    self._refused(Refused(reason))

    def _went_live(self, version: int, expected_delay_ms: float | None) -> None:
        self.expected_delay_ms = expected_delay_ms
        if not self._is_live and self._error is None:
            self._is_live = True
            self._party.schedule.settled(self)
            if self._live is not None and not self._live.done():
                self._live.set_result(None)
            self._live = None
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
        if not self._is_live and self._error is None:
            self._error = error
            self._party.schedule.settled(self)
            if self._live is not None and not self._live.done():
                self._live.set_exception(error)
        for future in waiting:
            future.set_exception(error)
        self.nudge()

    def _failed(self, error: BaseException) -> None:
        self._error = SemcastError(f"the subscription cannot go on: {error}")
        log.error("%s", self._error, exc_info=error)
        self._over = True
        self._party.schedule.remove(self)
        self.nudge()
