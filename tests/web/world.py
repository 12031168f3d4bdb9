"""An overlay with people on it: subscribers in several languages, and a stream that does not end."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from semcast.client import Client
from tests.live.http.running import MORE, Running, ask, warm
from tests.live.overlays import CALM

PROFILES = [
    ("quotes", "price > 10"),
    ("quotes", "price > 50"),
    ("quotes", "price > 90 AND symbol = 'IBM'"),
    ("quotes", "symbol IN ('IBM', 'SAP') OR price < 5"),
    ("quotes", "symbol LIKE 'S%'"),
    ("topics", "plant/*/pressure"),
    ("topics", "plant/4"),
    ("news", "/story[@lang='en']"),
]
SYMBOLS = ["IBM", "SAP", "SUN", "ACME", "BT"]


class World:
    """An overlay, whose loop also runs its clients."""

    def __init__(self, folder: Path) -> None:
        self.overlay = Running(folder, brokers=10, sources=2, gateways=5, settings=CALM, more=MORE)
        self._ended: asyncio.Event | None = None
        self._life: Any = None

    def start(self) -> None:
        warm("xpath", "/story", pa.table({"payload": ["<story/>"]}))
        warm("topic", "plant/4", pa.table({"topic": ["plant/4"]}))
        self.overlay.start()
        ready = self.overlay.call(self._begin)
        self._life, self._ended = ready

    def stop(self) -> None:
        async def ended() -> None:
            self._ended.set()  # type: ignore[union-attr]
            await self._life

        self.overlay.call(ended)
        self.overlay.stop()

    async def _begin(self) -> tuple[asyncio.Task[None], asyncio.Event]:
        ended, live = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._live(live, ended))
        await live.wait()
        return task, ended

    async def _live(self, live: asyncio.Event, ended: asyncio.Event) -> None:
        addresses = self.overlay.whole.addresses()
        gateways = [name for name, host in self.overlay.whole.brokers.items() if "gateway" in host.roles]
        async with clients_of([addresses[gateway] for gateway in gateways]) as clients:
            reading = []
            for place, (stream, profile) in enumerate(PROFILES):
                bound = 0.5 if place == 0 else 5000.0 if place == 1 else None
                subscription = clients[place % len(clients)].subscribe(stream, profile, max_delay_ms=bound)
                await subscription.live()
                reading.append(asyncio.create_task(_read(subscription)))
            live.set()
            draw = random.Random(7)
            while not ended.is_set():
                await asyncio.gather(*(clients[0].publish(**message) for message in _messages(draw)))
                await asyncio.sleep(0.2)
            for task in reading:
                task.cancel()

    @property
    def coordinator(self) -> str:
        return self.overlay.addresses["c0"]


@asynccontextmanager
async def clients_of(addresses: list[str]) -> AsyncIterator[list[Client]]:
    """One at each address."""
    clients = [Client(address) for address in addresses]
    try:
        for client in clients:
            await client.open()
        yield clients
    finally:
        for client in clients:
            await client.close()


async def _read(subscription: Any) -> None:
    async for _ in subscription:
        pass


def _messages(draw: random.Random) -> list[dict[str, Any]]:
    quotes = [{"symbol": draw.choice(SYMBOLS), "price": round(draw.uniform(0, 120), 2)} for _ in range(6)]
    topic = f"plant/{draw.randrange(6)}/{draw.choice(['pressure', 'heat'])}"
    news = f"<story lang='{draw.choice(['en', 'de'])}'><title>{draw.randrange(1000)}</title></story>"
    return [
        *({"stream": "quotes", "payload": quote} for quote in quotes),
        {"stream": "topics", "payload": b"3.2 bar", "topic": topic},
        {"stream": "news", "payload": news},
    ]


class Served:
    """`semcast dashboard` as a process of its own."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "semcast", "dashboard", "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        assert told["ready"]
        self.address: str = told["address"]

    def json(self, path: str) -> Any:
        """What a path answers, which has to be a success."""
        answer = ask(self.address, path)
        assert answer.status == 200, answer.body
        return answer.json

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(60)
