"""HTTP behind the door: connections that begin with a request go to uvicorn's protocol, within this process's loop."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from semcast.protocol.wire.framing import MAX_MESSAGE
from semcast.server.broker import BrokerHost
from semcast.server.coordinator import CoordinatorHost
from semcast.server.http.app import application
from semcast.server.http.feeds import Feeds
from semcast.server.http.protocol import HttpConnection, SocketConnection
from semcast.server.http.publishers import Publishers

_WS_BYTES = 2 * MAX_MESSAGE
"""Of one WebSocket message that comes in, at most."""
_LINGER_S = 1.0


class HttpFront:
    """What a broker or coordinator says over HTTP, and who listens to it."""

    def __init__(self, host: BrokerHost | CoordinatorHost) -> None:
        self.host = host
        self.feeds: Feeds | None = None
        self.publishers: Publishers | None = None
        if isinstance(host, BrokerHost):
            self.publishers = Publishers(host)
            if "gateway" in host.roles:
                self.feeds = Feeds(host)
        self._state = ServerState()
        self._config = Config(
            cast(Any, application(self)),
            http="httptools",
            ws=SocketConnection,
            ws_max_size=_WS_BYTES,
            ws_per_message_deflate=False,
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=75,
        )
        self._config.load()

    @property
    def requests(self) -> int:
        """Answered so far."""
        return self._state.total_requests

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    def speaks(self, head: bytes) -> bool:
        """A method's name; a frame would have a length of gigabytes there."""
        return head[:3].isalpha() and head[:3].isupper()

    def protocol(self) -> asyncio.Protocol:
        return HttpConnection(self._config, self._state, self.host.partial)

    async def stop(self) -> None:
        """End all streams, let answers leave, and close what is left."""
        if self.feeds is not None:
            await self.feeds.stop()
        if self.publishers is not None:
            await self.publishers.stop()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=_LINGER_S)
        for connection in list(self._state.connections):
            connection.transport.abort()
