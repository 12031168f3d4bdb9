"""The laws of the XPath engine where many profiles share few places: what is watched, remembered and searched at once.

Documents come one after the other to one engine, since what it has learned from earlier ones must not show in what
it finds in later ones.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.xpath import tables
from semcast.matching.xpath.dfa import DfaEngine
from semcast.matching.xpath.documents import Documents, payloads_of
from semcast.matching.xpath.kernels import bits, memory, needles, watch
from semcast.profiles.xpath import XPathProfile, parse
from tests.laws.xpath_worlds import expected

language = semcast.language("xpath")
_WORDS = ["a", "ab", "abc", "bc", "c", "ca", "b a"]

_places = st.sampled_from(["@x", "@y", "n", "n/@x", ".//n", "t", ".//t", "*", ".", "m/n"])
_numbers = st.builds("{} {} {}".format, _places, st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), st.integers(-1, 6))
_texts = st.builds("{} {} '{}'".format, _places, st.sampled_from(["=", "=", "!="]), st.sampled_from([*_WORDS, "3"]))
_parts = st.builds(
    "{}({}, '{}')".format, st.sampled_from(["contains", "starts-with"]), _places, st.sampled_from(_WORDS)
)
_conditions = st.one_of(_numbers, _texts, _parts, _places)
_combined = st.one_of(
    st.builds("{} and {}".format, _conditions, _conditions),
    st.builds("{} and {} and {}".format, _conditions, _conditions, _conditions),
    st.builds("{} and ({} or {})".format, _conditions, _conditions, _conditions),
    st.builds("{} and not({})".format, _conditions, _conditions),
    _conditions,
)
_heads = st.sampled_from(["/r/i", "//i", "/r//i", "/*/i", "/r/*"])
_tails = st.sampled_from(["", "/n", "//n[. > 2]", "/t[contains(., 'b')]", "/*[@x]"])
_crowds = st.lists(st.builds("{}[{}]{}".format, _heads, _combined, _tails), min_size=10, max_size=40)

_values = st.sampled_from(["0", "1", "2", "3", "5", "3.0", *_WORDS, "ab ca", "c abc"])
_leaves = st.one_of(
    st.builds("<n>{}</n>".format, _values),
    st.builds("<n x='{}'>{}</n>".format, _values, _values),
    st.builds("<t>{}</t>".format, _values),
    st.builds("<m><n>{}</n>{}</m>".format, _values, _values),
)
_items = st.builds("<i x='{}' y='{}'>{}</i>".format, _values, _values, st.lists(_leaves, max_size=4).map("".join))
_documents = st.lists(_items, min_size=1, max_size=3).map(lambda items: f"<r>{''.join(items)}</r>")


def _found(engine: DfaEngine, document: str) -> list[int]:
    (read,) = map(Documents, payloads_of(pa.table({"payload": [document]})))
    return [int(at) for at in engine.match(read).of(0)]


@given(_crowds, st.lists(_documents, min_size=2, max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_crowd_of_profiles_equals_lxml_whatever_came_before(texts: list[str], documents: list[str]) -> None:
    engine = DfaEngine([parse(text) for text in texts])
    for document in [*documents, *reversed(documents)]:
        assert _found(engine, document) == [at for at, text in enumerate(texts) if expected(text, document)]
        _check(engine.watches)


@given(_crowds, st.lists(_documents, min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_little_room_to_remember_changes_nothing(texts: list[str], documents: list[str]) -> None:
    profiles: list[XPathProfile] = [parse(text) for text in texts]
    roomy = DfaEngine(profiles)
    with patch.object(tables, "_MAX_MEMORY", 2), patch.object(needles, "_ROOM", 3):
        narrow = DfaEngine(profiles, max_size=64)
    for document in [*documents, *documents]:
        assert _found(narrow, document) == _found(roomy, document)


@given(_crowds, st.lists(_documents, min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_what_is_remembered_stays_while_its_room_grows(texts: list[str], documents: list[str]) -> None:
    profiles: list[XPathProfile] = [parse(text) for text in texts]
    with patch.object(memory, "_FIRST_SLOTS", 2):
        growing = DfaEngine(profiles)
    roomy = DfaEngine(profiles)
    for document in [*documents, *documents]:
        assert _found(growing, document) == _found(roomy, document)
        assert growing.remembered == roomy.remembered


@given(st.sets(st.integers(0, 200)), st.integers(0, 200), st.integers(0, 200))
def test_bits_by_the_half_are_bits_one_by_one(numbers: set[int], begin: int, end: int) -> None:
    words = np.zeros(4, np.uint64)
    for half in range(7):
        mask = sum(1 << number - 32 * half for number in numbers if number >> 5 == half)
        # As pools hold them: the highest bit of a half is the sign.
        signed = int(np.uint32(mask).astype(np.int32))
        bits.put_half.py_func(half, np.int64(signed & ~bits.within.py_func(half, begin, end)), words)
    found = {number for number in range(256) if int(words[number >> 6]) >> (number & 63) & 1}
    assert found == {number for number in numbers if not begin <= number < end}


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(-1, 21), st.integers(0, 25))
def test_what_was_found_is_gone_on_with_from_anywhere(ends: list[int], place: int, near: int) -> None:
    found = np.array([(end, 0) for end in sorted(ends)], np.int32).reshape(-1, 2)
    first = needles._first_behind.py_func(place, near, len(found), found)
    assert first == np.searchsorted(found[:, 0], place, side="right")


def _check(watches: watch.Watches) -> None:
    """Every condition waits at all atoms of the need that it watches, and atoms know who waits."""
    waiting: dict[int, set[int]] = {}
    for atom, (way, following, blocker, _) in enumerate(watches.heads.tolist()):
        if way != watch.LAST_WAY:
            assert (following, blocker) == tuple(watches.ways[way, [watch.NEXT, watch.BLOCKER]].tolist())
        while way != watch.LAST_WAY:
            assert watches.atoms[way] == atom
            waiting.setdefault(atom, set()).add(way)
            way = int(watches.ways[way, watch.NEXT])
        known = bool(int(watches.watched[atom >> 6]) >> (atom & 63) & 1)
        assert known == (atom in waiting)
    for row in watches.conditions.tolist():
        need = row[watch.WATCHED]
        assert row[watch.NEEDS] <= need < row[watch.NEEDS_END]
        for way in range(watches.needs[need], watches.needs[need + 1]):
            assert way in waiting[int(watches.atoms[way])]
