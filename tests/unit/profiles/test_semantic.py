"""The semantic language: the thesis' figures, both ways of writing, what is refused, covers and overlaps."""

from __future__ import annotations

import pickle

import pytest

import semcast
from semcast.profiles.semantic import MAX_DEPTH, MAX_NODES, MAX_TEXT, InterestProfile
from semcast.profiles.semantic.syntax import ANYTHING, NOTHING
from tests.unit.profiles import thesis

language = semcast.language("semantic")
D = "prefix d <urn:d>; "
IP = f'<ip:IP xmlns:ip="{thesis.IP}" xmlns:d="urn:d">'


def parse(text: str) -> InterestProfile:
    found = language.parse(text)
    assert isinstance(found, InterestProfile)
    return found


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("d:Genre", "a:Genre"),
        ("d:Genre = Jazz", 'a:Genre = "Jazz"'),
        ('d:Genre = "Jazz"', 'a:Genre = "Jazz"'),
        ("d:Genre =  New   Orleans  Jazz ", 'a:Genre = "New Orleans Jazz"'),
        ("d:Genre = Rock | Jazz | Rock", 'a:Genre = "Jazz" | "Rock"'),
        ("d:Genre {or {= Rock; = Jazz}}", 'a:Genre = "Jazz" | "Rock"'),
        ("or {d:Genre = Rock; d:Genre = Jazz}", 'a:Genre = "Jazz" | "Rock"'),
        ("d:b; d:a; d:b", "a:a; a:b"),
        ("d:t > 90", "a:t > 90.0"),
        ("d:t >= 10 < 20", "a:t >= 10.0 < 20.0"),
        ("d:t {>= 10; < 20; > 5}", "a:t >= 10.0 < 20.0"),
        ("d:t {or {< 5; >= 3}}", "a:t number"),
        ("d:t {or {< 5; > 7; = 9; = x}}", 'a:t {or {= "x"; < 5.0; > 7.0}}'),
        ("not {not {d:a}}", "a:a"),
        ("not {d:a; d:b}", "or {not {a:a}; not {a:b}}"),
        ("d:p within 10 miles of 40, -74.4", "a:p within 16.09344 km of 40.0, -74.4"),
        ("d:p {within 1 km of 1 2; within 2 km of 1 2}", "a:p within 1.0 km of 1.0, 2.0"),
        ("Q{urn:d}a {b; rdf:value; xml:lang = en}", 'a:a {b; rdf:value; xml:lang = "en"}'),
        ("d:x {Q{}and; Q{}within}", "a:x {Q{}and; Q{}within}"),
        ("RDF {rdf:Description {d:a}}", "a:a"),
        ("RDF {d:Concert {d:a}; rdf:Description {d:b}}", "RDF {rdf:Description {a:b}; a:Concert {a:a}}"),
        ("anything", "anything"),
        ("d:a; not {d:a}", "RDF {nothing}"),
        ("d:a {= x; = y}", "RDF {nothing}"),
        ("or {d:a; not {d:a}}", "anything"),
        ("d:a = x | y; not {d:a = x}; not {d:a = y}", "RDF {nothing}"),
        ("or {d:a = x; d:a = y; not {d:a = x | y}}", "anything"),
    ],
)
def test_a_profile_is_read(written: str, canonical: str) -> None:
    profile = parse(D + written)
    shown = language.canonical(profile).replace("prefix a <urn:d>; ", "")
    assert shown == canonical
    assert parse(language.canonical(profile)) == profile


def test_lines_and_braces_say_the_same() -> None:
    lines = """
    # concerts near me
    prefix d <urn:d>

    d:Locale
      d:Position within 10 km of 40.5, -74.4
    not
        d:Genre = Rock
        d:Price
          > 70
    d:Artist
    """
    line = "prefix d <urn:d>; d:Locale {d:Position within 10 km of 40.5, -74.4}; "
    assert parse(lines) == parse(line + "not {d:Genre = Rock; d:Price > 70}; d:Artist")


def test_both_of_the_thesis_styles_mean_the_same_tree() -> None:
    interest = thesis.FIGURE_5_2.replace('<?xml version="1.0" encoding="UTF-8"?>\n', "")
    interest = interest.replace("rdf:RDF", "op:IP").replace("<rdf:Description>", "").replace("</rdf:Description>", "")
    assert parse(interest) == parse(thesis.FIGURE_5_2)


def test_figure_5_2_shares_what_its_branches_share() -> None:
    region = 'a:region {or {and {a:id = "2"; a:subregion {a:id = "24"}}; '
    region += 'and {a:id = "6"; a:subregion {a:chart {a:id = "67888"}; a:id = "67"}}}}'
    assert str(parse(thesis.FIGURE_5_2)) == f"prefix a <{thesis.MAP}>; a:map {{a:chart_correction {{{region}}}}}"


