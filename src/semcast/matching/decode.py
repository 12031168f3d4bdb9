"""Text of messages → Arrow columns of the kinds that profiles compare them with.

Kinds come from the stream's declaration, else from the profiles' literals, never from the data: one
stray string must not turn a column into strings. A value of another kind becomes NULL and is counted;
a line that is no message is counted too, and nothing else is lost with it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from semcast.matching import Language
from semcast.model import Kind, Schema, SemcastError
from semcast.profiles.relational.literals import moment, number

Wanted = Mapping[str, frozenset[Kind]]

_INT64 = 2**63
_EXACT = 2**53
_DOUBLE = int(sys.float_info.max)
_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"\s*([+-]?)(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)\s*")
_NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "infinity": float("inf")}


def wanted_of(chosen: Language[Any], profiles: Sequence[Any], schema: Schema | None) -> Wanted:
    """The columns that ``profiles`` look at and their kinds: as declared, else as compared with."""
    wanted = chosen.wanted(profiles)
    if schema is None:
        return wanted
    return {name: frozenset({schema[name]}) if name in schema else kinds for name, kinds in wanted.items()}


class Decoder:
    """Decodes batches of messages and counts what did not fit, by attribute."""

    def __init__(self, wanted: Wanted) -> None:
        for name, kinds in wanted.items():
            if {Kind.STRING, Kind.TIMESTAMP} <= kinds:
                raise SemcastError(
                    f"profiles compare {name!r} with strings and with timestamps, and in text both look alike; "
                    f"declare which it is with --schema '{name} TIMESTAMP' or '{name} STRING'"
                )
        self.wanted = wanted
        self.unfit: Counter[str] = Counter()
        self.too_long = 0

    def json_lines(self, lines: Sequence[bytes | None]) -> tuple[pa.RecordBatch, list[int]]:
        """The columns of JSON objects, one a line, and which lines are none (all NULL there).

        None is a line that was too long to be read.
        """
        self.too_long += lines.count(None)
        decode = msgspec.json.Decoder().decode
        messages: list[dict[str, Any]] = []
        bad: list[int] = []
        for at, line in enumerate(lines):
            try:
                message = decode(line.removeprefix(_BOM)) if line is not None else None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                message = None
            if type(message) is not dict:
                message = {}
                bad.append(at)
            messages.append(message)
        return self.columns(messages), bad

    def columns(self, messages: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """The columns of messages that were read already."""
        columns = {name: self._column(name, kinds, _values(messages, name)) for name, kinds in self.wanted.items()}
        return batch_of(columns, len(messages))

    def text_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch of strings (a CSV file's), read as the kinds they are wanted as."""
        columns = {}
        for name, kinds in self.wanted.items():
            at = batch.schema.get_field_index(name)
            if at < 0:
                columns[name] = pa.nulls(batch.num_rows)
            elif kinds <= {Kind.STRING}:
                columns[name] = batch.column(at)
            else:
                texts = batch.column(at).to_pylist()
                columns[name] = self._column(name, kinds, [_read(text, kinds) for text in texts])
        return batch_of(columns, batch.num_rows)

    def _column(self, name: str, kinds: frozenset[Kind], values: list[Any]) -> pa.Array:
        if not kinds:  # only asked whether it is there
            return pa.array([None if value is None else True for value in values], pa.bool_())
        allowed = {type_ for kind in kinds for type_ in _PYTHON[kind]}
        if not set(map(type, values)) <= allowed | {type(None)}:
            fitting = [value if type(value) in allowed else None for value in values]
            self.unfit[name] += fitting.count(None) - values.count(None)
            values = fitting
        if Kind.NUMBER in kinds and any(type(value) is int and abs(value) > _DOUBLE for value in values):
            fitting = [None if type(value) is int and abs(value) > _DOUBLE else value for value in values]
            self.unfit[name] += fitting.count(None) - values.count(None)
            values = fitting
        if Kind.TIMESTAMP in kinds:
            read = [Moment.read(value) if type(value) is str else value for value in values]
            self.unfit[name] += read.count(None) - values.count(None)
            values = read
        return _array(values)


class Moment(int):
    """Microseconds since 1970, told apart from a number."""

    @staticmethod
    def read(text: str) -> Moment | None:
        value = moment(text)
        return None if value is None else Moment(value)


_PYTHON: dict[Kind, tuple[type, ...]] = {
    Kind.NUMBER: (int, float),
    Kind.STRING: (str,),
    Kind.BOOLEAN: (bool,),
    Kind.TIMESTAMP: (str,),
}
_ARROW = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    Moment: pa.timestamp("us", "UTC"),
}


def _array(values: list[Any]) -> pa.Array:
    """The values as a column of one type if that loses nothing, else as a union of several."""
    types = set(map(type, values)) - {type(None)}
    if not types:
        return pa.nulls(len(values))
    if int in types and not all(-_INT64 <= v < _INT64 for v in values if type(v) is int):
        values = [float(v) if type(v) is int and not -_INT64 <= v < _INT64 else v for v in values]
        types = set(map(type, values)) - {type(None)}
    if types == {int, float} and all(-_EXACT <= v <= _EXACT for v in values if type(v) is int):
        return pa.array(values, pa.float64())
    return exact_array(values)


def exact_array(values: Sequence[Any]) -> pa.Array:
    """The values as they are, an integer as an integer: a union where they are of several types."""
    types = set(map(type, values)) - {type(None)}
    if not types:
        return pa.nulls(len(values))
    if len(types) == 1:
        return pa.array(values, _ARROW[types.pop()])
    return _union(values, sorted(types, key=lambda type_: type_.__name__))


def _union(values: Sequence[Any], types: list[type]) -> pa.UnionArray:
    code_of = {type_: code for code, type_ in enumerate(types)} | {type(None): 0}
    codes = [code_of[type(value)] for value in values]
    children: list[list[Any]] = [[] for _ in types]
    offsets = []
    for code, value in zip(codes, values, strict=True):
        offsets.append(len(children[code]))
        children[code].append(value)
    arrays = [pa.array(child, _ARROW[type_]) for child, type_ in zip(children, types, strict=True)]
    return pa.UnionArray.from_dense(pa.array(codes, pa.int8()), pa.array(offsets, pa.int32()), arrays)


def _values(messages: Sequence[dict[str, Any]], name: str) -> list[Any]:
    if "." not in name:
        return [message.get(name) for message in messages]
    return [_nested(message, name) for message in messages]


def _nested(message: Any, name: str) -> Any:
    """The value of a dotted name: a key as it is, else a path into nested objects."""
    if type(message) is not dict or name in message:
        return message.get(name) if type(message) is dict else None
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        outer = message.get(".".join(parts[:split]))
        if type(outer) is dict:
            return _nested(outer, ".".join(parts[split:]))
    return None


def _read(text: str | None, kinds: frozenset[Kind]) -> Any:
    """A CSV cell as the first of ``kinds`` that it can be; as itself, which may not fit, if it can be none."""
    if text is None or not text:
        return None
    if Kind.NUMBER in kinds:
        found = _NUMBER.fullmatch(text)
        value = number(found[2]) if found else _NOT_FINITE.get(text.strip().lstrip("+-").lower())
        if value is not None:
            return -value if text.lstrip().startswith("-") else value
    if Kind.BOOLEAN in kinds and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    return text


def batch_of(columns: dict[str, pa.Array], rows: int) -> pa.RecordBatch:
    """A batch of these columns, which may be none."""
    if not columns:  # a batch without columns would forget how many rows it has
        columns = {"": pa.nulls(rows)}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
