"""What may be published: exactly the values that a declared type holds, however they are written."""

from __future__ import annotations

import json
import math
import sys
import time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.matching.decode import Decoder
from semcast.model import Kind, SemcastError
from semcast.model.message import Message
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.values import MAX_DEPTH, encoded
from tests.cases import CASES

BITS = {"byte": 8, "smallint": 16, "int": 32, "long": 64, "bigint": 64, "int64": 64}
UNSIGNED = {"uint8": 8, "uint32": 32, "uint64": 64}
WIDE = ["double", "float", "number", "decimal"]
TYPES = [*BITS, *UNSIGNED, *WIDE]

EDGES = [
    sign * (1 << bits) + near
    for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64, 100, 1023, 1024, 1025)
    for sign in (1, -1)
    for near in (-1, 0, 1)
]
integers = st.one_of(st.sampled_from(EDGES), st.integers(), st.integers(-(10**400), 10**400)).map(str)
floats = st.floats(allow_nan=False, allow_infinity=False).map(repr)
written = st.builds("{}e{}".format, st.integers(-999, 999), st.integers(-500, 500))
numbers = st.one_of(integers, floats, written)


def fits(text: str, declared: str) -> bool:
    """An oracle of its own: exact decimals against the ends that the name of a type stands for."""
    value = Decimal(text)
    if declared in WIDE:
        if "e" in text.lower() or "." in text:
            return not math.isinf(float(text))
        return abs(value) <= Decimal(sys.float_info.max)
    if "e" in text.lower() or "." in text:
        if math.isinf(float(text)):
            return False
        value = Decimal(float(text))  # JSON's readers have doubles there
    if declared in UNSIGNED:
        return 0 <= value < Decimal(2) ** UNSIGNED[declared]
    half = Decimal(2) ** (BITS[declared] - 1)
    return -half <= value < half


def refusal(payload: str, schema: dict[str, str]) -> str | None:
    stream = Stream(schema=schema)
    reason = Streams({"s": stream}).refusal(Message("s", payload.encode(), None, 0, None, ()))
    rows, reasons = stream.rows([b"{}", payload.encode(), b'{"v": 1}'])
    assert reasons.get(1) == reason
    assert set(reasons) <= {1}
    assert len(rows) == 3
    return reason


@settings(max_examples=CASES)
@given(numbers, st.sampled_from(TYPES))
@example("9223372036854775807", "long")
@example("9223372036854775808", "long")
@example("9.3e18", "long")
@example("1e400", "double")
def test_a_number_is_taken_where_its_declared_type_holds_it_and_nowhere_else(text: str, declared: str) -> None:
    reason = refusal(f'{{"v": {text}}}', {"v": declared})
    assert (reason is None) == fits(text, declared)
    if reason is not None:
        assert reason.startswith("'v' is ")
        assert len(reason) < 200


@settings(max_examples=CASES)
@given(numbers)
def test_where_nothing_is_declared_every_double_is_taken_and_columns_can_be_made_of_what_is(text: str) -> None:
    payload = f'{{"deep": {{"v": [{text}]}}, "v": {text}}}'
    reason = refusal(payload, {})
    assert (reason is None) == fits(text, "double")
    if reason is not None:
        assert "'v'" in reason or "'deep.v'" in reason
    decoder = Decoder({"v": frozenset({Kind.NUMBER})})
    batch, bad = decoder.json_lines([payload.encode()])
    assert bad or decoder.unfit["v"] == (batch.column(0)[0].as_py() is None)
    assert reason is None or bad or decoder.unfit["v"]


@pytest.mark.parametrize("text", ["1" * 5_000, "-" + "9" * 100_000, "1e400", "1" * 400 + ".5"])
def test_a_number_beyond_a_double_is_named_with_its_beginning(text: str) -> None:
    for schema in ({}, {"v": "double"}, {"v": "long"}):
        reason = refusal(f'{{"v": {text}}}', schema)
        assert reason is not None
        assert reason.startswith(f"'v' is {text[:38]}")
        assert "beyond a double" in reason


@pytest.mark.parametrize("text", ["1" * 400, "9" * 5_000, "1e400", "-" + "1" * 100_000])
def test_in_a_file_such_a_number_counts_as_null(text: str) -> None:
    decoder = Decoder({"v": frozenset({Kind.NUMBER})})
    columns = decoder.text_columns(pa.RecordBatch.from_pydict({"v": ["1", text, "0" * 5_000 + "7"]}))
    assert columns.column(0).to_pylist() == [1, None, 7]
    assert decoder.unfit["v"] == 1


def seconds(payload: str) -> float:
    stream = Streams({"s": Stream(schema={"v": "long"})})
    message = Message("s", payload.encode(), None, 0, None, ())
    begun = time.process_time()
    assert stream.refusal(message) is not None
    return time.process_time() - begun


@pytest.mark.parametrize(
    "shape",
    [
        lambda size: '{"v": ' + "1" * size + "}",
        lambda size: '{"v": 0.' + "1" * size + "e999}",
        lambda size: '{"v":' * (size // 6) + "1" + "}" * (size // 6),
        lambda size: "[" * size,
        lambda size: '{"v": ' + "[1," * 300 + '"' + "x" * size + '"' + "]" * 300 + "}",
    ],
    ids=["integer", "fraction", "objects", "lists", "long and deep"],
)
def test_what_is_hostile_costs_time_in_proportion_to_its_length(shape: Any) -> None:
    small, large = shape(50_000), shape(800_000)
    seconds(small)
    assert seconds(large) < 5 * (0.02 + 16 * seconds(small))


@pytest.mark.parametrize("opened", ['{"a":', "["])
def test_nesting_ends_at_the_same_depth_for_everybody(opened: str) -> None:
    closed = {"[": "]"}.get(opened, "}")

    def nested(depth: int) -> str:
        return '{"v":' + opened * (depth - 1) + "1" + closed * (depth - 1) + "}"

    def deep_in_a_stack(calls: int, payload: str) -> str | None:
        return deep_in_a_stack(calls - 1, payload) if calls else refusal(payload, {})

    for calls in (0, 300):
        assert deep_in_a_stack(calls, nested(MAX_DEPTH)) is None
        for depth in (MAX_DEPTH + 1, 900, 100_000):
            assert "nested more than 400 levels" in (deep_in_a_stack(calls, nested(depth)) or "")


@settings(max_examples=CASES)
@given(st.dictionaries(st.text(), st.one_of(st.integers(-(10**30), 10**30), st.floats(), st.none(), st.text())))
def test_a_mapping_says_the_same_as_json_or_is_refused(row: dict[str, Any]) -> None:
    infinite = any(type(value) is float and math.isinf(value) for value in row.values())
    if infinite:
        with pytest.raises(SemcastError, match="infinite"):
            encoded(row)
        return
    missing = {name: None if value != value else value for name, value in row.items()}
    assert json.loads(encoded(row)) == missing
