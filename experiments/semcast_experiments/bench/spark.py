"""Matching inside Spark: ours through mapInArrow, and plain Spark joins as its peers.

All run on the same ``local[2]`` and write to Spark's noop sink. Plain Spark has to give no more than pairs
of numbers; ours gives back every column of the message with the array of its profiles. One plan of plain
Spark gives that as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from semcast_experiments.bench.conjunctions import NUMBERS, Conjunctions
from semcast_experiments.bench.duck import bounds, nullable_bounds, nullable_columns
from semcast_experiments.bench.race import Contender, Keys

_FILES = 4  # so that both cores have something to read, whatever the number of messages

Spark = Any  # a SparkSession; only the package pipeline imports pyspark


class Stream:
    """Messages as Parquet files, a set of files per number of messages, written when first asked for."""

    def __init__(self, spark: Spark, folder: Path, messages: pa.Table) -> None:
        self.spark = spark
        self.folder = folder
        self.messages = messages

    def read(self, count: int) -> Any:
        folder = self.folder / str(count)
        if not folder.exists():
            folder.mkdir(parents=True)
            size = -(-count // _FILES)
            for part in range(0, count, size):
                chunk = self.messages.slice(part, min(size, count - part))
                pq.write_table(chunk, folder / f"{part}.parquet", use_dictionary=["symbol"], compression="none")
        return self.spark.read.parquet(str(folder))


class MatchInSpark:
    """``semcast.pipeline.match``: the index is built and broadcast when the contender is made."""

    peer = "semcast"
    plan = "mapInArrow"

    def __init__(self, stream: Stream, profiles: Sequence[Any]) -> None:
        self.stream = stream
        self.parsed = profiles
        self.profiles = len(profiles)
        self._frames: dict[int, Any] = {}

    def run(self, count: int) -> None:
        _drain(self._frame(count))

    def keys(self, count: int) -> Keys:
        found = _collected(self._frame(count).select("row", "profiles")).combine_chunks()
        lists = found.column("profiles").combine_chunks()
        rows = np.repeat(found.column("row").to_numpy().astype(np.int64), lists.value_lengths().to_numpy())
        return _sorted(rows, lists.flatten().to_numpy(), self.profiles)

    def _frame(self, count: int) -> Any:
        from semcast.pipeline.match import match

        if count not in self._frames:
            self._frames[count] = match(self.stream.read(count), self.parsed)
        return self._frames[count]


class SparkPlan:
    """A join written in SQL; ``{m}`` in it stands for the messages."""

    peer = "plain Spark"

    def __init__(self, stream: Stream, plan: str, query: str, profiles: int) -> None:
        self.stream = stream
        self.plan = plan
        self.query = query
        self.profiles = profiles

    def run(self, count: int) -> None:
        _drain(self._frame(count))

    def keys(self, count: int) -> Keys:
        frame = self._frame(count)
        if "profiles" in frame.columns:
            frame = frame.selectExpr("row", "explode(profiles) AS profile")
        pairs = _collected(frame)
        rows, profiles = (pairs.column(name).to_numpy() for name in ("row", "profile"))
        return _sorted(rows, profiles, self.profiles)

    def _frame(self, count: int) -> Any:
        view = f"messages_{count}"
        self.stream.read(count).createOrReplaceTempView(view)
        return self.stream.spark.sql(self.query.format(m=view))


def spark_contenders(
    spark: Spark,
    folder: Path,
    conjunctions: Conjunctions,
    profiles: Sequence[Any],
    messages: pa.RecordBatch,
    thorough: bool,
) -> list[Contender]:
    """Ours first, then the plain joins; not ``thorough``: only the join that is the best on W1."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1 << 15)  # as `semcast match` does
    coded = conjunctions.coded(messages)
    texts = pa.table({"row": coded.column("row"), **dict(zip(messages.schema.names, messages.columns, strict=True))})
    wide = folder / "wide.parquet"
    pq.write_table(conjunctions.wide(), wide)
    spark.read.parquet(str(wide)).createOrReplaceTempView("wide")
    spark.sql(f"SELECT {nullable_columns()} FROM wide").createOrReplaceTempView("nullable")
    stream = Stream(spark, folder / "coded", coded)
    plans = [SparkPlan(stream, plan, query, len(profiles)) for plan, query in _queries(thorough).items()]
    return [MatchInSpark(Stream(spark, folder / "texts", texts), profiles), *plans]


def _queries(thorough: bool) -> dict[str, str]:
    pairs = "SELECT /*+ BROADCAST(p) */ row, profile FROM {m} m JOIN"
    columns = ", ".join(["row", "m.symbol", *(f"m.a{i}" for i in range(NUMBERS))])
    hash_join = f"{pairs} wide p ON m.symbol = p.symbol AND {bounds(NUMBERS)}"
    if not thorough:
        return {"broadcast hash join": hash_join}
    return {
        "broadcast hash join": hash_join,
        "broadcast nested loop": (
            # Spark makes a hash join of every equality that it sees.
            f"{pairs} wide p ON m.symbol >= p.symbol AND m.symbol <= p.symbol AND {bounds(NUMBERS)}"
        ),
        "hash join, messages with arrays": (
            f"SELECT /*+ BROADCAST(p) */ {columns}, collect_list(profile) AS profiles FROM {{m}} m "
            f"JOIN wide p ON m.symbol = p.symbol AND {bounds(NUMBERS)} GROUP BY {columns}"
        ),
        "hash join, NULL for unbounded": f"{pairs} nullable p ON m.symbol = p.symbol AND {nullable_bounds()}",
    }


def _drain(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _collected(frame: Any) -> pa.Table:
    try:
        return frame.toArrow()
    except Exception as error:
        # Interrupted while it reads, pyspark asks Spark for the result once more and raises what that says.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def quiet(spark: Spark) -> Iterator[None]:
    """Keep Spark from logging that its tasks were cancelled, which is what Ctrl-C does; errors are raised anyway."""
    level = os.environ.get("SEMCAST_SPARK_LOG")
    if level is None:
        spark.sparkContext.setLogLevel("OFF")
    yield
    if level is None:  # not after an interrupt: tasks go on ending for a while
        spark.sparkContext.setLogLevel("ERROR")


def _sorted(rows: Any, profiles: Any, number: int) -> Keys:
    keys: Keys = rows.astype(np.int64) * number + profiles
    keys.sort()
    return keys
