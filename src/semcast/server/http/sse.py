"""Server-sent events: what a profile matches, for curl and browsers.

An event's id is the reader's cursor, so what a browser sends as Last-Event-ID after a break says all there is to know.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from semcast.client.messages import Gap
from semcast.model import SemcastError
from semcast.server.http.feeds import Event, Feed, Feeds, Live
from semcast.server.http.shapes import shown

KEEPALIVE_S = 15.0
_CURSOR_S = 1.0
"""Where nothing matches the cursor moves on all the same; it is told so often."""
STALL_S = 60.0
"""Who reads nothing for so long is left."""
_CHUNK = 32 << 10
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no", "content-type": "text/event-stream; charset=utf-8"}


class EventStream:
    """An ASGI response: one feed until its reader goes, or its gateway stops."""

    def __init__(self, feeds: Feeds, feed: Feed, language: str) -> None:
        self._feeds, self._feed, self._language = feeds, feed, language
        self._loop = asyncio.get_running_loop()
        self._told = ""
        self._written_at = self._loop.time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        tasks = [asyncio.ensure_future(self._pump(send)), asyncio.ensure_future(_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done() and isinstance(tasks[0].exception(), TimeoutError):
                scope["state"]["transport"].abort()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._feeds.end(self._feed)

    async def _pump(self, send: Send) -> None:
        await self._write(send, b"retry: 1000\n\n")
        feed = self._feed
        while not feed.over:
            try:
                chunk = self._chunk()
            except SemcastError as error:
                await self._write(send, event("error", {"error": str(error)}))
                break
            if chunk:
                await self._write(send, chunk)
                feed.taken()
                await asyncio.sleep(0)  # a reader who keeps up must not keep everybody else waiting
            else:
                await feed.news(_CURSOR_S)
                await self._write(send, self._idle())
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _chunk(self) -> bytes:
        chunk = bytearray()
        while len(chunk) < _CHUNK and (found := self._feed.ready()) is not None:
            chunk += self._encoded(found)
            self._told = found.cursor
        return bytes(chunk)

    def _encoded(self, found: Event) -> bytes:
        what = found.what
        if isinstance(what, Live):
            about = {"session": what.session, "cursor": found.cursor, "expected_delay_ms": what.expected_delay_ms}
            return event("live", about, found.cursor)
        if isinstance(what, Gap):
            return event("gap", {"source": what.source, "first": what.first, "through": what.through}, found.cursor)
        return event("", shown(what, self._language), found.cursor)

    def _idle(self) -> bytes:
        """An id without data moves a reader's cursor on and is no event; a comment keeps the connection in use."""
        silent_s = self._loop.time() - self._written_at
        cursor = self._feed.cursor if self._told else ""
        if cursor != self._told and silent_s >= _CURSOR_S:
            self._told = cursor
            return b"id: %s\n\n" % cursor.encode()
        return b": keepalive\n\n" if silent_s >= KEEPALIVE_S else b""

    async def _write(self, send: Send, data: bytes) -> None:
        if data:
            async with asyncio.timeout(STALL_S):
                await send({"type": "http.response.body", "body": data, "more_body": True})
            self._written_at = self._loop.time()


def event(name: str, data: Any, cursor: str = "") -> bytes:
    """An event's bytes. JSON has no line breaks in it, so that one line holds it all."""
    head = (f"id: {cursor}\n" if cursor else "") + (f"event: {name}\n" if name else "")
    return head.encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
