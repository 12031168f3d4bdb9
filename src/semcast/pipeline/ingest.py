"""What is published on a stream of mode ``spark``: it waits in the sources' logs, and a pipeline reads it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from semcast.client import BlockingClient, connect_blocking
from semcast.model import SemcastError
from semcast.model.message import unpacked
from semcast.pipeline.options import Where
from semcast.pipeline.subscribing import Logs
from semcast.pipeline.tasks import COLUMNS
from semcast.protocol.wire.frames import Ingested

_MOST = 100_000
_TYPES = {"binary": pa.binary(), "string": pa.string(), "long": pa.int64()}
_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in (column.split() for column in COLUMNS.split(", "))])


class IngestDataSource(DataSource):
    """``format("semcast-ingest")``: the pipeline's own; everybody else subscribes."""

    @classmethod
    def name(cls) -> str:
        return "semcast-ingest"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return IngestReader(self.options)


class Stretch(InputPartition):
    """A part of one source's log: (first, through]."""

    def __init__(self, source: str, first: int, through: int) -> None:
        self.source, self.first, self.through = source, first, through


class IngestReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is a position per source. A source's log is read by one task, as it stands there."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.where = Where.of(options)
        self.most = int(options.get("maxMessagesPerTrigger", _MOST))
        self._client: BlockingClient | None = None
        self._target: dict[str, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}

    def _connected(self) -> BlockingClient:
        if self._client is None:
            self._client = connect_blocking(self.where.url)
        return self._client

    def initialOffset(self) -> dict[str, int]:
        """With the first that is there: a source keeps all that no pipeline is through with."""
        return dict(sorted(Logs.of(self._connected()).first.items()))

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = Logs.of(self._connected()).last

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        last = self._target if self._target is not None else Logs.of(self._connected()).last
        if isinstance(limit, ReadAllAvailable):
            most = 1 << 62
        else:
            most = max(1, getattr(limit, "max_rows", self.most) // max(1, len(last)))
        ends = {source: min(end, start.get(source, 0) + most) for source, end in last.items()}
        return dict(sorted({**start, **{s: max(end, start.get(s, 0)) for s, end in ends.items()}}.items()))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Stretch(s, start.get(s, 0), through) for s, through in end.items() if through > start.get(s, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Stretch)
        at = partition.first
        with connect_blocking(self.where.url) as client:
            while at < partition.through:
                asked = client.connection.waiting(partition.source, at, partition.through)
                end, gone, bodies = client.run(asked)
                if gone > at:
                    raise SemcastError(f"messages {at + 1} to {gone} of {partition.source} are gone from its log")
                at = end
                yield self._batch(partition.source, bodies)

    def _batch(self, source: str, bodies: list[bytes]) -> pa.RecordBatch:
        messages = [message for message in map(unpacked, bodies) if message.stream == self.where.stream]
        rows = [
            {"payload": m.payload, "topic": m.topic, "key": m.key, "time_ms": m.time_ms, "place": f"ingest-{source}"}
            for m in messages
        ]
        return pa.RecordBatch.from_pylist(rows, _SCHEMA)

    def commit(self, end: dict[str, int]) -> None:
        """What was routed need not be kept any longer."""
        client = self._connected()

        async def told() -> None:
            for source, position in end.items():
                client.connection.say(source, Ingested(position))

        client.run(told())
