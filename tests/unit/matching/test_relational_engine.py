"""The relational engine on the types that Arrow has and on batches as they come."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import semcast

language = semcast.language("relational")


def matched(texts: Sequence[str], batch: pa.Table | pa.RecordBatch, engine: str | None = None) -> list[list[int]]:
    """Rows matched by each profile."""
    matches = language.matcher([language.parse(text) for text in texts], engine=engine).match(batch)
    rows: list[list[int]] = [[] for _ in texts]
    for row, profile in matches.pairs().tolist():
        rows[profile].append(row)
    return rows


def one(text: str, column: Any) -> list[int]:
    table = pa.table({"x": column})
    assert matched([text], table) == matched([text], table, "brute"), "the oracle disagrees"
    return matched([text], table)[0]


def test_null_and_missing_match_only_null_tests() -> None:
    column = pa.array([1, None, 3])
    assert one("x > 0", column) == [0, 2]
    assert one("NOT (x > 2)", column) == [0]
    assert one("x IS NULL", column) == [1]
    assert one("x IS NOT NULL", column) == [0, 2]
    assert one("missing IS NULL", column) == [0, 1, 2]
    assert one("missing > 0 OR x = 3", column) == [2]
    assert one("missing IS NOT NULL", column) == []


def test_nan_equals_no_literal_and_is_above_all() -> None:
    column = pa.array([1.0, float("nan"), float("inf"), None])
    assert one("x > 1e308", column) == [1, 2]
    assert one("NOT (x <= 5)", column) == [1, 2]
    assert one("x <> 1", column) == [1, 2]
    assert one("x < 5", column) == [0]


def test_values_of_another_kind_compare_to_null() -> None:
    assert one("x > 5", pa.array(["7", "a"])) == []
    assert one("NOT (x > 5)", pa.array(["7", "a"])) == []
    assert one("x = '7' OR x > 5", pa.array(["7", "a"])) == [0]
    assert one("x = TRUE", pa.array([1, 0])) == []
    assert one("x IS NOT NULL", pa.array([b"raw", None])) == [0]
    assert one("x = 'raw'", pa.array([b"raw"])) == []


@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]
)
def test_all_number_types_are_numbers(type_: pa.DataType) -> None:
    column = pa.array(np.array([0, 1, 2, 100]).astype(type_.to_pandas_dtype()), type_)
    assert one("x >= 1 AND x < 100", column) == [1, 2]
    assert one("x > 1.5", column) == [2, 3]


def test_integers_beyond_doubles_are_exact() -> None:
    column = pa.array([2**53, 2**53 + 1, 2**53 + 2, -(2**63), 2**63 - 1])
    assert one("x = 9007199254740993", column) == [1]
    assert one("x > 9007199254740992 AND x < 9007199254740994", column) == [1]
    assert one("x >= 9223372036854775807", column) == [4]
    assert one("x < -9223372036854775807", column) == [3]
    assert one("x < 99999999999999999999", column) == [0, 1, 2, 3, 4]
    assert one("x > -99999999999999999999 AND x <> 9007199254740992.0", column) == [1, 2, 3, 4]
    assert one("x > 18446744073709551614", pa.array([2**64 - 1, 2**64 - 2], pa.uint64())) == [0]


def test_a_double_meets_a_long_integer_as_the_nearest_double() -> None:
    assert one("x = 9007199254740993", pa.array([2.0**53, 2.0**53 + 2])) == [0]


def test_decimals_are_exact() -> None:
    short = pa.array([Decimal("0.10"), Decimal("0.20"), None], pa.decimal128(5, 2))
    assert one("x = 0.1", short) == [0]
    long = pa.array([Decimal("12345678901234567890.1"), Decimal("12345678901234567890.2")], pa.decimal128(30, 1))
    assert one("x > 12345678901234567890", long) == [0, 1]
    assert one("x = 0.1 OR x > 12345678901234567890", short) == [0]


def test_strings_order_by_code_point() -> None:
    column = pa.array(["", "a", "Z", "é", "\U0001f600", "\uffff", None])
    assert one("x > 'a'", column) == [3, 4, 5]
    assert one("x > '\uffff'", column) == [4]
    assert one("x < 'a'", column) == [0, 2]
    assert one("x = 'never in a message'", column) == []


@pytest.mark.parametrize(
    "wrap",
    [
        lambda a: a,
        lambda a: a.cast(pa.large_string()),
        lambda a: a.cast(pa.string_view()),
        lambda a: a.dictionary_encode(),
        lambda a: pa.chunked_array([a.slice(0, 2), a.slice(2)]),
        lambda a: pa.concat_arrays([pa.array(["zz"]), a]).slice(1),
    ],
)
def test_strings_match_however_arrow_holds_them(wrap: Any) -> None:
    column = wrap(pa.array(["ab", "abc", None, "b", "ab"]))
    table = pa.table({"x": column})
    assert matched(["x = 'ab'", "x LIKE '%c'", "x >= 'b'", "x IS NULL"], table) == [[0, 4], [1], [3], [2]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_all_units_compare(unit: str) -> None:
    moments = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), None]
    for zone in (None, "UTC", "Europe/Berlin"):
        column = pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone))
        assert matched(["x >= TIMESTAMP '2024-01-02 00:00:00'"], pa.table({"x": column})) == [[1]]
        assert matched(["x = DATE '2024-01-01'"], pa.table({"x": column})) == [[0]]


def test_a_nanosecond_lies_between_microseconds() -> None:
    column = pa.array([1_000, 1_001, 999], pa.timestamp("ns", "UTC"))
    at = "TIMESTAMP '1970-01-01 00:00:00.000001'"
    assert matched([f"x = {at}", f"x > {at}", f"x < {at}"], pa.table({"x": column})) == [[0], [1], [2]]


def test_dates_are_midnights() -> None:
    column = pa.array([date(2024, 2, 28), date(2024, 2, 29)])
    assert one("x > TIMESTAMP '2024-02-28 12:00:00'", column) == [1]
    assert one("x = DATE '2024-02-28'", column) == [0]
    assert matched(["x = DATE '2024-02-28'"], pa.table({"x": column.cast(pa.date64())})) == [[0]]


def test_booleans() -> None:
    column = pa.array([True, False, None])
    assert one("x", column) == [0]
    assert one("NOT x", column) == [1]
    assert one("x IS NOT TRUE", column) == [1, 2]
    assert one("x > FALSE", column) == [0]


def test_nested_fields_are_dotted() -> None:
    rows = [{"b": {"c": 1}}, {"b": {"c": 7}}, {"b": None}, None]
    table = pa.table({"a": pa.array(rows, pa.struct({"b": pa.struct({"c": pa.int64()})})), "a.d": [1, 2, 3, 4]})
    assert matched(["a.b.c > 5", "a.b.c IS NULL", "a.d = 4", "`a.d` = 4"], table) == [[1], [2, 3], [3], [3]]
    assert matched(["a.b.c > 5"], table, "brute") == [[1]]


def test_a_union_column_holds_values_of_several_kinds() -> None:
    column = pa.UnionArray.from_dense(
        pa.array([0, 1, 2, 0], pa.int8()),
        pa.array([0, 0, 0, 1], pa.int32()),
        [pa.array([5, None]), pa.array(["a"]), pa.array([5.5])],
    )
    table = pa.table({"x": column})
    assert matched(["x >= 5", "x = 'a'", "x IS NULL", "x LIKE '%a'"], table) == [[0, 2], [1], [3], [1]]


def test_distances_on_the_globe() -> None:
    table = pa.table({"lat": [52.52, 48.14, None, 91.0, -52.5], "lon": [13.40, 11.58, 0.0, 0.0, -166.6]})
    texts = [
        "geo_distance_km(lat, lon, 52.52, 13.40) < 1",
        "geo_distance_km(lat, lon, 52.52, 13.40) < 505",
        "geo_distance_km(lat, lon, 52.52, 13.40) > 500",
        "geo_distance_km(lat, lon, 52.52, 13.40) IS NULL",
        "geo_distance_km(lat, lon, 52.52, 13.40) BETWEEN 400 AND 600 AND lat > 0",
        "NOT (geo_distance_km(lat, lon, 52.52, 13.40) BETWEEN 400 AND 600)",
    ]
    expected = [[0], [0, 1], [1, 4], [2, 3], [1], [0, 4]]
    assert matched(texts, table) == expected
    assert matched(texts, table, "brute") == expected


def test_two_columns_of_one_name_are_refused() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(semcast.SemcastError, match="2 columns named 'x'"):
        matched(["x > 0"], batch)


def test_matches_of_a_table_of_many_blocks_keep_their_rows() -> None:
    count = 150_000
    table = pa.table({"x": np.arange(count)})
    assert matched(["x IN (0, 65535, 65536, 149999)", "FALSE"], table) == [[0, 65535, 65536, 149999], []]
    many = matched(["x >= 0"], table.to_batches()[0])
    assert many == [list(range(count))]


def test_matches_show_pairs_and_rows() -> None:
    matches = language.matcher([language.parse(t) for t in ("x > 1", "x > 0")]).match(pa.table({"x": [1, 0, 2]}))
    assert matches.pairs().dtype == np.int64
    assert matches.pairs().tolist() == [[0, 1], [2, 0], [2, 1]]
    assert [list(matches.of(row)) for row in range(3)] == [[1], [], [0, 1]]
    assert len(matches) == 3
    for row in (-1, 3):
        with pytest.raises(IndexError):
            matches.of(row)


def test_no_profiles_and_no_rows() -> None:
    assert language.matcher([]).match(pa.table({"x": [1]})).pairs().shape == (0, 2)
    assert language.matcher([language.parse("x > 1")]).match(pa.table({"x": pa.array([], pa.int64())})).rows == 0
    assert matched(["TRUE", "FALSE"], pa.table({"x": [1, 2]})) == [[0, 1], []]


def test_indices_are_never_reused() -> None:
    matcher = language.matcher([language.parse("x > 0")])
    assert matcher.add(language.parse("x > 1")) == 1
    matcher.remove(1)
    assert matcher.add(language.parse("x > 1")) == 2
    with pytest.raises(semcast.SemcastError, match="index 1"):
        matcher.remove(1)
    matcher.remove(0)
    matcher.remove(2)
    assert len(matcher) == 0
    assert matcher.match(pa.table({"x": [9]})).pairs().tolist() == []


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(semcast.SemcastError, match=r"'fast'.*index, brute"):
        language.matcher([], engine="fast")


def test_profiles_come_and_go_while_batches_are_matched() -> None:
    """A batch sees the profiles of one moment: the one that always stays is in every result, once."""
    batch = pa.table({"x": list(range(100))}).to_batches()[0]
    matcher = language.matcher([language.parse("x >= 0")])
    wrong: list[object] = []
    ended = threading.Event()

    def match() -> None:
        while not ended.is_set():
            pairs = matcher.match(batch).pairs()
            if (pairs[:, 1] == 0).sum() != 100 or len(np.unique(pairs, axis=0)) != len(pairs):
                wrong.append(pairs)

    threads = [threading.Thread(target=match) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(150):
        index = matcher.add(language.parse(f"x < {i}"))
        if i % 3:
            matcher.remove(index)
    ended.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(matcher) == 51
