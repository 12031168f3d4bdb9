"""``df.write.format("semcast")`` and ``df.writeStream.format("semcast")``: rows appended to a stream, each once.

A task appends under an origin that a repetition of it has too (query and partition), and numbers its rows from the
batch's number on. So a source's log takes in what it does not have, whoever was killed meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from semcast.client import connect_blocking
from semcast.client.blocking import BlockingAppending
from semcast.client.subscription import Refused
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.pipeline.options import Where, overlay_of
from semcast.pipeline.rows import Outgoing, check_columns
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import Publish
from semcast.protocol.wire.framing import fitting

_FRAME = 1024
"""Messages per frame, at most."""
_BATCH_BITS = 32
"""A batch's rows in one partition are numbered below 2³²."""
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # local properties of Spark's streaming jobs


@dataclass
class Written(WriterCommitMessage):
    """How many rows a task appended."""

    rows: int


class _Writer:
    """What tasks need to know; it is pickled."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.where = Where.of(options)
        found = overlay_of(self.where)
        check_columns(schema, self.where.stream, found.declared)
        self.declared = found.declared
        self.sources = _chosen(options.get("sources"), found.sources)
        self.outgoing = Outgoing(self.where.stream, found.declared)

    def append(self, origin: str, batches: Iterable[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        batch = context.getLocalProperty(_BATCH)
        base = int(batch or 0) << _BATCH_BITS
        source = self.sources[partition % len(self.sources)]
        rows = 0
        with connect_blocking(self.where.url) as client:
            appending = client.appending(f"{origin}/{partition}", source)
            now_ms = round(1000 * client.connection.overlay_time()[0])
            for messages in self._frames(batches, now_ms):
                _append(appending, Publish(appending.inner.origin, base + rows, messages, base), self.where.stream)
                rows += len(messages)
            appending.drained()
        return Written(rows)

    def _frames(self, batches: Iterable[pa.RecordBatch], now_ms: int) -> Iterator[tuple[Message, ...]]:
        streams = Streams({self.where.stream: self.declared})
        waiting: list[Message] = []
        for batch in batches:
            for message in self.outgoing.messages(batch, now_ms):
                unfit = streams.refusal(message)
                if unfit is not None:
                    raise Refused(f"a row does not fit stream {self.where.stream!r}: {unfit}")
                waiting.append(message)
                if len(waiting) == _FRAME:
                    yield from _cut(waiting)
        yield from _cut(waiting)


def _cut(waiting: list[Message]) -> Iterator[tuple[Message, ...]]:
    while waiting:
        count = fitting(len(message.payload) for message in waiting)
        yield tuple(waiting[:count])
        del waiting[:count]


def _append(appending: BlockingAppending, frame: Publish, stream: str) -> None:
    try:
        appending.append(frame)
    except Refused as error:
        raise Refused(f"a row does not fit stream {stream!r}: {error}") from None


def _chosen(given: str | None, there: list[str]) -> list[str]:
    """The sources that partitions are spread over: those that are named, else all."""
    names = [name.strip() for name in (given or "").split(",") if name.strip()] or there
    unknown = [name for name in names if name not in there]
    if unknown:
        raise SemcastError(f"there is no source {unknown[0]!r}; there is {', '.join(there)}")
    if not names:
        raise SemcastError("no source is there at the moment")
    return names


class StreamPublisher(_Writer, DataSourceStreamArrowWriter):
    """The sink of a streaming query: exactly once, also when tasks or the driver are killed."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        query = context.getLocalProperty(_QUERY) if context is not None else None
        if query is None:
            raise SemcastError("Spark does not say which query this is; rows could not be told from repeated ones")
        return self.append(f"spark/{query}", iterator)


class BatchPublisher(_Writer, DataSourceArrowWriter):
    """A single write. Tasks that are repeated append nothing twice; with an ``origin`` neither does the whole write."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        super().__init__(options, schema)
        self.origin = options.get("origin") or uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self.append(f"spark/{self.origin}", iterator)
