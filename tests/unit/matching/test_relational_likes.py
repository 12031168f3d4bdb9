"""LIKE tests in the relational engine: whichever way a text is matched, the answer is the same."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import semcast
from semcast.matching.relational import likes
from semcast.matching.relational.brute import like
from semcast.matching.relational.likes import matching_texts

language = semcast.language("relational")
PATTERNS = [
    "%ab%", "a_%b", "%b", "a%", "%é_a%", "%a%b%a%b%", "_", "%", r"%\%%", "%" + "a_" * 20 + "b%", "%a%" * 30, "abab",
    *(f"%{letters}%" for letters in ("aaa", "bab", "aé", "baxab", "%a")),
]  # fmt: skip


@pytest.fixture
def texts() -> pa.Array:
    """Short ones, long ones and nulls, of few letters."""
    random = Random(7)
    lengths = [*range(40), *[300, 301, 500] * 5]
    drawn: list[str | None] = ["".join(random.choices("abbé%", k=length)) for length in lengths]
    return pa.array([*drawn, None, "", None])


@pytest.mark.parametrize("count", [1, 16, 58], ids=["one", "few", "all"])
def test_short_and_long_texts_match_what_the_slow_programme_says(texts: pa.Array, count: int) -> None:
    chosen = texts[-count:]
    for pattern, found in zip(PATTERNS, matching_texts(chosen, PATTERNS), strict=True):
        assert found.tolist() == [text is not None and like(pattern, text) for text in chosen.to_pylist()]


def test_texts_of_which_pieces_are_noted_match_the_same(texts: pa.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likes, "_HUGE", 0)
    monkeypatch.setattr(likes, "_MANY_PATTERNS", 0)
    asked: list[str] = []
    matches = likes.matches
    monkeypatch.setattr(likes, "matches", lambda pattern, value: asked.append(pattern) or matches(pattern, value))
    chosen = texts[-12:]
    for pattern, found in zip(PATTERNS, matching_texts(chosen, PATTERNS), strict=True):
        assert found.tolist() == [text is not None and like(pattern, text) for text in chosen.to_pylist()]
    assert "%baxab%" not in asked  # the note says that it is nowhere
    assert "%ab%" in asked


def test_a_union_of_kinds_is_matched_in_its_texts() -> None:
    kinds = pa.array([0, 1, 0, 1], pa.int8())
    column = pa.UnionArray.from_sparse(kinds, [pa.array(["xa", "", "b", ""]), pa.array([0, 7, 0, 8])], ["s", "n"])
    matcher = language.matcher([language.parse(text) for text in ("a LIKE '%a%'", "a NOT LIKE '%a%'", "a = 8")])
    batch = pa.RecordBatch.from_arrays([column], ["a"])
    assert matcher.match(batch).pairs().tolist() == [[0, 0], [2, 1], [3, 2]]


def test_a_small_profile_does_not_have_a_large_one_indexed_again() -> None:
    built: list[int] = []
    matcher = language.matcher([language.parse(f"a IN ({', '.join(map(str, range(20_000)))})")])
    build = matcher._build  # type: ignore[attr-defined]

    def counted(profiles: list[object]) -> object:
        built.append(len(profiles))
        return build(profiles)

    matcher._build = counted  # type: ignore[attr-defined]
    batch = pa.RecordBatch.from_pydict({"a": [7]})
    for number in range(4):
        matcher.add(language.parse(f"a = {7 + number % 2}"))
        matcher.match(batch)
    assert built == [1, 2, 3, 4]  # never five: the list stays as it is
    assert matcher.match(batch).indices.tolist() == [0, 1, 3]
