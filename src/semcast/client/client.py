"""The Python client: connect, publish, subscribe."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import msgspec

from semcast.client.messages import Gap, Receipt, start_of
from semcast.client.publishing import Publishing
from semcast.client.subscription import Subscription
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.net.connection import Connection
from semcast.net.host import Host
from semcast.net.view import OverlayView
from semcast.protocol.clients import Subscriber
from semcast.protocol.codec import AnyView
from semcast.protocol.frames import Answer, Ask, Beat, Greeting, ProtocolError
from semcast.protocol.machine import Settings
from semcast.protocol.streams import Streams

URL = "SEMCAST_URL"
_PATIENCE_S = 10.0


class Unreachable(SemcastError):
    """Nobody answers at the given addresses."""


def addresses_of(url: str | None) -> list[str]:
    """``semcast://host:port,host:port`` as addresses; without one, what SEMCAST_URL says."""
    given = url or os.environ.get(URL)
    if not given:
        raise SemcastError(f"no server is named: give a url such as semcast://127.0.0.1:7400, or set {URL}")
    kind, found, rest = given.partition("://")
    if found and kind not in ("semcast", "http", "tcp"):
        raise SemcastError(f"{given!r}: write semcast://host:port")
    return [part.strip().rstrip("/") for part in (rest if found else given).split(",") if part.strip()]


