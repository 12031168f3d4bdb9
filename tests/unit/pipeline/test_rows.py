"""Rows as messages, and back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from semcast.client.messages import Received
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.pipeline.rows import Incoming, Outgoing, check_columns, columns_of
from semcast.protocol.streams import Stream

QUOTES = Stream(schema={"symbol": "string", "price": "double", "n.v": "int", "at": "timestamp"})


def sent(row: dict[str, Any], stream: Stream = QUOTES) -> Message:
    (message,) = Outgoing("s", stream).messages(pa.RecordBatch.from_pylist([row]), 7)
    return message


def came(payload: bytes, columns: str, stream: Stream = QUOTES, **beside: Any) -> tuple[Any, ...]:
    schema = T.StructType([T.StructField(*field) for field in _fields(columns)])
    return Incoming(schema, stream).row(Received("b0", 5, Message("s", payload, **beside)))


def _fields(columns: str) -> list[tuple[str, T.DataType]]:
    kinds: dict[str, T.DataType] = {
        "string": T.StringType(), "double": T.DoubleType(), "int": T.IntegerType(), "long": T.LongType(),
        "bool": T.BooleanType(), "time": T.TimestampType(), "date": T.DateType(), "decimal": T.DecimalType(10, 2),
        "list": T.ArrayType(T.IntegerType()), "map": T.MapType(T.StringType(), T.DoubleType()),
        "struct": T.StructType([T.StructField("v", T.IntegerType())]),
    }  # fmt: skip
    return [(name, kinds[kind]) for name, kind in (column.split(":") for column in columns.split())]


def test_columns_are_the_declared_attributes_and_what_a_message_has_beside() -> None:
    told = [f"{field.name} {field.dataType.simpleString()}" for field in columns_of(QUOTES).fields]
    assert told[:4] == ["symbol string", "price double", "n struct<v:int>", "at timestamp"]
    assert told[4:] == ["_id string", "_time timestamp", "_key string", "_headers map<string,string>"]
    assert columns_of(Stream(language="topic")).fieldNames()[:2] == ["topic", "payload"]
    assert columns_of(Stream()).fieldNames()[0] == "payload"


def test_a_row_becomes_json_without_what_is_null() -> None:
    row = {"symbol": "IBM", "price": None, "n": {"v": 3}, "at": datetime(2026, 1, 2, 3, tzinfo=UTC), "_key": "k"}
    message = sent(row)
    assert json.loads(message.payload) == {"symbol": "IBM", "n": {"v": 3}, "at": "2026-01-02T03:00:00+00:00"}
    assert (message.key, message.time_ms, message.stream) == ("k", 7, "s")


def test_decimals_are_numbers_and_stay_exact_where_they_are_whole() -> None:
    big = Decimal(12345678901234567890)
    assert json.loads(sent({"x": [Decimal("1.5"), big]}).payload) == {"x": [1.5, 12345678901234567890]}


def test_what_was_read_can_be_written_again() -> None:
    first = Received("b0", 5, Message("s", b'{"price":1.5}', None, 1000, "k", (("h", "v"),)))
    names = columns_of(QUOTES).fieldNames()
    row = dict(zip(names, Incoming(columns_of(QUOTES), QUOTES).row(first), strict=True))
    row["_headers"] = list(row["_headers"].items())  # as Arrow has maps
    (message,) = (Outgoing("s", QUOTES)._message(row, 7),)
    assert message == first.message


def test_values_that_do_not_fit_are_null() -> None:
    payload = b'{"a": "x", "b": 1.5, "c": 3000000000, "d": 1, "e": "2026-01-02", "f": [1, "x"], "g": {"k": 2}, "h": 1}'
    assert came(payload, "a:double b:int c:int d:bool e:int f:list g:map h:struct")[:5] == (None,) * 5
    assert came(payload, "f:list g:map h:struct") == ([1, None], {"k": 2.0}, None)
    assert came(payload, "c:long e:time e:date b:decimal d:double") == (
        3_000_000_000, datetime(2026, 1, 2, tzinfo=UTC), date(2026, 1, 2), Decimal("1.5"), 1.0,
    )  # fmt: skip


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b"\xff"])
def test_a_payload_that_is_no_object_has_no_attributes(payload: bytes) -> None:
    assert came(payload, "a:string") == (None,)


def test_columns_that_a_stream_needs_are_asked_for() -> None:
    schema = T.StructType([T.StructField("x", T.StringType())])
    with pytest.raises(SemcastError, match="stream 'n' is xpath: it needs a column 'payload'; there is x"):
        check_columns(schema, "n", Stream(language="xpath"))
    check_columns(schema, "q", QUOTES)
