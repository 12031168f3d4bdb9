"""Appending: frames whose messages have numbers already, so that a program that runs again appends nothing twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from semcast.client.subscription import Refused
from semcast.model import SemcastError
from semcast.net.runner import Runner
from semcast.protocol.client.appender import Appender
from semcast.protocol.contract import AppendFrame, Command, Received, ResumeAppending, Send
from semcast.protocol.results import Appended, AppendRefused, AppendTrouble, PlanStale
from semcast.protocol.wire.frames import AnyFrame, Append, Publish

if TYPE_CHECKING:
    from semcast.client.party import Party

_ROOM = 8
"""Frames that wait to be durable, at most; then ``append`` waits."""
PATIENCE_S = 60.0
"""How long nothing may become durable before it is given up: longer than a broker takes to be started again."""


class Stale(SemcastError):
    """The source follows another plan than the one by which messages were routed."""

    def __init__(self, epoch: int, version: int) -> None:
        super().__init__(f"plan {epoch}, with version {version} of the roster, is followed by now")
        self.by = epoch, version


class Appending:
    """One origin at one source."""

    def __init__(self, party: Party, source: str, origin: str) -> None:
        self.origin = origin
        self.source = source
        self.through = -1
        """Everything of this run through here is durable; −1: nothing yet."""
        self._party = party
        self._loop = asyncio.get_running_loop()
        self._machine = Appender(origin, source, settings=party.settings)
        self._runner = Runner(self._machine, self._do, tick_s=party.settings.tick_s, failed=self._failed)
        self._news = asyncio.Event()
        self._trouble = "it does not answer"
        self._error: SemcastError | None = None

    def begin(self) -> None:
        self._runner.start()

    async def append(self, frame: Publish | Append, patience_s: float = PATIENCE_S) -> None:
        """Hand a frame over; waits while many are under way.

        Refused where a message does not fit its stream. Stale where messages have to be routed anew: those of
        ``frames``, with which ``resume`` goes on, and this one.
        """
        await self._until(_ROOM, patience_s)
        self._runner.feed(AppendFrame(frame))

    async def drained(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until everything is durable."""
        await self._until(1, patience_s)

    @property
    def frames(self) -> list[Append]:
        """Routed messages that are not durable yet."""
        return [frame for frame in self._machine.frames if isinstance(frame, Append)]

    def resume(self, frames: list[Append]) -> None:
        """Go on with the same messages, routed by another plan."""
        self._error = None
        self._runner.feed(ResumeAppending(frames))

    async def stop(self) -> None:
        await self._runner.stop()
        self._error = self._error or SemcastError("the connection was closed")
        self._news.set()

    def heard(self, sender: str, frame: AnyFrame) -> None:
        self._runner.feed(Received(sender, frame))

    async def _until(self, fewer: int, patience_s: float) -> None:
        while self._error is None and self._machine.waiting >= fewer:
            self._news.clear()
            try:
                async with asyncio.timeout(patience_s):
                    await self._news.wait()
            except TimeoutError:
                self._error = SemcastError(f"{self.source} took nothing in for {patience_s:g} s: {self._trouble}")
        if self._error is not None:
            raise self._error

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Send(to, frame):
                    self._party.say(to, frame)
                case Appended(through):
                    self.through = through
                    self._news.set()
                case AppendTrouble(reason):
                    self._trouble = reason
                case PlanStale(epoch, version):
                    self._error = Stale(epoch, version)
                    self._news.set()
                case AppendRefused(_, reason):
                    self._error = Refused(reason)
                    self._news.set()

    def _failed(self, error: BaseException) -> None:
        self._error = SemcastError(f"appending cannot go on: {error}")
        self._news.set()
