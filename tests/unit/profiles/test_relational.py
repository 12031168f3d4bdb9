"""What relational profiles mean, and what they refuse."""

from __future__ import annotations

import pickle

import pytest

import semcast
from semcast import ProfileError, Schema

language = semcast.language("relational")
QUOTES = Schema.from_ddl("symbol STRING, price DOUBLE, size INT, time TIMESTAMP, open BOOLEAN, lat DOUBLE, lon DOUBLE")


def canonical(text: str) -> str:
    return language.canonical(language.parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20 < price AND symbol == 'IBM'", "price > 20 AND symbol = 'IBM'"),
        ("price BETWEEN 1 AND 2", "price >= 1 AND price <= 2"),
        ("NOT (price > 10 OR symbol = 'a')", "price <= 10 AND symbol <> 'a'"),
        ("x = 1 OR x = 2 OR x IN (2, 3)", "x IN (1, 2, 3)"),
        ("x <> 1 AND x != 2", "x NOT IN (1, 2)"),
        ("s LIKE 'ab%'", "s >= 'ab' AND s < 'ac'"),
        ("s LIKE 'ab'", "s = 'ab'"),
        ("s LIKE '%'", "s >= ''"),
        ("s LIKE 'a!%%' ESCAPE '!'", "s >= 'a%' AND s < 'a&'"),
        (r"s LIKE 'a\_%'", "s >= 'a_' AND s < 'a`'"),
        ("b", "b = TRUE"),
        ("NOT b", "b = FALSE"),
        ("b IS TRUE OR b IS FALSE", "b IN (FALSE, TRUE)"),
        ("x <=> NULL", "x IS NULL"),
        ("x IS NOT DISTINCT FROM 5", "x = 5"),
        ("x > 1 AND x > 3", "x > 3"),
        ("x > 1 OR x > 3", "x > 1"),
        ("x > 5 AND x < 5", "FALSE"),
        ("x = NULL", "FALSE"),
        ("x NOT IN (1, NULL)", "FALSE"),
        ("1 < 2 AND 'a' = 'a'", "TRUE"),
        ("1 = 'a'", "FALSE"),
        ("t >= DATE '2024-02-29'", "t >= TIMESTAMP '2024-02-29 00:00:00'"),
        ("t = TIMESTAMP '2024-01-01T10:00:00.5+02:00'", "t = TIMESTAMP '2024-01-01 08:00:00.500000'"),
        ("t = CAST('2024' AS TIMESTAMP)", "t = TIMESTAMP '2024-01-01 00:00:00'"),
        ("x = 1.50 /* a comment */ -- and another", "x = 1.5"),
        ("x = 10.0 AND y = 1e3 AND z = -0.0", "x = 10 AND y = 1000 AND z = 0"),
        ("x = 9007199254740993", "x = 9007199254740993"),
        ("`a b`.c > 1 AND `is` = 2", "`a b.c` > 1 AND `is` = 2"),
        (r"s = 'it''s' OR s = 'a\\b\n' OR s = r'\n'", r"s IN ('\\n', 'a\\b" + "\n', 'it''s')"),
        ('s = "double"', "s = 'double'"),
        ("(((x)) > (5))", "x > 5"),
        ("(x > 1 OR y > 1) AND z = 1", "(x > 1 AND z = 1) OR (y > 1 AND z = 1)"),
        ("geo_distance_km(lat, lon, 52.5, 13) <= 5", "geo_distance_km(lat, lon, 52.5, 13.0) <= 5"),
    ],
)
def test_canonical_text(text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("price >", "the profile ends where an attribute or a literal should stand", 7, None),
        ("", "the profile is empty", 0, "TRUE"),
        ("   ", "the profile is empty", 0, "TRUE"),
        ("symbol = 'IBM' AND prise > 90", "unknown attribute 'prise'", 19, "did you mean 'price'?"),
        ("Symbol = 'IBM'", "unknown attribute 'Symbol'", 0, "did you mean 'symbol'?"),
        ("price = 'abc'", "price is a number, and this is a string", 8, None),
        ("symbol > 5", "symbol is a string, and this is a number", 9, "quotes"),
        ("time > '2024-01-01'", "time is a timestamp, and this is a string", 7, "TIMESTAMP '2024-01-01'"),
        ("price IN (1, 'a')", "price is a number, and this is a string", 13, None),
        ("symbol LIKE 5", "LIKE takes a string", 12, None),
        ("price", "price is a number, and this is a boolean", 0, None),
        ("price > size", "two attributes cannot be compared", 8, "literal"),
        ("price + 1 > 2", "arithmetic", 6, None),
        ("price * 2 > 2", "unexpected character '*'", 6, "arithmetic"),
        ("upper(symbol) = 'A'", "function 'upper' is not supported", 0, "geo_distance_km"),
        ("price > 1 AND", "the profile ends", 13, None),
        ("price > 1 price", "unexpected 'price'", 10, None),
        ("(price > 1", "the parenthesis is not closed", 0, "closing )"),
        ("price > 1)", "unexpected ')'", 9, None),
        ("symbol = 'IBM", "the string is not closed", 9, "closing '"),
        ("1 < price < 2", "comparisons cannot be chained", 10, "AND"),
        ("(price > 1) = TRUE", "a condition cannot be compared", 12, None),
        ("5", "a value alone is no condition", 0, None),
        ("price > 1e999", "beyond the range of doubles", 8, None),
        ("price > 1.5f", "32-bit", 8, "1.5"),
        ("time > TIMESTAMP '2024-02-30'", "this is no timestamp", 17, None),
        ("price RLIKE 'a'", "RLIKE is not supported", 6, "LIKE"),
        ("symbol LIKE 'a\\\\b'", "escape", 12, None),
        ("price && 1", "unexpected character '&'", 6, "AND"),
        ("geo_distance_km(lat, lon, 91, 0) < 1", "not on the globe", 0, None),
        ("geo_distance_km(lat, symbol, 1, 0) < 1", "symbol is a string", 0, None),
        ("price > 1;", "unexpected character ';'", 9, None),
        ("price IS 5", "unexpected '5'", 9, None),
        ("price NOT > 5", "unexpected '>'", 10, None),
    ],
)
def test_errors_say_what_where_and_what_to_try(text: str, message: str, position: int, hint: str | None) -> None:
    with pytest.raises(ProfileError) as caught:
        language.parse(text, QUOTES)
    assert message in caught.value.message
    assert caught.value.position == position
    if hint is not None:
        assert caught.value.hint is not None
        assert hint in caught.value.hint


