"""Matching as a transformation of DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from semcast.matching import parsed
from semcast.matching.matchers import read
from semcast.matching.matches import Matches
from semcast.model import SemcastError


def match(
    df: DataFrame,
    profiles: Sequence[Any] | Mapping[str, Any],
    *,
    language: str | None = None,
    column: str = "profiles",
    unreadable: str | None = None,
) -> DataFrame:
    """Add to each row of ``df`` the profiles that match it, as an array in ``column``.

    ``profiles`` are parsed profiles or their texts; texts are relational unless ``language`` says
    otherwise. Given as a sequence, the array holds their positions; given as a mapping, it holds their
    keys. Works on streaming DataFrames too. The index is built here, once, and broadcast; workers only load it.

    A message that cannot be read (XML that is not well-formed, too large, …) matches nothing and costs no other
    row anything. ``unreadable`` names a column to say so: there stands why, and NULL where it was read.
    """
    added = [(column, "column"), *([(unreadable, "unreadable")] if unreadable is not None else [])]
    for name, argument in added:
        if name in df.columns or (argument, name) == ("unreadable", column):
            raise SemcastError(f"the DataFrame already has a column {name!r}; name another with {argument}=")
    chosen, given = parsed(list(profiles.values()) if isinstance(profiles, Mapping) else profiles, language)
    matcher = chosen.matcher(given)
    names = pa.array([str(key) for key in profiles], pa.string()) if isinstance(profiles, Mapping) else None
    load = shared(df.sparkSession, matcher)

    def add_matches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = load()
        for batch in batches:
            found = read(loaded, batch)
            more = batch.append_column(column, as_lists(found.matches, names))
            if unreadable is not None:
                why = [found.unreadable.get(row) for row in range(batch.num_rows)]
                more = more.append_column(unreadable, pa.array(why, pa.string()))
            yield more

    element = IntegerType() if names is None else StringType()
    fields = [*df.schema.fields, StructField(column, ArrayType(element, False), False)]
    if unreadable is not None:
        fields.append(StructField(unreadable, StringType(), True))
    return df.mapInArrow(add_matches, StructType(fields))


def as_lists(matches: Matches, names: pa.StringArray | None) -> pa.ListArray:
    """One list per row: profile indices, or their names."""
    values = pa.array(matches.indices.astype(np.int32, copy=False))
    return pa.ListArray.from_arrays(matches.indptr.astype(np.int32), values if names is None else names.take(values))


def shared(spark: SparkSession, value: Any) -> Callable[[], Any]:
    """A function that gives workers ``value``: loaded once per worker process, however many its tasks."""
    try:
        broadcast = spark.sparkContext.broadcast(value)
    except Exception:  # Spark Connect has no context; then the value travels with the function
        return lambda: value
    return lambda: broadcast.value
