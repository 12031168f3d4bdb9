"""A filter's profiles change; what it decodes follows them, and nothing is decoded anew that stays the same."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.matching import decode
from semcast.model import ProfileError, SemcastError
from semcast.model.message import Message, ProfileText
from semcast.protocol.filters import Filter, _Part

TEXTS = [
    "a > 1",
    "a > 2 AND b = 'x'",
    "b = 'x' OR c = TRUE",
    "a = 'x'",
    "c IS NULL",
    "d IS NOT NULL",
    "geo_distance_km(p, q, 1, 2) < 500",
    "d = 3",
]
MESSAGES = [
    Message("s", body)
    for body in (b'{"a": 2, "b": "x"}', b'{"a": "x", "d": 3}', b'{"c": true, "d": "?"}', b'{"p": 1, "q": 2}', b"no")
]


def profile(text: str, stream: str = "s") -> ProfileText:
    return ProfileText(stream, "relational", text)


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.sampled_from(TEXTS)), max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_filter_that_changed_matches_as_one_that_is_new(steps: list[tuple[int, str | None]]) -> None:
    changed: Filter[int] = Filter()
    live: dict[int, ProfileText] = {}
    for name, text in steps:
        if text is None:
            changed.remove(name)
            live.pop(name, None)
        else:
            changed.add(name, profile(text))
            live[name] = profile(text)
        found = [sorted(names) for names in changed.match(MESSAGES)]
        assert found == [sorted(names) for names in Filter(live).match(MESSAGES)]
        assert len(changed) == len(live)


def test_that_law_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter whose decoder outlives a change of columns is caught."""
    monkeypatch.setattr(_Part, "_changed", lambda self, counts, key, by: counts.update({key: by}))
    with pytest.raises(AssertionError):
        test_a_filter_that_changed_matches_as_one_that_is_new()


@pytest.fixture
def decoders(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Those that were made."""
    made: list[object] = []

    class Counted(decode.Decoder):
        def __init__(self, wanted: decode.Wanted) -> None:
            super().__init__(wanted)
            made.append(self)

    monkeypatch.setattr(decode, "Decoder", Counted)
    return made


def test_a_decoder_lasts_while_profiles_look_at_the_same_columns(decoders: list[object]) -> None:
    chosen = Filter({at: profile(text) for at, text in enumerate(TEXTS[:3])})
    chosen.match(MESSAGES)
    for at in range(50):
        chosen.add(100 + at, profile(f"a > {at} AND b = '{at}'"))
        chosen.match(MESSAGES)
        chosen.remove(99 + at)
        chosen.match(MESSAGES)
    assert len(decoders) == 1
    chosen.add("more", profile("e = 1"))
    chosen.match(MESSAGES)
    assert len(decoders) == 2
    chosen.remove("more")
    chosen.match(MESSAGES)
    assert len(decoders) == 3


def test_strings_and_timestamps_in_one_column_are_refused_only_while_both_are_asked_for() -> None:
    chosen = Filter({"string": profile("a = 'x'"), "time": profile("a > TIMESTAMP '2020-01-01 00:00:00'")})
    with pytest.raises(SemcastError, match="strings and with timestamps"):
        chosen.match(MESSAGES)
    chosen.remove("time")
    assert chosen.match(MESSAGES)[1] == ["string"]


def test_many_are_added_at_once_and_a_wrong_one_changes_nothing() -> None:
    chosen = Filter({1: profile("a > 1"), 2: profile("b = 'x'")})
    with pytest.raises(ProfileError):
        chosen.extend([(3, profile("a > 0")), (1, profile("a >"))])
    assert chosen.match(MESSAGES)[0] == [1, 2]
    assert 3 not in chosen
    chosen.extend([(3, profile("a > 0")), (1, profile("a > 5")), (3, profile("a = 2")), (2, profile("b = 'x'"))])
    assert chosen.match(MESSAGES)[0] == [2, 3]
    assert len(chosen) == 3


def test_large_rebuilds_leave_the_turn() -> None:
    jobs: list[Callable[[], None]] = []
    chosen: Filter[int] = Filter(aside=jobs.append)
    for at in range(0, 12_000, 3_000):
        chosen.extend((at + n, profile(f"a = {at + n}")) for n in range(3_000))
        assert chosen.match([Message("s", b'{"a": %d}' % (at + 5))]) == [[at + 5]]
    assert len(jobs) == 1
    jobs.pop()()
    assert not jobs
    assert chosen.match([Message("s", b'{"a": 5}')]) == [[5]]


def test_a_profile_takes_about_a_kilobyte() -> None:
    def text(n: int) -> str:
        return f"price > {n / 7:.3f} AND symbol = 'S{n % 5_000:05d}' AND volume >= 1000000"

    chosen: Filter[int] = Filter({n: profile(text(n)) for n in range(1_000)})
    message = [Message("s", b'{"price": 5, "symbol": "S00001"}')]
    chosen.match(message)
    gc.collect()
    tracemalloc.start()
    try:
        chosen.extend((n, profile(text(n))) for n in range(1_000, 11_000))
        chosen.match(message)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] / 10_000 < 1_100
    finally:
        tracemalloc.stop()
