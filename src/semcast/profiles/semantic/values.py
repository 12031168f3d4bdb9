"""Values of nodes: texts, numbers, and what sets of numbers have in common.

A cut stands just before a number, (v, 0), or just after it, (v, 1), so open and closed ends need no special
cases. Infinite cuts are the ends of the order; no node has an infinite number.
"""

from __future__ import annotations

import math
import re

from semcast.profiles.relational.geo import distance_km

Cut = tuple[float, int]
BOTTOM: Cut = (-math.inf, 0)
TOP: Cut = (math.inf, 0)
SLACK_KM = 1e-6  # far above the rounding of the haversine, far below what anybody measures
_BLANKS = re.compile("[ \t\r\n]+")
_OTHER_BLANKS = re.compile("[\x0b\x0c\x1c-\x1f]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MAX_NUMBER = 64  # characters: nobody writes longer numbers, and a hostile text may be long

__all__ = ["BOTTOM", "SLACK_KM", "TOP", "Cut", "collapsed", "distance_km", "holds", "joined", "met", "number"]


def collapsed(text: str) -> str:
    """A text as it is compared: without white space at its ends, and with one blank where there is more."""
    if not text.isascii() or _OTHER_BLANKS.search(text):  # split() would take more for blanks than XML does
        return _BLANKS.sub(" ", text).strip(" ")
    return " ".join(text.split())  # a fourth of the time


def number(text: str) -> float | None:
    """The number that a text is, as XML Schema writes decimals and doubles; None for all else, NaN and INF too."""
    if len(text) > _MAX_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return None if math.isinf(value) else value + 0.0  # -0 is 0


def holds(low: Cut, high: Cut, value: float) -> bool:
    return low < (value, 0.5) < high


def met(ranges: list[tuple[Cut, Cut]]) -> tuple[Cut, Cut]:
    """What all have in common; empty where the cuts cross."""
    return max(low for low, _ in ranges), min(high for _, high in ranges)


def joined(ranges: list[tuple[Cut, Cut]]) -> list[tuple[Cut, Cut]]:
    """The same numbers in the fewest ranges, ascending."""
    found: list[tuple[Cut, Cut]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found
