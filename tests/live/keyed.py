"""Many subscriptions with a key of their own each, messages to keys, and the history of both.

Nobody needs a matcher to say who gets what: a message has one key, and a profile names one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from semcast.client import Client, Receipt, Subscription
from semcast.client.publishing import Publishing
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.overlays import until

STREAM = "quotes"
ALL = "*"
"""Stands for all keys."""


def profile_of(key: str) -> str:
    """That of all keys covers all others."""
    return "price >= 0" if key == ALL else f"symbol = '{key}' AND price >= 0"


class KeyedMessages:
    """What was published: messages are known by their price, and each goes to one key."""

    def __init__(self, client: Client, sources: Sequence[str], recorder: Recorder) -> None:
        self.said: defaultdict[str, list[str]] = defaultdict(list)
        """Key → its messages, in the order in which they were published."""
        self._client = client
        self._publishers: list[Publishing] = [client.publisher(source) for source in sources]
        self._recorder = recorder
        self._under_way: list[asyncio.Future[Receipt]] = []
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    async def publish(self, key: str) -> None:
        """Hand a message over; ``durable`` waits for it."""
        number = self._count
        self._count += 1
        publisher = self._publishers[number % len(self._publishers)]
        name = str(number)
        self.said[key].append(name)
        self.said[ALL].append(name)
        self._recorder.publish(publisher.source, name)
        message = self._client.message(STREAM, {"symbol": key, "price": float(number)})
        receipt = await publisher.put(message)

        def acknowledged(done: asyncio.Future[Receipt]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._recorder.ack(publisher.source, name, done.result().source, done.result().number)

        receipt.add_done_callback(acknowledged)
        self._under_way.append(receipt)

    def begin(self, key: Callable[[], str], rate_hz: float) -> None:
        """Go on publishing to one key after the other until ``durable`` is asked for."""

        async def go_on() -> None:
            loop = asyncio.get_running_loop()
            began, count = loop.time(), 0
            while True:
                await self.publish(key())
                count += 1
                await asyncio.sleep(max(0.0, began + count / rate_hz - loop.time()))

        self._task = asyncio.create_task(go_on())

    async def durable(self) -> None:
        """Publish no more, and wait until all of it is durable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*self._under_way)
        self._under_way.clear()


class KeyedAudience:
    """Subscriptions that come and go, each read by a task of its own."""

    def __init__(self, messages: KeyedMessages, recorder: Recorder) -> None:
        self.live: dict[str, int] = {}
        """Key → how many messages had been published to it when its subscription was live."""
        self.got: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subscriptions: dict[str, Subscription] = {}
        """Those that have come and not left."""
        self._messages, self._recorder = messages, recorder
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._profiles: dict[str, str] = {}

    def join(self, client: Client, key: str) -> None:
        profile = self._profiles[key] = profile_of(key)
        self._recorder.subscribe(key, profile, gapless=True)
        self.subscriptions[key] = client.subscribe(STREAM, profile)
        self._reading[key] = asyncio.create_task(self._read(key, self.subscriptions[key]))

    async def arrive(self, clients: Sequence[Client], keys: Sequence[str], seconds: float) -> None:
        """Let subscriptions come one after the other, evenly over some seconds."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, key in enumerate(keys):
            self.join(clients[number % len(clients)], key)
            await asyncio.sleep(max(0.0, began + (number + 1) * seconds / len(keys) - loop.time()))

    async def leave(self, keys: Iterable[str]) -> None:
        await asyncio.gather(*map(self._leave, keys))

    async def _leave(self, key: str) -> None:
        reading = self._reading.pop(key)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        self._recorder.close(key)
        await self.subscriptions.pop(key).close()
        self._recorder.closed(key)

    async def _read(self, key: str, subscription: Subscription) -> None:
        await subscription.live()
        self._recorder.live(key)
        self.live[key] = len(self._messages.said[key])
        async for message in subscription:
            name = str(int(message.json()["price"]))
            self._recorder.deliver(key, name, message.source, message.number)
            self.got[key][name] += 1

    def missing(self) -> dict[str, list[str]]:
        """Key → what its subscription has not got although it was live when that was published."""
        said, live = self._messages.said, self.live
        owed = {key: said[key][live[key] :] if key in live else said[key] for key in self.subscriptions}
        lacking = {key: [name for name in names if name not in self.got[key]] for key, names in owed.items()}
        return {key: names for key, names in lacking.items() if names}

    async def all_live(self, patience_s: float = 60.0) -> None:
        def asked() -> bool:
            for key, reading in self._reading.items():
                assert not reading.done(), (key, reading.exception())
            return self.subscriptions.keys() <= self.live.keys()

        await until(asked, patience_s)

    async def judged(self, checker: Checker, patience_s: float = 60.0) -> None:
        """Wait until everybody has what he is owed, and have the history decide whether that was all of it, once."""
        await until(lambda: not self.missing(), patience_s, every_s=0.3)
        await asyncio.sleep(1.0)
        for key, profile in self._profiles.items():
            self._recorder.matches(profile, self._messages.said[key])
        self._recorder.end()
        assert [str(fault) for fault in checker.verdict()][:10] == []
