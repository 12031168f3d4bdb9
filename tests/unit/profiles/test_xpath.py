"""The XPath language: what it accepts, what it refuses, numbers, covers and overlaps."""

from __future__ import annotations

import pickle

import pytest
from lxml import etree

import semcast
from semcast.profiles.xpath import MAX_NESTING, MAX_STEPS, MAX_TEXT, parse
from semcast.profiles.xpath.numbers import number

language = semcast.language("xpath")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a/b", "/a/b"),
        ("/a/b", "/a/b"),
        ("./a/./b/.", "/a/b"),
        ("//b", "//b"),
        (".//b", "//b"),
        (".", "/."),
        ("/ = 5", "/. = 5"),
        ("*/@*", "/*/@*"),
        ("a [ b ] [ c ]", "/a[b and c]"),
        ("a[c and b and c]", "/a[b and c]"),
        ("a[(c or b)]", "/a[(b or c)]"),
        ("5 < a", "/a > 5"),
        ("(a) = -05.50", "/a = -5.5"),
        ("not(not(a))", "/a"),
        ("boolean(a)", "/a"),
        ("and and or or div", "/and and /or or /div"),
        ("a[/x/y = 5]", "/a[/x/y = 5]"),
        ("a[.//b]", "/a[.//b]"),
        ("a[text()]/text()[. = 'x']", "/a[text()]/text()[. = 'x']"),
        ('contains(a/b, "it\'s")', 'contains(/a/b, "it\'s")'),
        ("a[starts-with(@x, 'y')]", "/a[starts-with(@x, 'y')]"),
        ("Q{urn:x}a/@Q{urn:x}*", "/Q{urn:x}a/@Q{urn:x}*"),
        ("@xml:lang = 'en'", "/@Q{http://www.w3.org/XML/1998/namespace}lang = 'en'"),
        ("été/日本", "/été/日本"),
    ],
)
def test_a_profile_is_read(written: str, canonical: str) -> None:
    profile = language.parse(written)
    assert language.canonical(profile) == canonical
    assert language.parse(canonical) == profile


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("  ", "the profile is empty", 0),
        ("a[1]", "a position is not supported", 2),
        ("a[position() = 1]", "the function position() is not supported", 2),
        ("a[last()]", "the function last() is not supported", 2),
        ("count(a) > 1", "the function count() is not supported", 0),
        ("a/$x", "a variable is not supported", 2),
        ("a[b = $x]", "a variable is not supported", 6),
        ("a/../b", "the reverse step '..' is not supported", 2),
        ("a/ancestor::b", "the reverse axis ancestor:: is not supported", 2),
        ("a/following-sibling::b", "the axis following-sibling:: is not supported", 2),
        ("a | b", "a union of paths is not supported", 2),
        ("a + 1 = 2", "arithmetic (+) is not supported", 2),
        ("a * 2 = 2", "arithmetic (*) is not supported", 2),
        ("a[b div 2 = 1]", "arithmetic (div) is not supported", 4),
        ("-a = 1", "arithmetic is not supported", 0),
        ("a = b", "comparing two paths is not supported", 2),
        ("1 = 1", "comparing two literals is not supported", 2),
        ("not(a) = 'x'", "comparing a truth value is not supported", 0),
        ("a = 1 = 2", "a comparison of a comparison is not supported", 6),
        ("'x'", "a string alone is no condition", 0),
        ("(a)/b", "a path from parentheses is not supported", 3),
        ("//.", "'//.' is not supported", 2),
        (".[a]", "'.' takes no predicate", 1),
        ("@x/b", "nothing lies below an attribute", 3),
        ("text()/b", "nothing lies below text()", 7),
        ("a/comment()", "comment() is not supported", 2),
        ("y:a", "the prefix 'y' has no namespace", 0),
        ("a/", "the profile ends too early", 2),
        ("a[b", "'[' is not closed", 1),
        ("a = 'x", "the string is not closed", 4),
        ("contains(a, 5)", "contains() looks for a string", 12),
        ("a b", "unexpected 'b'", 2),
        ("a\0", "the profile holds U+0000, which no XML can hold", 1),
    ],
)
def test_what_is_not_supported_is_named_where_it_stands(text: str, message: str, position: int) -> None:
    with pytest.raises(semcast.ProfileError) as caught:
        language.parse(text)
    assert (caught.value.message, caught.value.position) == (message, position)


def test_an_error_shows_the_place_and_what_to_write_instead() -> None:
    with pytest.raises(semcast.ProfileError) as caught:
        language.parse("/news/item[1]")
    assert str(caught.value) == (
        "a position is not supported\n  /news/item[1]\n             ^ a number can only be compared with"
    )


@pytest.mark.parametrize("text", [None, 7, b"/a", ["a"]])
def test_only_text_is_a_profile(text: object) -> None:
    with pytest.raises(semcast.ProfileError, match="a profile is text, not"):
        language.parse(text)  # type: ignore[arg-type]


