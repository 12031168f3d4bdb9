"""From a batch's ``payload`` column to parsed documents.

A message comes from anywhere, so nothing in it is trusted: no entity is resolved, nothing is loaded, a
document that declares elements or entities of its own is refused, and so is one that is too large or
deeper than libxml2 goes (256 to 2,048 levels, by its version). What is refused is None, with the reason
beside it, and costs no other message its matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lxml import etree

from semcast.model import SemcastError

COLUMN = "payload"
MAX_BYTES = 1 << 24
"""A longer payload is not parsed: libxml2 needs some ten times as much for its tree."""
_SLICE_ROWS = 64  # documents that are kept as trees at a time
_SLICE_BYTES = 1 << 22


class Refusal(StrEnum):
    """Why a payload that is there cannot be read."""

    MALFORMED = "not well-formed"
    TOO_LARGE = "too large"
    TOO_DEEP = "too deep"
    DECLARES = "declares or needs entities or elements"
    NO_TEXT = "neither text nor bytes"


_COMPLAINTS = (
    (re.compile("^Excessive depth"), Refusal.TOO_DEEP),
    (re.compile("^Entity '|entity (amplification|reference loop)"), Refusal.DECLARES),
    (re.compile("too long|too big|huge text node|limit exceeded"), Refusal.TOO_LARGE),
)

Array = Any  # pyarrow ships no types
Tree = Any  # lxml's stubs know no XPath result that is a plain bool


class Documents(NamedTuple):
    """Consecutive messages: their trees, or None for what is missing (NULL) or refused (why, by position)."""

    trees: list[Tree | None]
    refused: dict[int, Refusal]

    @property
    def num_rows(self) -> int:
        return len(self.trees)


def documents_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Documents]:
    """The documents of ``batch`` in slices, so that only few of them are trees at a time."""
    places = batch.schema.get_all_field_indices(COLUMN)
    if len(places) > 1:
        raise SemcastError(f"the batch has {len(places)} columns named {COLUMN!r}")
    if not places:
        yield Documents([None] * batch.num_rows, {})
        return
    column = batch.column(places[0])
    for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        yield from _slices(part)


def _slices(column: Array) -> Iterator[Documents]:
    column = _plain(column)
    if not _is_text(column.type) and not _is_binary(column.type):
        there = [] if pa.types.is_null(column.type) else column.is_valid().to_pylist()
        yield Documents([None] * len(column), {at: Refusal.NO_TEXT for at, valid in enumerate(there) if valid})
        return
    # A string column is UTF-8 by type, whatever the XML declaration inside says.
    parser = _parser("utf-8" if _is_text(column.type) else None)
    trees: list[Tree | None] = []
    refused: dict[int, Refusal] = {}
    size = 0
    for at, length in enumerate(_lengths(column)):
        found: Tree | Refusal | None = None
        if length is not None:
            found = Refusal.TOO_LARGE if length > MAX_BYTES else _tree(_buffer(column[at]), parser)
            size += min(length, MAX_BYTES)
        if isinstance(found, Refusal):
            refused[len(trees)], found = found, None
        trees.append(found)
        if len(trees) >= _SLICE_ROWS or size >= _SLICE_BYTES:
            yield Documents(trees, refused)
            trees, refused, size = [], {}, 0
    yield Documents(trees, refused)


def _lengths(column: Array) -> list[int | None]:
    """The bytes of each payload, None for NULL; asked first, since a scalar of Arrow copies its value."""
    if pa.types.is_dictionary(column.type):
        return list(pa.array(_lengths(column.dictionary), pa.int64()).take(column.indices).to_pylist())
    if not pa.types.is_string_view(column.type) and not pa.types.is_binary_view(column.type):
        return list(pc.binary_length(column).to_pylist())
    if not len(column):
        return []
    # Arrow has no function for views: four integers each, of which the first is the length.
    views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)[column.offset :, 0].tolist()
    return [length if valid else None for length, valid in zip(views, column.is_valid().to_pylist(), strict=False)]


def _buffer(scalar: Any) -> Any:
    return (scalar.value if isinstance(scalar, pa.DictionaryScalar) else scalar).as_buffer()


def _parser(encoding: str | None) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        strip_cdata=True,
        remove_comments=False,
        remove_pis=False,
    )


def _tree(buffer: Any, parser: etree.XMLParser) -> Tree | Refusal:
    try:
        tree = etree.fromstring(buffer.to_pybytes(), parser).getroottree()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        return _why(error)
    dtd = tree.docinfo.internalDTD
    if dtd is not None and _declares(tree, dtd):
        return Refusal.DECLARES
    return tree


def _why(error: Exception) -> Refusal:
    """What libxml2 complains of, by its words: its limits share one code, or have another in each version."""
    text = str(error)
    return next((why for words, why in _COMPLAINTS if words.search(text)), Refusal.MALFORMED)


def _declares(tree: Tree, dtd: Any) -> bool:
    """Does the document bring declarations, or refer to ones that are elsewhere?"""
    if next(dtd.iterentities(), None) is not None or next(dtd.iterelements(), None) is not None:
        return True
    return next(tree.iter(etree.Entity), None) is not None


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
