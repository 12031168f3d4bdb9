"""A local port with the page's files and some JSON beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from semcast.dashboard.asking import NoAnswer
from semcast.dashboard.trying import Rejected
from semcast.model import SemcastError
from semcast.net.partial import Partial
from semcast.server.http.hosts import KnownHosts, known_host
from semcast.server.http.protocol import HttpConnection

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_LINGER_S = 1.0
EVENTS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Headers of a stream of events."""


class Serving:
    """Listens, and ends what is under way when it stops; subclasses say what there is beside the page."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._state = ServerState()
        self.address = self._bound = ""
        self.over = False

    def routes(self) -> Sequence[BaseRoute]:
        raise NotImplementedError

    async def start(self, host: str, port: int, hosts: Sequence[str] = ()) -> None:
        """Listen (port 0: at a free one); SemcastError where the port is taken.

        ``hosts`` are names under which a browser may ask for it, other than the address.
        """
        static = StaticFiles(directory=str(files("semcast.dashboard").joinpath("static")), html=True)
        handlers = {SemcastError: _refused, HTTPException: _http_error}
        app = Starlette(routes=[*self.routes(), Mount("/", _Fresh(static))], exception_handlers=handlers)
        here = KnownHosts(app, lambda name: known_host(name, host, self._bound, hosts), "allow it with --allow-host")
        config = Config(
            cast(Any, here),
            http="httptools",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        config.load()
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: HttpConnection(config, self._state, Partial()), host, port)
        except OSError as error:
            raise SemcastError(
                f"port {port} of {host} is taken or not allowed ({error.strerror or error}); --port 0 takes a free one"
            ) from None
        where = self._server.sockets[0].getsockname()
        self._bound = where[0]
        self.address = f"{where[0]}:{where[1]}"

    async def stop(self) -> None:
        self.over = True
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=_LINGER_S)
        for connection in list(self._state.connections):
            connection.transport.abort()


def event(name: str, data: Any) -> bytes:
    """An event's bytes."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


def json(content: Any, status: int = 200) -> Response:
    body = msgspec.json.encode(content)
    return Response(body, status, {"cache-control": "no-store"}, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, Rejected):
        return json(error.json)  # an answer to the question what is wrong; browsers log what is no success
    return json({"error": str(error)}, 503 if isinstance(error, NoAnswer) else 400)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return json({"error": error.detail}, error.status_code)


class _Fresh:
    """Files that browsers ask for again each time, and that may load nothing from anywhere else."""

    def __init__(self, app: StaticFiles) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = {b"content-security-policy": _POLICY.encode(), b"cache-control": b"no-cache"}
                message["headers"] = [*message["headers"], *extra.items()]
            await send(message)

        await self._app(scope, receive, sent)
