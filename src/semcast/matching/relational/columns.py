"""From Arrow columns to codes.

What a value is, is decided here and nowhere else: which Arrow types are numbers, strings, booleans or
timestamps, and that everything else is just present. A union column holds values of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.matching.relational.likes import matching_texts
from semcast.matching.relational.spaces import (
    NULL_CODE,
    OTHER_CODE,
    Codes,
    LongSegment,
    NumberSegment,
    Segment,
    Space,
)
from semcast.model import SemcastError

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000

Array = Any  # pyarrow ships no types


def find_column(schema: pa.Schema, name: str) -> list[int] | None:
    """The path to an attribute: a column of that name, else a field nested in structs; None if missing."""
    found = schema.get_all_field_indices(name)
    if len(found) > 1:
        raise SemcastError(f"the batch has {len(found)} columns named {name!r}")
    if found:
        return list(found)
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        outer = schema.get_all_field_indices(".".join(parts[:split]))
        if len(outer) == 1:
            inner = _find_field(schema.field(outer[0]).type, parts[split:])
            if inner is not None:
                return [outer[0], *inner]
    return None


def _find_field(type_: pa.DataType, parts: list[str]) -> list[int] | None:
    if not parts:
        return []
    if not pa.types.is_struct(type_):
        return None
    for split in range(len(parts), 0, -1):
        at = type_.get_field_index(".".join(parts[:split]))
        if at >= 0:
            inner = _find_field(type_.field(at).type, parts[split:])
            if inner is not None:
                return [at, *inner]
    return None


def column_at(batch: pa.RecordBatch, path: list[int]) -> Array:
    column = batch.column(path[0])
    for at in path[1:]:
        column = pc.struct_field(column, [at])  # unlike .field(), it applies the parent's nulls
    return column


def plain(column: Array) -> Array:
    """The column without an encoding around its values; text as a dictionary, each distinct value once."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())  # Arrow's LIKE does not take views
    return column.dictionary_encode() if _is_text(column.type) else column


def encode(column: Array, space: Space, out: Codes) -> None:
    """Write the code of each value of a plain column into ``out``."""
    if isinstance(column, pa.UnionArray):
        _by_child(column, out, lambda child, part: encode(child, space, part))
        return
    writer = _writer(column.type, space)
    if writer is None or column.null_count == len(column):
        out[:] = OTHER_CODE
    else:
        writer(column, space, out)
    if column.null_count:
        out[valid(column) == 0] = NULL_CODE


def _by_child(column: Array, out: NDArray[Any], write: Callable[[Array, NDArray[Any]], None]) -> None:
    """Have a union's children written each by itself, and put their rows together."""
    codes, dense = np.asarray(column.type_codes), column.type.mode == "dense"
    for at, code in enumerate(column.type.type_codes):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            child = plain(column.field(at))
            part = np.empty((*out.shape[:-1], len(child)), out.dtype)
            write(child, part)
            out[..., rows] = part[..., np.asarray(column.offsets)[rows] if dense else rows]


def valid(column: Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return mask


def _writer(type_: pa.DataType, space: Space) -> Callable[[Array, Space, Codes], None] | None:
    types = pa.types
    if space.number is not None:
        if types.is_integer(type_):
            return _write_integers
        if types.is_floating(type_):
            return _write_floats
        if types.is_decimal(type_):
            return _write_decimals
    if space.string is not None and types.is_dictionary(type_):
        return _write_strings
    if space.boolean is not None and types.is_boolean(type_):
        return _write_booleans
    if space.timestamp is not None and (types.is_timestamp(type_) or types.is_date(type_)):
        return _write_timestamps
    return None


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def numpy_values(column: Array, dtype: str | None = None) -> NDArray[Any]:
    """The values as numpy; what stands at nulls is unspecified."""
    if column.null_count:
        column = column.fill_null(0)
    values = column.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype)


def _write_floats(column: Array, space: Space, out: Codes) -> None:
    assert space.double is not None
    space.double.encode(numpy_values(column, "float64"), out)


def _write_integers(column: Array, space: Space, out: Codes) -> None:
    values = numpy_values(column)
    if isinstance(space.number, NumberSegment):
        # All points are below 2^53, and rounding is monotone: a larger integer stays above them.
        space.number.encode(values.astype(np.float64), out)
    else:
        assert isinstance(space.number, LongSegment)
        space.number.encode(values, out)


