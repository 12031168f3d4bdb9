"""From a batch's ``payload`` column to the bytes of its rows, in slices, without copying what is too long.

What is refused here has its reason by row; all languages whose messages are documents read their payloads through this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.matching import markup
from semcast.matching.markup import Refusal
from semcast.model import SemcastError

COLUMN = "payload"
_SLICE_ROWS = 256  # documents that are kept at a time
_SLICE_BYTES = 1 << 22

Array = Any  # pyarrow ships no types
Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]


class Payloads(NamedTuple):
    """Consecutive rows: row r is ``source[begins[r]:ends[r]]``; its begin is -1 where there is nothing to read."""

    source: Bytes
    begins: Longs
    ends: Longs
    encoding: str | None
    """What a text's type says, which counts for more than what the document declares."""
    refused: dict[int, Refusal]
    """What is there and is not read, by row."""

    @staticmethod
    def nothing(rows: int, refused: dict[int, Refusal]) -> Payloads:
        return Payloads(np.empty(0, np.uint8), np.full(rows, -1, np.int64), np.zeros(rows, np.int64), None, refused)

    @property
    def missing(self) -> int:
        """How many rows have nothing at all; to be asked before more is refused."""
        return int(np.count_nonzero(self.begins < 0)) - len(self.refused)


def payloads_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Payloads]:
    """The payloads of ``batch`` in slices, so that only few of them are read at a time."""
    places = batch.schema.get_all_field_indices(COLUMN)
    if len(places) > 1:
        raise SemcastError(f"the batch has {len(places)} columns named {COLUMN!r}")
    if not places:
        yield Payloads.nothing(batch.num_rows, {})
        return
    column = batch.column(places[0])
    for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        yield from _slices(part)


def _slices(column: Array) -> Iterator[Payloads]:
    column = _plain(column)
    if not _is_text(column.type) and not _is_binary(column.type):
        there = [] if pa.types.is_null(column.type) else column.is_valid().to_pylist()
        yield Payloads.nothing(len(column), {at: Refusal.NO_TEXT for at, valid in enumerate(there) if valid})
        return
    # A string column is UTF-8 by type, whatever the XML declaration inside says.
    encoding = "utf-8" if _is_text(column.type) else None
    begin = 0
    while begin < len(column):
        rows = column.slice(begin, _SLICE_ROWS)
        source, begins, ends, too_long = _spans(rows)
        sizes = np.cumsum(np.where(begins < 0, 0, ends - begins))
        taken = min(len(rows), int(np.searchsorted(sizes, _SLICE_BYTES)) + 1)
        refused = dict.fromkeys(np.flatnonzero(too_long[:taken]).tolist(), Refusal.TOO_LARGE)
        yield Payloads(source, begins[:taken], ends[:taken], encoding, refused)
        begin += taken


def _spans(rows: Array) -> tuple[Bytes, Longs, Longs, NDArray[np.bool_]]:
    """The bytes of some rows, where each row's begin and end, and which are too long; begin is -1 for these and NULL.

    What is too long is never copied, and a dictionary never decoded: one document in it may stand for thousands.
    """
    missing = pc.is_null(rows).to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(rows.type):
        codes = pc.fill_null(rows.indices.cast(pa.int64()), 0).to_numpy()
        if not len(rows.dictionary):
            return np.empty(0, np.uint8), np.full(len(rows), -1, np.int64), codes, np.zeros(len(rows), np.bool_)
        source, begins, ends, too_long = _spans(rows.dictionary)
        begins, ends, too_long = begins[codes], ends[codes], too_long[codes]
    elif pa.types.is_string_view(rows.type) or pa.types.is_binary_view(rows.type):
        source, begins, ends, too_long = _viewed(rows)
    else:
        plain = rows.cast(pa.large_binary())
        _, offsets, data = plain.buffers()
        at = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1]
        source = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        begins, ends, too_long = at[:-1], at[1:], np.diff(at) > markup.MAX_BYTES
    return source, np.where(missing | too_long, -1, begins), ends, too_long & ~missing


def _viewed(rows: Array) -> tuple[Bytes, Longs, Longs, NDArray[np.bool_]]:
    """As ``_spans``, for views, of which Arrow cannot tell the length: four integers each, the first of which it is."""
    lengths = np.frombuffer(rows.buffers()[1], np.int32).reshape(-1, 4)[rows.offset : rows.offset + len(rows), 0]
    too_long = lengths > markup.MAX_BYTES
    read = np.asarray(rows.is_valid()) & ~too_long
    parts = [rows[at].as_buffer().to_pybytes() if read[at] else b"" for at in range(len(rows))]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.frombuffer(b"".join(parts) or b" ", np.uint8), np.concatenate(([0], ends[:-1])), ends, too_long


def _plain(column: Array) -> Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def _value_type(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _is_text(type_: pa.DataType) -> bool:
    type_, types = _value_type(type_), pa.types
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _is_binary(type_: pa.DataType) -> bool:
    type_, types = _value_type(type_), pa.types
    binary = types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
    return bool(binary or types.is_fixed_size_binary(type_))
