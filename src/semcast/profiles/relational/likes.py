"""LIKE patterns: ``%`` any run of characters, ``_`` one character, ``\\`` before either for itself.

Most patterns are a prefix and so an interval of strings, which is all that the fast engine wants.
What is left after the prefix is kept as a pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcast.profiles.relational.ranges import ALL, BEFORE, Ranges, between, comparison

ANY_RUN, ANY_ONE = "%", "_"


@lru_cache(maxsize=4096)
def parts(pattern: str) -> tuple[tuple[str, str], ...]:
    """The pattern as ("text", literal), ("%", "") and ("_", "") parts; runs of % count once."""
    found: list[tuple[str, str]] = []
    for item in re.findall(r"\\.|.", pattern, re.DOTALL):
        if item in (ANY_RUN, ANY_ONE):
            if item == ANY_ONE and found and found[-1][0] == ANY_RUN:
                found.insert(len(found) - 1, (ANY_ONE, ""))  # %_ and _% are the same
            elif not (item == ANY_RUN and found and found[-1][0] == ANY_RUN):
                found.append((item, ""))
        elif found and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + item[-1])
        else:
            found.append(("text", item[-1]))
    return tuple(found)


def resolve_escape(pattern: str, escape: str) -> str | None:
    """Rewrite ``pattern`` to the escape ``\\``; None where an escape stands before an ordinary character."""
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
def compiled(pattern: str) -> re.Pattern[str]:
    expression = {ANY_RUN: ".*", ANY_ONE: "."}
    return re.compile(
        "".join(re.escape(text) if kind == "text" else expression[kind] for kind, text in parts(pattern)),
        re.DOTALL,
    )


def matches(pattern: str, value: str) -> bool:
    return compiled(pattern).fullmatch(value) is not None


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
    """
    return compiled_over_patterns(wide).fullmatch(_as_letters(narrow)) is not None


def _as_letters(pattern: str) -> str:
    # Literal characters are prefixed with "=", so that they cannot be taken for a wildcard's letter.
    return "".join("".join("=" + c for c in text) if kind == "text" else kind * 2 for kind, text in parts(pattern))


@lru_cache(maxsize=4096)
def compiled_over_patterns(pattern: str) -> re.Pattern[str]:
    expression = {ANY_RUN: "(?:..)*", ANY_ONE: "(?:=.|__)"}
    return re.compile(
        "".join(
            "".join(re.escape("=" + c) for c in text) if kind == "text" else expression[kind]
            for kind, text in parts(pattern)
        ),
        re.DOTALL,
    )
