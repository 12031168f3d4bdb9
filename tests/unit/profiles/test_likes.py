"""Which LIKE patterns and lists are accepted, and what is said of the others."""

from __future__ import annotations

import pytest

import semcast
from semcast import ProfileError, Schema
from semcast.profiles.relational import lexer, likes

language = semcast.language("relational")
QUOTES = Schema.from_ddl("symbol STRING, price DOUBLE")


def error_of(text: str) -> ProfileError:
    with pytest.raises(ProfileError) as caught:
        language.parse(text, QUOTES)
    return caught.value


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("%a" * 63 + "%", None),
        ("%a" * 64 + "%", "the pattern has 65 of the wildcard %"),
        ("%%%%" * 100, None),
        ("a" * 1022 + "%b", None),
        ("a" * 1023 + "%b", "the pattern is 1,025 characters long"),
        ("%" + "a" * 62 + "_b%", None),
        ("%" + "a" * 63 + "_b%", "65 characters with _ among them stand between two %"),
        ("%" + "a" * 900 + "____%", None),
        ("_" * 900, None),
        ("a_" * 300 + "%" + "b_" * 200, None),
    ],
)
def test_a_pattern_is_refused_just_beyond_its_limits(pattern: str, message: str | None) -> None:
    if message is None:
        assert language.parse(f"symbol LIKE '{pattern}'", QUOTES)
        return
    error = error_of(f"price > 1 AND symbol NOT LIKE '{pattern}'")
    assert error.message == message
    assert error.position == len("price > 1 AND symbol NOT LIKE ")
    assert error.length == len(pattern) + 2
    assert error.hint is not None
    assert "at most" in error.hint


def test_a_text_without_wildcards_may_be_long() -> None:
    long = "x" * 100_000
    assert language.parse(f"symbol LIKE '{long}'") == language.parse(f"symbol = '{long}'")


def test_a_profile_may_have_any_number_of_prefixes_and_some_patterns() -> None:
    prefixes = " OR ".join(f"symbol LIKE '{number}%'" for number in range(1000, 2000))
    assert language.parse(prefixes, QUOTES)
    patterns = " OR ".join(f"symbol LIKE '%{number}%'" for number in range(1000, 1129))
    error = error_of(patterns)
    assert error.message == "the profile has more than 128 patterns"
    assert error.position == patterns.rindex("'%")
    long = " OR ".join(f"symbol LIKE '%{number}{'x' * 1000}%'" for number in range(1000, 1017))
    assert error_of(long).message == "the profile's patterns are longer than 16,384 characters together"
    assert error_of(long).position == long.rindex("'%")


@pytest.mark.parametrize("odd", [r"a\\b", "a''b", "a\nb", "a, b", "a)", "(", "é"])
def test_a_list_holds_whatever_a_string_may(odd: str) -> None:
    listed, chained = language.parse(f"symbol IN ('x', '{odd}','y' )"), f"symbol = 'x' OR symbol = '{odd}'"
    assert listed == language.parse(f"{chained} OR symbol = 'y'")


@pytest.mark.parametrize(
    ("written", "value"),
    [("-5", -5), ("+5", 5), ("007", 7), (".5", 0.5), ("1.", 1), ("-99999999999999999999", -99999999999999999999)],
)
def test_a_list_reads_numbers_as_a_comparison_does(written: str, value: float) -> None:
    listed = language.parse(f"price IN ({written}, 3)")
    assert listed == language.parse(f"price = {written} OR price = 3")
    assert value in listed.boxes[0].points


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("symbol IN (1, 2)", "symbol is a string, and this is a number", "1, 2"),
        ("price IN ( 'a', 'b')", "price is a number, and this is a string", "'a'"),
        (r"symbol IN ('a', 'b\ud800')", "the string holds an escape that is no character", r"'b\ud800'"),
        (f"price IN (1, {'9' * 400})", "the number is beyond the range of doubles", "9" * 400),
        ("price IN (1, 2f)", "32-bit literals are not supported", "2f"),
        ("symbol IN ('a', 'b'", "the profile ends where ')' should stand", ""),
        ("symbol IN ('a', 'b)", "the string is not closed", "'b)"),
        ("price > IN (1, 2)", "function 'IN' is not supported", "IN"),
        ("symbol.in (1, 2)", "unknown attribute 'symbol.in'", "symbol"),
    ],
)
def test_what_is_wrong_with_a_list_is_shown_where_it_is(text: str, message: str, place: str) -> None:
    error = error_of(text)
    assert error.message == message
    assert error.position == (text.index(place) if place else len(text))


def test_a_list_that_should_not_be_there_is_shown_by_its_parenthesis() -> None:
    text = "symbol.in (1, 2)"
    with pytest.raises(ProfileError) as caught:
        language.parse(text)
    assert caught.value.message == "unexpected '(' where the end, AND or OR should stand"
    assert caught.value.position == text.index("(")


def test_a_literal_in_a_list_of_literals_is_a_constant() -> None:
    assert language.canonical(language.parse("1 IN (2, 1)")) == "TRUE"
    assert language.canonical(language.parse("'a' NOT IN ('b', 'a')")) == "FALSE"


def test_the_limits_hold_what_they_promise() -> None:
    assert lexer.MAX_TEXT_BYTES >= 100_000 * 18
    assert likes.MAX_PATTERNS * (likes.MAX_LENGTH // 8) >= likes.MAX_PATTERN_TEXT
