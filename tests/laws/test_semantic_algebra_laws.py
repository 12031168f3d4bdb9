"""The laws of the algebra that routers need: union, simplification, leakage, prefilters, selectivity, affinity."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.semantic import Prefilter, descriptor
from semcast.profiles.semantic import (
    Distribution,
    Expression,
    InterestProfile,
    Node,
    affinity,
    aggregate,
    implies,
    selectivity,
    simplify,
    size,
    truncate,
)
from semcast.profiles.semantic.algebra import _CROWD
from semcast.profiles.semantic.syntax import Expression as AnyExpression
from tests.laws import semantic_worlds as worlds
from tests.laws.semantic_worlds import Descriptor, Profile, descriptor_xml, descriptors, profile_xml, profiles

language = semcast.language("semantic")


def expression(profile: Profile) -> Expression:
    found: AnyExpression = language.parse(profile_xml(profile)).expression
    return found


def node(drawn: Descriptor) -> Node:
    found = descriptor(descriptor_xml(drawn).encode())
    assert isinstance(found, Node)
    return found


def matched(asked: Expression, given_: list[Descriptor]) -> list[bool]:
    filter_ = Prefilter({"it": asked})
    return [bool(filter_.candidates(node(drawn))) for drawn in given_]


@given(st.lists(profiles, max_size=6), st.lists(descriptors, min_size=1, max_size=10))
@settings(max_examples=120, deadline=None)
def test_an_aggregate_is_the_union(wanted: list[Profile], given_: list[Descriptor]) -> None:
    united = aggregate(map(expression, wanted))
    expected = [any(worlds.matches(profile, drawn) for profile in wanted) for drawn in given_]
    assert matched(united, given_) == expected


@given(st.lists(profiles, min_size=1, max_size=5), st.lists(descriptors, min_size=1, max_size=10))
@settings(max_examples=120, deadline=None)
def test_adding_one_by_one_is_the_union_too(wanted: list[Profile], given_: list[Descriptor]) -> None:
    united = aggregate([])
    for profile in wanted:
        united = aggregate([united, expression(profile)])
        assert implies(expression(profile), united)
    assert matched(united, given_) == matched(aggregate(map(expression, wanted)), given_)


@given(profiles, st.lists(descriptors, min_size=1, max_size=10))
@settings(max_examples=150, deadline=None)
def test_simplifying_keeps_the_meaning_and_never_grows(drawn: Profile, given_: list[Descriptor]) -> None:
    asked = expression(drawn)
    simple = simplify(asked)
    assert matched(simple, given_) == [worlds.matches(drawn, each) for each in given_]
    assert size(simple) <= size(asked)
    assert simplify(simple) == simple
    assert language.parse(str(InterestProfile.of(simple))).expression == simple


@given(st.lists(profiles, min_size=1, max_size=3), st.lists(profiles, min_size=1, max_size=3), st.data())
@settings(max_examples=100, deadline=None)
def test_a_covered_profile_leaves_the_aggregate_as_it_is(
    a: list[Profile], b: list[Profile], data: st.DataObject
) -> None:
    united = aggregate(expression(profile) for profile in a + b)
    covered = expression(data.draw(st.sampled_from(a)) + data.draw(st.sampled_from(b)))
    again = aggregate([united, covered])
    assert implies(again, united)
    assert size(again) <= size(united)


@given(profiles, st.integers(0, 4), st.lists(descriptors, min_size=1, max_size=10))
@settings(max_examples=150, deadline=None)
def test_truncating_lets_more_through_and_never_less(drawn: Profile, depth: int, given_: list[Descriptor]) -> None:
    asked = expression(drawn)
    shallow, deeper = truncate(asked, depth), truncate(asked, depth + 1)
    rows = zip(matched(shallow, given_), matched(deeper, given_), matched(asked, given_), strict=True)
    assert all(wide or not (narrow or exact) for wide, narrow, exact in rows)
    assert _levels(shallow) <= depth + 1
    assert matched(truncate(asked, 50), given_) == matched(asked, given_)


def _levels(asked: Expression) -> int:
    names = [0]
    stack = [(asked, 0)]
    while stack:
        at, depth = stack.pop()
        names.append(depth)
        if hasattr(at, "condition"):
            stack.append((at.condition, depth + 1))
        elif hasattr(at, "item"):
            stack.append((at.item, depth))
        stack += [(inner, depth) for inner in getattr(at, "items", ())]
    return max(names)


@given(
    st.dictionaries(st.sampled_from("pqrst"), st.lists(profiles, max_size=3), max_size=5),
    st.none() | st.integers(0, 3),
    st.lists(descriptors, min_size=1, max_size=8),
)
@settings(max_examples=120, deadline=None)
def test_a_prefilter_never_excludes_a_port_that_matches(
    ports: dict[str, list[Profile]], depth: int | None, given_: list[Descriptor]
) -> None:
    prefilter = Prefilter({port: aggregate(map(expression, asked)) for port, asked in ports.items()}, depth)
    for drawn in given_:
        matching = [port for port, asked in ports.items() if any(worlds.matches(one, drawn) for one in asked)]
        candidates = prefilter.candidates(node(drawn))
        assert set(matching) <= set(candidates)
        if depth is None:
            assert matching == candidates


@given(st.lists(st.integers(0, 9), min_size=_CROWD, max_size=200), st.lists(st.integers(0, 9), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_a_crowd_of_branches_is_united_like_a_few(many: list[int], wide: list[int]) -> None:
    """Beyond ``_CROWD`` branches are compared by the values that they have in common."""
    texts = [f"a {{k{n} = {at}; v = {at % 7}}}" for at, n in enumerate(many)]
    texts += [f"a {{k{n} = {at}}}" for at, n in enumerate(wide)]
    asked = [language.parse(text).expression for text in texts]
    united = aggregate(asked)
    for one in asked:
        assert implies(one, united)
    covered = [n for at, n in enumerate(wide) if at < len(many) and many[at] == n]
    assert size(united) <= sum(map(size, asked)) - 3 * len(covered)


@given(profiles, st.lists(descriptors, min_size=1, max_size=12))
@settings(max_examples=120, deadline=None)
def test_shares_are_probabilities_and_certain_where_the_sample_is(drawn: Profile, given_: list[Descriptor]) -> None:
    sample = Distribution.sampled([node(each) for each in given_])
    share = sample.share(expression(drawn))
    assert -1e-9 <= share <= 1 + 1e-9
    assert selectivity(expression(drawn), sample) >= 1 - 1e-9


@given(st.lists(st.sampled_from(worlds.TEXTS), min_size=1, max_size=40), st.sampled_from(worlds.TEXTS))
@settings(max_examples=100, deadline=None)
def test_the_share_of_one_value_is_what_was_counted(texts: list[str], wanted: str) -> None:
    given_: list[Descriptor] = [[[("d:a", text, None, [])]] for text in texts]
    asked: Profile = [("has", "d:a", [("text", wanted)])]
    share = Distribution.sampled([node(each) for each in given_]).share(expression(asked))
    assert share == pytest.approx(sum(worlds.matches(asked, each) for each in given_) / len(given_))


@given(profiles, profiles)
@settings(max_examples=120, deadline=None)
def test_affinity_is_a_symmetric_share(a: Profile, b: Profile) -> None:
    one, other = expression(a), expression(b)
    assert affinity(one, one) == 1
    assert 0 <= affinity(one, other) <= 1
    assert affinity(one, other) == affinity(other, one)
    assert not math.isnan(affinity(one, other))
