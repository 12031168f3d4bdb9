"""A stream of the live demo that comes through Spark: files in a folder, matched and routed there, batch by batch."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semcast.demo.feeds import Content, Feed
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from semcast.pipeline.streaming import Batch, Pipeline

_FILE_S = 1.0
_INTERVAL_S = 1.0
_PATIENCE_S = 60.0


class SparkFeed:
    """Writes a feed's messages as files, a few a second; a query on Spark brings them into the overlay."""

    def __init__(self, spark: SparkSession, feed: Feed, folder: Path, seed: int) -> None:
        self.feed, self.contents = feed, list[Content]()
        self.progress = folder / "progress.jsonl"
        self._spark, self._rng = spark, np.random.default_rng([seed, 5])
        self._incoming, self._checkpoint = folder / "incoming", folder / "checkpoint"
        shutil.rmtree(folder, ignore_errors=True)
        self._incoming.mkdir(parents=True)
        self._files = self._taken = 0
        self._pipeline: Pipeline | None = None
        self._query: StreamingQuery | None = None

    async def start(self, address: str) -> None:
        await asyncio.to_thread(self._start, f"semcast://{address}")

    def _start(self, url: str) -> None:
        from semcast.pipeline.feeds import Feed as Source
        from semcast.pipeline.options import Where
        from semcast.pipeline.streaming import Pipeline, Places

        where = Where.of({"url": url, "stream": self.feed.stream})
        source = Source("json", str(self._incoming.absolute()))
        self._pipeline = Pipeline(self._spark, where, source, Places(str(self._checkpoint)), done=self._done)
        self._query = self._pipeline.start(interval_s=_INTERVAL_S)

    def _done(self, batch: Batch) -> None:
        """In Spark's thread: what the page shows of a batch, and how much is through."""
        self._taken += batch.messages
        batch.add_to(self.progress, self.feed.stream)

    async def publish(self, seconds: float) -> list[Content]:
        """Write at the feed's rate for a while; returns what was written, when all of it is in the overlay."""
        before, begin = len(self.contents), time.monotonic()
        for turn in range(max(1, round(seconds / _FILE_S))):
            self._write(self.feed.draw(max(1, round(_FILE_S * self.feed.per_second)), self._rng))
            await asyncio.sleep(max(0.0, begin + (turn + 1) * _FILE_S - time.monotonic()))
        await self._through()
        return self.contents[before:]

    def _write(self, contents: list[Content]) -> None:
        """A file appears with all that is in it."""
        numbered = [
            content._replace(payload=b'{"number":%d,' % at + content.payload[1:])
            for at, content in enumerate(contents, len(self.contents))
        ]
        hidden = self._incoming / f".{self._files}"
        hidden.write_bytes(b"".join(content.payload + b"\n" for content in numbered))
        hidden.rename(self._incoming / f"{self._files:06}.jsonl")
        self._files += 1
        self.contents += numbered

    async def _through(self) -> None:
        begin = time.monotonic()
        while self._taken < len(self.contents):
            error = self._query.exception() if self._query is not None else None
            if error is not None or time.monotonic() - begin > _PATIENCE_S:
                raise SemcastError(
                    f"Spark has {self._taken} of {len(self.contents)} messages" + f": {error}" * bool(error)
                )
            await asyncio.sleep(0.1)

    async def stop(self) -> None:
        if self._query is not None:
            await asyncio.to_thread(self._query.stop)
        if self._pipeline is not None:
            await asyncio.to_thread(self._pipeline.close)
