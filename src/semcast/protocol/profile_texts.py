"""Profiles as they travel, as text: parsed, in canonical form, and which of them covers which."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from semcast.matching import language
from semcast.model.message import ProfileText

LONG = 1 << 14
"""Characters from which on a profile is long: hosts read and index it in a thread, and few are remembered."""


def parsed(kind: str, text: str) -> Any:
    """A profile of a language; ProfileError where the text is none."""
    return _parsed_long(kind, text) if len(text) >= LONG else _parsed(kind, text)


@lru_cache(maxsize=1 << 12)  # a filter keeps what it needs itself; each entry here is 0.6 KB
def _parsed(kind: str, text: str) -> Any:
    return language(kind).parse(text)


@lru_cache(maxsize=64)
def _parsed_long(kind: str, text: str) -> Any:
    return language(kind).parse(text)


def canonical(profile: ProfileText) -> ProfileText:
    """The same profile in the text that all ways of writing it share; ProfileError where it is none."""
    return _canonical_long(profile) if len(profile.text) >= LONG else _canonical(profile)


def _canonical(profile: ProfileText) -> ProfileText:
    text = language(profile.language).canonical(parsed(profile.language, profile.text))
    return ProfileText(profile.stream, profile.language, text)


_canonical_long = lru_cache(maxsize=64)(_canonical)


def prepare(profile: ProfileText) -> ProfileText:
    """Read and index a long profile, and return its canonical form; ProfileError where it is none. In any thread.

    What is asked of it soon afterwards, by ``parsed``, ``canonical`` or a filter, takes no time then.
    """
    found = canonical(profile)
    for text in (profile.text, found.text):
        language(profile.language).prepare(parsed(profile.language, text))
    return found


def covers(wide: ProfileText, narrow: ProfileText) -> bool:
    """True only if every message that matches ``narrow`` matches ``wide``.

    Of long profiles nothing is known but that each covers itself: to compare them takes too long for an event loop.
    """
    if wide == narrow:
        return True
    if len(wide.text) >= LONG or len(narrow.text) >= LONG:
        return False
    return _covers(wide, narrow)


@lru_cache(maxsize=1 << 16)
def _covers(wide: ProfileText, narrow: ProfileText) -> bool:
    if (wide.stream, wide.language) != (narrow.stream, narrow.language):
        return False
    chosen = language(wide.language)
    return chosen.covers(parsed(wide.language, wide.text), parsed(narrow.language, narrow.text))
