"""Routing as a transformation of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from semcast.matching import parsed
from semcast.model import SemcastError
from semcast.pipeline.match import shared
from semcast.planning.plan import Plan
from semcast.planning.router import ChannelBatch, Router


def route(
    df: DataFrame,
    plan: Plan,
    profiles: Mapping[str, Any],
    *,
    language: str | None = None,
    column: str = "channels",
    source: str | None = None,
) -> DataFrame:
    """Add to each row of ``df`` the ids of the channels that carry it, as an array in ``column``.

    ``profiles`` are the plan's, by id: parsed, or texts (relational unless ``language`` says otherwise). One of each
    class of equal profiles is matched, once per message. The messages enter the overlay at ``source``, by default
    the first of the plan. Works on streaming DataFrames too.
    """
    if column in df.columns:
        raise SemcastError(f"the DataFrame already has a column {column!r}; name another with column=")
    missing = [profile for profile in plan.subscriptions if profile not in profiles]
    if missing:
        raise SemcastError(f"the plan serves profile {missing[0]!r}, which is not among the profiles given")
    distinct = [profile for profile in plan.subscriptions if profile not in plan.same_as]
    chosen, given = parsed([profiles[profile] for profile in distinct], language)
    load = shared(df.sparkSession, (chosen.matcher(given), Router(plan, distinct, source)))
    names = pa.array([channel.id for channel in plan.channels], pa.string())

    def add_channels(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher, router = load()
        for batch in batches:
            routed = router.route(matcher.match(batch))
            yield batch.append_column(column, _lists(routed, batch.num_rows, names))

    schema = StructType([*df.schema.fields, StructField(column, ArrayType(StringType(), False), False)])
    return df.mapInArrow(add_channels, schema)


def _lists(routed: list[ChannelBatch], rows: int, names: pa.StringArray) -> pa.ListArray:
    """Per row its channels, in the plan's order."""
    row = np.concatenate([np.empty(0, np.int64), *(batch.rows for batch in routed)])
    channel = np.repeat([batch.channel for batch in routed], [len(batch.rows) for batch in routed]).astype(np.int64)
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(rows + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(ends, names.take(pa.array(channel[order], pa.int64())))
