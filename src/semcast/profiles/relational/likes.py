"""LIKE patterns: ``%`` any run of characters, ``_`` one character, ``\\`` before either for itself.

Most patterns are a prefix and so an interval of strings, which is all that the fast engine wants.
What is left after the prefix is kept as a pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcast.profiles.relational.ranges import ALL, BEFORE, Ranges, between, comparison
from semcast.profiles.relational.wildcards import Part, Plan, holds, planned

ANY_RUN, ANY_ONE = "%", "_"
MAX_RUNS = 64
"""How many ``%`` a pattern may have, neighbours counted once."""
MAX_LENGTH = 1024
"""How many characters a pattern with wildcards may have."""
MAX_SOUGHT = 64
"""How many characters may stand between two ``%`` where a ``_`` is among the letters."""
MAX_PATTERNS = 128
"""How many LIKE a profile may have; those with one % at the end of a text are intervals and do not count."""
MAX_PATTERN_TEXT = 16_384
"""How many characters these patterns may have together: they are compared with each other."""

_PIECE = re.compile(r"%|_|(?:[^\\%_]++|\\.|\\\Z)+", re.DOTALL)
_PRIVATE = "\ue000", "\ue001"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parts(pattern: str) -> tuple[Part, ...]:
    """The pattern as ("text", literal), ("%", "") and ("_", "") parts; runs of % count once."""
    return _known_parts(pattern) if len(pattern) <= MAX_LENGTH else _parts(pattern)  # what is remembered stays


def _parts(pattern: str) -> tuple[Part, ...]:
    found: list[Part] = []
    for piece in _PIECE.findall(pattern):
        if piece == ANY_ONE and found and found[-1][0] == ANY_RUN:
            found[-1:] = [(ANY_ONE, ""), (ANY_RUN, "")]  # %_ and _% are the same
        elif piece == ANY_ONE:
            found.append((ANY_ONE, ""))
        elif piece != ANY_RUN:
            found.append(("text", _ESCAPED.sub(r"\1", piece)))
        elif not found or found[-1][0] != ANY_RUN:
            found.append((ANY_RUN, ""))
    return tuple(found)


_known_parts = lru_cache(maxsize=4096)(_parts)


def refusal(pattern: str) -> tuple[str, str] | None:
    """What makes ``pattern`` too costly to match, and what to try; None where nothing does."""
    found = parts(pattern)
    wildcards = sum(kind != "text" for kind, _ in found)
    if wildcards and len(pattern) > MAX_LENGTH:
        return f"the pattern is {len(pattern):,} characters long", f"at most {MAX_LENGTH:,} are accepted with % or _"
    runs = sum(kind == ANY_RUN for kind, _ in found)
    if runs > MAX_RUNS:
        return f"the pattern has {runs:,} of the wildcard %", f"at most {MAX_RUNS} are accepted"
    for segment in planned(found).inner:
        spread = segment.literals[-1][0] + 1 if segment.literals else 0
        if spread > MAX_SOUGHT:
            return f"{spread} characters with _ among them stand between two %", f"at most {MAX_SOUGHT} are accepted"
    return None


def resolve_escape(pattern: str, escape: str) -> str | None:
    """Rewrite ``pattern`` to the escape ``\\``; None where an escape stands before an ordinary character."""
    if escape not in pattern:
        return canonical_pattern(pattern.replace("\\", "\\\\"))
    out: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            if following not in (ANY_RUN, ANY_ONE, escape) or not following:
                return None
            out.append(_literal(following))
        elif character in (ANY_RUN, ANY_ONE):
            out.append(character)
        else:
            out.append(_literal(character))
    return canonical_pattern("".join(out))


def canonical_pattern(pattern: str) -> str:
    return "".join(_literal(text) if kind == "text" else kind for kind, text in parts(pattern))


def _literal(text: str) -> str:
    return re.sub(r"[\\%_]", r"\\\g<0>", text)


@lru_cache(maxsize=4096)
def _plan(pattern: str) -> Plan:
    return planned(parts(pattern))


def matches(pattern: str, value: str) -> bool:
    """Does ``value`` match? Linear in its length: see ``wildcards``."""
    return holds(_plan(pattern), value)


def bounds(pattern: str) -> tuple[Ranges, bool]:
    """The strings that can match, and whether all of them do (so that the pattern is not needed)."""
    found = parts(pattern)
    if not found:
        return comparison("=", ""), True
    if found[0][0] != "text":
        return ALL, found == ((ANY_RUN, ""),)
    prefix = found[0][1]
    if len(found) == 1:
        return comparison("=", prefix), True
    return prefix_range(prefix), found[1:] == ((ANY_RUN, ""),)


def prefix_range(prefix: str) -> Ranges:
    """The strings that begin with ``prefix``: up to the next string of its length, if there is one."""
    end = prefix
    while end:
        last = ord(end[-1])
        if last < 0x10FFFF:
            # No string holds a surrogate, so the code points around that gap are neighbours.
            successor = 0xE000 if last == 0xD7FF else last + 1
            return between((prefix, BEFORE), (end[:-1] + chr(successor), BEFORE))
        end = end[:-1]
    return between((prefix, BEFORE), None)


def implies(narrow: str, wide: str) -> bool:
    """True only if every string that matches ``narrow`` matches ``wide``.

    ``wide`` is run over ``narrow`` as if it were a string in which % and _ are letters of their own,
    that only wildcards may stand for. Sound; misses cases that need a case split over % in ``narrow``.
    O(characters of one · characters of the other) in the worst case, with few instructions for each.
    """
    run, one = _letters(narrow + wide)
    text = _as_letters(narrow, run, one)
    return _longest_text(wide) in text and holds(_plan_over_patterns(wide, run), text)


def _letters(texts: str) -> tuple[str, str]:
    """Two characters that do not occur in ``texts``: private ones, so that the first two nearly always do not."""
    run, one = _PRIVATE
    if run not in texts and one not in texts:
        return run, one
    used = set(texts)
    unused = (letter for code in range(ord(run), 0x10FFFF) if (letter := chr(code)) not in used)
    return next(unused), next(unused)


@lru_cache(maxsize=4096)
def _as_letters(pattern: str, run: str, one: str) -> str:
    letters = {ANY_RUN: run, ANY_ONE: one}
    return "".join(text if kind == "text" else letters[kind] for kind, text in parts(pattern))


@lru_cache(maxsize=4096)
def _longest_text(pattern: str) -> str:
    return max((text for _, text in parts(pattern)), key=len, default="")


@lru_cache(maxsize=4096)
def _plan_over_patterns(pattern: str, run: str) -> Plan:
    return planned(parts(pattern), run)
