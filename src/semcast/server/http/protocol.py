"""One HTTP connection, with limits: uvicorn's parser takes headers of any size, for as long as they come."""

from __future__ import annotations

import asyncio

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from semcast.net.partial import Partial

LINE_BYTES = 16 << 10
"""Of the request line, and of each header."""
HEAD_BYTES = 64 << 10
"""Of a request before its body, in all."""
HEAD_S = 10.0
"""From the first byte of a request to the end of its headers."""
_AROUND = len(": \r\n")
_LINGER_S = 1.0
"""A connection that was refused is read for so long: closed at once, it would take the answer with it."""
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class _TooLong(Exception):
    """A request line or header beyond its limit."""


class HttpConnection(HttpToolsProtocol):
    """What a request may be before the application sees it. Its requests can cut the connection, by its transport."""

    def __init__(self, config: Config, state: ServerState, partial: Partial) -> None:
        super().__init__(config, state, {})
        self._partial = partial
        self._pending = 0
        """Bytes since the last that brought a request further: its head, or what chunks hide between them."""
        self._head = self._body = 0
        self._in_body = False
        self._too_long = ""
        self._refused = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {"transport": transport, "partial": self._partial}
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._partial.hold(self, 0)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if not self._pending and self._timer is None and not self._in_body:  # a request begins
            self._timer = self.loop.call_later(HEAD_S, self._late)
        self._pending += len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._pending > HEAD_BYTES:
            self._refuse(431, f"at most {HEAD_BYTES:,} bytes may come before a request's body, and between its chunks")

    def _parse(self, data: bytes) -> None:
        """As uvicorn does, but that a bad request is not worth a line in the log: anybody could fill it."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            else:
                self._refuse(400, "the only protocol to upgrade to is websocket")
        except HttpParserError:
            if self._too_long:
                self._refuse(431, self._too_long)
            else:
                self._refuse(400, "this is not an HTTP request")

    # --- the parser's side

    def on_message_begin(self) -> None:
        self._head = self._body = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url), len(self.url) + len(url), "the request line")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        size = len(name) + len(value)
        self._count(size + _AROUND, size, f"the header {name[:40].decode('latin-1')}")
        super().on_header(name, value)

    def _count(self, size: int, whole: int, what: str) -> None:
        self._head += size
        if whole > LINE_BYTES or self._head > HEAD_BYTES:
            self._too_long = (
                f"{what} is longer than {LINE_BYTES:,} bytes" if whole > LINE_BYTES
                else f"the headers are longer than {HEAD_BYTES:,} bytes together"
            )  # fmt: skip
            raise _TooLong

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._pending = self._head = 0
        self._in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        self._body += len(body)
        self._partial.hold(self, self._body)
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending = self._body = 0
        self._in_body = False
        self._partial.hold(self, 0)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        self._partial.hold(self, 0)
        super().handle_websocket_upgrade()

    # --- ending it

    def evict(self, reason: str) -> None:
        self._refused = True
        self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        self._refuse(408, f"the headers of a request must come within {HEAD_S:g} s")

    def _refuse(self, status: int, reason: str) -> None:
        """Answer, unless another answer is under way, and take nothing more."""
        if self._refused:
            return
        self._refused = True
        self._stop_timer()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.transport.abort()
            return
        body = f'{{"error": "{reason}"}}\n'.encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self.transport.abort)


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket whose unfinished messages count."""

    _messages = 0

    def data_received(self, data: bytes) -> None:
        before = self._messages
        super().data_received(data)
        unfinished = len(self.conn.reader.buffer) + sum(map(len, self.frames))
        self._partial.hold(self, unfinished, begun=self._messages > before)

    def send_receive_event_to_app(self) -> None:
        self._messages += 1
        super().send_receive_event_to_app()

    def connection_lost(self, exc: Exception | None) -> None:
        self._partial.hold(self, 0)
        super().connection_lost(exc)

    @property
    def _partial(self) -> Partial:
        found: Partial = self.app_state["partial"]
        return found

    def evict(self, reason: str) -> None:
        self.transport.abort()
