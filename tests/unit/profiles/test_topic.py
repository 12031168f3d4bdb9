"""The topic language: what it accepts, what it refuses, covers and overlaps, and MQTT filters."""

from __future__ import annotations

import pickle

import pytest

import semcast
from semcast.profiles.topic import MAX_DEPTH, MAX_TEXT_BYTES, TopicProfile, from_mqtt, parse

language = semcast.language("topic")


@pytest.mark.parametrize(
    ("written", "canonical", "attributes", "ends"),
    [
        ("Streams", "Streams", ("Streams",), False),
        ("/Streams/Sensor", "Streams/Sensor", ("Streams", "Sensor"), False),
        ("Streams/Sensor/*/Pressure", "Streams/Sensor/*/Pressure", ("Streams", "Sensor", "*", "Pressure"), False),
        ("a/*/*", "a/*/*", ("a", "*", "*"), False),
        ("a/$", "a/$", ("a",), True),
        ("/a/*/$", "a/*/$", ("a", "*"), True),
        ("$SYS/load", "$SYS/load", ("$SYS", "load"), False),
        (" a /b\tc", " a /b\tc", (" a ", "b\tc"), False),
        ("Δ/漢字/😀", "Δ/漢字/😀", ("Δ", "漢字", "😀"), False),
        ("a/+/#", "a/+/#", ("a", "+", "#"), False),
    ],
)
def test_a_profile_is_read(written: str, canonical: str, attributes: tuple[str, ...], ends: bool) -> None:
    profile = language.parse(written)
    assert (str(profile), profile.attributes, profile.ends) == (canonical, attributes, ends)
    assert language.canonical(profile) == canonical
    assert language.parse(canonical) == profile


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "the profile is empty", 0),
        ("/", "the profile is empty", 0),
        ("*", "the first attribute cannot be a wildcard", 0),
        ("/*/Sensor", "the first attribute cannot be a wildcard", 1),
        ("*/$", "the first attribute cannot be a wildcard", 0),
        ("//a", "an attribute is empty", 1),
        ("a//b", "an attribute is empty", 2),
        ("a/b/", "an attribute is empty", 3),
        ("a//$", "an attribute is empty", 2),
        ("$", "'$' says that the topic ends here", 0),
        ("a/$/b", "'$' says that the topic ends here", 2),
        ("a/$/$", "'$' says that the topic ends here", 2),
        ("Streams/Sens*", "'*' stands for a whole attribute", 12),
        ("a/**", "'*' stands for a whole attribute", 2),
        ("a*/b", "'*' stands for a whole attribute", 1),
        ("a/b\0", "the profile holds U+0000, which no topic can hold", 3),
        ("a/\ud800", "the profile holds U+D800, which no topic can hold", 2),
    ],
)
def test_what_is_no_profile_is_refused_where_it_goes_wrong(text: str, message: str, position: int) -> None:
    with pytest.raises(semcast.ProfileError) as caught:
        language.parse(text)
    assert (caught.value.message, caught.value.position) == (message, position)
    assert caught.value.hint


def test_an_error_shows_the_place_and_what_to_write_instead() -> None:
    with pytest.raises(semcast.ProfileError) as caught:
        language.parse("Streams/Sens*/Fluid")
    assert str(caught.value) == (
        "'*' stands for a whole attribute\n  Streams/Sens*/Fluid\n              ^ write '*' instead of 'Sens*'"
    )


@pytest.mark.parametrize("text", [None, 7, b"a/b", ["a"]])
def test_only_text_is_a_profile(text: object) -> None:
    with pytest.raises(semcast.ProfileError, match="a profile is text, not"):
        language.parse(text)  # type: ignore[arg-type]


def test_depth_is_bounded() -> None:
    deepest = "/".join(["a"] * MAX_DEPTH)
    assert language.parse(deepest + "/$").ends
    with pytest.raises(semcast.ProfileError, match="the profile has 33 attributes") as caught:
        language.parse("/" + deepest + "/b/$")
    assert caught.value.text[caught.value.position] == "b"


