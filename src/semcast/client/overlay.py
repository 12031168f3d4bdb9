"""A client's connection to an overlay: whom it reaches, what it was told of the overlay, and what it may ask there."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from typing import Any

import msgspec

from semcast.client.party import Party
from semcast.model import SemcastError
from semcast.model.version import __version__
from semcast.net.connection import Connection
from semcast.net.host import MANY_SESSIONS, ORDERLY_CLOSE, Host
from semcast.net.view import OverlayView
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Streams
from semcast.protocol.wire.codec import AnyView
from semcast.protocol.wire.frames import Answer, AnyFrame, Ask, Greeting, Switch
from semcast.protocol.wire.framing import VERSION

URL = "SEMCAST_URL"
PATIENCE_S = 10.0


class Unreachable(SemcastError):
    """Nobody answers at the given addresses."""


class OtherVersion(SemcastError):
    """The overlay speaks another version of the protocol than this client."""


def addresses_of(url: str | None) -> list[str]:
    """``semcast://host:port,host:port`` as addresses; without one, what SEMCAST_URL says."""
    given = url or os.environ.get(URL)
    if not given:
        raise SemcastError(f"no server is named: give a url such as semcast://127.0.0.1:7400, or set {URL}")
    kind, found, rest = given.partition("://")
    if found and kind not in ("semcast", "http", "tcp"):
        raise SemcastError(f"{given!r}: write semcast://host:port")
    return [part.strip().rstrip("/") for part in (rest if found else given).split(",") if part.strip()]


class OverlayConnection(Host, Party):
    """The party that a client is in an overlay: it dials the first that answers, and others as it needs them."""

    role = "client"
    linger_s = 0.3

    def __init__(self, url: str | None = None, *, name: str | None = None) -> None:
        Host.__init__(self, name or f"client-{uuid.uuid4().hex[:12]}", incarnation=time.time_ns() // 1_000_000)
        Party.__init__(self)
        self._addresses = addresses_of(url)
        self.view: OverlayView | None = None
        self.settings = Settings()
        self.streams = Streams()
        self.running = False
        self._first = ""
        self._greeted = asyncio.Event()
        self._unmet = ""
        self._mismatch: OtherVersion | None = None
        self._asked: dict[int, asyncio.Future[Answer]] = {}

    async def open(self, patience_s: float = PATIENCE_S) -> None:
        """Connect to the first that answers; Unreachable where none does, OtherVersion where none can be talked to."""
        until = self._loop.time() + patience_s
        while not await self._reached():
            if self._mismatch is not None:
                await self.stop()
                raise self._mismatch
            if self._loop.time() >= until:
                await self.stop()
                raise Unreachable(self._unmet or f"nobody answers at {', '.join(self._addresses)}")
            await asyncio.sleep(0.1)
        self.running = True
        self.begin()

    async def _reached(self) -> bool:
        for address in self._addresses:
            if await self._dial("", address):
                return True
        return False

    def unmet(self, address: str, connection: Connection) -> None:
        if connection.mismatch is not None:
            self._mismatch = OtherVersion(
                f"{address} speaks version {connection.mismatch.theirs} of the protocol, "
                f"and this client (semcast {__version__}) version {VERSION}: use the same version at both ends"
            )
        else:
            said = connection.reason or "it closed the connection without a greeting"
            self._unmet = f"{address} answers, but does not let this client in: {said}"

    async def close(self) -> None:
        """Wait for what was published, end all subscriptions but durable ones, and go."""
        await self.leave()
        self.running = False
        await self.stop()

    async def ask(self, what: str, *, of: str | None = None) -> Any:
        """Ask the party that was connected to first, or another, for its status and the like."""
        return msgspec.json.decode(await self._answer(what, of))

    async def plan(self, source: str) -> Switch | None:
        """The plan that a source follows, for pipelines that match and route for it; None if it follows none yet."""
        return msgspec.msgpack.decode(await self._answer("plan", source), type=Switch | None)

    async def waiting(self, source: str, first: int, through: int) -> tuple[int, int, list[bytes]]:
        """Of a source's log: how far was looked, what is gone, and what waits for a pipeline in between."""
        answer = await self._answer(f"ingest {first} {through}", source)
        return msgspec.msgpack.decode(answer, type=tuple[int, int, list[bytes]])

    async def _answer(self, what: str, of: str | None) -> bytes:
        self._number += 1
        request = self._number
        answer = self._asked[request] = self._loop.create_future()
        self.say(of or self._first, Ask(request, what))
        try:
            async with asyncio.timeout(PATIENCE_S):
                found: Answer = await answer
        except TimeoutError:
            raise Unreachable(f"{of or self._first} does not answer") from None
        finally:
            self._asked.pop(request, None)
        if found.error:
            raise SemcastError(found.error)
        return found.body

    # --- where things are

    def say(self, to: str, frame: AnyFrame) -> int:
        return Host.say(self, to, frame)

    def address_of(self, name: str) -> str | None:
        if self.view is None:
            return None
        member = self.view.members.get(name)
        return member.address if member is not None else self.view.coordinators.get(name)

    def overlay_time(self) -> tuple[float, float]:
        """As the clock of the first party that was reached has it."""
        clock = self.clocks.known.get(self._first)
        return (time.time() + clock.offset_s, clock.error_s) if clock is not None else (time.time(), 0.0)

    def closes_orderly(self, gateway: str) -> bool:
        peer = self.peers.get(gateway)
        return peer is not None and ORDERLY_CLOSE in peer.features

    def takes_many(self, gateway: str) -> bool | None:
        peer = self.peers.get(gateway)
        return None if peer is None else MANY_SESSIONS in peer.features

    def gateways(self) -> list[str]:
        """The one that was connected to first, if it is one, then all others."""
        return self._having("gateway")

    def gateways_now(self) -> list[str]:
        return self._having("gateway") if self.view is not None and self.view.gateways else []

    def nearest_source(self) -> str:
        return self._having("source")[0]

    async def source_up(self) -> None:
        """Wait for a source, where the overlay is still starting; Unreachable where none comes up."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while self.view is None or not self.view.sources:
                    self._greeted.clear()
                    await self._greeted.wait()
        except TimeoutError:
            raise Unreachable(f"no source has come up within {PATIENCE_S:g} s") from None

    def _having(self, role: str) -> list[str]:
        assert self.view is not None
        found = self.view.having(role)
        if not found:
            raise SemcastError(f"no {role} is there at the moment")
        return sorted(found, key=lambda name: name != self._first)

    # --- frames

    def met(self, peer: Connection) -> None:
        self.schedule.met(peer.name)

    def greeted(self, peer: Connection, greeting: Greeting) -> None:
        self.view = OverlayView.decoded(greeting.overlay)
        self.settings, self.streams = self.view.tuned(), self.view.declared()
        self._first = self._first or peer.name
        self._greeted.set()
        if self.view.gateways:
            for subscription in self._subscriptions.values():
                subscription.meet(self.gateways())

    def frame(self, peer: Connection, frame: AnyView) -> None:
        if isinstance(frame, Answer):
            waiting = self._asked.get(frame.request)
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)
        else:
            self.dispatch(peer.name, frame)  # type: ignore[arg-type]
