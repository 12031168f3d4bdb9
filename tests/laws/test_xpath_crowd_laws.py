"""The laws of the XPath engine where many profiles share few places: what is watched, remembered and searched at once.

Documents come one after the other to one engine, since what it has learned from earlier ones must not show in what
it finds in later ones.
"""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.xpath import tables
from semcast.matching.xpath.dfa import DfaEngine
from semcast.matching.xpath.documents import Documents, payloads_of
from semcast.matching.xpath.kernels import needles, watch
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


def _check(watches: watch.Watches) -> None:
    """Every condition waits at all atoms of the need that it watches, and atoms know who waits."""
    waiting: dict[int, set[int]] = {}
    for atom, way in enumerate(watches.first.tolist()):
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
