"""Statistics from what a pipeline has sampled: messages with their bodies, matched anew with the profiles of today.

A profile that came late would look rare by what was matched when messages passed. Here it does not: each sampled body
is matched with all profiles of its stream, on Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from semcast.model.message import Message
from semcast.pipeline.match import as_lists, shared
from semcast.pipeline.plans import StreamMatching
from semcast.protocol.coordinator.commissions import Commission
from semcast.protocol.coordinator.planner import Statistics
from semcast.protocol.wire.frames import Switch

WINDOW = 100_000
"""Sampled messages that are looked at, the newest."""
COLUMNS = ("stream", "source", "topic", "payload")


def sampled(spark: SparkSession, folder: Path, commission: Commission, window: int = WINDOW) -> Statistics:
    """What sources sampled, with the folder's messages in place of theirs where it has any of a stream.

    Those of a stream at a source count together as much as what they stand in for: a folder holds one stream's
    messages for long, a source the latest of all.
    """
    table = newest(folder, window)
    rows = {source: list(held) for source, held in commission.rows.items()}
    weights = {source: [1.0] * len(held) for source, held in rows.items()}
    for stream in sorted(set(table.column("stream").to_pylist())):
        names = {name for name, profile in commission.profiles.items() if profile.stream == stream}
        if names:
            found = _matched(spark, table.filter(pc.equal(table.column("stream"), stream)), stream, commission)
            for source in commission.sources:
                here = [row for at, row in found if at == source]
                if any(here):
                    _stand_in(rows.setdefault(source, []), weights.setdefault(source, []), here, names)
    return Statistics(rows, weights)


def newest(folder: Path, window: int) -> pa.Table:
    """The last messages that were written, whole files of them; files of another kind are passed over."""
    tables: list[pa.Table] = []
    for file in sorted(folder.glob("batch-*.parquet"), reverse=True):
        if sum(table.num_rows for table in tables) >= window:
            break
        if set(COLUMNS) <= set(pq.read_schema(file).names):
            held = pq.read_table(file, columns=list(COLUMNS))
            tables.append(held.set_column(COLUMNS.index("topic"), "topic", held.column("topic").cast(pa.string())))
    empty = pa.table({name: pa.array([], pa.string()) for name in COLUMNS})
    return pa.concat_tables(reversed(tables)) if tables else empty


def _matched(
    spark: SparkSession, table: pa.Table, stream: str, commission: Commission
) -> list[tuple[str, tuple[str, ...]]]:
    """(source, the profiles that match it) of each message of one stream."""
    profiles = tuple((name, profile, ()) for name, profile in commission.profiles.items())
    language = next(profile.language for _, profile, _ in profiles if profile.stream == stream)
    matching = StreamMatching(stream, language)
    matching.follow(Switch(commission.term, commission.epoch, commission.scheme, (), profiles, ()))
    load = shared(spark, matching)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = load()
        for batch in batches:
            bodies, topics = (batch.column(name).to_pylist() for name in ("payload", "topic"))
            messages = [Message(stream, body.encode(), topic, 0) for body, topic in zip(bodies, topics, strict=True)]
            lists = as_lists(loaded.match(messages), None)
            yield pa.RecordBatch.from_arrays([batch.column("source"), lists], ["source", "profiles"])

    frame = spark.createDataFrame(table).repartition(spark.sparkContext.defaultParallelism)
    found = frame.mapInArrow(run, "source string, profiles array<int>").toArrow()
    rows = zip(found.column("source").to_pylist(), found.column("profiles").to_pylist(), strict=True)
    return [(source, tuple(matching.names[number] for number in numbers)) for source, numbers in rows]


def _stand_in(rows: list[tuple[str, ...]], weights: list[float], here: list[tuple[str, ...]], names: set[str]) -> None:
    """Put messages in place of those of the same stream, at the same weight together."""
    stays = [not names & set(row) for row in rows]
    replaced = sum(weight for weight, stay in zip(weights, stays, strict=True) if not stay) or 1.0
    each = replaced / sum(map(bool, here))
    rows[:] = [*(row for row, stay in zip(rows, stays, strict=True) if stay), *here]
    weights[:] = [*(weight for weight, stay in zip(weights, stays, strict=True) if stay), *([each] * len(here))]
