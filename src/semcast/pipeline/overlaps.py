"""The overlap matrix as a Spark job: a block of profiles per task (DESIGN §6).

The selectivity matrix goes to every executor once; each task multiplies the rows of its profiles and sends back
what is worth keeping. (A self-join of the matches, or dense partial sums per partition, moves the
whole matrix over the network.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from semcast.channels.overlap import Block, Overlap, blocks, overlap_block
from semcast.channels.selectivity import Selectivity
from semcast.pipeline.match import shared

_BLOCKS_PER_CORE = 4


def overlap(spark: SparkSession, selectivity: Selectivity, least: float = 0.0) -> Overlap:
    """Compute the overlap matrix; pairs below ``least`` in which neither contains the other are left out."""
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

    columns = "first long, ends binary, others binary, counts binary, shares binary"
    rows = spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(run, columns).toArrow()
    return Overlap.of([_unpacked(row) for row in rows.to_pylist()])


def _packed(block: Block) -> pa.RecordBatch:
    arrays = (block.ends, block.others, block.counts, block.shares)
    columns = [pa.array([block.first], pa.int64()), *(pa.array([part.tobytes()], pa.binary()) for part in arrays)]
    return pa.RecordBatch.from_arrays(columns, names=["first", "ends", "others", "counts", "shares"])


def _unpacked(row: dict[str, object]) -> Block:
    kinds = {"ends": np.int64, "others": np.int32, "counts": np.int64, "shares": np.float64}
    first, *parts = row["first"], *(np.frombuffer(row[name], kind) for name, kind in kinds.items())  # type: ignore[call-overload]
    return Block(first, *parts)  # type: ignore[arg-type]
