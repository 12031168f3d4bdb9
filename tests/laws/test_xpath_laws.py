"""The laws of the XPath language and its engines."""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.xpath import ENGINES
from semcast.profiles.xpath import XPathProfile, parse
from tests.laws.xpath_worlds import NAMESPACES, documents, expected, expressions

language = semcast.language("xpath")
profiles = expressions.map(lambda text: parse(text, NAMESPACES))


@pytest.mark.parametrize("engine", ENGINES)
@given(st.lists(expressions, max_size=8), st.lists(documents, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_every_engine_equals_lxml(engine: str, texts: list[str], given_: list[str]) -> None:
    matcher = language.matcher([parse(text, NAMESPACES) for text in texts], engine=engine)
    table = pa.table({"payload": pa.array([*given_, "<broken"], pa.string())})
    wanted = [[row, at] for row, doc in enumerate(given_) for at, text in enumerate(texts) if expected(text, doc)]
    assert matcher.match(table).pairs().tolist() == wanted
    assert matcher.match(table).pairs().tolist() == wanted  # with the states of the first time
    assert matcher.unreadable == 2


@given(st.lists(st.tuples(st.booleans(), profiles), min_size=1, max_size=20), documents, st.randoms())
@settings(max_examples=40, deadline=None)
def test_changes_equal_a_rebuild(changes: list[tuple[bool, XPathProfile]], document: str, random: Random) -> None:
    matcher, live = language.matcher(), dict[int, XPathProfile]()
    table = pa.table({"payload": [document]})
    for grow, profile in changes:
        if grow or not live:
            live[matcher.add(profile)] = profile
        else:
            index = random.choice(sorted(live))
            matcher.remove(index)
            del live[index]
        rebuilt = language.matcher(list(live.values())).match(table).of(0)
        assert matcher.match(table).of(0).tolist() == [sorted(live)[at] for at in rebuilt]


@given(st.lists(st.tuples(profiles, profiles), min_size=1, max_size=6), st.lists(documents, min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_covers_and_overlaps_are_never_contradicted(
    pairs: list[tuple[XPathProfile, XPathProfile]], given_: list[str]
) -> None:
    matcher = language.matcher([profile for pair in pairs for profile in pair], engine="lxml")
    matches = matcher.match(pa.table({"payload": given_}))
    found = [set(matches.of(row).tolist()) for row in range(len(given_))]
    for at, (a, b) in enumerate(pairs):
        for row, matched in enumerate(found):
            first, second = 2 * at in matched, 2 * at + 1 in matched
            if second and not first:
                assert not language.covers(a, b), (str(a), str(b), given_[row])
            if first and second:
                assert language.overlaps(a, b), (str(a), str(b), given_[row])


_ALTERNATIVES = "/a/a[a/a[a or .//b]/a[a or .//b]]/a[1 > /a[a or .//b]//c/a or not(.)]/text()"


@given(profiles, profiles)
@example(parse(f"/a and {_ALTERNATIVES}"), parse(f"{_ALTERNATIVES.replace('c', 'd')} and //b"))  # too many patterns
@settings(max_examples=80, deadline=None)
def test_a_conjunction_is_covered_by_its_parts(a: XPathProfile, b: XPathProfile) -> None:
    both, either = parse(f"({a}) and ({b})"), parse(f"({a}) or ({b})")
    assert language.covers(a, a)
    assert language.covers(a, both)
    assert language.covers(either, a)
    assert language.overlaps(a, b) == language.overlaps(b, a)


@given(profiles)
@settings(max_examples=150, deadline=None)
def test_canonical_text_parses_back_to_the_same_profile(profile: XPathProfile) -> None:
    again = language.parse(language.canonical(profile))
    assert again == profile
    assert hash(again) == hash(profile)
    assert language.canonical(again) == language.canonical(profile)


@given(st.text(st.sampled_from("ab/*@.[]()'\"=<!|$-1 :,\0\ud800é"), max_size=14) | expressions.map(lambda t: t[:-2]))
@settings(max_examples=250, deadline=None)
def test_any_text_is_a_profile_or_a_profile_error(text: str) -> None:
    problem = None
    try:
        profile = language.parse(text)
    except semcast.ProfileError as error:
        problem = error
    if problem is None:
        assert language.parse(str(profile)) == profile
        assert expected(text, "<a/>") in (True, False)  # lxml reads it too
    else:
        assert 0 <= problem.position <= len(text)
        assert str(problem)


def _small_patterns() -> list[XPathProfile]:
    """All paths of up to two steps over a, * with / and //, and with one predicate."""
    steps = [sep + name for sep in ("/", "//") for name in ("a", "*", "b")]
    texts = [*steps, *map("".join, itertools.product(steps, repeat=2))]
    texts += [f"{one}[{inner}]" for one in steps for inner in ("a", "*", ".//a", "a and b", "*/a", ".//*/a")]
    return [parse(text) for text in texts]


def _small_documents() -> list[str]:
    """Chains of a, b and z, and chains that end in a fork: they hold the canonical models of small patterns."""
    chains = [names for length in range(6) for names in itertools.product("abz", repeat=length)]
    found = [_chain(names, "") for names in chains if names]
    for top, left, right, below in itertools.product("abz", repeat=4):
        for fork in (f"<{left}/><{right}><{below}/></{right}>", f"<{left}/><{right}/><{below}/>"):
            found += [_chain((*names, top), fork) for names in chains if len(names) < 3]
    return found


def _chain(names: tuple[str, ...], inside: str) -> str:
    return "".join(f"<{n}>" for n in names) + inside + "".join(f"</{n}>" for n in reversed(names))


def test_covers_is_exact_on_small_patterns() -> None:
    """Against all small documents: where they show no difference, one profile covers the other."""
    wanted, every = _small_patterns(), _small_documents()
    matches = language.matcher(wanted, engine="lxml").match(pa.table({"payload": every}))
    matched: list[set[int]] = [set() for _ in wanted]
    for row, profile in matches.pairs().tolist():
        matched[profile].add(row)
    for a, b in itertools.product(range(len(wanted)), repeat=2):
        assert language.covers(wanted[a], wanted[b]) is (matched[a] >= matched[b]), (str(wanted[a]), str(wanted[b]))
