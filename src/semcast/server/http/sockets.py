"""WebSocket: many subscriptions and publishing over one connection, in JSON."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from semcast.client.messages import Gap
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.server.http.answers import Problem
from semcast.server.http.bodies import check
from semcast.server.http.cursors import Cursor
from semcast.server.http.feeds import Event, Feed, Feeds, Live, Wish
from semcast.server.http.shapes import shown
from semcast.server.http.sse import STALL_S
from semcast.server.http.streams import declared, feeds_of, profile_or_all, publishing_host
from semcast.server.http.words import (
    Ack,
    AnyWord,
    Name,
    Publish,
    Replace,
    Subscribe,
    SubscribeMany,
    Unclear,
    Unsubscribe,
    heard,
    said,
)

if TYPE_CHECKING:
    from semcast.server.http.front import HttpFront

SUBSCRIPTIONS = 1024
"""Of one connection."""
PUBLISHING = 256
"""Messages that wait for their receipts; while there are so many, nothing more is read."""
_BATCH = 64
_CURSOR_S = 1.0
_STOP_S = 0.5
"""How long a subscription that ends waits for the message that it is sending."""


async def while_open(work: Coroutine[Any, Any, None]) -> None:
    """Work that is of no use any more when the other end has gone."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
        await work


class Socket:
    """One connection. It is read while answers are on their way; who does not read them is left after a while."""

    def __init__(self, front: HttpFront, socket: WebSocket) -> None:
        self._front, self._socket = front, socket
        self._readers: dict[Name, Reader] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(PUBLISHING)

    async def run(self) -> None:
        await self._socket.accept()
        try:
            while True:
                await self._hear(await self._socket.receive_text())
        except (WebSocketDisconnect, KeyError, RuntimeError):
            return  # it has gone, or sends bytes where text belongs
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*(reader.stop(keep=True) for reader in self._readers.values()))

    async def tell(self, about: str, content: dict[str, Any]) -> None:
        """Say something, when there is room; who makes none for long is cut off."""
        try:
            async with asyncio.timeout(STALL_S):
                await self._socket.send_text(said(about, content))
        except TimeoutError:
            self._socket.scope["state"]["transport"].abort()
            raise

    async def _hear(self, text: str) -> None:
        word: AnyWord | SubscribeMany | None = None
        try:
            word = heard(text)
            match word:
                case Subscribe():
                    await self._subscribe(word)
                case SubscribeMany():
                    await self._subscribe_many(word)
                case Ack():
                    self._reader(word.id).ack(word.message)
                case Unsubscribe():
                    self._begin(self._unsubscribe(word))
                case Replace():
                    self._begin(self._guarded(word, self._reader(word.id).replace(word.profile)))
                case Publish():
                    await self._room.acquire()
                    self._begin(self._guarded(word, self._publish(word)))
        except SemcastError as error:
            await self._refuse(word, error)

    async def _subscribe_many(self, many: SubscribeMany) -> None:
        """Begin all of them, one right behind the other; none waits until another is live."""
        for word in many.asked:
            if isinstance(word, Unclear):
                await self.tell("error", {"id": word.id, "reason": word.reason, "status": 400})
            else:
                await self._guarded(word, self._subscribe(word))
            await asyncio.sleep(0)

    async def _guarded(self, word: AnyWord, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SemcastError as error:
            await self._refuse(word, error)
        finally:
            if isinstance(word, Publish):
                self._room.release()

    async def _refuse(self, word: AnyWord | SubscribeMany | None, error: SemcastError) -> None:
        content: dict[str, Any] = {"id": getattr(word, "id", None), "reason": str(error)}
        if isinstance(error, Problem):
            content |= {"status": error.status, **error.more}
        await self.tell("error", content)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(while_open(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reader(self, name: Name) -> Reader:
        if name not in self._readers:
            raise Problem(404, f"there is no subscription {name!r} here")
        return self._readers[name]

    # --- subscriptions

    async def _subscribe(self, word: Subscribe) -> None:
        feeds = feeds_of(self._front)
        stream = declared(self._front.host, word.stream)
        if word.id in self._readers:
            raise Problem(409, f"there is a subscription {word.id!r} already")
        if len(self._readers) >= SUBSCRIPTIONS:
            raise Problem(429, f"a connection has at most {SUBSCRIPTIONS} subscriptions; open another")
        wish = Wish(
            stream=word.stream,
            profile=profile_or_all(word.profile, stream),
            start=word.start,
            session=word.session,
            ordered=word.ordered,
            max_delay_ms=word.max_delay_ms,
            expiry_s=word.expiry_s,
            cursor=Cursor.read(word.cursor) if word.cursor else None,
        )
        feed = await feeds.begin(wish)
        reader = self._readers[word.id] = Reader(self, feeds, feed, word, stream.language)
        reader.start()

    async def _unsubscribe(self, word: Unsubscribe) -> None:
        reader = self._readers.pop(word.id, None)
        if reader is None:
            await self._refuse(word, Problem(404, f"there is no subscription {word.id!r} here"))
            return
        await reader.stop(keep=word.keep)
        await self.tell("unsubscribed", {"sub": word.id})

    def ended(self, name: Name) -> None:
        self._readers.pop(name, None)

    # --- publishing

    async def _publish(self, word: Publish) -> None:
        if not self._socket.scope["state"]["trusted"]:
            raise Problem(403, "pages of another origin may not publish")
        host, publishers = publishing_host(self._front), self._front.publishers
        assert publishers is not None
        declared(host, word.stream)
        at = round(1000 * host.overlay_time()[0]) if word.time_ms is None else word.time_ms
        headers = tuple(word.headers.items())
        message = Message(word.stream, word.content(), word.topic, at, word.key, headers)
        check(host, message, {})
        origin = f"http-session:{word.origin}" if word.origin is not None else None
        source = publishers.source(word.source, origin)
        if origin is None:
            receipts = await publishers.publish([message], source)
        elif word.number is None or word.number < 0:
            raise Problem(400, "publish: an origin needs the number of the message")
        else:
            receipts = await publishers.publish_once([message], source, origin, word.number)
        await self.tell("published", {"id": word.id, "message": receipts[0].id})


class Reader:
    """One subscription of a connection, and what its client has not acknowledged."""

    def __init__(self, socket: Socket, feeds: Feeds, feed: Feed, word: Subscribe, language: str) -> None:
        self._socket, self._feeds, self._feed = socket, feeds, feed
        self._name, self._manual, self._language = word.id, word.acks == "manual", language
        self._open: deque[tuple[str, Mapping[str, int]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._told = ""
        self._stopping = False

    def start(self) -> None:
        self._task = asyncio.ensure_future(while_open(self._pump()))

    async def stop(self, *, keep: bool) -> None:
        """End it between two messages: what was sent counts as taken, unless the client says so itself."""
        self._stopping = True
        self._feed.subscription.nudge()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_STOP_S)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._feeds.end(self._feed, keep=keep)

    async def replace(self, profile: str) -> None:
        await self._feeds.replace(self._feed, profile)
        await self._socket.tell("replaced", {"sub": self._name, "cursor": self._feed.cursor})

    def ack(self, message: str) -> None:
        """Everything through a message is taken; what is not open is so already."""
        place = next((place for place, (known, _) in enumerate(self._open) if known == message), None)
        if place is None:
            return
        for _ in range(place):
            self._open.popleft()
        _, reached = self._open.popleft()
        self._feed.taken(reached if self._open else None)

    async def _pump(self) -> None:
        feed, loop = self._feed, asyncio.get_running_loop()
        told_at = loop.time()
        try:
            while not feed.over and not self._stopping:
                if await self._batch():
                    told_at = loop.time()
                    continue
                await feed.news(_CURSOR_S)
                if self._told and feed.cursor != self._told and loop.time() - told_at >= _CURSOR_S:
                    told_at, self._told = loop.time(), feed.cursor
                    await self._socket.tell("cursor", {"sub": self._name, "cursor": self._told})
            if self._stopping:
                return
            self._socket.ended(self._name)
            await self._socket.tell("ended", {"sub": self._name, "cursor": feed.cursor})
        except SemcastError as error:
            self._socket.ended(self._name)
            await self._socket.tell("error", {"id": self._name, "reason": str(error)})
            await self._feeds.end(feed)

    async def _batch(self) -> bool:
        """Send what is there; was there anything?"""
        count = 0
        while count < _BATCH and not self._stopping and (found := self._feed.ready()) is not None:
            await self._send(found)
            self._told = found.cursor
            count += 1
        if count and not self._open:
            self._feed.taken()
        if count:
            await asyncio.sleep(0)
        return count > 0

    async def _send(self, found: Event) -> None:
        what = found.what
        about: dict[str, Any] = {"sub": self._name, "cursor": found.cursor}
        if isinstance(what, Live):
            about |= {"session": what.session, "expected_delay_ms": what.expected_delay_ms}
            await self._socket.tell("live", about)
        elif isinstance(what, Gap):
            about |= {"source": what.source, "first": what.first, "through": what.through}
            await self._socket.tell("gap", about)
        else:
            if self._manual:
                self._open.append((what.id, found.reached))
            await self._socket.tell("message", about | shown(what, self._language))
