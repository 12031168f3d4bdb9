"""One TCP connection: frames in, frames out, bounded, with what is urgent before what is not.

What a piece of bytes causes leaves as soon as the piece has been read, in one call per connection; all else that is
written within one turn of the event loop leaves at its end. While the other end does not take, frames wait in a queue
of our own, where heartbeats and control frames overtake data; when much waits, the owner is told, and stops sending
data before memory runs out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, cast

from semcast.net.partial import Partial
from semcast.protocol.wire.codec import AnyView, ViewDecoder, encode
from semcast.protocol.wire.frames import AnyFrame
from semcast.protocol.wire.framing import FrameError, Held, VersionError

HIGH, LOW, MOST = 4 << 20, 1 << 20, 256 << 20
"""Bytes that wait: from HIGH on the owner is told, below LOW told again; beyond MOST the connection ends."""
_LARGE = 128 << 10
"""Bytes of a piece, after which what it caused is written before the next is read."""
_IN_TRANSPORT = 256 << 10
"""Bytes that a transport holds, which nothing overtakes."""


class Leaving:
    """The connections of one owner that have something to write."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections: list[Connection] = []
        self._reading = False

    def add(self, connection: Connection) -> None:
        """Once, before the first of what is to leave."""
        if not self._reading and not self._connections:
            self._loop.call_soon(self.leave)
        self._connections.append(connection)

    def begin(self) -> None:
        """A piece is being read: whoever reads it lets ``leave`` follow."""
        self._reading = True

    def leave(self) -> None:
        """Write it all, one connection right behind the other.

        Who reads several of them is awake then from the first to the last; and a turn of the event loop less lies
        between a message and its copies.
        """
        self._reading = False
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.leave()


class Owner(Protocol):
    """Who a connection belongs to. It is called from the event loop, never from within its own calls."""

    leaving: Leaving
    partial: Partial

    def opened(self, connection: Connection) -> None: ...

    def received(self, connection: Connection, frames: list[AnyView]) -> None: ...

    def congested(self, connection: Connection, much: bool) -> None: ...

    def faulty(self, connection: Connection, error: FrameError) -> None: ...

    def closed(self, connection: Connection, reason: str) -> None: ...


