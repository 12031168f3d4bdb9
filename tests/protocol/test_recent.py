"""What came lately: whoever could not keep up is served from it, and nobody is told that it holds what it let go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcast.protocol.gateway.recent import Recent
from tests.protocol.playbook import topic

A, B = topic("a"), topic("b")


def test_what_matches_is_found_in_order_and_no_more_than_asked_for() -> None:
    recent = Recent(1000)
    recent.watch(A, {})
    recent.watch(B, {})
    for number, profiles in ((3, [A]), (1, [A, B]), (7, [B]), (5, [A])):
        recent.put("s", number, b"%d" % number, profiles)
    assert recent.find("s", A, 0, 9, 9) == ({1: b"1", 3: b"3", 5: b"5"}, 9)
    assert recent.find("s", A, 1, 4, 9) == ({3: b"3"}, 4)
    assert recent.find("s", A, 0, 9, 2) == ({1: b"1", 3: b"3"}, 4)
    assert recent.find("s", A, 0, 9, 0) == ({}, 0)
    assert recent.find("t", A, 0, 9, 9) == ({}, 9)


def test_it_vouches_for_nothing_before_a_profile_was_matched_or_after_letting_go() -> None:
    recent = Recent(10)
    recent.watch(A, {"s": 4})
    assert not recent.has("s", A, 3)
    assert recent.has("s", A, 4)
    assert recent.has("t", A, 0)
    assert not recent.has("s", B, 9)
    for number in (5, 6, 7):
        recent.put("s", number, bytes(4), [A])
    assert len(recent) == 2
    assert not recent.has("s", A, 4)
    assert recent.has("s", A, 5)


def test_a_profile_that_was_left_and_is_taken_up_again_counts_from_then_on() -> None:
    recent = Recent(100)
    recent.watch(A, {"s": 0})
    recent.unwatch(A)
    assert not recent.has("s", A, 99)
    recent.watch(A, {"s": 9})
    assert not recent.has("s", A, 8)
    assert recent.has("s", A, 9)


@given(st.lists(st.tuples(st.integers(1, 30), st.sets(st.sampled_from([A, B]), min_size=1)), unique_by=lambda m: m[0]))
def test_whatever_it_vouches_for_it_has(messages: list[tuple[int, set[object]]]) -> None:
    recent = Recent(40)
    recent.watch(A, {})
    recent.watch(B, {})
    for number, profiles in messages:
        recent.put("s", number, bytes(7), profiles)  # type: ignore[arg-type]
    assert sum(1 for _ in range(len(recent))) * 7 <= 40
    for first in range(31):
        for profile in (A, B):
            if recent.has("s", profile, first):
                due = sorted(n for n, profiles in messages if profile in profiles and n > first)
                assert sorted(recent.find("s", profile, first, 99, 99)[0]) == due


@given(st.permutations(range(1, 41)), st.integers(1, 30), st.integers(0, 41), st.integers(0, 41), st.integers(0, 9))
def test_whatever_order_messages_come_and_go_in_those_that_are_here_are_found(
    order: list[int], room: int, first: int, through: int, most: int
) -> None:
    recent = Recent(room)
    for number in order:
        recent.put("s", number, b"x", (topic("a"),))
    here = sorted(order[-room:])
    between = [number for number in here if first < number <= through]
    found, end = recent.find("s", topic("a"), first, through, most)
    assert sorted(found) == between[:most]
    assert end == (between[most] - 1 if len(between) > most else through)


def test_many_come_and_go_and_the_newest_stay() -> None:
    recent = Recent(3000)
    for number in range(1, 20_001):
        recent.put("s", number, b"x", (topic("a"),))
    found, end = recent.find("s", topic("a"), 0, 20_000, 100_000)
    assert (sorted(found), end) == (list(range(17_001, 20_001)), 20_000)
    assert len(recent._numbers["s", topic("a")]) == 3000
