"""The laws of LIKE patterns: they match what a slow programme says, and cost what their docstring says."""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.matching.relational.brute import like
from semcast.profiles.relational import likes, wildcards
from tests.cases import CASES

LETTERS = ["a", "b", "é", "\ud7ff", "\ud800", "\udfff", "\ue000", "\ue001"]
"""Few, so that texts match; with half of a surrogate pair, and the letters that ``implies`` would like to use."""
patterns = st.one_of(
    st.text("ab%%__", max_size=8),
    st.lists(st.sampled_from([*LETTERS, "a", "b", "%", "%", "%", "_", "_", r"\%", r"\_", r"\\"]), max_size=12).map(
        "".join
    ),
)
texts = st.one_of(
    st.text("ab", max_size=12),
    st.lists(st.sampled_from([*LETTERS, "a", "a", "a", "b", "b", "%", "_", "\\"]), max_size=20).map("".join),
)


@given(patterns, texts)
@example(r"\%%\_", "%_")
@example("%a_b%", "aab")
@example("_%_", "a")
@example("a%a", "a")
@example("%ab_%b", "abab")
@example("%a_%b", "xab")
@settings(max_examples=2 * CASES, deadline=None)
def test_a_pattern_matches_what_the_slow_programme_says(pattern: str, text: str) -> None:
    assert likes.matches(pattern, text) == like(pattern, text)


@given(patterns, texts)
@settings(max_examples=2 * CASES, deadline=None)
def test_a_segment_is_found_in_chunks_as_in_one_piece(pattern: str, text: str) -> None:
    with patch.object(wildcards, "_WINDOW", 1), patch.object(wildcards, "_CHUNK", 2):
        assert likes.matches(pattern, text) == like(pattern, text)


@given(patterns, texts)
@settings(max_examples=CASES, deadline=None)
def test_the_canonical_pattern_matches_the_same(pattern: str, text: str) -> None:
    assert like(likes.canonical_pattern(pattern), text) == like(pattern, text)


@st.composite
def grown(draw: st.DrawFn) -> tuple[str, str]:
    """A pattern, and a text that it matches."""
    pattern = draw(patterns)
    pieces = []
    for kind, text in likes.parts(pattern):
        letters = st.sampled_from(["a", "b", "é", "%"])
        pieces.append(text if kind == "text" else draw(letters) if kind == "_" else draw(st.text(letters, max_size=4)))
    return pattern, "".join(pieces)


@given(grown(), patterns)
@settings(max_examples=2 * CASES, deadline=None)
def test_what_is_implied_matches_too(narrow: tuple[str, str], wide: str) -> None:
    pattern, text = narrow
    assert like(pattern, text)
    if likes.implies(pattern, wide):
        assert like(wide, text)


@given(st.lists(st.sampled_from(["a", "b", "é", "%", r"\%", r"\\"]), max_size=12).map("".join), st.integers(0, 11))
@settings(max_examples=CASES, deadline=None)
def test_a_pattern_implies_itself_and_what_has_a_run_instead_of_a_part(pattern: str, place: int) -> None:
    parts = likes.parts(pattern)
    wider = [("%", "") if at == place else part for at, part in enumerate(parts)]
    written = "".join(kind if kind != "text" else likes.canonical_pattern(_escaped(text)) for kind, text in wider)
    assert likes.implies(pattern, pattern)
    assert likes.implies(pattern, written)


def _escaped(text: str) -> str:
    return "".join("\\" + letter if letter in r"\%_" else letter for letter in text)


HOSTILE: dict[str, tuple[str, Callable[[int], str]]] = {
    "the most runs": ("%a" * 63 + "b%", lambda n: "a" * n),
    "a long piece that nearly fits": ("%" + "a" * 1000 + "b%", lambda n: "a" * n),
    "a period in a piece": ("%" + "ab" * 400 + "c%", lambda n: "ab" * (n // 2)),
    "the longest piece with _": ("%" + "a" * 31 + "_" + "a" * 31 + "b%", lambda n: "a" * n),
    "as many _ as letters": ("%" + "a_" * 31 + "ab%", lambda n: "a" * n),
    "pieces with _ one after another": ("%" + "a_a%" * 60 + "b%", lambda n: "a" * n),
    "characters of three bytes": ("%" + "€_" * 31 + "b%", lambda n: "€" * n),
    "a piece that fits at the very end": ("%" + "aaa_b%", lambda n: "a" * n + "aaaab"),
}


def cpu_s(work: Callable[[], object], times: int = 3) -> float:
    def once() -> float:
        start = time.thread_time()
        work()
        return time.thread_time() - start

    return min(once() for _ in range(times))


@pytest.mark.parametrize("family", HOSTILE)
def test_cpu_grows_no_faster_than_the_text(family: str) -> None:
    pattern, text = HOSTILE[family]
    assert likes.refusal(pattern) is None
    small, large = text(1 << 18), text(1 << 20)
    likes.matches(pattern, small)
    assert cpu_s(lambda: likes.matches(pattern, large)) < 5 * 4 * cpu_s(lambda: likes.matches(pattern, small)) + 0.005


@pytest.mark.parametrize("narrow", HOSTILE)
@pytest.mark.parametrize("wide", HOSTILE)
def test_comparing_two_hostile_patterns_is_cheap(narrow: str, wide: str) -> None:
    assert cpu_s(lambda: likes.implies(HOSTILE[narrow][0], HOSTILE[wide][0])) < 0.02
