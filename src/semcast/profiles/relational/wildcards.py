"""Matching of LIKE patterns in time linear in the text, whatever the pattern.

A pattern is cut at its ``%`` into segments. The first and the last one stand at the ends of the text; each of the
others is found leftmost behind the one before. Leftmost is always right: it leaves the most text for the rest. A
regular expression for the whole pattern would try all ways to place the segments: 175 s on a text of 4 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Part = tuple[str, str]
"""("text", literal), ("%", "") or ("_", "")."""

_WINDOW = 4096  # characters in which a segment with _ is sought by a regular expression: O(window · segment)
_CHUNK = 1 << 15  # starts of a segment with _ that are tested together: they stay in the cache


class Segment(NamedTuple):
    """What stands between two ``%``: ``length`` characters, of which ``literals`` are given by offset."""

    text: str  # its letters before the first _
    length: int
    literals: tuple[tuple[int, str], ...] | None  # None where letters come first and then _, if there are any
    expression: re.Pattern[str] | None

    def stands_at(self, value: str, at: int) -> bool:
        """Does it match ``value`` from ``at`` on? ``value`` is long enough."""
        if self.expression is None:
            return value.startswith(self.text, at)
        return self.expression.match(value, at) is not None


class Plan(NamedTuple):
    """A pattern as segments; ``last`` is None where the pattern has no ``%``."""

    first: Segment
    inner: tuple[Segment, ...]
    last: Segment | None
    length: int  # of the shortest text that matches


def planned(parts: Iterable[Part], barrier: str = "") -> Plan:
    """The segments of a pattern; a ``_`` stands for any character but ``barrier``."""
    groups: list[list[Part]] = [[]]
    for part in parts:
        if part[0] == "%":
            groups.append([])
        else:
            groups[-1].append(part)
    segments = [_segment(group, barrier) for group in groups]
    length = sum(segment.length for segment in segments)
    if len(segments) == 1:
        return Plan(segments[0], (), None, length)
    return Plan(segments[0], tuple(s for s in segments[1:-1] if s.length), segments[-1], length)


def _segment(group: list[Part], barrier: str) -> Segment:
    length = sum(len(text) if kind == "text" else 1 for kind, text in group)
    head = group[0][1] if group and group[0][0] == "text" else ""
    if all(kind == "_" for kind, _ in group[bool(head) :]) and (not barrier or length == len(head)):
        return Segment(head, length, None, None)
    one = f"[^{re.escape(barrier)}]" if barrier else "."
    holes = "".join(re.escape(text) if kind == "text" else one for kind, text in group)
    literals: list[tuple[int, str]] = []
    at = 0
    for kind, text in group:
        if kind == "text":
            literals += ((at + offset, letter) for offset, letter in enumerate(text))
        at += len(text) if kind == "text" else 1
    return Segment(head, length, tuple(literals), re.compile(holes, re.DOTALL))


def holds(plan: Plan, value: str) -> bool:
    """Does the whole of ``value`` match?

    O(n) for a value of n characters and segments without ``_``: ``str.find`` is linear where it matters (at most
    15 ms for 4 MB, whatever the segment). Between two ``%`` a segment of m characters with ``_`` costs O(n · m) in
    the worst case, at some 10^10 comparisons a second; m is bounded where profiles are parsed.
    """
    if plan.last is None:
        return len(value) == plan.length and plan.first.stands_at(value, 0)
    end = len(value) - plan.last.length
    if len(value) < plan.length or not plan.first.stands_at(value, 0) or not plan.last.stands_at(value, end):
        return False
    at = plan.first.length
    for segment in plan.inner:
        plain = segment.expression is None
        found = value.find(segment.text, at, end) if plain else _find(segment, value, at, end)
        if found < 0:
            return False
        at = found + segment.length
        if at > end:
            return False
    return True


def _find(segment: Segment, value: str, at: int, end: int) -> int:
    """The first place from ``at`` on where a segment with ``_`` lies before ``end``; -1 if there is none."""
    assert segment.expression is not None
    found = segment.expression.search(value, at, min(end, at + _WINDOW + segment.length - 1))
    if found is not None:
        return found.start()
    at += _WINDOW
    if segment.text:
        at = value.find(segment.text, at, end)  # most texts end here
    if at < 0 or at + segment.length > end:
        return -1
    return _find_in_chunks(segment, _codes(value), at, end)


def _find_in_chunks(segment: Segment, codes: NDArray[np.unsignedinteger], at: int, end: int) -> int:
    letters = [(offset, ord(letter)) for offset, letter in segment.literals or ()]
    if not letters:
        return at
    for begin in range(at, end - segment.length + 1, _CHUNK):
        count = min(_CHUNK, end - segment.length + 1 - begin)
        fits = np.ones(count, np.bool_)
        for number, (offset, letter) in enumerate(letters):
            fits &= codes[begin + offset : begin + offset + count] == letter
            if number % 8 == 7 and not fits.any():
                break
        first = int(fits.argmax())
        if fits[first]:
            return begin + first
    return -1


@lru_cache(maxsize=1)
def _codes(value: str) -> NDArray[np.unsignedinteger]:
    """The characters as numbers; the last value's are kept, since many patterns ask for the same one."""
    if value.isascii():
        return np.frombuffer(value.encode("ascii"), np.uint8)
    return np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32)