def test_text_and_attributes_of_an_element_are_asked_for() -> None:
    profile = parse(IP + '<d:Genre lang="en">Jazz</d:Genre></ip:IP>')
    assert profile == parse(D + "d:Genre {= Jazz; lang = en}")


def test_operators_are_known_by_their_namespace_and_in_any_case() -> None:
    other = IP.replace(thesis.IP, "urn:mine")
    assert parse(other + "<ip:OR><d:a/><d:b/></ip:OR></ip:IP>") == parse(D + "or {d:a; d:b}")
    assert parse(IP + "<d:or><d:a/></d:or></ip:IP>") == parse(D + "d:or {d:a}")


def test_names_of_different_schemas_are_different() -> None:
    stock, product = parse("prefix s <urn:stock>; s:company = IBM"), parse("prefix p <urn:product>; p:company = IBM")
    assert stock != product
    assert not language.covers(stock, product)


def test_prefixes_can_be_given_from_outside() -> None:
    assert language.parse("x:a", namespaces={"x": "urn:d"}) == parse(D + "d:a")
    with pytest.raises(semcast.ProfileError, match="cannot be a prefix"):
        language.parse("x:a", namespaces={"x y": "urn:d"})


def test_the_namespaces_of_rdf_are_one() -> None:
    draft = parse(f"prefix r <{thesis.RDF}>; r:value = 5")
    assert draft == parse("rdf:value = 5")


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "the profile is empty", 0),
        ("  # nothing but words\n", "the profile is empty", 21),
        ("<ip:IP", "this is no XML: unclosed token", 0),
        ("<a/>", "an interest profile is no <a>", 0),
        (IP + "</ip:IP>", "the profile is empty", 0),
        (IP + "<d:a></ip:IP>", "this is no XML: mismatched tag", len(IP) + 7),
        (IP + "<x:a/></ip:IP>", "this is no XML: unbound prefix", len(IP)),
        (IP + "é<ip:And/></ip:IP>", "text stands right inside <IP>", 0),
        (IP + "<d:é/><ip:Ort/></ip:IP>", "there is no operator 'Ort'", len(IP) + 6),
        (IP + "<ip:Not/></ip:IP>", "Not has nothing to deny", len(IP)),
        (IP + "<ip:range min='x'/></ip:IP>", "min is 'x', which is no number", len(IP)),
        (IP + "<ip:range least='1'/></ip:IP>", "range has no 'least'", len(IP)),
        (IP + "<ip:distance within='1' units='cubit'/></ip:IP>", "'cubit' is no unit of distance", len(IP)),
        (IP + "<ip:distance within='1'/></ip:IP>", "a distance is within so much of a latitude", len(IP)),
        (IP + "<ip:distance>latitude='40'</ip:distance></ip:IP>", "distance is all attributes", len(IP)),
        (IP + "<ip:string-match><d:a/></ip:string-match></ip:IP>", "string-match holds text alone", len(IP)),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]>" + IP + "&e;</ip:IP>", "a profile declares nothing of its own", 0),
        (IP + "<d:a ip:x='1'/></ip:IP>", "'x' is an attribute in a namespace of operators", len(IP)),
        ("x:a", "the prefix 'x' has no namespace", 0),
        ("prefix d <urn:d>; e:a", "the prefix 'e' has no namespace", 18),
        ("d = ", "a text is missing here", 3),
        ('d = "x', "'\"' is not understood here", 4),
        ("d > x", "a number is missing here", 4),
        ("d within 5 cubits of 1 2", "'cubits' is no unit of distance", 11),
        ("d within 5 km of 100 2", "latitudes are from -90 to 90", 2),
        ("or", "'or' has nothing below it", 0),
        ("a\n    b\n  c", "this line fits no line above it", 10),
        ("a {b", "a block is not closed", 3),
        ("a } b", "nothing can follow here", 2),
        ("1a", "no element can be called '1a'", 0),
        ('a = "\\u0001"', "no XML can hold this text", 4),
        ("a\x01", "the profile holds U+0001", 1),
        ("prefix o <urn:ip/1>; o:and", "this is a namespace of operators", 21),
    ],
)
def test_a_bad_profile_is_refused_with_its_place(text: str, message: str, position: int) -> None:
    with pytest.raises(semcast.ProfileError) as raised:
        language.parse(text)
    assert raised.value.message.startswith(message), raised.value.message
    if text.startswith("<!DOCTYPE"):
        return  # expat reports a document type where it has seen enough of it
    assert raised.value.position == position
    assert str(raised.value)


def test_an_error_shows_the_line_and_a_hint() -> None:
    with pytest.raises(semcast.ProfileError) as raised:
        language.parse("prefix d <urn:d>\nd:Genre = Jazz\nd:Price >> 5\n")
    assert str(raised.value) == "a number is missing here\n  d:Price >> 5\n           ^"
    with pytest.raises(semcast.ProfileError) as raised:
        language.parse(f"{IP}\n  <ip:strng-match>Jazz</ip:strng-match>\n</ip:IP>")
    assert raised.value.hint == "did you mean 'string-match'?"
    assert "  <ip:strng-match>" in str(raised.value)


