"""Finding a profile that covers another, by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import semcast
from semcast.matching import covering
from semcast.matching.covering import CoverIndex

topic = semcast.language("topic")
relational = semcast.language("relational")


def index_of(*texts: str) -> CoverIndex[object, str]:
    """Topic profiles, each called by its text."""
    index: CoverIndex[object, str] = CoverIndex(topic)
    index.extend((text, topic.parse(text)) for text in texts)
    return index


def test_one_that_covers_is_named() -> None:
    index = index_of("a/b", "c/*/d", "e/$")
    asked = ["a/b/c", "c/x/d/y", "c/x", "e", "e/$", "a"]
    assert index.find([topic.parse(text) for text in asked]) == ["a/b", "c/*/d", None, None, "e/$", None]


def test_names_of_equal_profiles_stand_for_each_other() -> None:
    index: CoverIndex[object, str] = CoverIndex(relational)
    index.add("first", relational.parse("a > 1 AND b = 2"))
    index.add("second", relational.parse("b = 2 AND NOT a <= 1"))
    asked = [relational.parse("a > 1 AND b = 2"), relational.parse("a > 5 AND b = 2")]
    assert len(index) == 2
    assert index.find(asked, without=["first"]) == ["second", "second"]
    assert index.find(asked, without=["first", "second"]) == [None, None]
    index.remove("first")
    assert index.find(asked) == ["second", "second"]
    index.remove("second")
    assert index.find(asked) == [None, None]


def test_a_name_that_is_added_again_stands_for_the_new_profile() -> None:
    index = index_of("a")
    index.extend([("a", topic.parse("x")), ("b", topic.parse("y")), ("a", topic.parse("z"))])
    found = index.find([topic.parse(text) for text in ("a", "x", "y", "z")])
    assert found == [None, None, "b", "a"]
    assert "a" in index
    assert "z" not in index


def test_removing_an_unknown_name_is_refused() -> None:
    with pytest.raises(semcast.SemcastError, match="called 'b'"):
        index_of("a").remove("b")


def test_without_a_witness_a_profile_is_uncovered() -> None:
    index: CoverIndex[object, str] = CoverIndex(relational)
    index.add("all", relational.parse("TRUE"))
    never = relational.parse("FALSE")
    assert relational.witnesses(never).num_rows == 0
    assert index.find([never, relational.parse("a = 1")]) == [None, "all"]


def test_of_nested_profiles_a_few_wide_ones_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "_MANY", 8)
    index: CoverIndex[object, int] = CoverIndex(relational)
    index.extend((n, relational.parse(f"a > {n}")) for n in range(100))
    asked = [relational.parse(f"a > {n}.5") for n in range(20, 80)]
    assert index.find(asked) == [0] * 60
    assert len(index._wide) == 1
    matched: list[int] = []
    match = index._matcher.match

    def counted(rows: object) -> object:
        matched.append(1)
        return match(rows)

    monkeypatch.setattr(index._matcher, "match", counted)
    assert index.find(asked) == [0] * 60
    assert not matched
    assert index.find(asked, without=[0]) == [1] * 60
    index.remove(0)
    assert index.find(asked) == [1] * 60
    assert index.find([relational.parse("a > 0.5")]) == [None]


def test_large_rebuilds_leave_the_turn() -> None:
    jobs: list[Callable[[], None]] = []
    index: CoverIndex[object, int] = CoverIndex(relational, jobs.append)
    narrow = [relational.parse("a > 5000.5 AND a < 5001.5")]
    for begin in range(0, 12_000, 3_000):
        index.extend((n, relational.parse(f"a >= {n} AND a < {n + 2}")) for n in range(begin, begin + 3_000))
        assert index.find(narrow) == [5000 if begin >= 3_000 else None]
    assert len(jobs) == 1
    jobs.pop()()
    assert index.find(narrow) == [5000]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a > 1 AND b = 'x'", [{"a": 1.0000000000000002, "b": "x"}, {"a": "nan", "b": "x"}]),
        ("a <= 5 AND a >= -1", [{"a": -1.0}, {"a": 5.0}]),
        ("s LIKE 'ab%'", [{"s": "ab"}, {"s": "ab" + "\U0010ffff" * 4}]),
        ("s LIKE '%x_'", [{"s": "x☃"}, {"s": "☃x☃"}]),
        ("b", [{"b": True}]),
        ("a IS NULL", [{"a": None}]),
        ("TRUE", [{"": None}]),
        ("a = 1 AND a = 2", []),
        ("i > 9007199254740992 AND i < 9007199254740994", [{"i": 9007199254740993}]),
    ],
)
def test_witnesses_of_relational_profiles_are_corners(text: str, rows: list[dict[str, object]]) -> None:
    found = relational.witnesses(relational.parse(text)).to_pylist()
    assert [{k: "nan" if v != v else v for k, v in row.items()} for row in found] == rows


def test_witnesses_of_topics_have_words_that_no_profile_can_name() -> None:
    assert topic.witnesses(topic.parse("a/*/b")).to_pylist() == [{"topic": "a/*/b"}, {"topic": "a/*/b/*"}]
    assert topic.witnesses(topic.parse("a/$")).to_pylist() == [{"topic": "a"}]


def test_witnesses_of_paths_are_documents() -> None:
    xpath = semcast.language("xpath")
    found = xpath.witnesses(xpath.parse("/a[@n >= 3]//b[. = 'x']")).column(0).to_pylist()
    assert found[0] == b'<a n="3"><b>x</b></a>'
    assert found[1] == b'<a n="3000003"><any-other><b>x</b></any-other></a>'


def test_witnesses_of_interests_are_descriptors() -> None:
    semantic = semcast.language("semantic")
    low, high = semantic.witnesses(semantic.parse("a {b = x | y; c >= 10 < 20}")).column(0).to_pylist()
    assert b"<a><b>x</b><c>10.0</c></a>" in low
    assert b"<b>y</b><c>19.999999999999996</c>" in high


def test_nothing_matches_what_contradicts_itself() -> None:
    xpath, semantic = semcast.language("xpath"), semcast.language("semantic")
    for language, text in ((xpath, "a and b[. = 'x'] and not(a)"), (xpath, "/a and /b"), (semantic, "a; not {a}")):
        assert language.witnesses(language.parse(text)).num_rows == 0
