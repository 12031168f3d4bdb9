"""From a batch's ``topic`` column to its distinct topics, and back to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.matching.matches import Matches, pointers
from semcast.matching.topic.cache import Found
from semcast.model import SemcastError

COLUMN = "topic"
_FEW = 16  # below so many rows, finding equal topics costs more than it saves

Array = Any  # pyarrow ships no types


class Topics(NamedTuple):
    """The topics of some rows: row r has ``values[codes[r]]``; None matches nothing."""

    values: list[str | None]
    codes: NDArray[np.int64]


def topics_of(batch: pa.RecordBatch | pa.Table) -> list[Topics]:
    """The topics of consecutive parts of ``batch``; a missing column, NULL or what is no text is None."""
    places = batch.schema.get_all_field_indices(COLUMN)
    if len(places) > 1:
        raise SemcastError(f"the batch has {len(places)} columns named {COLUMN!r}")
    if not places:
        return [_none(batch.num_rows)]
    column = batch.column(places[0])
    return [_topics(part) for part in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])]


def expanded(topics: Topics, found: Sequence[Found]) -> Matches:
    """The matches of the rows, from those of their distinct topics."""
    if not found:
        return Matches.none(len(topics.codes))
    counts = np.fromiter(map(len, found), np.int64, len(found))
    starts = np.cumsum(counts) - counts
    per_row = counts[topics.codes]
    indptr = pointers(per_row)
    at = np.repeat(starts[topics.codes] - indptr[:-1], per_row)
    at += np.arange(indptr[-1])
    return Matches(indptr, np.concatenate(found)[at])


def _topics(column: Array) -> Topics:
    column = _plain(column)
    if not _is_text(column.type):
        return _none(len(column))
    if len(column) <= _FEW and not pa.types.is_dictionary(column.type):
        return Topics(_values(column), np.arange(len(column)))
    encoded = column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary)).to_numpy()
    values = encoded.dictionary
    if len(values) <= len(column):
        return Topics([*_values(values), None], codes)
    # A slice of a batch may carry the dictionary of all of it: only what it uses is looked at.
    used, codes = np.unique(codes, return_inverse=True)
    none = len(used) and used[-1] == len(values)
    return Topics([*_values(values.take(pa.array(used[: len(used) - none]))), *([None] if none else [])], codes)


def _plain(column: Array) -> Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def _is_text(type_: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(type_):
        type_ = type_.value_type
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _values(texts: Array) -> list[str | None]:
    try:
        values: list[str | None] = texts.to_numpy(zero_copy_only=False).tolist()
    except (pa.ArrowException, UnicodeDecodeError):  # bytes that are no UTF-8, under a string's type
        return [_decoded(value) for value in texts.cast(pa.large_binary()).to_pylist()]
    return values


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _none(rows: int) -> Topics:
    return Topics([None], np.zeros(rows, np.int64))
