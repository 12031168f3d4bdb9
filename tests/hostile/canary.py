"""A canary: 200 messages a second through an overlay that is being attacked, all of which must arrive once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import semcast
from semcast.client import Client
from tests.live.overlays import until

CONFIG = """
name = "hostile"
data = "data"
processes = false
hosts = ["overlay.example"]

[topology]
brokers = 5
degree = 3
seed = 5
sources = ["b0"]
gateways = ["b2", "b4"]

[streams.topics]
language = "topic"

[streams.quotes]
schema = { symbol = "string", price = "double", volume = "long" }

[streams.news]
language = "xpath"

[settings]
tick_s = 0.05
"""
RATE_HZ = 200


def written(folder: Path) -> Path:
    file = folder / "up.toml"
    file.write_text(CONFIG)
    return file


@dataclass
class Canary:
    """What was published and what came, and how long each message took to be durable."""

    client: Client
    sent: int = 0
    got: Counter[int] = field(default_factory=Counter)
    acks_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def p99_ms(self) -> float:
        return float(np.percentile(self.acks_s, 99)) * 1000 if self.acks_s else float("nan")

    async def alone(self, seconds: float) -> float:
        """p99 of the acks while nobody attacks, in milliseconds; what came before does not count."""
        self.acks_s.clear()
        await asyncio.sleep(seconds)
        calm = self.p99_ms()
        self.acks_s.clear()
        return calm


async def _publish(canary: Canary, over: asyncio.Event) -> None:
    publisher, waiting = canary.client.publisher(), set[asyncio.Task[None]]()
    begun = time.perf_counter()
    while not over.is_set():
        message = canary.client.message("topics", str(canary.sent), topic="canary/sings")
        canary.sent += 1
        waiting.add(task := asyncio.create_task(_acked(canary, publisher.publish(message))))
        task.add_done_callback(waiting.discard)
        await asyncio.sleep(max(0.0, begun + canary.sent / RATE_HZ - time.perf_counter()))
    await asyncio.gather(*waiting)


async def _acked(canary: Canary, receipt: Any) -> None:
    begun = time.perf_counter()
    try:
        await receipt
    except semcast.SemcastError as error:
        canary.errors.append(str(error))
        return
    canary.acks_s.append(time.perf_counter() - begun)


@asynccontextmanager
async def singing(addresses: dict[str, str]) -> AsyncIterator[Canary]:
    """A canary sings while the block runs; then every message must have come, once."""
    async with semcast.connect(addresses["c0"]) as publishing, semcast.connect(addresses["b4"]) as reading:
        canary = Canary(publishing)
        subscription = reading.subscribe("topics", "canary")
        await subscription.live()

        async def read() -> None:
            async for message in subscription:
                canary.got[int(message.payload)] += 1

        over = asyncio.Event()
        tasks = [asyncio.create_task(read()), asyncio.create_task(_publish(canary, over))]
        try:
            yield canary
        finally:
            over.set()
            await asyncio.wait_for(tasks[1], 120)
        await until(lambda: len(canary.got) >= canary.sent, 60)
        await subscription.close()
        await tasks[0]
        assert canary.errors == []
        assert canary.got == Counter(range(canary.sent))
