"""Chunks: what is packed comes back, and nothing else does."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from semcast.protocol.stores import Record
from semcast.storage.chunks import CHUNK_BYTES, CHUNK_RECORDS, BrokenChunk, cut, pack, unpack
from tests.unit.storage.written import record, records

masks = st.one_of(st.integers(0, 1 << 64), st.integers(1 << 64, 1 << 300))
routes = st.lists(st.tuples(st.tuples(st.text(), st.integers(0, 1 << 60)), masks), max_size=3).map(tuple)


@given(
    first=st.integers(1, 1 << 62),
    rows=st.lists(
        st.tuples(st.text(), st.integers(0, 1 << 62), st.integers(0, 1 << 62), routes, st.binary()), min_size=1
    ),
)
def test_what_is_packed_comes_back(first: int, rows: list[tuple[str, int, int, tuple[object, ...], bytes]]) -> None:
    held = [Record(first + place, *row) for place, row in enumerate(rows)]  # type: ignore[arg-type]
    assert unpack(pack(held)) == held


def test_pieces_are_bounded_and_keep_the_order() -> None:
    held = records(1, 1000) + records(1001, 300, size=1000) + [record(1301, size=CHUNK_BYTES * 2), record(1302)]
    pieces = list(cut(held))
    assert [each for piece in pieces for each in piece] == held
    assert all(piece for piece in pieces)
    assert max(map(len, pieces)) == CHUNK_RECORDS
    assert all(sum(len(each.body) for each in piece[:-1]) < CHUNK_BYTES for piece in pieces)
    assert list(cut([])) == []


@given(place=st.integers(min_value=0), bit=st.integers(0, 7))
def test_a_changed_bit_is_found(place: int, bit: int) -> None:
    chunk = pack(records(7, 5))
    data = bytearray(chunk.data)
    data[place % len(data)] ^= 1 << bit
    with pytest.raises(BrokenChunk, match="checksum"):
        unpack(chunk._replace(data=bytes(data)))


def test_a_chunk_at_anothers_place_is_found() -> None:
    chunk = pack(records(7, 5))
    for moved in (chunk._replace(first=8, last=12), chunk._replace(last=10), chunk._replace(form=1)):
        with pytest.raises(BrokenChunk, match="checksum"):
            unpack(moved)