def test_length_is_bounded_in_bytes() -> None:
    assert language.parse("é" * (MAX_TEXT_BYTES // 2))
    for text in ("é" * (MAX_TEXT_BYTES // 2 + 1), "a" * (MAX_TEXT_BYTES + 1)):
        with pytest.raises(semcast.ProfileError, match="bytes long"):
            language.parse(text)


def test_profiles_are_values() -> None:
    profile = parse("/a/*")
    assert len({profile, parse("a/*"), parse("a/b")}) == 2
    assert pickle.loads(pickle.dumps(profile)) == profile
    with pytest.raises(AttributeError):
        profile.text = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("A", "A"),
        ("A", "A/B"),
        ("A", "A/*"),
        ("A", "A/$"),
        ("A/*", "A/B"),
        ("A/*/C", "A/B/C/D"),
        ("A/*", "A/*/$"),
        ("A/*/$", "A/B/$"),
        ("A/*", "A/B/C/$"),
    ],
)
def test_covers(wide: str, narrow: str) -> None:
    a, b = parse(wide), parse(narrow)
    assert language.covers(a, b)
    assert language.overlaps(a, b)
    assert language.overlaps(b, a)
    assert a == b or not language.covers(b, a)


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [
        ("A/*/C", "A/B/*", True),
        ("A/*/C", "A/B", True),
        ("A/B", "A/C", False),
        ("A/$", "A/B", False),
        ("A/$", "A/*", False),
        ("A/*/$", "A/B/C", False),
        ("A/*/$", "A/B", True),
        ("A/B/$", "A/*/C/$", False),
        ("A", "B", False),
    ],
)
def test_overlaps_where_neither_covers(a: str, b: str, meet: bool) -> None:
    assert language.overlaps(parse(a), parse(b)) is meet
    assert language.overlaps(parse(b), parse(a)) is meet


def test_the_streams_column_is_a_string() -> None:
    assert language.wanted([]) == {"topic": frozenset({semcast.Kind.STRING})}


@pytest.mark.parametrize(
    ("filter", "profile"),
    [
        ("a/b", "a/b/$"),
        ("a", "a/$"),
        ("a/+", "a/*/$"),
        ("a/#", "a"),
        ("a/+/#", "a/*"),
        ("a/+/c", "a/*/c/$"),
        ("/a/b", "a/b/$"),
        ("/a/#", "a"),
        ("$SYS/#", "$SYS"),
        ("a b/c$", "a b/c$/$"),
    ],
)
def test_an_mqtt_filter_becomes_a_profile(filter: str, profile: str) -> None:
    assert from_mqtt(filter) == TopicProfile(profile) == parse(profile)


@pytest.mark.parametrize(
    ("filter", "message", "position"),
    [
        ("#", "the first level cannot be a wildcard", 0),
        ("+", "the first level cannot be a wildcard", 0),
        ("+/a", "the first level cannot be a wildcard", 0),
        ("/#", "the first level cannot be a wildcard", 1),
        ("a/#/b", "'#' can only be the last level", 2),
        ("a/b#", "'#' stands for a whole level", 3),
        ("a/b+/c", "'+' stands for a whole level", 3),
        ("a/*", "'*' is a value in MQTT, but no topic profile can ask for it", 2),
        ("a/b*", "'b*' is a value in MQTT, but no topic profile can ask for it", 2),
        ("a/$", "'$' is a value in MQTT, but no topic profile can ask for it", 2),
        ("a//b", "a level is empty, and no topic profile can ask for it", 2),
        ("a/", "a level is empty, and no topic profile can ask for it", 1),
        ("", "a level is empty, and no topic profile can ask for it", 0),
        ("/", "a level is empty, and no topic profile can ask for it", 0),
        ("$share/group/a/b", "this is a shared subscription", 0),
        ("/" + "a/" * MAX_DEPTH + "b", f"the profile has {MAX_DEPTH + 1} attributes", 2 * MAX_DEPTH + 1),
        ("a/\0", "the profile holds U+0000, which no topic can hold", 2),
    ],
)
def test_what_mqtt_says_and_topics_cannot_is_refused(filter: str, message: str, position: int) -> None:
    with pytest.raises(semcast.ProfileError) as caught:
        from_mqtt(filter)
    assert (caught.value.message, caught.value.text, caught.value.position) == (message, filter, position)
