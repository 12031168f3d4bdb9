"""The client for programs without asyncio: the same calls, which wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from semcast.client.appending import Appending
from semcast.client.client import Client, connection_of
from semcast.client.many import Profiles, Subscriptions
from semcast.client.messages import Receipt, Received
from semcast.client.overlay import OverlayConnection
from semcast.client.subscription import Subscription
from semcast.model import SemcastError
from semcast.protocol.wire.frames import Append, Publish, Switch

T = TypeVar("T")


class _Next(Generic[T]):
    """What comes next, for who waits on another thread than the one that it comes to."""

    def __init__(self, owner: BlockingClient, ask: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._owner, self._ask = owner, ask
        self._asked: Future[T] | None = None
        """Asked for and not given out yet. Ctrl-C and timeouts leave it for whoever asks next."""

    def wait(self, timeout_s: float | None) -> T:
        """TimeoutError where nothing comes in time, StopAsyncIteration at the end."""
        if self._asked is None:
            self._asked = self._owner.start(self._ask())
        try:
            found = self._asked.result(timeout_s)
        except (TimeoutError, KeyboardInterrupt):
            raise
        except BaseException:
            self._asked = None
            raise
        self._asked = None
        return found

    def forget(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None


class BlockingSubscription:
    """Iterate over it; ``next(timeout_s)`` waits no longer than that."""

    def __init__(self, owner: BlockingClient, subscription: Subscription) -> None:
        self._owner = owner
        self.inner = subscription
        self._next = _Next(owner, subscription.__anext__)

    def __iter__(self) -> Iterator[Received]:
        return self

    def __next__(self) -> Received:
        try:
            return self._next.wait(None)
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout_s: float) -> Received | None:
        """The next message, or None where none comes in time."""
        try:
            return self._next.wait(timeout_s)
        except TimeoutError:
            return None

    def live(self) -> None:
        """Wait until nothing that matches is missed any more; it is so already when ``subscribe`` returns."""
        self._owner.run(self.inner.live())

    def replace(self, profile: str) -> None:
        """Ask for something else, atomically; returns when it counts."""
        self._owner.run(self.inner.replace(profile))

    def close(self, *, keep: bool = False) -> None:
        """End it; with ``keep`` a durable session stays at its gateway, to be taken up again."""
        self._next.forget()
        self._owner.run(self.inner.close(keep=keep))


class BlockingSubscriptions(Sequence[BlockingSubscription | SemcastError]):
    """In the order of their profiles: each a subscription that is live, or the error in its place.

    ``messages()`` reads all of them as one.
    """

    def __init__(self, owner: BlockingClient, subscriptions: Subscriptions) -> None:
        self._owner = owner
        self.inner = subscriptions
        self._next = _Next(owner, subscriptions.__anext__)
        self._entries: dict[int, BlockingSubscription] = {}

    @property
    def ids(self) -> tuple[Any, ...]:
        """The keys of the mapping that was given, or places."""
        return self.inner.ids

    @property
    def errors(self) -> dict[int, SemcastError]:
        """Place → why there is no subscription, or none any more."""
        return self.inner.errors

    def __len__(self) -> int:
        return len(self.inner)

    @overload
    def __getitem__(self, place: int) -> BlockingSubscription | SemcastError: ...

    @overload
    def __getitem__(self, place: slice) -> list[BlockingSubscription | SemcastError]: ...

    def __getitem__(
        self, place: int | slice
    ) -> BlockingSubscription | SemcastError | list[BlockingSubscription | SemcastError]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        found = self.inner[place]
        if isinstance(found, SemcastError):
            return found
        return self._entries.setdefault(place % len(self), BlockingSubscription(self._owner, found))

    def messages(self) -> Iterator[tuple[Any, Received]]:
        """Each message, with the id of the profile that it matched."""
        while True:
            try:
                yield self._next.wait(None)
            except StopAsyncIteration:
                return

    def next(self, timeout_s: float) -> tuple[Any, Received] | None:
        """The next message with the id of its profile, or None where none comes in time."""
        try:
            return self._next.wait(timeout_s)
        except TimeoutError:
            return None

    def close(self, *, keep: bool = False) -> None:
        """End all of them; with ``keep``, durable sessions stay at their gateways, to be taken up again."""
        self._next.forget()
        self._owner.run(self.inner.close(keep=keep))


class BlockingAppending:
    """What is appended under one origin; numbers are the caller's."""

    def __init__(self, owner: BlockingClient, appending: Appending) -> None:
        self._owner = owner
        self.inner = appending

    def append(self, frame: Publish | Append) -> None:
        """Hand a frame over; waits while many are under way."""
        self._owner.run(self.inner.append(frame))

    def resume(self, frames: list[Append]) -> None:
        """Go on with the same messages, routed by another plan."""

        async def again() -> None:
            self.inner.resume(frames)

        self._owner.run(again())

    def drained(self) -> None:
        """Wait until all is durable."""
        self._owner.run(self.inner.drained())