class Client(Host):
    """A connection to an overlay. Use it with ``async with semcast.connect(url) as client``."""

    role = "client"

    def __init__(self, url: str | None = None, *, name: str | None = None) -> None:
        super().__init__(name or f"client-{uuid.uuid4().hex[:12]}", incarnation=time.time_ns() // 1_000_000)
        self._addresses = addresses_of(url)
        self.view: OverlayView | None = None
        self.settings = Settings()
        self.streams = Streams()
        self.running = False
        self._first = ""
        self._subscriptions: dict[str, tuple[Subscription, str]] = {}
        self._publishing: dict[str, Publishing] = {}
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._count = 0

    async def __aenter__(self) -> Client:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self, patience_s: float = _PATIENCE_S) -> None:
        """Connect to the first that answers; Unreachable where none does."""
        until = self._loop.time() + patience_s
        while not await self._reached():
            if self._loop.time() >= until:
                await self.stop()
                raise Unreachable(f"nobody answers at {', '.join(self._addresses)}")
            await asyncio.sleep(0.1)
        self.running = True
        self.begin()

    async def _reached(self) -> bool:
        for address in self._addresses:
            if await self._dial("", address):
                return True
        return False

    async def close(self) -> None:
        """End all subscriptions but durable ones, wait for what was published, and go."""
        for publishing in list(self._publishing.values()):
            await publishing.stop()
        await asyncio.gather(*(subscription.close(keep=True) for subscription, _ in self._subscriptions.values()))
        self.running = False
        await self.stop()

    # --- publishing

    async def publish(
        self,
        stream: str,
        payload: bytes | str | Mapping[str, Any] = b"",
        *,
        topic: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        time_ms: int | None = None,
        source: str | None = None,
    ) -> Receipt:
        """Publish a message; returns when it is durable. Refused where it does not fit its stream."""
        message = self.message(stream, payload, topic=topic, key=key, headers=headers, time_ms=time_ms)
        return await self.publisher(source).publish(message)

    def message(
        self,
        stream: str,
        payload: bytes | str | Mapping[str, Any] = b"",
        *,
        topic: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        time_ms: int | None = None,
    ) -> Message:
        """A message to be published; a mapping becomes JSON, and event time is now where none is given."""
        if isinstance(payload, str):
            payload = payload.encode()
        elif not isinstance(payload, bytes):
            payload = msgspec.json.encode(payload)
        at = round(1000 * (time.time() + self.clock_offset()[0])) if time_ms is None else time_ms
        return Message(stream, payload, topic, at, key, tuple((headers or {}).items()))

    def publisher(self, source: str | None = None) -> Publishing:
        """A batching publisher at a source, or at the nearest one."""
        chosen = source or self._nearest("source")
        if chosen not in self._publishing:
            self._publishing[chosen] = Publishing(self, chosen, f"{self.name}@{chosen}")
            self._publishing[chosen].begin()
        return self._publishing[chosen]

    # --- subscribing

    def subscribe(
        self,
        stream: str,
        profile: str,
        *,
        max_delay_ms: float | None = None,
        start: str = "latest",
        session: str | None = None,
        ordered: bool = False,
        gateways: list[str] | None = None,
        together: bool = False,
        expiry_s: float | None = None,
        on_gap: Callable[[Gap], None] | None = None,
    ) -> Subscription:
        """Subscribe; iterate over what is returned. With a ``session`` name it is durable: it waits for who comes back.

        ``start`` is latest, earliest or the id of a message; ``ordered`` asks for each source's order; with several
        gateways the next takes over when one fails, and with ``together`` all are used at a time.
        """
        text = self.streams.profile(stream, profile)
        kind, cursor = start_of(start)
        self._count += 1
        machine = Subscriber(
            self.name,
            session or f"{self.name}/{self._count}",
            gateways or self._gateways(),
            text,
            settings=self.settings,
            durable=session is not None,
            ordered=ordered,
            start=kind,
            max_delay_ms=max_delay_ms,
            together=together,
            cursor=cursor,
            confirmed=True,
            expiry_s=expiry_s,
        )
        if machine.session in self._subscriptions:
            raise SemcastError(f"there is a subscription {machine.session!r} already")
        subscription = Subscription(self, machine, max_delay_ms=max_delay_ms, on_gap=on_gap)
        self._subscriptions[machine.session] = subscription, stream
        subscription.begin()
        return subscription

    def ended(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription.session, None)

    def stream_of(self, subscription: Subscription) -> str:
        return self._subscriptions[subscription.session][1]

    # --- asking

    async def ask(self, what: str, *, of: str | None = None) -> Any:
        """Ask the party that was connected to first, or another, for its status and the like."""
        self._count += 1
        answer = self._asked[self._count] = self._loop.create_future()
        self.say(of or self._first, Ask(self._count, what))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found: Answer = await answer
        except TimeoutError:
            raise Unreachable(f"{of or self._first} does not answer") from None
        finally:
            self._asked.pop(self._count, None)
        if found.error:
            raise SemcastError(found.error)
        return msgspec.json.decode(found.body)

    # --- where things are

    def address_of(self, name: str) -> str | None:
        if self.view is None:
            return None
        member = self.view.members.get(name)
        return member.address if member is not None else self.view.coordinators.get(name)

    def clock_offset(self) -> tuple[float, float]:
        """What the overlay's clocks are ahead of ours, and the error: as the first party that was reached has it."""
        clock = self.clocks.known.get(self._first)
        return (clock.offset_s, clock.error_s) if clock is not None else (0.0, 0.0)

    def _nearest(self, role: str) -> str:
        assert self.view is not None
        found = self.view.having(role)
        if not found:
            raise SemcastError(f"no {role} is there at the moment")
        return self._first if self._first in found else found[0]

    def _gateways(self) -> list[str]:
        """The nearest first, then all others."""
        assert self.view is not None
        first = self._nearest("gateway")
        return [first, *(name for name in self.view.gateways if name != first)]

    # --- frames

    def greeted(self, peer: Connection, greeting: Greeting) -> None:
        self.view = OverlayView.decoded(greeting.overlay)
        self.settings, self.streams = self.view.tuned(), self.view.declared()
        self._first = self._first or peer.name

    def frame(self, peer: Connection, frame: AnyView) -> None:
        if isinstance(frame, Answer):
            waiting = self._asked.get(frame.request)
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)
            return
        origin = getattr(frame, "origin", None)
        if origin is not None:
            for publishing in self._publishing.values():
                if publishing.origin == origin:
                    publishing.heard(peer.name, frame)  # type: ignore[arg-type]
            return
        session = getattr(frame, "session", "")
        found = self._subscriptions.get(session)
        if found is not None:
            found[0].heard(peer.name, frame)  # type: ignore[arg-type]
        elif isinstance(frame, Beat | ProtocolError) and not session:
            for subscription, _ in self._subscriptions.values():
                subscription.beat(peer.name, frame)
