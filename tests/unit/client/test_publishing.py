"""Publishers: whoever waits for what is under way hears how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from semcast.client.publishing import OutOfTurn, Publishing
from semcast.client.subscription import Refused
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import AnyFrame, Publish, Published
from semcast.protocol.wire.frames import Refused as Declined

MESSAGE = Message("s", b"{}", None, 0, None, ())
PATIENCE_S = 20.0


class Desk:
    """A publisher, and the frames that it sent to its source."""

    def __init__(self, first: int = 0) -> None:
        self.sent: list[Publish] = []
        party: Any = SimpleNamespace(settings=Settings(), streams=Streams(), say=self._say)
        self.publishing = Publishing(party, "b0", "me", first)
        self.publishing.begin()

    def _say(self, to: str, frame: AnyFrame) -> int:
        assert isinstance(frame, Publish)
        self.sent.append(frame)
        return 0

    def answer(self, frame: AnyFrame) -> None:
        self.publishing.heard("b0", frame)

    async def drained(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.publishing.drained()


def play(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


def test_drained_returns_when_the_source_refused_what_was_put() -> None:
    async def work() -> None:
        desk = Desk()
        good, bad = desk.publishing.offer_all([MESSAGE]), desk.publishing.offer_all([MESSAGE])
        await asyncio.sleep(0)
        desk.answer(Declined("me", 0, "it does not fit", unfit=1))
        desk.answer(Published("me", 0, 1, 1))
        await desk.drained()
        assert (await good).id == "b0:1"
        with pytest.raises(Refused, match="does not fit"):
            await bad

    play(work)


def test_drained_returns_when_the_publisher_is_out_of_turn() -> None:
    async def work() -> None:
        desk = Desk(first=7)
        receipt = desk.publishing.offer_all([MESSAGE])
        await asyncio.sleep(0)
        desk.answer(Declined("me", 7, "a gap", 3))
        await desk.drained()
        with pytest.raises(OutOfTurn):
            await receipt
        with pytest.raises(OutOfTurn):
            await desk.publishing.put(MESSAGE)
        desk.answer(Declined("me", 7, "a gap", 3))
        assert len(desk.sent) == 1

    play(work)


def test_drained_and_another_stop_return_after_a_stop_gave_up() -> None:
    async def work() -> None:
        desk = Desk()
        receipt = desk.publishing.offer_all([MESSAGE])
        await asyncio.sleep(0)
        desk.answer(Declined("me", 0, "nothing can be stored"))
        await desk.publishing.stop(0)
        await desk.drained()
        async with asyncio.timeout(PATIENCE_S):
            await desk.publishing.stop(PATIENCE_S * 10)
        with pytest.raises(SemcastError, match="1 messages were not confirmed"):
            await receipt
        desk.answer(Published("me", 0, 1, 1))  # too late, and nobody waits for it

    play(work)


def test_who_waits_for_room_hears_that_the_publisher_has_failed() -> None:
    async def work() -> None:
        desk = Desk(first=7)
        receipt = desk.publishing.offer_all([MESSAGE] * 65536)
        waiting = asyncio.create_task(desk.publishing.put(MESSAGE))
        await asyncio.sleep(0)
        assert not waiting.done()
        desk.answer(Declined("me", 7, "a gap", 3))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(OutOfTurn):
                await waiting
        assert isinstance(receipt.exception(), OutOfTurn)

    play(work)
