"""Small worlds of descriptors and interest profiles, and what matches what, written once more from the words.

A profile is a list of conditions that are all asked for; a condition is a tuple whose first part says what it is. It is
evaluated here as it is drawn, before any normal form, on descriptors as they are drawn, before any XML.
"""

from __future__ import annotations

from math import acos, cos, radians, sin
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

SPACES = {"d": "urn:d", "e": "urn:e"}
NAMES = ["d:a", "d:b", "e:a", "c"]
TEXTS = ["1", "2", "2.0", "x", "x y", "", "-3e0", '<&">']
PLACES = [(40.0, -74.0), (40.5, -74.4), (0.0, 179.9), (0.0, -179.9), (89.9, 10.0), (-90.0, 0.0)]
_HEAD = 'xmlns:d="urn:d" xmlns:e="urn:e"'

Condition = tuple[Any, ...]
Profile = list[Condition]
Drawn = tuple[str, str, tuple[float, float] | None, list["Drawn"]]  # type: ignore[misc]
Descriptor = list[list[Drawn]]
"""Descriptions, each with its nodes: name, text, place, nodes below."""

_numbers = st.sampled_from([-3.0, 0.0, 1.0, 1.5, 2.0, 5.0])
_values = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(TEXTS)),
    st.tuples(st.just("text"), st.sampled_from(TEXTS)),
    st.builds(
        lambda low, high, sides: ("range", low, high, *sides),
        st.none() | _numbers,
        st.none() | _numbers,
        st.tuples(st.booleans(), st.booleans()),
    ),
    st.builds(
        lambda km, place: ("distance", km, *place),
        st.sampled_from([0.0, 10.0, 70.0, 500.0, 9000.0, 30000.0]),
        st.sampled_from(PLACES),
    ),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    st.one_of(_values, st.tuples(st.just("has"), st.sampled_from(NAMES), st.just([]))),
    lambda inner: st.one_of(
        st.tuples(st.just("has"), st.sampled_from(NAMES), st.lists(inner, max_size=3)),
        st.tuples(st.just("has"), st.sampled_from(NAMES), st.lists(inner, min_size=1, max_size=2)),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)),
        st.tuples(st.just("not"), st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=7,
)
profiles: st.SearchStrategy[Profile] = st.lists(conditions, min_size=1, max_size=3)

_tests: list[Condition] = [
    ("text", "1"),
    ("text", "2"),
    ("range", 1.0, 2.0, False, False),
    ("range", 1.0, None, True, False),
    ("range", None, 5.0, False, True),
]
_parts: st.SearchStrategy[Condition] = st.recursive(
    st.builds(
        lambda name, test: ("has", name, test),
        st.sampled_from(["d:a", "d:b"]),
        st.one_of(st.just([]), st.sampled_from(_tests).map(lambda test: [test])),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), st.lists(inner, min_size=1, max_size=2)),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=2)),
        st.builds(lambda items: ("has", "d:a", items), st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=3,
)
_literals: st.SearchStrategy[Condition] = st.builds(
    lambda name, test, denied: ("not", [("has", name, test)]) if denied else ("has", name, test),
    st.sampled_from(["d:a", "d:b"]),
    st.one_of(st.just([]), st.sampled_from(_tests).map(lambda test: [test])),
    st.booleans(),
)
related: st.SearchStrategy[tuple[Profile, Profile]] = st.one_of(
    st.tuples(st.lists(_literals, min_size=1, max_size=2), st.lists(_literals, min_size=1, max_size=2)),
    st.tuples(st.lists(_parts, min_size=1, max_size=2), st.lists(_parts, min_size=1, max_size=2)),
)
"""Two profiles of so small a world that they often say something about each other."""

