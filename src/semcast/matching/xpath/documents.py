"""From a batch's ``payload`` column to documents, read once for all engines that look at them.

What is refused matches nothing, is told with the reason, and costs no other message its matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.matching.xpath import trees
from semcast.matching.xpath.arrays import Bytes, Longs
from semcast.matching.xpath.flat import Flat, scanned, with_trees
from semcast.matching.xpath.trees import MAX_BYTES, Refusal, Tree, parser
from semcast.model import SemcastError

__all__ = ["COLUMN", "MAX_BYTES", "Documents", "Refusal", "documents_of"]

COLUMN = "payload"
_SLICE_ROWS = 256  # documents that are kept at a time
_SLICE_BYTES = 1 << 22

Array = Any  # pyarrow ships no types


class Documents:
    """Consecutive messages: ``flat`` as engines match them, ``trees`` as libxml2 reads them, each made at most once."""

    def __init__(
        self, source: Bytes, begins: Longs, ends: Longs, encoding: str | None, refused: dict[int, Refusal]
    ) -> None:
        self._source = source
        self._begins = begins  # -1 where there is nothing to read
        self._ends = ends
        self._encoding = encoding
        self._refused = refused  # before it was read
        self.missing = int(np.count_nonzero(begins < 0)) - len(refused)

    @staticmethod
    def nothing(rows: int, refused: dict[int, Refusal]) -> Documents:
        return Documents(np.empty(0, np.uint8), np.full(rows, -1, np.int64), np.zeros(rows, np.int64), None, refused)

    @property
    def num_rows(self) -> int:
        return len(self._begins)

    @property
    def refused(self) -> dict[int, Refusal]:
        """What is there and cannot be read, by row, and why."""
        _ = self.trees if "trees" in self.__dict__ else self.flat
        return dict(sorted(self._refused.items()))

    @cached_property
    def trees(self) -> list[Tree | None]:
        return self._parsed(range(self.num_rows))

    @cached_property
    def flat(self) -> Flat:
        """All that can be read: most of it by the scanner, the rest by libxml2."""
        found = scanned(self._source, self._begins, self._ends)
        unread = [row for row in range(self.num_rows) if self._begins[row] >= 0 and not found.readable(row)]
        pairs = zip(unread, self._parsed(unread), strict=True)
        return with_trees(found, [(row, tree) for row, tree in pairs if tree is not None])

    def _parsed(self, rows: range | list[int]) -> list[Tree | None]:
        """The trees of some rows; None for what is missing, and for what is refused, which is remembered."""
        trusted = parser(self._encoding) if rows else None
        found: list[Tree | None] = []
        for row in rows:
            begin, end = self._begins[row], self._ends[row]
            tree = trees.tree_of(self._source[begin:end].tobytes(), trusted) if begin >= 0 and trusted else None
            if isinstance(tree, Refusal):
                self._refused[row], tree = tree, None
            found.append(tree)
        return found


def documents_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Documents]:
    """The documents of ``batch`` in slices, so that only few of them are read at a time."""
    places = batch.schema.get_all_field_indices(COLUMN)
    if len(places) > 1:
        raise SemcastError(f"the batch has {len(places)} columns named {COLUMN!r}")
    if not places:
        yield Documents.nothing(batch.num_rows, {})
        return
    column = batch.column(places[0])
    for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        yield from _slices(part)


def _slices(column: Array) -> Iterator[Documents]:
    column = _plain(column)
    if not _is_text(column.type) and not _is_binary(column.type):
        there = [] if pa.types.is_null(column.type) else column.is_valid().to_pylist()
        yield Documents.nothing(len(column), {at: Refusal.NO_TEXT for at, valid in enumerate(there) if valid})
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
        yield Documents(source, begins[:taken], ends[:taken], encoding, refused)
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
        begins, ends, too_long = at[:-1], at[1:], np.diff(at) > trees.MAX_BYTES
    return source, np.where(missing | too_long, -1, begins), ends, too_long & ~missing


def _viewed(rows: Array) -> tuple[Bytes, Longs, Longs, NDArray[np.bool_]]:
    """As ``_spans``, for views, of which Arrow cannot tell the length: four integers each, the first of which it is."""
    lengths = np.frombuffer(rows.buffers()[1], np.int32).reshape(-1, 4)[rows.offset : rows.offset + len(rows), 0]
    too_long = lengths > trees.MAX_BYTES
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
