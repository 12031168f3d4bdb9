"""A worker with the clients of one gateway: ``python -m … {"url": …, "gateway": …, …}``."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from array import array
from collections import deque
from typing import Any

import semcast
from semcast.client import Client, Subscription, Subscriptions
from semcast.server.serve import run
from semcast_experiments.bench.subscriptions.population import STREAM, Population, beyond, profile
from semcast_experiments.bench.subscriptions.workers import obey

_TURN_S = 0.02
"""Between two turns of churn."""


class Subscriber:
    """Clients that all hang on one gateway, and read what they get."""

    def __init__(self, clients: list[Client], gateway: str, population: Population, place: int, places: int) -> None:
        self._clients = clients
        self._gateways = [gateway]
        self._population = population
        self._place, self._places = place, places
        self._beyond = beyond(place)
        self._ages_ms = array("d")
        self._readers: list[asyncio.Task[None]] = []

    async def subscribe(self, first: int, through: int) -> dict[str, Any]:
        """Have a part of the population live: what is this gateway's of it, from every client."""
        profiles = [profile(n) for n in self._population.numbers(first, through, self._place, self._places)]
        begun = time.perf_counter()
        made = await asyncio.gather(
            *(client.subscribe_many(STREAM, profiles, gateways=self._gateways) for client in self._clients)
        )
        seconds = time.perf_counter() - begun
        self._readers += [asyncio.create_task(self._read(subscriptions)) for subscriptions in made]
        live = sum(len(subscriptions.live) for subscriptions in made)
        return {"live": live, "refused": len(profiles) * len(made) - live, "seconds": seconds}

    async def _read(self, subscriptions: Subscriptions) -> None:
        async for _, message in subscriptions:
            self._ages_ms.append(1000 * time.time() - message.time_ms)

    async def single(self, count: int, pause_s: float = 0.01) -> dict[str, Any]:
        """Subscriptions that nobody has yet, one after the other: milliseconds until each is live."""
        found = []
        for _ in range(count):
            begun = time.perf_counter()
            subscription = await self._one()
            found.append(1000 * (time.perf_counter() - begun))
            await subscription.close()
            await asyncio.sleep(pause_s)
        return {"live_ms": found}

    def _one(self) -> Subscription:
        return self._clients[0].subscribe(STREAM, next(self._beyond), gateways=self._gateways)

    async def received(self) -> dict[str, Any]:
        """How many messages have come since this was asked last, and how old each was."""
        ages, self._ages_ms = self._ages_ms, array("d")
        return {"ages_ms": list(ages)}

    async def count(self) -> int:
        """How many messages ``received`` would speak of."""
        return len(self._ages_ms)

    async def churn(self, rate_hz: float, seconds: float) -> dict[str, Any]:
        """Begin so many subscriptions a second, and end each when it is live and about a second old.

        Where the overlay cannot keep up, fewer begin: no more than a second's worth wait to be live.
        """
        lives_s = min(1.0, seconds / 4)
        begun_at = time.perf_counter()
        live_ms: list[float] = []
        going: deque[tuple[float, asyncio.Task[Subscription]]] = deque()
        ending: set[asyncio.Task[None]] = set()
        begun = ended = 0
        while (now := time.perf_counter()) - begun_at < seconds:
            while begun < rate_hz * (now - begun_at) and begun - len(live_ms) < rate_hz:
                going.append((now, asyncio.create_task(self._timed(live_ms))))
                begun += 1
            while going and going[0][0] < now - lives_s and going[0][1].done():
                task = asyncio.create_task(going.popleft()[1].result().close())
                ending.add(task)
                task.add_done_callback(ending.discard)
                ended += 1
            await asyncio.sleep(_TURN_S)
        took_s = time.perf_counter() - begun_at
        left = [(await task).close() for _, task in going]
        await asyncio.gather(*ending, *left)
        return {"begun": begun, "ended": ended, "seconds": took_s, "live_ms": live_ms}

    async def _timed(self, live_ms: list[float]) -> Subscription:
        begun = time.perf_counter()
        subscription = await self._one()
        live_ms.append(1000 * (time.perf_counter() - begun))
        return subscription


async def _work(options: dict[str, Any]) -> None:
    population = Population(**options["population"])
    clients = [semcast.connect(options["url"]) for _ in range(population.clients)]
    await asyncio.gather(*(client.open() for client in clients))
    worker = Subscriber(clients, options["gateway"], population, options["place"], options["places"])
    orders = ("subscribe", "single", "received", "count", "churn")
    await obey({name: getattr(worker, name) for name in orders})
    # Whoever ends this process wants no more of it: its connections break, and nobody waits for hundred thousand ends.


if __name__ == "__main__":
    run(_work(json.loads(sys.argv[1])))