def test_hostile_profiles_are_bounded() -> None:
    bombs = [
        "<!DOCTYPE a [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>" + IP + "&b;</ip:IP>",
        IP + "<d:a>" * MAX_DEPTH + "</d:a>" * MAX_DEPTH + "</ip:IP>",
        IP + "<d:a/>" * MAX_NODES + "</ip:IP>",
        "x" * (MAX_TEXT + 1),
        "".join("  " * depth + "a\n" for depth in range(3 * MAX_DEPTH)),
        "a {" * 1000,
        "a;" * (3 * MAX_NODES),
        "not {" * 500 + "a" + "}" * 500,
    ]
    for bomb in bombs:
        with pytest.raises(semcast.ProfileError):
            language.parse(bomb)


def test_the_deepest_profile_is_written_and_read() -> None:
    inner = MAX_DEPTH - 2
    text = IP + "<d:a><ip:Not><d:b/>" * (inner // 2) + "<d:c/>" + "</ip:Not></d:a>" * (inner // 2) + "</ip:IP>"
    profile = parse(text)
    assert parse(str(profile)) == profile
    assert parse(profile.notation()) == profile


def test_profiles_can_be_pickled() -> None:
    profile = parse(thesis.FIGURE_5_2)
    assert pickle.loads(pickle.dumps(profile)) == profile


def test_alternatives_are_told_apart_for_people() -> None:
    assert language.parts(parse(D + "or {d:a; d:b = x}")) == ["prefix a <urn:d>; a:a", 'prefix a <urn:d>; a:b = "x"']
    assert language.parts(parse(D + "d:a")) == ["prefix a <urn:d>; a:a"]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("a", "a = x"),
        ("a", "a {b}"),
        ("a = x | y", "a = x"),
        ("a > 1", "a > 2"),
        ("a > 1", "a = 2"),
        ("a number", "a > 2"),
        ("a > 0 < 9", "a {or {> 1 < 2; > 3 < 4}}"),
        ("or {a; b}", "b = x"),
        ("a within 100 km of 40 -74", "a within 10 km of 40.5 -74.4"),
        ("not {a = x | y}", "not {a}"),
        ("not {a = x}", "not {a = x | y}"),
        ("a {not {= x}}", "a = y"),
        ("a {b; c}", "a {b = 1; c = 2; d}"),
        ("or {and {a; b}; and {a; c}}", "a; or {b = 1; c = 1}"),
        ("a {b = 1}", "a {b = 1; or {c; d}}"),
        ("or {a {b; c}; a {b; d}}", "a {b; or {c = 1; d = 1}}"),
        ("anything", "a"),
    ],
)
def test_covers(wide: str, narrow: str) -> None:
    assert language.covers(parse(wide), parse(narrow))
    assert not language.covers(parse(narrow), parse(wide))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a = x", "a = y"),
        ("a {b = 1; c = 2}", "a {b = 1}; a {c = 2}"),
        ("a within 10 km of 40 -74", "a within 10 km of 41 -74"),
        ("a > 1", "a < 1"),
        ("prefix p <u>; p:a", "a"),
        ("a", "not {a = x}"),
    ],
)
def test_neither_covers_the_other_and_both_may_match(a: str, b: str) -> None:
    one, other = parse(a), parse(b)
    wider = language.covers(other, one)
    assert not language.covers(one, other)
    assert wider == (b == "a {b = 1}; a {c = 2}")
    assert language.overlaps(one, other)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("RDF {not {rdf:Description {a}}}", "a = x"),
        ("RDF {nothing}", "a"),
        ("a {> 5; not {number}}", "b"),
        ("a {b; not {b}}", "a"),
        ("a {within 1 km of 0 0; within 1 km of 10 10}", "a"),
    ],
)
def test_what_denies_or_contradicts_does_not_overlap(a: str, b: str) -> None:
    assert not language.overlaps(parse(a), parse(b))
    assert not language.overlaps(parse(b), parse(a))


def test_several_descriptions_may_fulfil_what_one_cannot() -> None:
    """A descriptor may hold two descriptions: one without ``a``, one with it."""
    assert language.overlaps(parse("not {a}"), parse("a"))


def test_everything_covers_and_nothing_is_covered() -> None:
    everything, nothing = InterestProfile.of(ANYTHING), InterestProfile.of(NOTHING)
    assert language.covers(everything, parse("a"))
    assert language.covers(parse("a"), nothing)
    assert parse(str(everything)) == everything
    assert parse(everything.xml()) == everything
    assert parse(str(nothing)) == nothing
    assert parse(nothing.xml()) == nothing
