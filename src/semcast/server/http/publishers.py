"""Publishing for others: many requests share one batching publisher; those that may be repeated have numbers.

A source takes each message of an origin once, by its number. A request with a key is an origin of its own, or goes on
with one: it may be sent again and again, at any broker, and is in the log once. For that it has to come to the same
source each time, so that is chosen by the origin's name and not by the way.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from semcast.client.messages import Receipt
from semcast.client.publishing import OutOfTurn, Publishing
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.server.broker import BrokerHost
from semcast.server.http.answers import Problem
from semcast.server.local import LocalClient
from semcast.trees.roles import SOURCE

PATIENCE_S = 10.0


class Publishers:
    """All that is published over HTTP at one broker."""

    def __init__(self, host: BrokerHost) -> None:
        self._host = host
        self._client: LocalClient | None = None
        self._generation = 0
        self._shared: dict[str, Publishing] = {}
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}
        self._sources = sorted(broker.id for broker in host.view.overlay().brokers if SOURCE in broker.roles)

    @property
    def client(self) -> LocalClient:
        if self._client is None:
            self._client = LocalClient(self._host)
        return self._client

    def source(self, asked: str | None, origin: str | None) -> str:
        """Where to publish: as asked for, by the origin's name, or at the nearest."""
        if asked is not None:
            if asked not in self._sources:
                raise Problem(404, f"there is no source {asked!r}; there is {', '.join(self._sources)}")
            return asked
        if origin is None:
            return self._host.nearest_source()
        # Highest random weight: another source that comes or goes moves few origins.
        return max(self._sources, key=lambda name: blake2b(f"{name}\n{origin}".encode(), digest_size=8).digest())

    async def publish(self, messages: list[Message], source: str, patience_s: float = PATIENCE_S) -> list[Receipt]:
        """Publish under nobody's name; returns when all are durable. Problem where the source takes nothing in."""
        publishing = self._shared.get(source)
        if publishing is None:
            self._generation += 1
            origin = f"{self.client.name}@{source}#{self._generation}"
            publishing = self._shared[source] = self.client.publisher(source, origin=origin)
        try:
            return await _published(publishing, messages, patience_s)
        except _Silent as silent:
            # What waits would be taken in at some time, when nobody expects it: all are told, and nothing waits.
            if self._shared.get(source) is publishing:
                del self._shared[source]
            await self._done(publishing)
            raise silent.problem(publishing, sure=False) from None

    async def publish_once(
        self, messages: list[Message], source: str, origin: str, first: int, patience_s: float = PATIENCE_S
    ) -> list[Receipt]:
        """Publish the numbers from ``first`` on of an origin; what is in the log already is not put there again."""
        async with _Turn(self._turns, origin):
            publishing = self.client.publisher(source, origin=origin, first=first)
            try:
                return await _published(publishing, messages, patience_s)
            except _Silent as silent:
                raise silent.problem(publishing, sure=True) from None
            except OutOfTurn as error:
                raise Problem(409, f"{error}; {first} came", expected=error.expected) from None
            finally:
                await self._done(publishing)

    async def _done(self, publishing: Publishing) -> None:
        await publishing.stop(0)
        self.client.forget(publishing)

    async def stop(self) -> None:
        for publishing in list(self._shared.values()):
            await self._done(publishing)
        if self._client is not None:
            await self._client.close()


class _Silent(Exception):
    """Nothing was taken in for too long."""

    def __init__(self, stored: list[Receipt]) -> None:
        super().__init__()
        self.stored = stored

    def problem(self, publishing: Publishing, *, sure: bool) -> Problem:
        why = publishing.trouble or f"source {publishing.source} does not answer"
        hint = "send it again as it is" if sure else "what is not under `ids` may or may not be published"
        ids = [receipt.id for receipt in self.stored]
        return Problem(503, f"not taken in in time: {why}; {hint}", headers={"retry-after": "1"}, ids=ids)


async def _published(publishing: Publishing, messages: list[Message], patience_s: float) -> list[Receipt]:
    """Receipts of all messages, in their order; patience counts from the last one that came."""
    receipts = [await publishing.put(message) for message in messages]
    settled = 0
    while not receipts[-1].done():
        await asyncio.wait(receipts[-1:], timeout=patience_s)
        before, settled = settled, sum(receipt.done() for receipt in receipts)
        if settled == before:
            for receipt in receipts[settled:]:
                receipt.cancel()
            raise _Silent([receipt.result() for receipt in receipts[:settled]])
    try:
        return [receipt.result() for receipt in receipts]
    except OutOfTurn:
        raise
    except SemcastError as error:  # another request has given the publisher up that both share
        raise Problem(503, str(error), headers={"retry-after": "1"}) from None


class _Turn:
    """Requests of one origin, one after the other; a lock is there while somebody wants it."""

    def __init__(self, turns: dict[str, tuple[asyncio.Lock, int]], origin: str) -> None:
        self._turns, self._origin = turns, origin

    async def __aenter__(self) -> None:
        lock, wanted = self._turns.get(self._origin, (asyncio.Lock(), 0))
        self._turns[self._origin] = lock, wanted + 1
        try:
            await lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._turns[self._origin][0].release()
        self._leave()

    def _leave(self) -> None:
        lock, wanted = self._turns[self._origin]
        if wanted == 1:
            del self._turns[self._origin]
        else:
            self._turns[self._origin] = lock, wanted - 1
