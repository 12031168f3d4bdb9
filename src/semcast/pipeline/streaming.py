"""The pipeline: a streaming query that matches and routes a source's messages, and appends them where they enter.

Per micro-batch the driver looks which plan is followed, sends what changed to the workers, and runs one job. Whether a
plan counts is decided by the source that takes messages in, not here: it refuses what was routed by another, and the
task routes it anew. So subscriptions go live without waiting for a batch, also when there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from semcast.client import connect_blocking
from semcast.pipeline.behind import Lag
from semcast.pipeline.feeds import Feed, read_feed
from semcast.pipeline.interrupts import BatchStopped, is_stopped
from semcast.pipeline.match import shared
from semcast.pipeline.options import Where, overlay_of
from semcast.pipeline.plans import StreamMatching, by, of_one_version
from semcast.pipeline.subscribing import Logs
from semcast.pipeline.tasks import TALLY, Job, Task, checked, followed_here
from semcast.protocol.wire.frames import Switch

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # local properties of Spark's streaming jobs
_STOP_S = 5.0
_DEAD = "payload binary, place string, reason string"

_MANY_CHANGES, _CHANGES_S = 1000, 10.0
"""A plan is asked for again when the roster has changed so often, or so long after it has changed at all."""


class Batch(NamedTuple):
    """What was done in a micro-batch."""

    number: int
    messages: int
    matched: int
    dead: int
    epoch: int
    seconds: float
    route_s: float
    append_s: float
    """The last two: of all tasks together."""
    swap_s: float
    """For taking up another plan."""
    behind: int | None = None
    """How much is there that was in no batch yet; None where that is not known."""
    behind_of: str = ""
    """In what it is counted."""

    @property
    def rate(self) -> float:
        return self.messages / self.seconds if self.seconds else 0.0

    def add_to(self, file: str | Path, stream: str) -> None:
        """Put a line down for who watches: the dashboard's page."""
        line = {"at": time.time(), "stream": stream, **self._asdict()}
        with open(file, "ab") as lines:
            lines.write(msgspec.json.encode(line) + b"\n")


class Places(NamedTuple):
    """Where the pipeline keeps what is its own."""

    checkpoint: str
    dead_letters: str | None = None
    """A folder of Parquet: payload, place and reason of what is no message of the stream."""
    statistics: str | None = None
    """A folder on the driver's machine: sampled messages with the profiles that matched them."""


