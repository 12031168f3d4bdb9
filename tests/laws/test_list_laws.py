"""The laws of long lists: IN with many values means what brute force says, and costs what its text costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.profiles.relational import ranges as sets
from semcast.profiles.relational.ranges import AFTER, BEFORE, Ranges
from tests.cases import CASES

language = semcast.language("relational")


@st.composite
def long_lists(draw: st.DrawFn) -> str:
    """A condition on ``n`` or ``s`` with a list that is long enough to be indexed as one array."""
    random = Random(draw(st.integers(0, 2**32)))
    count = draw(st.sampled_from([1, 3, 15, 16, 17, 40, 200]))
    numbers = draw(st.booleans())
    extra = [2**53 + 1, 2**53, 0.5, -7] if draw(st.booleans()) else []
    values = random.sample(range(400), count)
    written = [repr(v) for v in [*values, *extra]] if numbers else [f"'v{v:03d}'" for v in values]
    name, no = "n" if numbers else "s", draw(st.sampled_from(["", "NOT "]))
    return f"{name} {no}IN ({', '.join(written)})"


@st.composite
def profiles(draw: st.DrawFn) -> str:
    first, second = draw(long_lists()), draw(long_lists())
    other = draw(st.sampled_from(["n > 100", "n <= 250.5", "s LIKE 'v1%'", "s LIKE '%2_'", "s IS NULL", "NOT n = 7"]))
    return draw(
        st.sampled_from(
            [
                first,
                f"{first} AND {second}",
                f"{first} OR {second}",
                f"{first} AND {other}",
                f"{first} OR {other}",
                f"NOT ({first} AND {second})",
                f"({first} OR {second}) AND {other}",
            ]
        )
    )


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    random = Random(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([1, 3, 30]))
    numbers: list[int | float | None] = [*range(-10, 410), 2**53, 2**53 + 1, None]
    kind = draw(st.sampled_from([pa.int64(), pa.float64()]))
    if kind == pa.float64():
        numbers = [None if number is None else float(number) for number in numbers]
    return pa.table(
        {
            "n": pa.array(random.choices(numbers, k=rows), kind),
            "s": pa.array(random.choices([*(f"v{v:03d}" for v in range(420)), "", "v", None], k=rows), pa.string()),
        }
    )


@given(st.lists(profiles(), min_size=1, max_size=5), tables())
@settings(max_examples=400, deadline=None)
def test_long_lists_match_what_brute_force_says(written: list[str], table: pa.Table) -> None:
    parsed = [language.parse(text) for text in written]
    expected = language.matcher(parsed, engine="brute").match(table).pairs().tolist()
    assert language.matcher(parsed).match(table).pairs().tolist() == expected


@given(st.integers(0, 2**32), st.sampled_from([3, 16, 60]), st.sampled_from(["", "NOT "]), tables())
@settings(max_examples=150, deadline=None)
def test_profiles_of_one_shape_keep_their_own_lists(seed: int, count: int, no: str, table: pa.Table) -> None:
    random = Random(seed)
    written = []
    for _ in range(4):
        # Apart from each other: neighbours would be one range.
        numbers, names = (random.sample(range(0, 400, 2), count) for _ in "ns")
        listed = ", ".join(f"'v{name:03d}'" for name in names)
        written.append(f"n {no}IN ({', '.join(map(str, numbers))}) AND s {no}IN ({listed})")
    parsed = [language.parse(text) for text in written]
    expected = language.matcher(parsed, engine="brute").match(table).pairs().tolist()
    assert language.matcher(parsed).match(table).pairs().tolist() == expected


@given(profiles(), profiles(), tables())
@settings(max_examples=400, deadline=None)
def test_covers_and_overlaps_of_long_lists_fit_what_matches(a: str, b: str, table: pa.Table) -> None:
    first, second = language.parse(a), language.parse(b)
    assert language.parse(language.canonical(first)) == first
    assert language.covers(first, first)
    found = language.matcher([first, second], engine="brute").match(table)
    rows = {tuple(pair) for pair in found.pairs().tolist()}
    for row in range(table.num_rows):
        if (row, 1) in rows and (row, 0) not in rows:
            assert not language.covers(first, second)
        if (row, 0) in rows and (row, 1) in rows:
            assert language.overlaps(first, second)


@given(long_lists())
@settings(max_examples=300, deadline=None)
def test_a_plain_list_reads_like_one_with_a_comment_in_it(text: str) -> None:
    # A comment makes the tokenizer take the list apart value by value.
    assert language.parse(text.replace("(", "( /* no list of its own */ ")).boxes == language.parse(text).boxes


cuts = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([BEFORE, AFTER])), max_size=12, unique=True).map(sorted)


@st.composite
def any_ranges(draw: st.DrawFn) -> Ranges:
    """Any set; points and all but points are common."""
    bottom = draw(st.booleans())
    if draw(st.booleans()):
        points = sets.finite(draw(st.lists(st.integers(0, 12), max_size=12)))
        return sets.complement(points) if bottom else points
    found = draw(cuts)
    sides = tuple(side for _, side in found)
    return Ranges((sets.BOTTOM, *sides) if bottom else sides, tuple(point for point, _ in found))


def members(ranges: Ranges) -> set[float]:
    """By going through all cuts: which of the points, and of what lies between them, are in the set?"""
    inside, at, found = ranges.sides[:1] == (sets.BOTTOM,), 0, set()
    sides = ranges.sides[1:] if inside else ranges.sides
    for half in range(-1, 27):
        value = half / 2
        while at < len(sides) and (ranges.points[at] < value or (ranges.points[at], sides[at]) == (value, BEFORE)):
            inside, at = not inside, at + 1
        if inside:
            found.add(value)
    return found


@given(st.lists(any_ranges(), min_size=2, max_size=5))
@settings(max_examples=2 * CASES, deadline=None)
def test_set_operations_are_those_of_sets(drawn: list[Ranges]) -> None:
    a, b = drawn[:2]
    everything = members(sets.ALL)
    assert members(sets.intersect(a, b)) == members(a) & members(b)
    assert members(sets.minus(a, b)) == members(a) - members(b)
    assert members(sets.complement(a)) == everything - members(a)
    assert members(sets.union(*drawn)) == set().union(*map(members, drawn))
    assert sets.is_subset(a, b) == (members(a) <= members(b))
    assert {half / 2 for half in range(-1, 27) if a.holds(half / 2)} == members(a)


@given(st.lists(any_ranges(), min_size=2, max_size=5))
@settings(max_examples=CASES, deadline=None)
def test_a_set_has_one_form_whatever_it_was_made_from(drawn: list[Ranges]) -> None:
    a, b = drawn[:2]
    assert sets.intersect(a, b) == sets.intersect(b, a)
    assert sets.union(*drawn) == sets.union(*reversed(drawn))
    assert sets.union(a, b, b) == sets.union(a, b)
    assert sets.minus(a, b) == sets.intersect(sets.complement(b), a)


def cpu_s(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def least_cpu_s(work: Callable[[], object]) -> float:
    """Of three runs: a collection of garbage that others left would count once."""
    return min(cpu_s(work) for _ in range(3))


def values(count: int) -> str:
    return ", ".join(f"'value{number:06d}'" for number in range(count))


def _matched(text: str) -> None:
    matcher = language.matcher([language.parse(text)])
    matcher.match(pa.table({"a": ["value000001"], "b": ["value000001"]}))


def _compared(text: str) -> None:
    profile, other = language.parse(text), language.parse(text.replace("value000001", "valuf"))
    language.covers(profile, other)
    language.overlaps(profile, other)


SHAPES = ["a IN ({0})", "NOT a IN ({0})", "a IN ({0}) AND b IN ({0})", "a IN ({0}) OR b IN ({0})"]


@pytest.mark.parametrize("work", [_matched, _compared], ids=["match", "compare"])
@pytest.mark.parametrize("shape", SHAPES)
def test_cpu_grows_no_faster_than_the_list(shape: str, work: Callable[[str], None]) -> None:
    work(shape.format(values(10)))
    small = least_cpu_s(lambda: work(shape.format(values(5_000))))
    assert least_cpu_s(lambda: work(shape.format(values(20_000)))) < 5 * 4 * small + 0.01
