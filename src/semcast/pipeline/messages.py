"""Messages from files, each with its row number, matched on Spark.

A file is read in splits, in parallel. Every split gets a partition of its own, a first pass counts the rows
of each, and the second numbers them on. Spark reads tables; tasks read lines and XML documents themselves,
since Spark would take lines of any length into memory, and start a task for each document. What a task found
leaves it as text, with a last line that sums up the task; Spark's commit makes sure that each task's output
counts once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from semcast.matching import Language
from semcast.matching.decode import Decoder, Wanted, wanted_of
from semcast.matching.matchers import read
from semcast.matching.matches import Matches
from semcast.matching.payloads import COLUMN
from semcast.model import Kind, Schema, SemcastError
from semcast.pipeline.documents import documents
from semcast.pipeline.failures import failing_at
from semcast.pipeline.files import data_files
from semcast.pipeline.lines import Piece, count_lines, lines, pieces
from semcast.pipeline.match import shared
from semcast.pipeline.records import ProfileRecord
from semcast.pipeline.tally import Tally

_SMALLEST_SPLIT, _LARGEST_SPLIT = 4 << 20, 128 << 20
_BAD_ROW = "_corrupt_record"  # where Spark puts a CSV row that has not as many cells as the header
Columns = dict[str, pa.Array]
_MARK = "#"  # begins the line that sums up a task; results begin with a brace


class Split(NamedTuple):
    """A partition's place in the input: its rows are ``first`` … ``first + rows``."""

    partition: int
    first: int
    rows: int


