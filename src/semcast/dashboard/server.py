"""The page of a running overlay, and its JSON."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from semcast.client import Client
from semcast.dashboard import trying, views
from semcast.dashboard.asking import NoAnswer
from semcast.dashboard.overlaps import overlaps
from semcast.dashboard.pipeline import Progress
from semcast.dashboard.serving import EVENTS, Serving, event, json
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.dashboard.watching import Watcher
from semcast.model import SemcastError
from semcast.server.http.shapes import shown

_PAUSE_S = 1.0


class Dashboard(Serving):
    """Serves what a watcher knows. ``url`` is where live subscriptions of the try-it box go."""

    def __init__(self, watcher: Watcher, url: str | None, progress: Progress) -> None:
        super().__init__()
        self._watcher = watcher
        self._url = url
        self._progress = progress

    async def start(self, host: str, port: int, hosts: Sequence[str] = ()) -> None:
        """Listen, and begin to watch."""
        await super().start(host, port, hosts)
        await self._watcher.start()

    async def stop(self) -> None:
        self.over = True
        await self._watcher.stop()
        await super().stop()

    def routes(self) -> Sequence[BaseRoute]:
        return [
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
        ]

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
            return json(await asyncio.to_thread(view, self._found(), *given))

        return show

    async def _broker(self, request: Request) -> Response:
        name, found = request.path_params["broker"], self._found()
        if name not in found.brokers:
            raise HTTPException(404, f"there is no broker {name!r}")
        trees = None
        with contextlib.suppress(NoAnswer):
            trees = await self._watcher.ask(name, "/treez")
        return json(views.broker(found, self._watcher.rates, name, trees))

    async def _cost(self, request: Request) -> Response:
        compared = self._watcher.comparison
        found = self._found()
        about = {"epoch": compared.epoch, "messages": compared.messages, **compared.costs} if compared else None
        points = list(self._watcher.history.points)
        return json({"now": found.at, "compared": about, "points": points, "marks": views.marks(found.events)})

    async def _pipeline(self, request: Request) -> Response:
        return json(await asyncio.to_thread(self._progress.read))

    # --- streams of events

    async def _live(self, request: Request) -> Response:
        """A summary with every snapshot, and why there is none where there is none."""
        return StreamingResponse(self._summaries(), media_type="text/event-stream", headers=EVENTS)

    async def _summaries(self) -> AsyncIterator[bytes]:
        watcher, told = self._watcher, -1
        while not self.over:
            told = await watcher.newer(told) if told >= 0 else watcher.revision
            about: Json = {"revision": told, "trouble": watcher.trouble}
            if watcher.snapshot is not None:
                about |= views.summary(watcher.snapshot, *self._rest) | {"at": watcher.snapshot.at}
            yield event("summary", about)

    async def _try_live(self, request: Request) -> Response:
        stream, text = (request.query_params.get(name, "") for name in ("stream", "profile"))
        found = self._found()
        profile = trying.read(found.streams, stream, text)
        return StreamingResponse(self._matching(stream, profile.text), media_type="text/event-stream", headers=EVENTS)

    async def _matching(self, stream: str, profile: str) -> AsyncIterator[bytes]:
        """What a real subscription brings, until its reader goes."""
        try:
            async with Client(self._url) as client:
                subscription = client.subscribe(stream, profile)
                yield event("subscribing", {})
                await subscription.live()
                yield event("live", {})
                language = client.streams.declared[stream].language
                while not self.over:
                    try:
                        async with asyncio.timeout(_PAUSE_S):
                            message = await anext(subscription)
                    except TimeoutError:
                        yield b": nothing matched\n\n"
                        continue
                    yield event("message", shown(message, language))
        except SemcastError as error:
            yield event("trouble", {"error": str(error)})
