"""What a client has, in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.model import SemcastError
from semcast.server.http.cursors import Cursor, written

names = st.text("abz019-_.", min_size=1, max_size=6)
numbers = st.integers(0, 1 << 62)


@given(
    st.dictionaries(names, st.tuples(numbers, st.sets(st.integers(1, 1000), max_size=20))), st.sampled_from(["", "s1"])
)
def test_what_was_written_is_read_again(places: dict[str, tuple[int, set[int]]], session: str) -> None:
    through = {name: first for name, (first, _) in places.items()}
    have = {name: tuple(first + n for n in sorted(above)) for name, (first, above) in places.items() if above}
    read = Cursor.read(written(through, have, session))
    assert read == Cursor(through, have, session)
    assert Cursor.read(str(read)) == read


def test_it_is_short_where_messages_came_in_order_and_tells_distances_else() -> None:
    assert written({"b1": 4, "b0": 17}, {}) == "b0:17,b1:4"
    assert written({"b0": 17}, {"b0": {25, 19, 20, 3}}, "s") == "b0:17~2.1.5;s"
    assert written({}, {"b2": {5}}) == "b2:0~5"


@pytest.mark.parametrize("text", ["b0", "b0:", ":4", "b0:x", "b0:1~2.x", "b0:-1", "b0:1" * 20_000])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(SemcastError):
        Cursor.read(text)
