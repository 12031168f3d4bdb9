"""The page and its JSON on a local port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from semcast.client import Client
from semcast.dashboard import trying, views
from semcast.dashboard.asking import NoAnswer
from semcast.dashboard.overlaps import overlaps
from semcast.dashboard.pipeline import Progress
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.dashboard.watching import Watcher
from semcast.model import SemcastError
from semcast.net.http.shapes import shown

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_LINGER_S = 1.0
_PAUSE_S = 1.0


class Dashboard:
    """Serves what a watcher knows. ``url`` is where live subscriptions of the try-it box go."""

    def __init__(self, watcher: Watcher, url: str | None, progress: Progress) -> None:
        self._watcher = watcher
        self._url = url
        self._progress = progress
        self._server: asyncio.Server | None = None
        self._state = ServerState()
        self.address = ""

    async def start(self, host: str, port: int) -> None:
        """Listen (port 0: at a free one) and begin to watch; SemcastError where the port is taken."""
        config = Config(
            cast(Any, self.application()),
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
            self._server = await loop.create_server(lambda: HttpToolsProtocol(config, self._state, {}), host, port)
        except OSError as error:
            raise SemcastError(
                f"port {port} of {host} is taken or not allowed ({error.strerror or error}); --port 0 takes a free one"
            ) from None
        where = self._server.sockets[0].getsockname()
        self.address = f"{where[0]}:{where[1]}"
        await self._watcher.start()

    async def stop(self) -> None:
        await self._watcher.stop()
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=_LINGER_S)
        for connection in list(self._state.connections):
            connection.transport.abort()

    def application(self) -> Starlette:
        static = StaticFiles(directory=str(files("semcast.dashboard").joinpath("static")), html=True)
        routes = [
            Route("/api/live", self._live),
            Route("/api/summary", self._shows(lambda found: views.summary(found, *self._rest))),
            Route("/api/overlay", self._shows(views.overlay)),
            Route("/api/loads", self._shows(lambda found: views.loads(found, *self._rest))),
            Route("/api/brokers/{broker}", self._broker),
            Route("/api/channels", self._shows(lambda found: views.channels(found, *self._rest))),
            Route("/api/overlaps", self._shows(overlaps)),
            Route("/api/subscribers", self._shows(lambda found: views.subscribers(found, self._watcher.rates))),
            Route("/api/why", self._shows(trying.why, "session")),
            Route("/api/cost", self._cost),
            Route("/api/events", self._shows(views.events)),
            Route("/api/pipeline", self._pipeline),
            Route("/api/streams", self._shows(lambda found: found.overlay["streams"])),
            Route("/api/try", self._shows(trying.tried, "stream", "profile")),
            Route("/api/try/live", self._try_live),
            Mount("/", _Fresh(static)),
        ]
        handlers = {SemcastError: _refused, HTTPException: _http_error}
        return Starlette(routes=routes, exception_handlers=handlers)

    @property
    def _rest(self) -> tuple[Any, Any]:
        return self._watcher.rates, self._watcher.comparison

    def _found(self) -> Snapshot:
        found = self._watcher.snapshot
        if found is None:
            raise NoAnswer(self._watcher.trouble or "nothing is known yet")
        return found

    def _shows(self, view: Callable[..., Json], *parameters: str) -> Callable[[Request], Any]:
        """A view of the latest snapshot; made beside the loop, since some of them take a while."""

        async def show(request: Request) -> Response:
            given = [request.query_params.get(name, "") for name in parameters]
            return _json(await asyncio.to_thread(view, self._found(), *given))

        return show

    async def _broker(self, request: Request) -> Response:
        name, found = request.path_params["broker"], self._found()
        if name not in found.brokers:
            raise HTTPException(404, f"there is no broker {name!r}")
        trees = None
        with contextlib.suppress(NoAnswer):
            trees = await self._watcher.ask(name, "/treez")
        return _json(views.broker(found, self._watcher.rates, name, trees))

    async def _cost(self, request: Request) -> Response:
        compared = self._watcher.comparison
        found = self._found()
        marks = [
            {"at": event["at"], "epoch": event["details"]["epoch"], "reorganised": event["details"]["reorganised"]}
            for event in found.events
            if event["what"] == "plan"
        ]
        about = {"epoch": compared.epoch, "messages": compared.messages, **compared.costs} if compared else None
        return _json({"now": found.at, "compared": about, "points": list(self._watcher.history.points), "marks": marks})

    async def _pipeline(self, request: Request) -> Response:
        return _json(await asyncio.to_thread(self._progress.read))

    # --- streams of events

    async def _live(self, request: Request) -> Response:
        """A summary with every snapshot, and why there is none where there is none."""
        return StreamingResponse(self._summaries(), media_type="text/event-stream", headers=_EVENTS)

    async def _summaries(self) -> AsyncIterator[bytes]:
        watcher, told = self._watcher, -1
        while not watcher.over:
            told = await watcher.newer(told) if told >= 0 else watcher.revision
            about: Json = {"revision": told, "trouble": watcher.trouble}
            if watcher.snapshot is not None:
                about |= views.summary(watcher.snapshot, *self._rest) | {"at": watcher.snapshot.at}
            yield _event("summary", about)

    async def _try_live(self, request: Request) -> Response:
        stream, text = (request.query_params.get(name, "") for name in ("stream", "profile"))
        found = self._found()
        profile = trying.read(found.streams, stream, text)
        return StreamingResponse(self._matching(stream, profile.text), media_type="text/event-stream", headers=_EVENTS)

    async def _matching(self, stream: str, profile: str) -> AsyncIterator[bytes]:
        """What a real subscription brings, until its reader goes."""
        try:
            async with Client(self._url) as client:
                subscription = client.subscribe(stream, profile)
                yield _event("subscribing", {})
                await subscription.live()
                yield _event("live", {})
                language = client.streams.declared[stream].language
                while not self._watcher.over:
                    try:
                        async with asyncio.timeout(_PAUSE_S):
                            message = await anext(subscription)
                    except TimeoutError:
                        yield b": nothing matched\n\n"
                        continue
                    yield _event("message", shown(message, language))
        except SemcastError as error:
            yield _event("trouble", {"error": str(error)})


_EVENTS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def _event(name: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


def _json(content: Any, status: int = 200) -> Response:
    body = msgspec.json.encode(content)
    return Response(body, status, {"cache-control": "no-store"}, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, trying.Rejected):
        return _json(error.json)  # an answer to the question what is wrong; browsers log what is no success
    return _json({"error": str(error)}, 503 if isinstance(error, NoAnswer) else 400)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": error.detail}, error.status_code)


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
