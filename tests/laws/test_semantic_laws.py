"""The laws of interest profiles and their engines."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.semantic import ENGINES
from semcast.profiles.semantic import InterestProfile
from tests.laws import semantic_worlds as worlds
from tests.laws.semantic_worlds import Descriptor, Profile, descriptor_xml, descriptors, profile_xml, profiles

language = semcast.language("semantic")


def parsed(profile: Profile) -> InterestProfile:
    found = language.parse(profile_xml(profile))
    assert isinstance(found, InterestProfile)
    return found


def batch(given_: list[Descriptor]) -> pa.Table:
    return pa.table({"payload": pa.array([descriptor_xml(descriptor) for descriptor in given_], pa.string())})


@pytest.mark.parametrize("engine", ENGINES)
@given(st.lists(profiles, max_size=8), st.lists(descriptors, min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_every_engine_equals_the_words(engine: str, wanted: list[Profile], given_: list[Descriptor]) -> None:
    matcher = language.matcher([parsed(profile) for profile in wanted], engine=engine)
    expected = [
        [row, at]
        for row, descriptor in enumerate(given_)
        for at, profile in enumerate(wanted)
        if worlds.matches(profile, descriptor)
    ]
    assert matcher.match(batch(given_)).pairs().tolist() == expected


@given(st.lists(profiles, min_size=1, max_size=12), st.lists(descriptors, min_size=1, max_size=6), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_changes_equal_a_rebuild(wanted: list[Profile], given_: list[Descriptor], seed: int) -> None:
    random = Random(seed)
    matcher = language.matcher([], engine="shared")
    live: dict[int, InterestProfile] = {}
    for profile in wanted:
        added = parsed(profile)
        live[matcher.add(added)] = added
        if random.random() < 0.3:
            gone = random.choice(list(live))
            matcher.remove(gone)
            del live[gone]
    table = batch(given_)
    rebuilt = language.matcher(list(live.values()), engine="naive").match(table).pairs().tolist()
    numbers = list(live)
    expected = [[row, numbers[at]] for row, at in rebuilt]
    assert matcher.match(table).pairs().tolist() == expected
    assert pickle.loads(pickle.dumps(matcher)).match(table).pairs().tolist() == expected


@given(profiles)
@settings(max_examples=200, deadline=None)
def test_every_way_of_writing_reads_back_to_the_same_profile(drawn: Profile) -> None:
    profile = parsed(drawn)
    for text in (language.canonical(profile), profile.notation(), profile.xml()):
        again = language.parse(text)
        assert again == profile, text
        assert hash(again) == hash(profile)
        assert language.canonical(again) == language.canonical(profile)


@given(profiles, profiles, st.lists(descriptors, min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_covers_and_overlaps_are_sound(a: Profile, b: Profile, given_: list[Descriptor]) -> None:
    both = [(worlds.matches(a, descriptor), worlds.matches(b, descriptor)) for descriptor in given_]
    if language.covers(parsed(a), parsed(b)):
        assert all(wide for wide, narrow in both if narrow)
    if not language.overlaps(parsed(a), parsed(b)):
        assert not any(wide and narrow for wide, narrow in both)


@given(worlds.related, st.lists(descriptors, min_size=4, max_size=12))
@settings(max_examples=400, deadline=None)
def test_covers_and_overlaps_of_related_profiles_are_sound(
    drawn: tuple[Profile, Profile], given_: list[Descriptor]
) -> None:
    """Profiles made of the same few parts: most pairs of others neither cover nor contradict each other."""
    a, b = drawn
    both = [(worlds.matches(a, descriptor), worlds.matches(b, descriptor)) for descriptor in [*given_, *worlds.PLAIN]]
    if language.covers(parsed(a), parsed(b)):
        assert all(wide for wide, narrow in both if narrow)
    if not language.overlaps(parsed(a), parsed(b)):
        assert not any(wide and narrow for wide, narrow in both)


@given(profiles, profiles)
@settings(max_examples=300, deadline=None)
def test_what_asks_for_more_is_covered(a: Profile, b: Profile) -> None:
    """Soundness alone would be kept by saying no; these must be seen whatever the two profiles are."""
    one, both, either = parsed(a), parsed([*a, *b]), parsed([("or", [("and", a), ("and", b)])])
    assert language.covers(one, one)
    assert language.covers(one, both)
    assert language.covers(either, one)
    assert language.covers(either, both)
    assert language.overlaps(one, either) or not language.overlaps(one, one)
    assert language.overlaps(one, parsed(b)) == language.overlaps(parsed(b), one)


@given(st.text(st.sampled_from('ab:;{}=|<>"\n \t#Q\\ andortwihnumbp1.-,/é\0\ud800'), max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_profile_or_a_profile_error(text: str) -> None:
    _readable_or_refused(text)


_PIECES = [
    *["prefix p <u:v>", "p:a", "b", "Q{u}c", "not", "or", "and", "anything", "nothing", "number", "RDF"],
    *['= "x"', "= y z", "| w", "> 1", "<= 2", "within 3 km of 4, 5", "{", "}", ";", "\n", "\n  ", "\n    ", "# c\n"],
    *['<ip:IP xmlns:ip="urn:ip/1">', "</ip:IP>", "<ip:Or>", "</ip:Or>", "<a>", "</a>", "<ip:range min='1'/>", "&lt;"],
    *["<ip:distance within='1' latitude='2' longitude='3'/>", "<!DOCTYPE a []>", "<!-- c -->", "<ip:Not/>", "t"],
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12), st.sampled_from(["", " "]))
@settings(max_examples=300, deadline=None)
def test_any_pieces_are_a_profile_or_a_profile_error(pieces: list[str], blank: str) -> None:
    _readable_or_refused(blank.join(pieces))


def _readable_or_refused(text: str) -> None:
    problem: semcast.ProfileError | None = None
    profile: Any = None
    try:
        profile = language.parse(text)
    except semcast.ProfileError as error:
        problem = error
    if problem is None:
        assert language.parse(str(profile)) == profile
    else:
        assert 0 <= problem.position <= len(text)
        assert str(problem)
