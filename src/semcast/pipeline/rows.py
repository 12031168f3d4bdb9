"""Rows of DataFrames as messages of a stream, and back.

A relational message is a JSON object: every column is an attribute. Other streams have their content in ``payload``,
and topic streams their topic in ``topic``. What a message has beside its content stands in columns of its own, whose
names begin with an underscore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import types as T

from semcast.client.messages import Received
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.profiles.relational.literals import moment
from semcast.protocol.streams import Stream
from semcast.protocol.values import encoded

ID, TIME, KEY, HEADERS, TOPIC = "_id", "_time", "_key", "_headers", "_topic"
_BESIDE = {
    ID: T.StringType(),
    TIME: T.TimestampType(),
    KEY: T.StringType(),
    HEADERS: T.MapType(T.StringType(), T.StringType()),
}
_PAYLOAD, _TOPIC = "payload", "topic"
_NUMBERS: dict[str, T.DataType] = {
    **dict.fromkeys(["byte", "tinyint", "int8", "short", "smallint", "int16", "uint8"], T.ShortType()),
    **dict.fromkeys(["int", "integer", "int32", "uint16"], T.IntegerType()),
    **dict.fromkeys(["long", "bigint", "int64", "uint32", "uint64"], T.LongType()),
}
_OTHERS: dict[str, T.DataType] = {
    "string": T.StringType(),
    "boolean": T.BooleanType(),
    "timestamp": T.TimestampType(),
    "number": T.DoubleType(),
}


def columns_of(stream: Stream) -> T.StructType:
    """The columns of a stream as Spark reads it."""
    content = _attributes(stream) if stream.language == "relational" else [T.StructField(_PAYLOAD, T.BinaryType())]
    if stream.language == "topic":
        content.insert(0, T.StructField(_TOPIC, T.StringType()))
    return T.StructType([*content, *(T.StructField(name, kind) for name, kind in _BESIDE.items())])


def _attributes(stream: Stream) -> list[T.StructField]:
    if not stream.schema:
        return [T.StructField(_PAYLOAD, T.StringType())]  # anything goes, so it is given as it came
    tree: dict[str, Any] = {}
    assert stream.kinds is not None
    for name, declared in stream.schema.items():
        *above, last = name.split(".")
        place = tree
        for part in above:
            place = place.setdefault(part, {})
        place[last] = _spark_type(declared, str(stream.kinds[name]))
    return _fields(tree)


def _fields(tree: dict[str, Any]) -> list[T.StructField]:
    return [
        T.StructField(name, T.StructType(_fields(kind)) if isinstance(kind, dict) else kind)
        for name, kind in tree.items()
    ]


def _spark_type(declared: str, kind: str) -> T.DataType:
    return _NUMBERS.get(declared.lower(), _OTHERS[kind])


# --- out of Spark


def check_columns(schema: T.StructType, name: str, stream: Stream) -> None:
    """SemcastError where rows of these columns cannot be messages of the stream."""
    columns = set(schema.fieldNames())
    needed = {"topic": _TOPIC}.get(stream.language, _PAYLOAD)
    if stream.language != "relational" and needed not in columns:
        there = ", ".join(schema.fieldNames())
        raise SemcastError(f"stream {name!r} is {stream.language}: it needs a column {needed!r}; there is {there}")


class Outgoing:
    """Makes messages of rows; picklable. Rows without an event time get that of the task."""

    def __init__(self, stream: str, declared: Stream) -> None:
        self._stream = stream
        self._relational = declared.language == "relational"
        self._topics = declared.language == "topic"
        self._raw = not declared.schema

    def messages(self, batch: pa.RecordBatch, now_ms: int) -> Iterator[Message]:
        for row in batch.to_pylist():
            yield self._message(row, now_ms)

    def _message(self, row: dict[str, Any], now_ms: int) -> Message:
        row.pop(ID, None)
        at, key, headers, topic = (row.pop(name, None) for name in (TIME, KEY, HEADERS, TOPIC))
        if self._topics:
            topic = row.get(_TOPIC)
        if not self._relational or (self._raw and list(row) == [_PAYLOAD]):
            payload = row.get(_PAYLOAD)
            body = payload.encode() if isinstance(payload, str) else payload or b""
        else:
            body = encoded({name: _plain(value) for name, value in row.items() if value is not None})
        pairs = headers.items() if isinstance(headers, dict) else headers or ()
        return Message(self._stream, body, topic, _millis(at, now_ms), key, tuple((str(k), str(v)) for k, v in pairs))


def _millis(at: datetime | None, now_ms: int) -> int:
    if at is None:
        return now_ms
    return round(1000 * (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp())


def _plain(value: Any) -> Any:
    """A value as JSON has it; times in UTC, whatever zone the session has."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo is not None else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


# --- into Spark


class Incoming:
    """Makes rows of messages, as a schema asks for them. What does not fit its column is NULL."""

    def __init__(self, schema: T.StructType, stream: Stream) -> None:
        self._names = schema.fieldNames()
        self._fits = [_fit(field.dataType) for field in schema.fields]
        self._json = stream.language == "relational" and not (
            not stream.schema and [name for name in self._names if not name.startswith("_")] == [_PAYLOAD]
        )

    def row(self, received: Received) -> tuple[Any, ...]:
        message = received.message
        beside = {
            ID: received.id,
            TIME: datetime.fromtimestamp(message.time_ms / 1000, UTC) if message.time_ms else None,
            KEY: message.key,
            HEADERS: dict(message.headers),
            TOPIC: message.topic,
        }
        content = _decoded(message.payload) if self._json else {_PAYLOAD: message.payload, _TOPIC: message.topic}
        return tuple(
            beside[name] if name in beside else fit(content.get(name))
            for name, fit in zip(self._names, self._fits, strict=True)
        )


def _decoded(payload: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _fit(kind: T.DataType) -> Callable[[Any], Any]:
    """What turns a value of JSON into one of a column, or into None."""
    match kind:
        case T.StructType():
            parts = [(field.name, _fit(field.dataType)) for field in kind.fields]
            return lambda value: tuple(f(value.get(name)) for name, f in parts) if isinstance(value, dict) else None
        case T.ArrayType():
            inner = _fit(kind.elementType)
            return lambda value: [inner(part) for part in value] if isinstance(value, list) else None
        case T.MapType():
            of_value = _fit(kind.valueType)
            return lambda v: {name: of_value(part) for name, part in v.items()} if isinstance(v, dict) else None
        case T.StringType():
            return _text
        case T.BinaryType():
            return lambda value: value.encode() if isinstance(value, str) else value
        case T.BooleanType():
            return lambda value: value if isinstance(value, bool) else None
        case T.TimestampType() | T.DateType():
            return _date if isinstance(kind, T.DateType) else _moment
        case T.DecimalType():
            return lambda value: Decimal(str(value)) if _is_number(value) else None
        case T.IntegralType():
            size = {"byte": 7, "short": 15, "integer": 31}.get(kind.typeName(), 63)
            return lambda value: _integer(value, size)
        case T.FractionalType():
            return lambda value: float(value) if _is_number(value) else None
    raise SemcastError(f"messages have no values of the type {kind.simpleString()}")


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: Any, bits: int) -> int | None:
    if not _is_number(value) or value != value // 1 or not -(1 << bits) <= value < 1 << bits:
        return None
    return int(value)


def _moment(value: Any) -> datetime | None:
    micros = moment(value) if isinstance(value, str) else None
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)


def _date(value: Any) -> Any:
    found = _moment(value)
    return None if found is None else found.date()
