"""Publishing: messages are handed over in batches and confirmed one by one, when they are durable."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from semcast.client.messages import Receipt
from semcast.client.subscription import Refused
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.net.runner import Runner
from semcast.protocol.client.publisher import Publisher
from semcast.protocol.contract import Command, PublishMessages, Received, Send
from semcast.protocol.results import MessageRefused, MessagesPublished, PublisherBehind
from semcast.protocol.wire.frames import AnyFrame
from semcast.protocol.wire.frames import Refused as Declined

if TYPE_CHECKING:
    from semcast.client.party import Party

_WAITING = 65536
"""Messages that wait for their receipts, at most; then ``put`` waits."""


class OutOfTurn(SemcastError):
    """A number of an origin came before others that the source has not seen."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"number {expected} has not come yet")
        self.expected = expected


class Publishing:
    """A publisher at one source. Everything that is put within one turn of the loop travels together."""

    def __init__(self, party: Party, source: str, origin: str, first: int = 0) -> None:
        self.origin = origin
        self.source = source
        self.trouble = ""
        """What the source said last, if it took nothing in."""
        self._party = party
        self._loop = asyncio.get_running_loop()
        self._machine = Publisher(origin, source, settings=party.settings, first=first)
        self._runner = Runner(self._machine, self._do, tick_s=party.settings.tick_s, failed=self._failed)
        self._receipts: deque[asyncio.Future[Receipt] | None] = deque()
        """Of each message under way, None where nobody asks for it."""
        self._new: list[Message] = []
        self._room = asyncio.Event()
        self._room.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._error: SemcastError | None = None
        """Why it takes nothing more."""

    def begin(self) -> None:
        self._runner.start()

    async def publish(self, message: Message) -> Receipt:
        """Publish one message; the receipt comes when it is durable. Refused where it does not fit."""
        return await (await self.put(message))

    async def put(self, message: Message) -> asyncio.Future[Receipt]:
        """Hand a message over; what is returned is done when it is durable. Waits while very many are under way."""
        await self._room.wait()
        return self.offer(message)

    def offer(self, message: Message) -> asyncio.Future[Receipt]:
        """Like ``put``, for who sees to it that not too many are under way."""
        reason = self._party.streams.refusal(message)
        if reason is not None:
            raise Refused(reason)
        return self.offer_all([message])

    def offer_all(self, messages: Sequence[Message]) -> asyncio.Future[Receipt]:
        """Like ``offer`` for messages that are known to fit, one at least; done when the last of them is durable."""
        if self._runner.over:
            raise self._error or SemcastError("the publisher is closed")
        return self._enqueue(messages)

    def _enqueue(self, messages: Sequence[Message]) -> asyncio.Future[Receipt]:
        receipt: asyncio.Future[Receipt] = self._loop.create_future()
        self._receipts.extend(repeat(None, len(messages) - 1))
        self._receipts.append(receipt)
        self._idle.clear()
        if len(self._receipts) >= _WAITING:
            self._room.clear()
        if not self._new:
            self._loop.call_soon(self._hand_over)
        self._new += messages
        return receipt

    async def publish_all(self, messages: Iterable[Message]) -> list[Receipt]:
        """Publish many; returns when all are durable."""
        return list(await asyncio.gather(*[await self.put(message) for message in messages]))

    async def drained(self) -> None:
        """Wait until everything that was put is durable, refused or given up."""
        await self._idle.wait()

    async def stop(self, patience_s: float = 10.0) -> None:
        try:
            async with asyncio.timeout(patience_s):
                await self.drained()
        except TimeoutError:
            self._give_up(SemcastError(f"{len(self._receipts):,} messages were not confirmed in time"))
        await self._runner.stop()
        self._room.set()

    def heard(self, sender: str, frame: AnyFrame) -> None:
        self.trouble = frame.reason if isinstance(frame, Declined) else ""
        self._runner.feed(Received(sender, frame))

    def _hand_over(self) -> None:
        new, self._new = self._new, []
        batch = self._party.settings.batch
        for first in range(0, len(new), batch):
            self._runner.feed(PublishMessages(new[first : first + batch]))

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Send(to, frame):
                    self._party.say(to, frame)
                case MessagesPublished():
                    self._published(command)
                case MessageRefused(place, reason):
                    self._refused(place, reason)
                case PublisherBehind(expected):
                    self._runner.fail(OutOfTurn(expected))  # the source would say so for ever
        if len(self._receipts) < _WAITING // 2:
            self._room.set()
        if not self._receipts:
            self._idle.set()

    def _refused(self, place: int, reason: str) -> None:
        receipt = self._receipts[place]
        del self._receipts[place]
        if receipt is not None and not receipt.done():
            receipt.set_exception(Refused(reason))

    def _published(self, done: MessagesPublished) -> None:
        for back in range(done.through - done.first, -1, -1):
            receipt = self._receipts.popleft()
            if receipt is not None and not receipt.done():
                number = done.position - back if done.position and back < done.together else None
                receipt.set_result(Receipt(self.source, number))

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, SemcastError):
            error = SemcastError(f"the publisher cannot go on: {error}")
        self._error = error
        self._give_up(error)

    def _give_up(self, error: SemcastError) -> None:
        """Nobody hears of what is under way any more: those who wait for it, or for room, must not wait for ever."""
        given_up, self._receipts = self._receipts, deque()
        self._new = []
        for receipt in given_up:
            if receipt is not None and not receipt.done():
                receipt.set_exception(error)
        self._room.set()
        self._idle.set()
