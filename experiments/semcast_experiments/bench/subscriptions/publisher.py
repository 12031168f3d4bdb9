"""A worker that publishes: ``python -m … {"url": …, "population": …}``."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from typing import Any

import semcast
from semcast.client import Client, Receipt
from semcast.server.serve import run
from semcast_experiments.bench.subscriptions.population import STREAM, Population
from semcast_experiments.bench.subscriptions.workers import obey

_TURN_S = 0.005
_PATIENCE_S = 60.0
_FEW = 50


class PublishingWorker:
    """Publishes messages of a population, and times each until it is durable."""

    def __init__(self, client: Client, population: Population) -> None:
        self._client = client
        self._population = population
        self._runs = itertools.count(1)
        self._durable_ms: list[float] = []
        self._under_way = 0

    async def flood(self, seconds: float, under_way: int) -> dict[str, Any]:
        """Publish as fast as it goes with so many that are not durable yet."""
        return await self._publish(seconds, float("inf"), under_way)

    async def steady(self, seconds: float, rate_hz: float) -> dict[str, Any]:
        """Publish so many a second, whether the source keeps up or not."""
        return await self._publish(seconds, rate_hz, sys.maxsize)

    async def some(self, count: int) -> dict[str, Any]:
        """Publish so many, a few at a time."""
        return await self._publish(_PATIENCE_S, float("inf"), _FEW, count)

    async def _publish(
        self, seconds: float, rate_hz: float, under_way: int, count: int = sys.maxsize
    ) -> dict[str, Any]:
        await asyncio.sleep(0)
        publisher, messages = self._client.publisher(), self._population.messages(next(self._runs))
        self._durable_ms, sent, begun = [], 0, time.perf_counter()
        while (now := time.perf_counter()) - begun < seconds and sent < count:
            due = min(count, rate_hz * (now - begun))
            while sent < due and self._under_way < under_way:
                receipt = publisher.offer(self._client.message(STREAM, next(messages)))
                self._under_way += 1
                receipt.add_done_callback(self._timed(now))
                sent += 1
                if sent % 256 == 0:
                    break  # the loop has to see to what is acknowledged
            await asyncio.sleep(0 if rate_hz == float("inf") else _TURN_S)
        took_s = time.perf_counter() - begun
        async with asyncio.timeout(_PATIENCE_S):
            await publisher.drained()
        return {"sent": sent, "seconds": took_s, "durable_ms": self._durable_ms}

    def _timed(self, begun: float) -> Any:
        times = self._durable_ms

        def durable(receipt: asyncio.Future[Receipt]) -> None:
            self._under_way -= 1
            if receipt.exception() is None:
                times.append(1000 * (time.perf_counter() - begun))

        return durable


async def _work(options: dict[str, Any]) -> None:
    async with semcast.connect(options["url"]) as client:
        worker = PublishingWorker(client, Population(**options["population"]))
        await obey({name: getattr(worker, name) for name in ("flood", "steady", "some")})


if __name__ == "__main__":
    run(_work(json.loads(sys.argv[1])))
