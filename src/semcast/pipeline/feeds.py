"""Where the pipeline's messages come from: files, Kafka, or a rate; all of them as the same columns.

A *place* is a part of a source whose rows are read by one task in one order, whenever they are read: a file, a
partition of Kafka. Its messages are told apart by their number within it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from semcast.model import SemcastError
from semcast.pipeline.ingest import IngestDataSource
from semcast.pipeline.options import Where
from semcast.pipeline.rows import columns_of
from semcast.protocol.streams import Stream

FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet", ".xml": "xml"}
_WHOLE = 1 << 40
"""Bytes: no file is as long, so none is split, and each has a task of its own."""
_BAD = "_unreadable"


class Feed(NamedTuple):
    """A source as the command line names it."""

    kind: str
    """json, csv, parquet, xml, kafka, ingest or rate."""
    where: str
    server: str = ""

    @property
    def packages(self) -> str | None:
        """Spark packages that it needs, of the version of the Spark that runs here."""
        found = "org.apache.spark:spark-sql-kafka-0-10_2.13:" + re.sub(r"\.dev\d*$", "", pyspark.__version__)
        return found if self.kind == "kafka" else None


def feed_of(text: str, kind: str | None = None) -> Feed:
    """``ingest``, ``kafka://host:port/topic``, ``rate:1000`` or a folder, whose files' endings tell the kind."""
    if text.startswith("kafka://"):
        parts = urlsplit(text)
        if not parts.netloc or not parts.path.strip("/"):
            raise SemcastError(f"{text!r}: write kafka://host:port/topic")
        return Feed("kafka", parts.path.strip("/"), parts.netloc)
    if text == "ingest":
        return Feed("ingest", "")
    if text.startswith("rate:"):
        if not text[5:].isdigit() or not int(text[5:]):
            raise SemcastError(f"{text!r}: write rate: and how many messages a second, rate:1000")
        return Feed("rate", text[5:])
    folder = Path(text)
    if not folder.is_dir():
        raise SemcastError(f"{text}: no such folder; messages come from a folder, kafka://host:port/topic or rate:1000")
    endings = sorted({FORMATS[file.suffix] for file in folder.iterdir() if file.suffix in FORMATS})
    if kind is None and len(endings) != 1:
        there = f"holds {' and '.join(endings)} files" if endings else "holds no messages yet"
        raise SemcastError(f"{text}: {there}; say which with --format {', '.join(sorted(set(FORMATS.values())))}")
    return Feed(kind or endings[0], str(folder.absolute()))


def read_feed(spark: SparkSession, feed: Feed, where: Where, declared: Stream, at_once: int) -> DataFrame:
    """The source as a streaming frame of the pipeline's columns; ``at_once``: files, or thousands of messages."""
    own = spark.newSession()
    own.conf.set("spark.sql.files.maxPartitionBytes", _WHOLE)
    own.conf.set("spark.sql.files.openCostInBytes", _WHOLE)
    match feed.kind:
        case "kafka":
            return _kafka(own, feed, at_once)
        case "ingest":
            if declared.mode != "spark":
                raise SemcastError(f"stream {where.stream!r} is {declared.mode}: nothing of it waits for a pipeline")
            own.dataSource.register(IngestDataSource)
            options = {"url": where.url, "stream": where.stream, "maxMessagesPerTrigger": str(1000 * at_once)}
            return own.readStream.format("semcast-ingest").options(**options).load()
        case "rate":
            return _rate(own, feed, declared)
        case "json" | "xml":
            return _texts(own, feed, at_once)
    return _table(own, feed, declared, at_once)


def _columns(frame: DataFrame, payload: Any, place: Any, **others: Any) -> DataFrame:
    nothing = F.lit(None).cast("string")
    return frame.select(
        payload.cast("binary").alias("payload"),
        others.get("topic", nothing).alias("topic"),
        others.get("key", nothing).alias("key"),
        others.get("time_ms", F.lit(None).cast("long")).alias("time_ms"),
        place.alias("place"),
    )


def _kafka(spark: SparkSession, feed: Feed, at_once: int) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": feed.server,
        "subscribe": feed.where,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(1000 * at_once),
    }
    frame = spark.readStream.format("kafka").options(**options).load()
    place = F.concat_ws("-", F.lit("kafka"), "topic", F.col("partition").cast("string"))
    time_ms = F.unix_millis("timestamp")
    return _columns(frame, F.col("value"), place, key=F.col("key").cast("string"), time_ms=time_ms)


def _rate(spark: SparkSession, feed: Feed, declared: Stream) -> DataFrame:
    """Made-up messages that fit the stream: numbers count up to 1,000, strings are S0 to S6."""
    made: dict[str, Any] = {
        "number": F.col("value") % 1000,
        "string": F.concat(F.lit("S"), F.col("value") % 7),
        "boolean": F.col("value") % 2 == 0,
        "timestamp": F.date_format("timestamp", "yyyy-MM-dd'T'HH:mm:ss'Z'"),
    }
    kinds = dict(declared.kinds or {})
    if declared.language != "relational" or any("." in name for name in kinds):
        raise SemcastError("rate: makes up messages of relational streams with flat attributes only")
    fields = [made[str(kind)].alias(name) for name, kind in kinds.items()] or [F.col("value")]
    frame = spark.readStream.format("rate").options(rowsPerSecond=feed.where, numPartitions="2").load()
    place = F.concat(F.lit("rate-"), F.spark_partition_id())
    return _columns(frame, F.to_json(F.struct(*fields)), place, time_ms=F.unix_millis("timestamp"))


def _texts(spark: SparkSession, feed: Feed, files: int) -> DataFrame:
    """Lines, or whole documents."""
    reader = spark.readStream.option("maxFilesPerTrigger", files)
    frame = reader.text(feed.where, wholetext=feed.kind == "xml", recursiveFileLookup=True)
    if feed.kind == "json":
        frame = frame.where(F.length(F.trim("value")) > 0)
    return _columns(frame, F.col("value"), F.col("_metadata.file_path"))


def _table(spark: SparkSession, feed: Feed, declared: Stream, files: int) -> DataFrame:
    """Rows as JSON; cells of CSV that cannot be read leave the line as it is, which is no message then."""
    known = [field for field in columns_of(declared).fields if not field.name.startswith("_")]
    if not declared.schema and declared.language == "relational":
        raise SemcastError(f"{feed.where}: {feed.kind} files need a stream with a schema")
    schema = T.StructType(known)
    reader = spark.readStream.option("maxFilesPerTrigger", files)
    if feed.kind == "csv":
        options = {
            "header": "true",
            "columnNameOfCorruptRecord": _BAD,
            "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]",
        }
        frame = reader.options(**options).schema(schema.add(_BAD, T.StringType())).csv(feed.where)
    else:
        frame = reader.schema(schema).parquet(feed.where).withColumn(_BAD, F.lit(None).cast("string"))
    place = F.col("_metadata.file_path")
    if declared.language == "relational":
        row = F.to_json(F.struct(*[F.col(f"`{field.name}`") for field in known]))
        return _columns(frame, F.coalesce(F.col(_BAD), row), place)
    topic = {"topic": F.col("topic")} if declared.language == "topic" else {}
    return _columns(frame, F.col("payload"), place, **topic)
