"""How long a message takes from its publisher to a client: through Spark, inline, and through Spark alone."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from semcast.client import connect_blocking
from semcast.client.blocking import BlockingClient, BlockingSubscription
from semcast.server.config import read_config
from semcast.server.embedded import Embedded
from semcast_experiments.bench.race import Say

_FILE = """
data = "data"
[topology]
file = "line.json"
[streams.quotes]
schema = { symbol = "string", price = "double" }
[settings]
dead_s = 30
lease_s = 20
leader_s = 20
"""
_BATCH = 10
"""Messages per file: small batches."""


def latencies(folder: Path, messages: int, say: Say) -> dict[str, dict[str, float]]:
    """Milliseconds over three hops: p50 and p99 of so many messages each way."""
    found: dict[str, dict[str, float]] = {}
    with _overlay(folder) as url, connect_blocking(url) as client:
        quotes = client.subscribe("quotes", "price >= 0")
        say("latency: inline")
        found["inline stream"] = _told(_inline(client, quotes, messages))
        say("latency: through Spark")
        found["through Spark"] = _told(_through_spark(folder, url, quotes, messages // _BATCH))
    say("latency: Spark alone")
    found["empty micro-batch"] = _told(_alone(folder, messages // _BATCH))
    return found


def _told(delays: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(delays, [50, 99]).tolist()
    return {"p50": round(1000 * p50, 2), "p99": round(1000 * p99, 2), "messages": len(delays)}


@contextmanager
def _overlay(folder: Path) -> Iterator[str]:
    """A line of four brokers, the source at one end and the gateway at the other, in a thread of its own."""
    names = ["b0", "b1", "b2", "b3"]
    roles = {"b0": ["source"], "b3": ["gateway"]}
    brokers = [{"id": name, "x": 0.1, "y": 0.1, "roles": roles.get(name, [])} for name in names]
    links = [{"a": a, "b": b, "cost": 1, "delay_ms": 1} for a, b in pairwise(names)]
    (folder / "line.json").write_text(json.dumps({"brokers": brokers, "links": links}))
    (folder / "up.toml").write_text(_FILE)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def started() -> Embedded:
        whole = Embedded(read_config(folder / "up.toml"))
        await whole.start()
        return whole

    whole = asyncio.run_coroutine_threadsafe(started(), loop).result()
    try:
        yield "semcast://" + whole.addresses()["c0"]
    finally:
        asyncio.run_coroutine_threadsafe(whole.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _inline(client: BlockingClient, quotes: BlockingSubscription, messages: int) -> list[float]:
    delays = []
    for number in range(messages):
        begun = time.perf_counter()
        client.publish("quotes", {"symbol": "S", "price": float(number)})
        assert quotes.next(60) is not None
        delays.append(time.perf_counter() - begun)
    return delays


def _through_spark(folder: Path, url: str, quotes: BlockingSubscription, files: int) -> list[float]:
    from semcast.cli.spark import session
    from semcast.pipeline.feeds import feed_of
    from semcast.pipeline.options import Where
    from semcast.pipeline.streaming import Pipeline, Places

    incoming = folder / "in"
    incoming.mkdir()
    spark = session("semcast bench", "local[2]")
    places = Places(str(folder / "checkpoint"))
    pipeline = Pipeline(spark, Where(url, "quotes"), feed_of(str(incoming), "json"), places)
    query = pipeline.start()

    def taken() -> int:
        return sum(quotes.next(120) is not None for _ in range(_BATCH))

    try:
        return _files(incoming, files, taken)
    finally:
        query.stop()
        pipeline.close()


def _alone(folder: Path, files: int) -> list[float]:
    """Until a batch with nothing to do for it is told to the driver: no way through Spark is shorter."""
    from semcast.cli.spark import session

    incoming = folder / "alone"
    incoming.mkdir()
    spark = session("semcast bench", "local[2]")
    told = threading.Semaphore(0)
    frame = spark.readStream.text(str(incoming))
    query = frame.writeStream.foreachBatch(lambda batch, number: told.release()).start()
    try:
        return _files(incoming, files, lambda: told.acquire(timeout=120))
    finally:
        query.stop()


def _files(incoming: Path, files: int, taken: Callable[[], Any]) -> list[float]:
    """The seconds from when a file is there until it was taken; the first two only warm up."""
    delays = []
    for number in range(files + 2):
        hidden = incoming / f".{number}"
        hidden.write_text('{"symbol": "S", "price": 1.0}\n' * _BATCH)
        begun = time.perf_counter()
        hidden.rename(incoming / f"{number}.json")
        assert taken()
        delays.append(time.perf_counter() - begun)
    return delays[2:]