def test_an_error_shows_a_caret_under_the_place() -> None:
    with pytest.raises(ProfileError) as caught:
        language.parse("symbol = 'IBM' AND prise > 90", QUOTES)
    assert str(caught.value).splitlines() == [
        "unknown attribute 'prise'",
        "  symbol = 'IBM' AND prise > 90",
        "                     ^^^^^ did you mean 'price'?",
    ]


def test_an_error_in_a_long_text_shows_the_part_around_it() -> None:
    text = "x = 1 OR " * 200 + "y >> 2" + " OR x = 1" * 200
    with pytest.raises(ProfileError) as caught:
        language.parse(text)
    _first, shown, caret = str(caught.value).splitlines()
    assert len(shown) < 160
    assert shown[caret.index("^")] == ">"


def test_an_error_survives_pickling() -> None:
    with pytest.raises(ProfileError) as caught:
        language.parse("price >")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.position) == (str(caught.value), caught.value.position)


def test_a_huge_profile_is_refused_at_once() -> None:
    with pytest.raises(ProfileError, match="10,000,005 characters"):
        language.parse("x = 1" + " " * 10_000_000)


def test_a_profile_that_multiplies_out_is_refused() -> None:
    bomb = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(40))
    with pytest.raises(ProfileError, match="more than 512 conjunctions"):
        language.parse(bomb)
    with pytest.raises(ProfileError, match="more than 512 conjunctions"):
        language.parse(f"NOT ({' OR '.join(f'(a{i} = 1 AND b{i} = 1)' for i in range(40))})")


def test_deep_nesting_is_refused_and_long_chains_are_not() -> None:
    for text in ("(" * 50_000 + "x = 1" + ")" * 50_000, "NOT " * 50_000 + "x = 1", "x IN " + "(" * 9_000):
        with pytest.raises(ProfileError):
            language.parse(text)
    chain = " OR ".join(f"x = {i}" for i in range(5_000))
    assert len(language.parse(chain).boxes) == 1