class Source:
    """Messages by their ending: JSON Lines, CSV or Parquet, or XML documents, one file each.

    ``path`` is a file, a folder of files, or a pattern such as ``news/*.xml``.
    """

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.path = path
        files, self.format = data_files(path)
        self.files = [file.absolute() for file in files]  # Spark stays where it was started, wherever this process goes
        self.bytes = sum(file.stat().st_size for file in self.files)
        cores = spark.sparkContext.defaultParallelism
        size = min(_LARGEST_SPLIT, max(_SMALLEST_SPLIT, self.bytes // (3 * cores)))
        self.pieces = pieces(self.files, size) if self.format == "json" else []
        self.spark = self._session(spark, size)

    def _session(self, spark: SparkSession, size: int) -> SparkSession:
        """A session of our own in which no two splits share a partition."""
        own = spark.newSession()
        for key in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
            own.conf.set(key, size)
        own.conf.set("spark.sql.files.minPartitionNum", 1)
        for key in ("spark.sql.session.timeZone", "spark.sql.caseSensitive"):
            own.conf.set(key, {"spark.sql.session.timeZone": "UTC"}.get(key, "true"))
        own.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1 << 15)
        return own

    def missing(self, wanted: Iterable[str]) -> dict[str, str | None]:
        """The attributes that no column can hold, each with the column that it may have meant."""
        if self.format == "json":
            return {}
        columns = [COLUMN] if self.format == "xml" else [n for n in self.frame().columns if n != _BAD_ROW]
        known = Schema(dict.fromkeys(columns, Kind.STRING))
        roots = {name.split(".")[0] for name in columns} | set(columns)
        return {name: known.nearest(name) for name in wanted if name not in roots and name.split(".")[0] not in roots}

    def frame(self) -> DataFrame:
        """The rows as read: CSV as strings, Parquet as it is typed; of what tasks read, numbers of pieces or files."""
        paths = [str(file) for file in self.files]
        read = self.spark.read
        match self.format:
            case "csv":
                options: Any = {"header": True, "multiLine": True, "escape": '"', "enforceSchema": False}
                names = [*read.csv(paths, **options).columns, _BAD_ROW]
                schema = StructType([StructField(name, StringType()) for name in names])
                return read.csv(paths, schema=schema, columnNameOfCorruptRecord=_BAD_ROW, **options)
            case "parquet":
                return read.parquet(*paths)
            case "xml":  # tasks open the files: Spark would make a task of each
                return self.spark.range(0, len(paths), 1, self._xml_partitions())
        return self.spark.range(0, len(self.pieces), 1, len(self.pieces))

    def splits(self) -> list[Split]:
        """Where each partition's rows stand, files in order of their names."""
        if self.format == "xml":
            count, parts = len(self.files), self._xml_partitions()
            return [Split(at, at * count // parts, -1) for at in range(parts)]
        if self.format == "json":
            return self._counted()
        frame = self.frame()
        if len(self.files) == 1 and frame.rdd.getNumPartitions() <= 1:
            return [Split(0, 0, -1)]
        place = [F.spark_partition_id().alias("p"), F.col("_metadata.file_path"), F.col("_metadata.file_block_start")]
        counted = frame.select(*place).groupBy("p", "file_path", "file_block_start").count().collect()
        first, splits = 0, []
        for row in sorted(counted, key=lambda r: (r["file_path"], r["file_block_start"])):
            splits.append(Split(row["p"], first, row["count"]))
            first += row["count"]
        if len({split.partition for split in splits}) != len(splits):
            raise SemcastError(f"{self.path}: Spark put two splits into one partition, so rows cannot be numbered")
        return splits

    def _counted(self) -> list[Split]:
        if len(self.pieces) == 1:
            return [Split(0, 0, -1)]
        pieces = self.pieces

        def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                counts = pa.array([count_lines(pieces[at]) for at in batch.column(0).to_pylist()], pa.int64())
                yield pa.RecordBatch.from_arrays([batch.column(0), counts], names=["piece", "rows"])

        counted = self.frame().mapInArrow(count, "piece long, rows long").collect()
        first, splits = 0, []
        for piece, rows in sorted(map(tuple, counted)):
            splits.append(Split(piece, first, rows))
            first += rows
        return splits

    def _xml_partitions(self) -> int:
        cores = self.spark.sparkContext.defaultParallelism
        return min(len(self.files), max(3 * cores, self.bytes // _LARGEST_SPLIT))


def match_messages(
    source: Source, chosen: Language[Any], records: Sequence[ProfileRecord], schema: Schema | None, out: Path
) -> Tally:
    """Match all messages; write one JSON line per message that any profile matches, in order, to ``out``."""
    with failing_at(str(source.path)):
        return _match_messages(source, chosen, records, schema, out)


def _match_messages(
    source: Source, chosen: Language[Any], records: Sequence[ProfileRecord], schema: Schema | None, out: Path
) -> Tally:
    splits = source.splits()
    ids = [msgspec.json.encode(record.id).decode() for record in records]
    load = prepared(source, chosen, [record.profile for record in records], schema, splits)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher, job = load()
        tally = Tally()
        for found in job.run(matcher, batches, tally):
            told = _lines(found.matches, found.first, ids)
            if told:
                yield _text("\n".join(told))
        yield _text(_MARK + msgspec.json.encode(tally).decode())

    parts = out.absolute().with_name(f".{out.name}.parts")
    matched = source.frame().mapInArrow(run, "value string")
    try:
        matched.write.mode("overwrite").text(str(parts))
        return _join(parts, splits, out, matched.rdd.getNumPartitions())
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def prepared(
    source: Source,
    chosen: Language[Any],
    profiles: Sequence[Any],
    schema: Schema | None,
    splits: Sequence[Split],
    beside: Wanted | None = None,
) -> Callable[[], tuple[Any, Job]]:
    """What gives a task the matcher and the job; what cannot work is complained of now rather than in a task.

    ``beside`` are columns that are to be read too, as these kinds, whatever profiles make of them.
    """
    wanted = wanted_of(chosen, profiles, schema)
    Decoder(wanted)
    first_rows = {split.partition: split.first for split in splits}
    paths = [str(file) for file in source.files]
    job = Job(source.format, wanted, first_rows, source.pieces, paths, beside or {})
    return shared(source.spark, (chosen.matcher(profiles), job))


class Matched(NamedTuple):
    """The matches of consecutive messages, from row ``first`` on, and the columns beside them."""

    first: int
    matches: Matches
    beside: Columns


class Job:
    """What a task does; it is pickled, so it holds no Spark object."""

    def __init__(
        self,
        format_: str,
        wanted: Wanted,
        first_rows: dict[int, int],
        pieces: list[Piece],
        paths: list[str],
        beside: Wanted,
    ) -> None:
        self.format = format_
        self.wanted = wanted
        self.first_rows = first_rows
        self.pieces = pieces
        self.paths = paths
        self.beside = beside

    def run(self, matcher: Any, batches: Iterable[pa.RecordBatch], tally: Tally) -> Iterator[Matched]:
        """The matches of consecutive messages, batch by batch; ``tally`` is complete after the last."""
        context = TaskContext.get()
        row = self.first_rows.get(context.partitionId() if context else 0, 0)
        decoder = Decoder(self.wanted)
        for messages, bad, beside in self._decoded(decoder, batches):
            found = read(matcher, messages)
            matches = found.matches
            if bad:  # a bad row is all NULL, which some profiles may ask for
                matches = matches.without(bad)
            tally.pairs += len(matches)
            tally.matched += int(np.count_nonzero(matches.counts()))
            tally.saw(row, messages.num_rows, bad, found)
            yield Matched(row, matches, beside)
            row += messages.num_rows
        tally.unfit, tally.too_long = dict(decoder.unfit), decoder.too_long

    def _decoded(
        self, decoder: Decoder, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[pa.RecordBatch, list[int], Columns]]:
        """The messages, row by row as they came, which of a batch are none, and the columns beside them."""
        other = Decoder(self.beside)
        for batch in batches:
            match self.format:
                case "json":
                    for at in batch.column(0).to_pylist():
                        for some in lines(self.pieces[at]):
                            beside = _columns(other.json_lines(some)[0]) if self.beside else {}
                            yield *decoder.json_lines(some), beside
                case "parquet":
                    yield batch, [], {name: _cells(batch, name, kinds) for name, kinds in self.beside.items()}
                case "xml":
                    for messages, bad in documents(self.paths, batch.column(0).to_pylist()):
                        yield messages, bad, {}
                case _:
                    bad = np.flatnonzero(batch.column(_BAD_ROW).is_valid()).tolist()
                    yield decoder.text_columns(batch), bad, _columns(other.text_columns(batch))


def _columns(batch: pa.RecordBatch) -> Columns:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _cells(batch: pa.RecordBatch, name: str, kinds: frozenset[Kind]) -> pa.Array:
    """A table's column as it is, but for text, which is read as what is wanted of it."""
    cells = batch.column(name)
    return Decoder({name: kinds}).text_columns(batch).column(0) if pa.types.is_string(cells.type) else cells


def _lines(matches: Matches, first: int, ids: Sequence[str]) -> list[str]:
    """One line per row with matches."""
    indptr, indices = matches.indptr.tolist(), matches.indices.tolist()
    lines = []
    for at in range(len(indptr) - 1):
        begin, end = indptr[at], indptr[at + 1]
        if begin != end:
            found = ", ".join([ids[i] for i in indices[begin:end]])
            lines.append(f'{{"message": {first + at}, "profiles": [{found}]}}')
    return lines


def _text(value: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([value])], names=["value"])


def _join(parts: Path, splits: Sequence[Split], out: Path, tasks: int) -> Tally:
    """Put the tasks' outputs one behind the other in order of their rows, and add up their tallies.

    SemcastError, and no result, where one of the ``tasks`` has left nothing: each tells its tally at least.
    """
    order = {split.partition: at for at, split in enumerate(splits)}
    files = sorted(parts.glob("part-*"), key=lambda file: order.get(int(file.name.split("-")[1]), len(order)))
    total, told = Tally(), 0
    partial = out.with_name(f".{out.name}.partial")
    with partial.open("wb") as target:
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    if line.startswith(_MARK.encode()):
                        total.add(msgspec.json.decode(line[1:], type=Tally))
                        told += 1
                    else:
                        target.write(line)
    if told < tasks:
        partial.unlink()
        raise SemcastError(
            f"{out}: what {tasks - told} of {tasks} tasks found is not in {parts.parent}; "
            "if Spark runs on other machines they have to share that folder"
        )
    partial.replace(out)
    return total