class Pipeline:
    """One source into one stream of an overlay."""

    def __init__(
        self,
        spark: SparkSession,
        where: Where,
        feed: Feed,
        places: Places,
        *,
        at_once: int = 64,
        done: Callable[[Batch], None] | None = None,
    ) -> None:
        found = overlay_of(where)
        self._client = connect_blocking(where.url)
        settings = self._client.connection.settings
        self.job = Job(where.url, where.stream, found.declared, tuple(found.sources), "", settings.sample)
        self._spark = spark
        self._places = places
        self._done = done
        self._matching = StreamMatching(where.stream, found.declared.language)
        self._plans: dict[str, Switch] = {}
        self._asked_at = float("-inf")
        self._load: Callable[[], Any] | None = None
        self._lag = Lag(feed, places.checkpoint, lambda: Logs.of(self._client).last)
        self._query: StreamingQuery | None = None
        self.frame = read_feed(spark, feed, where, found.declared, at_once)

    def start(self, *, once: bool = False, interval_s: float = 0.0) -> StreamingQuery:
        """Begin, or go on from the checkpoint; ``once`` ends with what is there."""
        trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": f"{interval_s} seconds"}
        writer = self.frame.writeStream.foreachBatch(self._batch).option("checkpointLocation", self._places.checkpoint)
        self._query = writer.trigger(**trigger).start()
        return self._query

    def close(self) -> None:
        self._client.close()

    def _batch(self, frame: DataFrame, number: int) -> None:
        try:
            self._done_with(frame, number)
        except Exception as error:
            if not is_stopped(error):
                raise
            self._await_stop()
            raise BatchStopped from None

    def _await_stop(self) -> None:
        """Ctrl-C cancels jobs and stops the query, whichever comes first; stopped it ends without a word."""
        end = time.monotonic() + _STOP_S
        while self._query is not None and self._query.isActive and time.monotonic() < end:
            time.sleep(0.05)

    def _done_with(self, frame: DataFrame, number: int) -> None:
        begun = time.perf_counter()
        swap_s = self._follow()
        load, job = self._load, self.job
        assert load is not None

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            assert context is not None
            query = context.getLocalProperty(_QUERY)
            here = job._replace(query=f"spark/{query}")
            matching, plans = followed_here(f"{query}/{job.stream}", load())
            yield from Task(here, int(context.getLocalProperty(_BATCH) or 0), matching, plans).run(batches)

        rows = frame.mapInArrow(run, TALLY).collect()
        dead = sum(row.dead for row in rows)
        if dead and self._places.dead_letters is not None:
            self._bury(frame, number)
        if self._places.statistics is not None:
            self._keep([sample for row in rows for sample in row.samples], number)
        if self._done is not None:
            self._done(self._told(rows, number, time.perf_counter() - begun, swap_s))

    def _told(self, rows: list[Any], number: int, seconds: float, swap_s: float) -> Batch:
        def total(name: str) -> Any:
            return sum(row[name] for row in rows)

        epoch = max((row.epoch for row in rows), default=-1)
        counts = total("messages"), total("matched"), total("dead")
        told = Batch(number, *counts, epoch, seconds, total("route_s"), total("append_s"), swap_s)
        behind = self._lag.after(number, self._query.lastProgress if self._query is not None else None)
        return told if behind is None else told._replace(behind=behind.much, behind_of=behind.unit)

    def _follow(self) -> float:
        """Take up the plans that sources follow by now; the seconds that it took, 0 where nothing changed."""
        begun, changed = time.perf_counter(), self._load is None
        for source in self.job.sources:
            known = self._plans.get(source)
            if known is None or self._is_behind(known, self._client.ask("status", of=source)["source"]):
                told = self._client.plan(source)
                if told is not None:
                    self._plans[source], changed = told, True
        if not changed:
            return 0.0
        self._plans = of_one_version(self._plans)
        newest = max(self._plans.values(), key=by, default=None)
        if newest is not None:
            self._matching.follow(newest)
        self._load = shared(self._spark, (self._matching, dict(self._plans)))
        return time.perf_counter() - begun

    def _is_behind(self, known: Switch, source: dict[str, Any]) -> bool:
        """Is it time to ask a source for its plan? What was added lately, the source matches by itself."""
        if source["epoch"] != known.epoch:
            return True
        behind, now = source["version"] - known.version, time.monotonic()
        if behind <= 0 or (behind < _MANY_CHANGES and now - self._asked_at < _CHANGES_S):
            return False
        self._asked_at = now
        return True

    def _bury(self, frame: DataFrame, number: int) -> None:
        """Write what is no message; done again, it replaces what was written."""
        job = self.job

        def dead(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found = checked(job, batch, 0).dead
                rows = pa.array([row for row, _ in found], pa.int64())
                columns = [batch.column(name).take(rows) for name in ("payload", "place")]
                reasons = pa.array([reason for _, reason in found], pa.string())
                yield pa.RecordBatch.from_arrays([*columns, reasons], ["payload", "place", "reason"])

        target = f"{self._places.dead_letters}/batch={number}"
        frame.mapInArrow(dead, _DEAD).coalesce(1).write.mode("overwrite").parquet(target)

    def _keep(self, samples: list[str], number: int) -> None:
        if not samples:
            return
        folder = Path(str(self._places.statistics))
        folder.mkdir(parents=True, exist_ok=True)
        told = [msgspec.json.decode(sample) for sample in samples]
        pyarrow.parquet.write_table(pa.Table.from_pylist(told), folder / f"batch-{number:08}.parquet")
