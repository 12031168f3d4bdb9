"""The overlap matrix as a Spark job: a block of profiles per task (DESIGN §6), in one of two ways.

*Broadcast*: the selectivity matrix goes to every executor once, and each task multiplies the rows of its profiles. The
faster way while the sample is small enough to be in one place.
*Distributed*: the sample stays in parts. Each part sends every block the messages that match any of its profiles, and
the block's task adds them up as they come, in the order of their parts: it holds its rows of the matrix and never the
sample. (A self-join of the matches, or partial sums per part, moves the whole matrix over the network, many times.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from semcast.channels.overlap import Block, Overlap, Sums, blocks, overlap_block, ranges_of
from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches, pointers
from semcast.pipeline.match import shared

MOST_BROADCAST = 1 << 28
"""Bytes of a sample up to which it is broadcast: 64 million matches."""
_BLOCKS_PER_CORE = 4
_BLOCK_BYTES = 1 << 26  # of the rows that a task holds, in the distributed way
_PART_MATCHES = 1 << 19
_PARTS = "part long, counts binary, profiles binary, weights binary"
_BLOCKS = "first long, ends binary, others binary, counts binary, shares binary"


def overlap(
    spark: SparkSession, selectivity: Selectivity, least: float = 0.0, *, most_broadcast: int = MOST_BROADCAST
) -> Overlap:
    """Compute the overlap matrix; pairs below ``least`` in which neither contains the other are left out.

    Samples of more than ``most_broadcast`` bytes are not broadcast.
    """
    if 4 * len(selectivity.matches) > most_broadcast:
        return overlap_of_parts(parts_of(spark, selectivity), selectivity.profiles, least)
    ranges = blocks(selectivity, _BLOCKS_PER_CORE * spark.sparkContext.defaultParallelism)
    if not ranges:
        return Overlap.of([])
    load = shared(spark, selectivity)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = load()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                first, last = ranges[number]
                yield _packed(overlap_block(loaded, first, last, least))

    return Overlap.of(_collected(spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(run, _BLOCKS)))


def overlap_of_parts(parts: DataFrame, profiles: int, least: float = 0.0) -> Overlap:
    """The same from a sample that is in parts: rows of (part, counts, profiles, weights).

    Per part the profiles of all its messages as int32, one behind the other, how many each message has as int32, and
    what each counts as float64. Nothing but the matrix comes here; a task holds 64 MB of it and a few parts.
    """
    if not profiles:
        return Overlap.of([])
    totals, work = _totals(parts, profiles)
    count = _BLOCKS_PER_CORE * parts.sparkSession.sparkContext.defaultParallelism
    ranges = ranges_of(work, count, max(1, _BLOCK_BYTES // (12 * profiles)))
    edges = np.array([first for first, _ in ranges])

    def spread(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in _parts(batches):
            for block, rows in _rows_of_blocks(part.matches, edges):
                yield _row(part.number, part.matches.taken(rows), part.weights[rows], block)

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums: dict[int, Sums] = {}
        for part in _parts(batches):
            if part.block not in sums:
                sums[part.block] = Sums.of(*ranges[part.block], profiles)
            sums[part.block].add(part.matches, part.weights)
        for block in sorted(sums):
            yield _packed(sums[block].block(totals, least))

    sent = parts.mapInArrow(spread, f"{_PARTS}, block int").repartitionById(len(ranges), "block")
    found = _collected(sent.sortWithinPartitions("part").mapInArrow(add, _BLOCKS))
    there = {block.first for block in found}
    return Overlap.of([*found, *(Block.nothing(first, last) for first, last in ranges if first not in there)])


def parts_of(spark: SparkSession, selectivity: Selectivity) -> DataFrame:
    """A sample that is here, in parts of some megabytes."""
    counts = selectivity.matches.counts()
    ends = np.cumsum(counts) // _PART_MATCHES
    edges = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), selectivity.messages]
    rows = [np.arange(first, last) for first, last in pairwise(edges) if first < last]
    batches = [_row(at, selectivity.matches.taken(held), selectivity.weights[held]) for at, held in enumerate(rows)]
    table = pa.Table.from_batches(batches, _SCHEMA)
    return spark.createDataFrame(table).repartition(spark.sparkContext.defaultParallelism)


class _Part(NamedTuple):
    """Some messages of a sample, for one block or for all."""

    number: int
    block: int
    matches: Matches
    weights: NDArray[np.float64]


_SCHEMA = pa.schema(
    [
        ("part", pa.int64()), ("counts", pa.binary()), ("profiles", pa.binary()), ("weights", pa.binary()),
        ("block", pa.int32()),
    ]
)  # fmt: skip


def _row(part: int, matches: Matches, weights: NDArray[np.float64], block: int = -1) -> pa.RecordBatch:
    parts = (matches.counts().astype(np.int32), matches.indices.astype(np.int32, copy=False), weights)
    blobs = [pa.array([held.tobytes()], pa.binary()) for held in parts]
    columns = [pa.array([part], pa.int64()), *blobs, pa.array([block], pa.int32())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[_Part]:
    for batch in batches:
        for row in batch.to_pylist():
            indptr = pointers(np.frombuffer(row["counts"], np.int32))
            # Compiled loops take no read-only arrays.
            matches = Matches(indptr, np.frombuffer(bytearray(row["profiles"]), np.int32))
            weights = np.frombuffer(bytearray(row["weights"]), np.float64)
            yield _Part(row["part"], row.get("block", -1), matches, weights)


def _totals(parts: DataFrame, profiles: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per profile how many messages it matched, and how many matches these have together."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = np.zeros((2, profiles), np.int64)
        for part in _parts(batches):
            indices, lengths = part.matches.indices, part.matches.counts()
            found[0] += np.bincount(indices, minlength=profiles)
            found[1] += np.bincount(indices, np.repeat(lengths, lengths), profiles).astype(np.int64)
        yield pa.RecordBatch.from_arrays([pa.array([found.tobytes()], pa.binary())], names=["found"])

    total = np.zeros((2, profiles), np.int64)
    for row in parts.mapInArrow(count, "found binary").toArrow().column(0).to_pylist():
        total += np.frombuffer(row, np.int64).reshape(2, profiles)
    return total[0], total[1]


def _rows_of_blocks(matches: Matches, edges: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Per block that any message matches, those messages."""
    row = np.repeat(np.arange(matches.rows), matches.counts())
    block = np.searchsorted(edges, matches.indices, side="right") - 1
    # The profiles of a message ascend, so the messages of a block stand together in each.
    new = np.ones(len(row), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (block[1:] != block[:-1])
    row, block = row[new], block[new]
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(len(edges) + 1))
    for number in np.unique(block).tolist():
        yield number, row[order[ends[number] : ends[number + 1]]]


def _packed(block: Block) -> pa.RecordBatch:
    arrays = (block.ends, block.others, block.counts, block.shares)
    columns = [pa.array([block.first], pa.int64()), *(pa.array([part.tobytes()], pa.binary()) for part in arrays)]
    return pa.RecordBatch.from_arrays(columns, names=["first", "ends", "others", "counts", "shares"])


def _collected(frame: DataFrame) -> list[Block]:
    return [_unpacked(row) for row in frame.toArrow().to_pylist()]


def _unpacked(row: dict[str, object]) -> Block:
    kinds = {"ends": np.int64, "others": np.int32, "counts": np.int64, "shares": np.float64}
    first, *parts = row["first"], *(np.frombuffer(row[name], kind) for name, kind in kinds.items())  # type: ignore[call-overload]
    return Block(first, *parts)  # type: ignore[arg-type]