@pytest.mark.parametrize("text", [None, 5, b"x = 1", "x = '\ud800'", "\x00", "x = '\\uD800'", "`", "/*", "x > \u0661"])
def test_anything_else_is_a_profile_error_too(text: object) -> None:
    with pytest.raises(ProfileError):
        language.parse(text)


@pytest.mark.parametrize(
    ("wide", "narrow", "answer"),
    [
        ("price > 10", "price > 20 AND symbol = 'IBM'", True),
        ("price > 10", "price >= 10", False),
        ("price >= 10", "price > 10", True),
        ("symbol IN ('a', 'b')", "symbol = 'a'", True),
        ("symbol LIKE 'a%'", "symbol LIKE 'ab%'", True),
        ("symbol LIKE '%b%'", "symbol LIKE 'ab_%'", True),
        ("symbol LIKE '%b%'", "symbol IN ('abc', 'b')", True),
        ("symbol NOT LIKE '%b'", "symbol = 'bc'", True),
        ("symbol NOT LIKE 'a_b'", "symbol NOT LIKE 'a%b'", True),
        ("x IS NOT NULL", "x > 5", True),
        ("x IS NOT NULL", "y > 5", False),
        ("x > 5", "x = 'a'", False),
        ("x < 5 OR x >= 3", "x = 7", True),
        ("(x < 5 AND y = 1) OR (x >= 3 AND y = 1)", "x BETWEEN 0 AND 9 AND y = 1", True),
        ("(x < 5 AND y = 1) OR (x >= 3 AND y = 2)", "x BETWEEN 0 AND 9 AND y = 1", False),
        ("TRUE", "x = 1", True),
        ("x = 1", "FALSE", True),
        ("x = 1", "TRUE", False),
        ("geo_distance_km(a, o, 52.5, 13.4) < 50", "geo_distance_km(a, o, 52.6, 13.4) < 30", True),
        ("geo_distance_km(a, o, 52.5, 13.4) < 50", "geo_distance_km(a, o, 53.5, 13.4) < 30", False),
        ("geo_distance_km(a, o, 0, 0) > 1000", "geo_distance_km(a, o, 52, 13) < 100", True),
        ("x > 9007199254740992", "x >= 9007199254740993", False),  # a double holds no 2^53 + 1
        ("x >= 9007199254740992", "x >= 9007199254740993", True),
    ],
)
def test_covers(wide: str, narrow: str, answer: bool) -> None:
    assert language.covers(language.parse(wide), language.parse(narrow)) is answer


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("x > 5", "x < 6", True),
        ("x > 5", "x <= 5", False),
        ("x > 5", "x = 'a'", False),
        ("x > 5", "y = 1", True),
        ("x IS NULL", "x > 5", False),
        ("s LIKE 'a%'", "s LIKE 'b%'", False),
        ("s LIKE '%a'", "s LIKE '%b'", True),  # not so, but it may say so
        ("geo_distance_km(a, o, 0, 0) < 10", "geo_distance_km(a, o, 1, 1) < 10", False),
        ("x = 9007199254740993", "x = 9007199254740992", True),  # for a double
        ("FALSE", "TRUE", False),
    ],
)
def test_overlaps(a: str, b: str, answer: bool) -> None:
    assert language.overlaps(language.parse(a), language.parse(b)) is answer
    assert language.overlaps(language.parse(b), language.parse(a)) is answer


def test_equal_profiles_are_equal_however_they_are_written() -> None:
    a, b = language.parse("NOT (x <= 5) AND s = 'a'"), language.parse("s IN ('a') AND 5 < x")
    assert a == b
    assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a


def test_a_schema_can_be_given_as_a_mapping_or_an_arrow_schema() -> None:
    import pyarrow as pa

    for schema in ({"price": "double"}, pa.schema({"price": pa.float64()})):
        assert language.parse("price > 1", schema)
        with pytest.raises(ProfileError, match="unknown attribute"):
            language.parse("size > 1", schema)
    with pytest.raises(semcast.SemcastError, match="list"):
        language.parse("price > 1", pa.schema({"price": pa.list_(pa.float64())}))


def test_an_unknown_language_is_named_with_the_known_ones() -> None:
    with pytest.raises(semcast.SemcastError, match=r"'sql'.*relational"):
        semcast.language("sql")