def _write_decimals(column: Array, space: Space, out: Codes) -> None:
    """Up to 15 digits a decimal and its nearest double order alike; of longer ones, each distinct one is looked up."""
    assert space.number is not None
    if column.type.precision <= 15 and isinstance(space.number, NumberSegment):
        space.number.encode(numpy_values(column.cast(pa.float64())), out)
        return
    points = [p if isinstance(p, int) else Decimal(repr(p)) for p in space.number.points]
    exact = Segment(points, space.number.start)
    coded = column.dictionary_encode()
    _write_distinct(coded, [exact.code(value) for value in coded.dictionary.to_pylist()], out)


def _write_booleans(column: Array, space: Space, out: Codes) -> None:
    assert space.boolean is not None
    filled = column.fill_null(False) if column.null_count else column
    out[:] = space.boolean.start + 1 + 2 * filled.to_numpy(zero_copy_only=False)


def _write_timestamps(column: Array, space: Space, out: Codes) -> None:
    segment = space.timestamp
    assert segment is not None
    type_ = column.type
    finer = None
    if pa.types.is_date32(type_):
        values = numpy_values(column.cast(pa.int32())).astype(np.int64) * _DAY
    elif pa.types.is_date64(type_):
        values = numpy_values(column.cast(pa.int64())) * 1000
    else:
        values = numpy_values(column.cast(pa.int64()))
        if type_.unit == "ns":
            values, rest = np.divmod(values, 1000)
            finer = rest > 0
        else:
            values = _scaled(values, _MICROS[type_.unit])
    if isinstance(segment, NumberSegment):
        segment.encode(values.astype(np.float64), out)
    else:
        segment.encode(values, out)
    if finer is not None:
        # A value between two microseconds is above the earlier one, never equal to it.
        out[finer & ((out - segment.start) % 2 == 1)] += 1


def _scaled(values: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    limit = np.iinfo(np.int64).max // factor
    return np.clip(values, -limit, limit) * factor


def _write_strings(column: Array, space: Space, out: Codes) -> None:
    segment = space.string
    assert segment is not None
    values = column.dictionary.to_pylist()
    _write_distinct(column, [NULL_CODE if value is None else segment.code(value) for value in values], out)


def _write_distinct(column: Array, codes: Any, out: Codes) -> None:
    """Give each row of a dictionary column the code of its value; what stands at nulls is unspecified."""
    table = np.asarray(codes, out.dtype) if len(codes) else np.zeros(1, out.dtype)
    out[:] = table[numpy_values(column.indices)]
    if column.dictionary.null_count:
        out[valid(column) == 0] = NULL_CODE


def encode_likes(column: Array, tests: Sequence[tuple[int, str]], codes: Codes) -> None:
    """Codes of LIKE tests on a plain column: 0 where there is no string, 1 for no match, 2 for a match.

    ``tests``: which row of ``codes`` is which pattern's. All patterns at once, so that texts are taken apart once.
    """
    if isinstance(column, pa.UnionArray):
        found = np.empty((len(tests), len(column)), codes.dtype)
        inner = [(at, pattern) for at, (_, pattern) in enumerate(tests)]
        _by_child(column, found, lambda child, part: encode_likes(child, inner, part))
        codes[[number for number, _ in tests]] = found
        return
    if not pa.types.is_dictionary(column.type) or column.null_count == len(column):
        codes[[number for number, _ in tests]] = NULL_CODE
        return
    null = np.flatnonzero(valid(column) == 0) if column.null_count else None
    indices = numpy_values(column.indices)
    for (number, _), matching in zip(tests, matching_texts(column.dictionary, [p for _, p in tests]), strict=True):
        codes[number] = (1 + matching)[indices]
        if null is not None:
            codes[number, null] = NULL_CODE


def encode_numbers(column: Array, out: NDArray[np.float64]) -> None:
    """The values of a plain column as doubles, NaN where one is NULL or no number."""
    if isinstance(column, pa.UnionArray):
        _by_child(column, out, encode_numbers)
        return
    types = pa.types
    out[:] = np.nan
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        doubles = column.cast(pa.float64(), safe=False) if types.is_decimal(column.type) else column
        out[:] = numpy_values(doubles, "float64")
        if column.null_count:
            out[valid(column) == 0] = np.nan
