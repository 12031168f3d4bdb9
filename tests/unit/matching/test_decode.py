"""Messages as text become columns of the kinds that profiles compare them with."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from semcast.matching.decode import Decoder
from semcast.model import Kind, SemcastError

NUMBER, STRING, BOOLEAN, TIMESTAMP = (frozenset({kind}) for kind in Kind)


def decoded(
    wanted: dict[str, frozenset[Kind]], *messages: object
) -> tuple[dict[str, list[object]], list[int], dict[str, int]]:
    decoder = Decoder(wanted)
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    batch, bad = decoder.json_lines(lines)
    return batch.to_pydict(), bad, dict(decoder.unfit)


def test_values_of_another_kind_become_null_and_are_counted() -> None:
    columns, bad, unfit = decoded({"x": NUMBER}, {"x": 1}, {"x": "1"}, {"x": None}, {}, {"x": [1]}, {"x": True})
    assert columns == {"x": [1, None, None, None, None, None]}
    assert (bad, unfit) == ([], {"x": 3})


def test_lines_that_are_no_json_objects_are_told() -> None:
    lines = [b"", b"{", b"[1]", b"5", b'{"x": 1}', b"\xff", b'{"x": 1} {"x": 2}', b'{"x": NaN}', b"[" * 100_000]
    _, bad, _ = decoded({"x": NUMBER}, *lines)
    assert bad == [0, 1, 2, 3, 5, 6, 7, 8]


def test_a_byte_order_mark_and_a_carriage_return_do_no_harm() -> None:
    columns, bad, _ = decoded({"x": NUMBER}, b'\xef\xbb\xbf{"x": 1}\r')
    assert (columns, bad) == ({"x": [1]}, [])


def test_integers_stay_exact_beside_fractions() -> None:
    columns, _, _ = decoded({"x": NUMBER}, {"x": 2**53 + 1}, {"x": 0.5}, {"x": 10**30})
    assert columns["x"] == [2**53 + 1, 0.5, 1e30]


def test_a_column_may_be_wanted_as_several_kinds() -> None:
    columns, _, unfit = decoded({"x": NUMBER | STRING}, {"x": 1}, {"x": "a"}, {"x": False}, {"x": None})
    assert columns["x"] == [1, "a", None, None]
    assert unfit == {"x": 1}


def test_timestamps_are_read_from_text() -> None:
    columns, _, unfit = decoded({"t": TIMESTAMP}, {"t": "2024-01-01T00:00:00Z"}, {"t": "soon"}, {"t": 5}, {})
    assert [None if t is None else t.isoformat() for t in columns["t"]] == [
        "2024-01-01T00:00:00+00:00",
        None,
        None,
        None,
    ]
    assert unfit == {"t": 2}


def test_strings_and_timestamps_cannot_both_be_wanted() -> None:
    with pytest.raises(SemcastError, match="--schema 't TIMESTAMP'"):
        Decoder({"t": STRING | TIMESTAMP})


def test_dotted_names_reach_into_objects() -> None:
    columns, _, _ = decoded({"a.b.c": NUMBER}, {"a": {"b": {"c": 1}}}, {"a.b.c": 2}, {"a.b": {"c": 3}}, {"a": 4})
    assert columns["a.b.c"] == [1, 2, 3, None]


def test_what_is_only_tested_for_null_may_be_anything() -> None:
    columns, _, unfit = decoded({"x": frozenset()}, {"x": [1]}, {"x": None}, {"x": "a"})
    assert columns["x"] == [True, None, True]
    assert not unfit


def test_cells_of_a_csv_file_are_read_as_wanted() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "n": ["1", "-2.5", "x", None, " 1e3 ", "NaN", "9007199254740993", "-inf"],
            "b": ["true", "FALSE", "yes", None, "", "1", "0", "t"],
            "s": ["1", "", "a", None, "b", "c", "d", "e"],
        }
    )
    decoder = Decoder({"n": NUMBER, "b": BOOLEAN, "s": STRING, "none": NUMBER})
    columns = decoder.text_columns(batch).to_pydict()
    assert str(columns["n"]) == "[1, -2.5, None, None, 1000, nan, 9007199254740993, -inf]"
    assert columns["b"] == [True, False] + [None] * 6
    assert columns["s"] == batch.column(2).to_pylist()
    assert decoder.unfit == {"n": 1, "b": 4}
