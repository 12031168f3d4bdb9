"""Everybody who takes part in the live demo: subscribers that remember what they got, and publishers in time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from semcast.client import Client, Subscription
from semcast.demo.feeds import Content, Feed

_TURN_S = 0.05
UNKNOWN = "?"
"""The source of a message that nobody got."""


@dataclass
class Subscriber:
    """One subscription, and all that came of it."""

    feed: Feed
    number: int
    """Of its profile."""
    gateway: str
    bound_ms: float | None
    subscription: Subscription | None = None
    got: Counter[str] = field(default_factory=Counter)
    ages_ms: list[float] = field(default_factory=list)
    seen: dict[bytes, str] = field(default_factory=dict)
    """Content to id, of all that came through Spark: who wrote it there was not told the id."""

    async def listen(self, client: Client) -> None:
        self.subscription = client.subscribe(
            self.feed.stream, self.feed.profiles[self.number], max_delay_ms=self.bound_ms, gateways=[self.gateway]
        )
        async for message in self.subscription:
            self.got[message.id] += 1
            if self.feed.on_spark:
                self.seen[message.payload] = message.id
            self.ages_ms.append(max(0.0, 1000 * time.time() - message.time_ms))


class Published(NamedTuple):
    """A message that is in its source's log."""

    feed: Feed
    content: Content
    source: str
    id: str


class Audience:
    """All subscribers of the feeds, spread over the gateways; every third has a bound."""

    def __init__(self, feeds: list[Feed], gateways: list[str], bound_ms: float, rng: np.random.Generator) -> None:
        self.seen: dict[bytes, str] = {}
        self.subscribers = [
            Subscriber(feed, number, str(rng.choice(gateways)), bound_ms if number % 3 == 0 else None, seen=self.seen)
            for feed in feeds
            for number in range(len(feed.profiles))
        ]
        self._clients = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def arrive(self, addresses: dict[str, str]) -> None:
        """Subscribe, all of them, and wait until nothing that matches is missed any more."""
        clients: dict[str, Client] = {}
        for subscriber in self.subscribers:
            if subscriber.gateway not in clients:
                client = Client(addresses[subscriber.gateway], name=f"clients-at-{subscriber.gateway}")
                clients[subscriber.gateway] = await self._clients.enter_async_context(client)
            self._tasks.append(asyncio.create_task(subscriber.listen(clients[subscriber.gateway])))
        await asyncio.sleep(0)
        subscriptions = [each.subscription for each in self.subscribers if each.subscription is not None]
        await asyncio.gather(*(subscription.live() for subscription in subscriptions))

    @property
    def delivered(self) -> int:
        return sum(each.got.total() for each in self.subscribers)

    def published(self, feed: Feed, contents: list[Content]) -> list[Published]:
        """What came through Spark, under the ids that it has; what nobody got has one that nobody knows."""
        ids = [self.seen.get(content.payload, f"{UNKNOWN}:{content.payload!r}") for content in contents]
        return [Published(feed, content, id.partition(":")[0], id) for content, id in zip(contents, ids, strict=True)]

    async def leave(self) -> None:
        await self._clients.aclose()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Publishers:
    """One publisher per feed, each at a source of its own as far as there are enough."""

    def __init__(self, feeds: list[Feed], sources: list[str], client: Client, seed: int) -> None:
        self._client = client
        self._places = [(feed, sources[at % len(sources)]) for at, feed in enumerate(feeds)]
        self._rngs = {feed.stream: np.random.default_rng([seed, 3, at]) for at, feed in enumerate(feeds)}

    async def publish(self, seconds: float) -> list[Published]:
        """Publish at the feeds' rates for a while; returns when all of it is durable."""
        each = await asyncio.gather(*(self._one(feed, source, seconds) for feed, source in self._places))
        return [message for messages in each for message in messages]

    async def _one(self, feed: Feed, source: str, seconds: float) -> list[Published]:
        contents = feed.draw(max(1, round(seconds * feed.per_second)), self._rngs[feed.stream])
        publisher = self._client.publisher(source)
        begin, receipts = time.monotonic(), []
        for at, content in enumerate(contents):
            ahead = at / feed.per_second - (time.monotonic() - begin)
            if ahead > _TURN_S:
                await asyncio.sleep(ahead)
            message = self._client.message(feed.stream, content.payload, topic=content.topic)
            receipts.append((content, await publisher.put(message)))
        return [Published(feed, content, source, (await receipt).id or "?") for content, receipt in receipts]