def test_size_is_bounded() -> None:
    assert language.parse("/a" * MAX_STEPS)
    assert language.parse("a[" * MAX_NESTING + "b" + "]" * MAX_NESTING)
    for text, message in [
        ("/a" * (MAX_STEPS + 1), "too many steps"),
        ("(" * (MAX_NESTING + 1) + "a", "nested too deeply"),
        ("((" * 16 + "(a) or b" + ") or b)" * 16, "nested too deeply"),
        ("a = '" + "x" * MAX_TEXT + "'", "characters long"),
        (".=1" + " or .=1" * 2000, "too many parts"),
    ]:
        with pytest.raises(semcast.ProfileError, match=message):
            language.parse(text)


def test_a_long_profile_covers_itself_within_the_stack() -> None:
    deep, wild = language.parse("/a" * MAX_STEPS), language.parse("//a" * MAX_STEPS)
    assert language.covers(wild, deep)
    assert not language.covers(deep, wild)


def test_prefixes_are_only_a_way_of_writing() -> None:
    one = language.parse("p:a[@p:x]", namespaces={"p": "urn:one"})
    assert one == language.parse("q:a[@q:x]", namespaces={"q": "urn:one"})
    assert one == language.parse("Q{urn:one}a[@Q{urn:one}x]")
    assert one != language.parse("p:a[@p:x]", namespaces={"p": "urn:two"})
    assert one != language.parse("a[@x]")


@pytest.mark.parametrize("namespaces", [{"": "urn:x"}, {"p": ""}, {"p": "a{b}"}, {"1": "u"}, {"a:b": "u"}, {3: "u"}])
def test_a_prefix_map_that_no_name_can_use_is_refused(namespaces: dict[str, str]) -> None:
    with pytest.raises(semcast.ProfileError):
        language.parse("a", namespaces=namespaces)


def test_profiles_are_values() -> None:
    profile = language.parse("p:a[b > 5 or not(c)]", namespaces={"p": "u"})
    again = pickle.loads(pickle.dumps(profile))
    assert (again, hash(again), str(again)) == (profile, hash(profile), str(profile))
    assert len({profile, again, parse("a")}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "5",
        " 5\n",
        "-5",
        "+5",
        "- 5",
        "5.",
        ".5",
        ".",
        "-.5",
        "1e3",
        "1e",
        "0x1",
        "1 2",
        "NaN",
        "Infinity",
        "0.1",
        "0.30000000000000004",
        "123456789012345678901234567890",
        "0.1234567890123456789012345",
        "1e00000000001",
        "1e-00000000001",
        "9" * 309,
        "9" * 310,
        "9" * 311,
        "0" * 400 + "5",
        "." + "0" * 400 + "1",
        "1e400",
        "٣",
    ],
)
def test_numbers_are_those_of_libxml2(text: str) -> None:
    element = etree.Element("a")
    element.text = text
    assert repr(number(text)) == repr(element.xpath("number(.)"))


@pytest.mark.parametrize(
    ("wide", "narrow", "back"),
    [
        ("//item", "/news/item[@lang = 'en']", False),
        ("/*", "//b", False),
        ("/a//*/b", "/a/*//b", True),
        ("//a[@x > 4]", "//a[@x = 5]", False),
        ("//a[@x > 4]", "//a[@x = '5']", False),
        ("//a[@x >= 4]", "//a[@x > 4]", False),
        ("//a[. != 'y']", "//a[starts-with(., 'z')]", False),
        ("//a[contains(., 'b')]", "//a[starts-with(., 'abc')]", False),
        ("//a[not(b/c)]", "//a[not(b)]", False),
        ("/a[b or c]", "/a[b]", False),
        ("/a//b", "/a/b or /a/c/b", False),
        ("//@x", "a/@x = 1", False),
        ("a/@*", "a/@x", False),
        ("/.", "a", False),
        ("a[b and c]", "a[b][c][*]", True),
    ],
)
def test_covers(wide: str, narrow: str, back: bool) -> None:
    a, b = language.parse(wide), language.parse(narrow)
    assert language.covers(a, b)
    assert language.covers(b, a) is back


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [
        ("/a", "/b", False),
        ("/a", "/*/b", True),
        ("/a/@x = 5", "/*[@x < 4]", False),
        ("/a = 5", ". = 6", False),
        ("/a = 'x'", "/a = 'y' or /a = 'x'", True),
        ("//a = 5", "//a = 6", True),
        ("//a[. < 5 and . > 6]", "//b", False),
        ("not(a)", "a", True),
    ],
)
def test_overlaps(a: str, b: str, meet: bool) -> None:
    assert language.overlaps(language.parse(a), language.parse(b)) is meet
