"""The application: which path leads where, and who may ask from a page of another origin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from semcast.model import SemcastError
from semcast.server.coordinator import CoordinatorHost
from semcast.server.http import status
from semcast.server.http.answers import Problem, answer, refused
from semcast.server.http.hosts import KnownHosts, known_host
from semcast.server.http.metrics import exposition
from semcast.server.http.openapi import document
from semcast.server.http.pages import Pages
from semcast.server.http.sockets import Socket
from semcast.server.http.streams import StreamRoutes

if TYPE_CHECKING:
    from semcast.server.http.front import HttpFront

Endpoint = Callable[[Request], Awaitable[Response]]
_OPEN = ("/v1/streams", "/openapi.json", "/healthz")
"""What pages of any origin may read. Status pages show sessions, profiles and samples: they may not."""
_ALLOWED = "content-type, idempotency-key, origin-session, origin-number, last-event-id"


def application(front: HttpFront) -> ASGIApp:
    """What one broker or coordinator serves."""
    handlers = {SemcastError: refused, HTTPException: _http_error}
    app = OtherOrigins(Starlette(routes=routes(front), exception_handlers=handlers), front)
    host = front.host

    def is_here(name: str) -> bool:
        here = known_host(name, *host.listening, host.view.hosts)
        host.refused["Host"] += not here
        return here

    return KnownHosts(app, is_here, "names of this overlay are listed under `hosts` in its file")


def routes(front: HttpFront) -> list[BaseRoute]:
    streams, pages = StreamRoutes(front), Pages(front)
    found: list[BaseRoute] = [
        Route("/", pages.watch),
        Route("/docs", pages.docs),
        Route("/openapi.json", _shows(lambda: _document(front))),
        Route("/healthz", _health(front)),
        Route("/statusz", _shows(lambda: front.host.status())),
        Route("/channelz", _shows(lambda: status.channels(front.host))),
        Route("/treez", _shows(lambda: status.trees(front.host))),
        Route("/subz", _shows(lambda: status.sessions(front.host, front.feeds))),
        Route("/overlayz", _shows(lambda: status.overlay(front.host))),
        Route("/samplez", _shows(lambda: status.samples(front.host))),
        Route("/metrics", _metrics(front)),
        WebSocketRoute("/v1/ws", _socket(front)),
        Route("/v1/streams", streams.listed),
        Route("/v1/streams/{stream}/messages", streams.publish, methods=["POST"]),
        Route("/v1/streams/{stream}/messages", _Raw(streams.follow), methods=["GET", "HEAD"]),
    ]
    if isinstance(front.host, CoordinatorHost):
        host = front.host
        found.append(Route("/planz", _shows(lambda: status.plan(host))))
        found.append(Route("/eventz", _shows(lambda: {"events": list(host.events)})))
        found.append(Route("/reorganise", _reorganise(host), methods=["POST"]))
    return found


class _Raw:
    """An endpoint that writes its answer bit by bit. Starlette takes an object, not a function, for an application."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _document(front: HttpFront) -> dict[str, object]:
    return document(front.host.name, version("semcast"), coordinator=isinstance(front.host, CoordinatorHost))


def _shows(what: Callable[[], object]) -> Endpoint:
    async def show(request: Request) -> Response:
        return answer(what())

    return show


def _health(front: HttpFront) -> Endpoint:
    async def healthz(request: Request) -> Response:
        found = status.health(front.host)
        return answer(found, 200 if found["healthy"] else 503)

    return healthz


def _metrics(front: HttpFront) -> Endpoint:
    async def metrics(request: Request) -> Response:
        return Response(exposition(front), media_type="text/plain; version=0.0.4")

    return metrics


def _socket(front: HttpFront) -> Callable[[WebSocket], Awaitable[None]]:
    async def connected(socket: WebSocket) -> None:
        await Socket(front, socket).run()

    return connected


def _reorganise(host: CoordinatorHost) -> Endpoint:
    async def reorganise(request: Request) -> Response:
        if not host.reorganise():
            raise Problem(409, f"{host.name} does not lead; ask another", coordinators=status.elsewhere(host))
        return answer({"reorganising": True, "epoch": host.status()["epoch"]}, 202)

    return reorganise


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = "there is nothing here; /docs says what there is" if error.status_code == 404 else error.detail
    return answer({"error": hint}, error.status_code, dict(error.headers or {}))


class OtherOrigins:
    """Pages of any origin may read streams; only those of this one, and those that the overlay names, may do the rest.

    Who is no browser sends no origin and may do both: there is nobody behind it who was tricked into it.
    """

    def __init__(self, app: ASGIApp, front: HttpFront) -> None:
        self._app = app
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        trusted = self._trusted(headers)
        scope["state"]["trusted"] = trusted
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=self._preflight(trusted))(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") or trusted:
            await self._app(scope, receive, self._with_origin(send, scope["path"], headers.get("origin")))
        else:
            reason = f"pages of {headers['origin']} may not do that; see `origins` in the overlay's file"
            await Problem(403, reason).response()(scope, receive, send)

    def _trusted(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None or urlsplit(origin).netloc == headers.get("host"):
            return True
        origins = self._front.host.view.origins
        return origin in origins or "*" in origins

    @staticmethod
    def _preflight(trusted: bool) -> dict[str, str]:
        return {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "GET, POST" if trusted else "GET",
            "access-control-allow-headers": _ALLOWED,
            "access-control-max-age": "600",
        }

    def _with_origin(self, send: Send, path: str, origin: str | None) -> Send:
        """Say which pages may read the answer: of streams all, of how the overlay stands those that it names."""
        origins = self._front.host.view.origins
        everybody = "*" in origins or path.startswith(_OPEN)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if everybody:
                    headers["access-control-allow-origin"] = "*"
                elif origin in origins and origin is not None:
                    headers["access-control-allow-origin"] = origin
                    headers.add_vary_header("Origin")
            await send(message)

        return sent