class LoopThread:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="semcast-client", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return self._loop.is_closed()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something there, and wait for it; whoever stops waiting (Ctrl-C) ends it."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        self._loop.close()


class BlockingClient:
    """A client on a thread of its own. Use it with ``with connect_blocking(url) as client``."""

    def __init__(self, url: str | None = None) -> None:
        self._thread = LoopThread()
        try:
            self._client = self.run(self._opened(url))
        except BaseException:
            self._thread.end()
            raise

    async def _opened(self, url: str | None) -> Client:
        client = Client(url)
        await client.open()
        return client

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the client's thread, and wait for it; whoever stops waiting (Ctrl-C) ends it."""
        return self._thread.run(work)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something on the client's thread."""
        return self._thread.start(work)

    def publish(self, stream: str, payload: bytes | str | Mapping[str, Any] = b"", **options: Any) -> Receipt:
        """As the asyncio client's, with the same options; the message is durable when this returns."""
        return self.run(self._client.publish(stream, payload, **options))

    def subscribe(self, stream: str, profile: str, **options: Any) -> BlockingSubscription:
        """As the asyncio client's; it is live when this returns."""

        async def begun() -> Subscription:
            subscription = self._client.subscribe(stream, profile, **options)
            await subscription.live()
            return subscription

        return BlockingSubscription(self, self.run(begun()))

    def subscribe_many(self, stream: str, profiles: Profiles, **options: Any) -> BlockingSubscriptions:
        """As the asyncio client's: each is live, or the error in its place, when this returns."""
        return BlockingSubscriptions(self, self.run(self._client.subscribe_many(stream, profiles, **options)))

    def appending(self, origin: str, source: str) -> BlockingAppending:
        """Append at a source under an origin, with numbers of one's own: who runs again appends nothing twice."""

        async def begun() -> Appending:
            return self.connection.appending(origin, source)

        return BlockingAppending(self, self.run(begun()))

    def ask(self, what: str, *, of: str | None = None) -> Any:
        """Ask the party that was connected to first, or another, for its ``status`` and the like."""
        return self.run(self._client.ask(what, of=of))

    def plan(self, source: str) -> Switch | None:
        """The plan that a source follows; None where it follows none yet."""
        return self.run(self.connection.plan(source))

    @property
    def connection(self) -> OverlayConnection:
        """What is behind the client, on its thread; use it by ``run``."""
        return connection_of(self._client)

    def close(self) -> None:
        """Wait for what was published, end all subscriptions but durable ones, and go."""
        if not self._thread.over:
            self.run(self._client.close())
            self._thread.end()

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect_blocking(url: str | None = None) -> BlockingClient:
    """Connect to an overlay at semcast://host:port, or at SEMCAST_URL."""
    return BlockingClient(url)
