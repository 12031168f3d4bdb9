"""One port for every kind of client: the first bytes tell what is spoken behind it."""

from __future__ import annotations

import asyncio
from typing import Protocol

from semcast.net.connection import Connection, Owner

_NEEDED = 8


class Front(Protocol):
    """Another protocol that is spoken at the same port."""

    def speaks(self, head: bytes) -> bool:
        """Are these first bytes (eight at least) of this protocol? No frame of ours may look so."""

    def protocol(self) -> asyncio.Protocol:
        """What goes on with the connection."""

    async def stop(self) -> None:
        """End all that goes over this front."""


class Fronted(Owner, Protocol):
    fronts: list[Front]
    doors: set[Door]
    """At which nobody has said anything yet; browsers open connections that they may need later."""


class Door(asyncio.Protocol):
    """A connection that has not shown yet what it speaks."""

    def __init__(self, owner: Fronted) -> None:
        self._owner = owner
        self._head = b""
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._owner.doors.add(self)
        self._timer = asyncio.get_running_loop().call_later(10.0, transport.close)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._owner.doors.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._head += data
        if len(self._head) < _NEEDED or self._transport is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._owner.doors.discard(self)
        front = next((front for front in self._owner.fronts if front.speaks(self._head)), None)
        found: asyncio.Protocol = front.protocol() if front is not None else Connection(self._owner)
        self._transport.set_protocol(found)
        found.connection_made(self._transport)
        found.data_received(self._head)