class Connection(asyncio.Protocol):
    """A connection of whoever owns it. ``name`` and ``role`` of the other end are known after its hello."""

    def __init__(self, owner: Owner, *, dialled: str = "", wanted: str = "") -> None:
        """``dialled``: the address, where this end opened it; ``wanted``: who should be there, where that is known."""
        self.owner = owner
        self.dialled = dialled
        self.wanted = wanted
        self.name = ""
        self.role = ""
        self.incarnation = 0
        self.proof = b""
        self.features: tuple[str, ...] = ()
        """What the other end understands beyond its protocol version."""
        self.busy = False
        """Something that it said takes a while: nothing more is read until then, and ``behind`` came with it."""
        self.behind: list[AnyView] = []
        self.mismatch: VersionError | None = None
        self.heard_at = 0.0
        """On the loop's clock."""
        self.over = False
        self.take: Callable[[bytes], None] | None = None
        """Reads what comes instead of the decoder, from when it is set; it may raise FrameError."""
        self._loop = asyncio.get_running_loop()
        self._leaving = owner.leaving
        self._decoder = ViewDecoder()
        self._transport: asyncio.Transport | None = None
        self._batch: list[bytes] = []
        self._data: deque[bytes] = deque()
        self._urgent: deque[bytes] = deque()
        self._waiting = 0
        self._paused = False
        self._much = False
        self.reason = ""
        """Why it ended, as far as this end knows."""
        self._held_back = False
        self._counted = False
        self.met = self._loop.create_future()
        """Done when the other end has said who it is."""
        self.gone = self._loop.create_future()
        """Done when the connection is closed."""

    @property
    def peer(self) -> str:
        """The other end's address, as far as it is known."""
        found = self._transport.get_extra_info("peername") if self._transport else None
        return f"{found[0]}:{found[1]}" if isinstance(found, tuple) else ""

    @property
    def held(self) -> Held:
        """What of a frame has come and was not read."""
        return self._decoder.held

    @property
    def waiting(self) -> int:
        """Bytes that wait to be written."""
        return self._waiting

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_IN_TRANSPORT)
        self.heard_at = self._loop.time()
        self.owner.opened(self)

    def data_received(self, data: bytes) -> None:
        if self.over:
            return
        if len(data) >= _LARGE and self._transport is not None and not self._transport.is_closing():
            # More is there. A loop would go on reading for megabytes before it writes what it has read so far.
            self._transport.pause_reading()
            self._loop.call_soon(self._resume)
        self._leaving.begin()
        began = False
        try:
            if self.take is not None:
                self.take(data)
            elif frames := self._decoder.feed(data):
                began = True
                self.owner.received(self, frames)
        except FrameError as error:
            if error.frames:
                self.owner.received(self, list(error.frames))
            self.owner.faulty(self, error)
        finally:
            self._leaving.leave()
            self._count(began)
        self.heard_at = self._loop.time()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """What is written meanwhile, to anybody, leaves together at the end."""
        self._leaving.begin()
        try:
            yield
        finally:
            self._leaving.leave()

    def _count(self, began: bool = False) -> None:
        """Links are not counted: they take another way in, and hold little."""
        held = self._decoder.held.size if self.take is None and not self.over else 0
        if held or self._counted:
            self._counted = bool(held)
            self.owner.partial.hold(self, held, begun=began)

    def evict(self, reason: str) -> None:
        self.abort(reason)

    def _resume(self) -> None:
        if not self._held_back and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> None:
        self.reason = self.reason or "the other end closed it"

    def connection_lost(self, error: Exception | None) -> None:
        self.over = True
        self._count()
        self._transport = None
        self._batch.clear()
        self._data.clear()
        self._urgent.clear()
        if not self.gone.done():
            self.gone.set_result(None)
        self.owner.closed(self, self.reason or (str(error) if error else "the other end closed it"))

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._flush()

    # --- the owner's side

    def send(self, frame: AnyFrame, *, urgent: bool = True) -> int:
        """Send a frame; the number of its bytes. Data is not urgent, nearly everything else is."""
        data = encode(frame)
        self.write(data, urgent=urgent)
        return len(data)

    def write(self, data: bytes, *, urgent: bool = False) -> None:
        """Send the bytes of whole frames."""
        if self.over:
            return
        if self._paused or self._waiting:
            (self._urgent if urgent else self._data).append(data)
            self._waiting += len(data)
            self._mark()
        else:
            if not self._batch:
                self._leaving.add(self)
            self._batch.append(data)

    def pause(self) -> None:
        """Read nothing more until ``resume``."""
        self._held_back = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        self._held_back = False
        self._resume()

    def close(self, reason: str = "") -> None:
        """End it after what was written has left; nothing more is read."""
        self.reason = self.reason or reason
        self.leave()
        self.over = True
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: str) -> None:
        """End it at once."""
        self.reason = self.reason or reason
        self.over = True
        if self._transport is not None:
            self._transport.abort()

    def leave(self) -> None:
        """Give the transport what was written so far; it sends what the other end takes at once."""
        batch, self._batch = self._batch, []
        if not batch or self._transport is None or self.over:
            return
        if self._paused:
            self._data.extendleft(reversed(batch))
            self._waiting += sum(map(len, batch))
            self._mark()
        elif len(batch) == 1:
            self._transport.write(batch[0])
        else:
            self._transport.writelines(batch)

    def _flush(self) -> None:
        """Write what waits, the urgent first, until the transport has enough."""
        while self._waiting and not self._paused and self._transport is not None:
            batch: list[bytes] = []
            size = 0
            while size < _IN_TRANSPORT and (self._urgent or self._data):
                batch.append((self._urgent or self._data).popleft())
                size += len(batch[-1])
            self._waiting -= size
            self._transport.writelines(batch)
        self._mark()

    def _mark(self) -> None:
        if self._waiting > MOST:
            self.abort(f"{self._waiting >> 20} MB wait for it, and it does not take them")
        elif self._much != (self._waiting > (LOW if self._much else HIGH)):
            self._much = not self._much
            self._loop.call_soon(self.owner.congested, self, self._much)
