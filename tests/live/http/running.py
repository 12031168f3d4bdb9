"""An overlay beside the test: it runs in a thread of its own, so that tests can wait for curl, browsers and sockets."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pyarrow as pa

import semcast
from semcast.server.embedded import Embedded
from tests.live.overlays import deployed, settled, until

T = TypeVar("T")
PATIENCE_S = 60.0
MORE = """
held = 256

[streams.news]
language = "xpath"
"""


class Running:
    """The overlay and its loop; what touches it has to be called there."""

    def __init__(self, folder: Path, **options: object) -> None:
        self._folder = folder
        self._options = {"sources": 2, "more": MORE, **options}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._trouble: BaseException | None = None

    def start(self) -> None:
        warm("relational", "price > 1", pa.table({"price": [1.0]}))
        self._thread.start()
        assert self._ready.wait(4 * PATIENCE_S)
        if self._trouble is not None:
            raise self._trouble

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    async def _live(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self.whole = Embedded(deployed(self._folder, **self._options))
        try:
            await self.whole.start()
            await until(lambda: settled(self.whole))
        except BaseException as error:
            self._trouble = error
        self._ready.set()
        await self._end.wait()
        await self.whole.stop()

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something in the overlay's loop and wait for it."""

        async def wrapped() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result(PATIENCE_S)

    def look(self, what: Callable[[Embedded], T]) -> T:
        async def looked() -> T:
            return what(self.whole)

        return self.call(looked)

    def until(self, true: Callable[[Embedded], bool]) -> None:
        self.call(lambda: until(lambda: true(self.whole), PATIENCE_S))

    @property
    def addresses(self) -> dict[str, str]:
        return self.look(lambda whole: whole.addresses())

    @property
    def gateways(self) -> list[str]:
        return self.look(lambda whole: [name for name, host in whole.brokers.items() if "gateway" in host.roles])

    def restart(self, name: str) -> None:
        """Stop a broker and start it again, at the same address."""

        async def again() -> None:
            before = self.whole.brokers[name].address
            await self.whole.brokers[name].stop()
            host = await self.whole.start_broker(name)
            assert host.address == before

        self.call(again)


def warm(kind: str, profile: str, batch: pa.Table) -> None:
    """Compile an engine here, if that was never done on this machine: in the overlay everybody would wait."""
    language = semcast.language(kind)
    language.matcher([language.parse(profile)]).match(batch)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    address: str, path: str, *, method: str = "GET", body: bytes | str | None = None, **headers: str
) -> Answer:  # fmt: skip
    """One request; underscores in headers' names stand for hyphens."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, given)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def publish(address: str, stream: str, body: object, query: Mapping[str, str] | None = None, **headers: str) -> Answer:
    """One message, or, as a list, many; a dictionary becomes JSON."""
    path = f"/v1/streams/{stream}/messages?{urlencode(query or {})}"
    if isinstance(body, list):
        headers = {"content_type": "application/x-ndjson", **headers}
        body = "\n".join(json.dumps(row) for row in body)
    elif isinstance(body, dict):
        headers = {"content_type": "application/json", **headers}
        body = json.dumps(body)
    assert isinstance(body, bytes | str)
    return ask(address, path, method="POST", body=body, **headers)


@dataclass(frozen=True)
class Event:
    """As a browser would give it to a page."""

    name: str
    data: Any
    last_id: str


class Events:
    """An event stream that is read as the standard says; ``last_id`` is what a browser would come back with."""

    def __init__(self, address: str, stream: str, last_id: str = "", **query: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
        headers = {"last-event-id": last_id} if last_id else {}
        self._connection.request("GET", f"/v1/streams/{stream}/messages?{urlencode(query)}", headers=headers)
        self.response = self._connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.last_id = last_id
        self.comments: list[str] = []

    def __iter__(self) -> Iterator[Event]:
        name, data, new_id = "", [], self.last_id
        for raw in iter(self.response.readline, b""):
            line = raw.decode().rstrip("\n")
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                self.last_id = new_id
                if data:
                    yield Event(name or "message", json.loads("\n".join(data)), new_id)
                name, data = "", []
            elif not field:
                self.comments.append(value)
            elif field == "id":
                new_id = value
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)

    def until_live(self) -> Events:
        for event in self:
            if event.name == "live":
                return self
        raise AssertionError("it ended before it was live")

    def take(self, count: int) -> list[Event]:
        """So many messages; whatever else comes in between is passed over."""
        found: list[Event] = []
        for event in self:
            if event.name == "message":
                found.append(event)
                if len(found) == count:
                    break
        return found

    def close(self) -> None:
        self.response.close()
        self._connection.close()