_nodes: st.SearchStrategy[Drawn] = st.recursive(
    st.builds(
        lambda name, text, place: (name, text, place, []),
        st.sampled_from(NAMES),
        st.sampled_from(TEXTS),
        st.none() | st.sampled_from(PLACES),
    ),
    lambda inner: st.builds(
        lambda name, text, below: (name, text, None, below),
        st.sampled_from(NAMES),
        st.sampled_from(["", "", *TEXTS]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)
descriptors: st.SearchStrategy[Descriptor] = st.lists(st.lists(_nodes, max_size=4), min_size=1, max_size=2)


PLAIN: list[Descriptor] = [
    [[(name, text, None, below)]]
    for name in ("d:a", "d:b")
    for text in ("", "1", "2", "x", "5")
    for below in ([], [("d:a", "", None, [])], [("d:b", "1", None, []), ("d:a", "2", None, [])])
]
PLAIN += [[[]], [[("d:a", "1", None, []), ("d:b", "2", None, [])]], [[("d:a", "2", None, []), ("d:a", "1", None, [])]]]


def profile_xml(profile: Profile) -> str:
    body = "".join(map(_condition_xml, profile))
    return f'<ip:IP xmlns:ip="http://schema.SemanticRouting.net/ip/1.0" {_HEAD}>{body}</ip:IP>'


def _condition_xml(condition: Condition) -> str:
    match condition:
        case ("has", name, items):
            return f"<{name}>{''.join(map(_condition_xml, items))}</{name}>"
        case ("and" | "or" | "not" as word, items):
            return f"<ip:{word.title()}>{''.join(map(_condition_xml, items))}</ip:{word.title()}>"
        case ("text", value):
            return f"<ip:string-match>{escape(value)}</ip:string-match>"
        case ("range", low, high, open_low, open_high):
            ends = "" if low is None else f' {"above" if open_low else "min"}="{low}"'
            ends += "" if high is None else f' {"below" if open_high else "max"}="{high}"'
            return f"<ip:range{ends}/>"
        case ("distance", km, latitude, longitude):
            return f'<ip:distance within="{km}" units="km" latitude="{latitude}" longitude="{longitude}"/>'
    raise AssertionError(condition)


def descriptor_xml(descriptor: Descriptor) -> str:
    body = "".join(f"<r:Description>{''.join(map(_node_xml, nodes))}</r:Description>" for nodes in descriptor)
    return f'<r:RDF xmlns:r="http://www.w3.org/TR/WD-rdf-syntax#" {_HEAD}>{body}</r:RDF>'


def _node_xml(node: Drawn) -> str:
    name, text, place, below = node
    where = "" if place is None else f' latitude="{place[0]}" longitude={quoteattr(str(place[1]))}'
    return f"<{name}{where}>{escape(text)}{''.join(map(_node_xml, below))}</{name}>"


def matches(profile: Profile, descriptor: Descriptor) -> bool:
    """Some description has all that the profile asks for."""
    return any(all(_true(item, "", None, nodes) for item in profile) for nodes in descriptor)


def _true(condition: Condition, text: str, place: tuple[float, float] | None, below: list[Drawn]) -> bool:
    match condition:
        case ("has", name, items):
            return any(
                name == called and all(_true(item, words, where, inner) for item in items)
                for called, words, where, inner in below
            )
        case ("and", items):
            return all(_true(item, text, place, below) for item in items)
        case ("or", items):
            return any(_true(item, text, place, below) for item in items)
        case ("not", items):
            return not all(_true(item, text, place, below) for item in items)
        case ("text", value):
            return bool(text == value)
        case ("range", low, high, open_low, open_high):
            try:
                number = float(text)
            except ValueError:
                return False
            above = low is None or (number > low if open_low else number >= low)
            return bool(above and (high is None or (number < high if open_high else number <= high)))
        case ("distance", km, latitude, longitude):
            return place is not None and _km(place, (latitude, longitude)) <= km + 1e-3
    raise AssertionError(condition)


def _km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """By the law of cosines, which is not how the engines do it; the world's places are equal or far from any limit."""
    if a == b:
        return 0.0
    north, south = radians(a[0]), radians(b[0])
    cosine = sin(north) * sin(south) + cos(north) * cos(south) * cos(radians(a[1] - b[1]))
    return 6371.0088 * acos(max(-1.0, min(1.0, cosine)))
