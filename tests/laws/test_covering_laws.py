"""The laws of covering by witness: what is found is what comparing with every profile finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching import LANGUAGES, Language, covering
from semcast.matching.covering import CoverIndex
from tests.laws import relational_worlds, semantic_worlds, topic_worlds, xpath_worlds

_NAMED = {"namespaces": xpath_worlds.NAMESPACES}


def _parsed(name: str) -> Callable[[str], Any]:
    options = _NAMED if name == "xpath" else {}
    return lambda text: semcast.language(name).parse(text, **options)


_PLACES = st.builds(
    "geo_distance_km(i, f, {}, {}) {} {}".format,
    st.sampled_from(["40", "-89.5", "0"]),
    st.sampled_from(["-74", "179.9", "0"]),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.sampled_from(["0", "10", "500", "25000"]),
)
_RELATIONAL = st.one_of(relational_worlds.texts, relational_worlds.texts, relational_worlds.conjunctions(), _PLACES)
_SEMANTIC = st.one_of(
    semantic_worlds.profiles,
    semantic_worlds.related.map(lambda pair: pair[0]),
    semantic_worlds.related.map(lambda pair: pair[1]),
)
PROFILES: dict[str, st.SearchStrategy[Any]] = {
    "relational": _RELATIONAL.map(_parsed("relational")),
    "topic": topic_worlds.profiles,
    "xpath": xpath_worlds.expressions.map(_parsed("xpath")),
    "semantic": _SEMANTIC.map(semantic_worlds.profile_xml).map(_parsed("semantic")),
}
_SETTINGS = settings(max_examples=120, deadline=None)


def witnesses_match(language: Language[Any], profiles: Sequence[Any]) -> None:
    """Every witness of a profile is matched by it, under every engine."""
    for profile in profiles:
        rows = language.witnesses(profile)
        for engine in language.engines:
            found = language.matcher([profile], engine=engine).match(rows)
            assert found.counts().tolist() == [1] * rows.num_rows, (str(profile), engine)


def coverers_are_found(
    language: Language[Any], live: dict[int, Any], index: CoverIndex[Any, int], asked: list[Any]
) -> None:
    """Where a profile has a witness, the index finds what covers it if, and only if, a comparison with all does."""
    rows, owners = language.witnesses_of(asked)
    assert rows.num_rows == len(owners)
    without = set(sorted(live)[::3])
    for barred in (set(), without):
        found = index.find(asked, without=barred)
        for at, (profile, name) in enumerate(zip(asked, found, strict=True)):
            covering = [n for n, other in live.items() if n not in barred and language.covers(other, profile)]
            if name is not None:
                assert name in covering, (str(profile), str(live[name]))
            elif at in owners:
                assert not covering, (str(profile), str(live[covering[0]]))


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_witness_is_matched_by_its_profile(name: str) -> None:
    @given(st.lists(PROFILES[name], min_size=1, max_size=6))
    @_SETTINGS
    def law(profiles: list[Any]) -> None:
        witnesses_match(semcast.language(name), profiles)

    law()


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_coverer_is_found_if_and_only_if_there_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through adding, replacing and removing; and also where a few wide profiles are asked first."""
    monkeypatch.setattr(covering, "_MANY", 1)
    steps = st.lists(st.tuples(st.integers(0, 9), st.none() | PROFILES[name]), max_size=16)

    @given(steps, st.lists(PROFILES[name], min_size=1, max_size=5))
    @_SETTINGS
    def law(changes: list[tuple[int, Any]], asked: list[Any]) -> None:
        _lives_through(name, changes, asked)

    law()


def _lives_through(name: str, changes: list[tuple[int, Any]], asked: list[Any]) -> None:
    language = semcast.language(name)
    index: CoverIndex[Any, int] = CoverIndex(language)
    live: dict[int, Any] = {}
    for at, (number, profile) in enumerate(changes):
        if profile is not None:
            index.add(number, profile)
            live[number] = profile
        elif number in live:
            index.remove(number)
            del live[number]
        assert len(index) == len(live)
        if at % 4 == 3:
            coverers_are_found(language, live, index, [*asked, *live.values()])
    coverers_are_found(language, live, index, [*asked, *live.values()])


@pytest.mark.parametrize("name", LANGUAGES)
def test_most_profiles_have_a_witness(name: str) -> None:
    """A law that speaks of witnesses says nothing where there are none."""
    language = semcast.language(name)
    drawn: list[Any] = []

    @given(PROFILES[name])
    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    def draw(profile: Any) -> None:
        drawn.append(profile)

    draw()
    _, owners = language.witnesses_of(drawn)
    assert len(set(owners)) > 0.6 * len(drawn)


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_index_that_drops_a_candidate_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "_common", lambda parts: iter(parts[0][1:].tolist()))
    with pytest.raises((AssertionError, ExceptionGroup)):
        _once(PROFILES[name], lambda changes, asked: _lives_through(name, changes, asked))


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_witness_outside_its_profile_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    language = semcast.language(name)
    right = type(language).witnesses_of
    other = language.parse("i = 5" if name == "relational" else "other")

    def wrong(self: Language[Any], profiles: Sequence[Any]) -> tuple[pa.RecordBatch, list[int]]:
        """The witnesses of another profile."""
        return right(self, [other] * len(profiles))

    monkeypatch.setattr(type(language), "witnesses_of", wrong)
    with pytest.raises((AssertionError, ExceptionGroup)):
        _once(PROFILES[name], lambda changes, asked: witnesses_match(language, asked))


def _once(profiles: st.SearchStrategy[Any], law: Callable[[list[tuple[int, Any]], list[Any]], None]) -> None:
    """Run a law that is expected to fail, without looking for the smallest case."""

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.none() | profiles), max_size=16),
        st.lists(profiles, min_size=1, max_size=5),
    )
    @settings(max_examples=400, deadline=None, database=None, phases=[Phase.generate])
    def run(changes: list[tuple[int, Any]], asked: list[Any]) -> None:
        law(changes, asked)

    run()
