"""Sets of values of one ordered kind, as the cuts where membership toggles.

A cut stands just before or just after a point, so open and closed ends need no special cases; a set
that has no lower end begins with the BOTTOM cut. Numbers are ordered as in Spark: NaN is above all,
so a set without an upper end holds NaN. Sides and points are kept apart because an index over
a million profiles groups them by sides and reads the points as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

BOTTOM, BEFORE, AFTER = -1, 0, 1

Cut = tuple[Any, int]


class Ranges(NamedTuple):
    """``sides``: BOTTOM (first only, has no point), BEFORE or AFTER; ``points``: ascending."""

    sides: tuple[int, ...]
    points: tuple[Any, ...]

    def __bool__(self) -> bool:
        return bool(self.sides)

    def holds(self, value: Any) -> bool:
        """Is ``value`` in the set?"""
        inside, skip = _start(self)
        for side, point in zip(self.sides[skip:], self.points, strict=True):
            if point > value or (point == value and side == AFTER):
                break
            inside = not inside
        return inside

    @property
    def is_single_point(self) -> bool:
        return self.sides == (BEFORE, AFTER) and self.points[0] == self.points[1]

    @property
    def is_points_only(self) -> bool:
        """True where the set is finite (and not empty)."""
        sides, points = self.sides, self.points
        return (
            sides != ()
            and sides == (BEFORE, AFTER) * (len(sides) // 2)
            and all(points[i] == points[i + 1] for i in range(0, len(points), 2))
        )

    def intervals(self) -> Iterator[tuple[Cut | None, Cut | None]]:
        """The disjoint intervals, ascending; None is the open end of the order."""
        cuts: list[Cut | None] = list(zip(self.points, self.sides[_start(self)[1] :], strict=True))
        if self.sides and self.sides[0] == BOTTOM:
            cuts.insert(0, None)
        if len(cuts) % 2:
            cuts.append(None)
        for i in range(0, len(cuts), 2):
            yield cuts[i], cuts[i + 1]


EMPTY = Ranges((), ())
ALL = Ranges((BOTTOM,), ())


def comparison(op: str, point: Any) -> Ranges:
    """The values v with ``v op point``."""
    return Ranges(_SIDES[op], (point,) * _POINTS[op])


_SIDES = {
    "=": (BEFORE, AFTER),
    "<>": (BOTTOM, BEFORE, AFTER),
    "<": (BOTTOM, BEFORE),
    "<=": (BOTTOM, AFTER),
    ">": (AFTER,),
    ">=": (BEFORE,),
}
_POINTS = {"=": 2, "<>": 2, "<": 1, "<=": 1, ">": 1, ">=": 1}


def finite(points: list[Any]) -> Ranges:
    """The set of just these points."""
    ordered = sorted(set(points))
    return Ranges((BEFORE, AFTER) * len(ordered), tuple(p for point in ordered for p in (point, point)))


def between(low: Cut | None, high: Cut | None) -> Ranges:
    """From one cut to another; empty where they cross."""
    if low is None:
        return ALL if high is None else Ranges((BOTTOM, high[1]), (high[0],))
    if high is None:
        return Ranges((low[1],), (low[0],))
    return EMPTY if low >= high else Ranges((low[1], high[1]), (low[0], high[0]))


def intersect(a: Ranges, b: Ranges) -> Ranges:
    if a is ALL:
        return b
    if b is ALL:
        return a
    if len(a.points) == len(b.points) == 1 and len(a.sides) != len(b.sides):
        # `x > 1 AND x <= 5`, which is most of what people write: one set has a lower end, one an upper.
        low, high = (a, b) if len(a.sides) == 1 else (b, a)
        return between((low.points[0], low.sides[0]), (high.points[0], high.sides[1]))
    return _combine(a, b, lambda x, y: x and y)


def union(a: Ranges, b: Ranges) -> Ranges:
    if not a:
        return b
    if not b:
        return a
    return _combine(a, b, lambda x, y: x or y)


def minus(a: Ranges, b: Ranges) -> Ranges:
    return _combine(a, b, lambda x, y: x and not y)


def complement(a: Ranges) -> Ranges:
    sides = a.sides
    return Ranges(sides[1:] if sides[:1] == (BOTTOM,) else (BOTTOM, *sides), a.points)


def is_subset(a: Ranges, b: Ranges) -> bool:
    """Every value of ``a`` is in ``b``."""
    if a == b or b == ALL:
        return True
    if a.is_single_point:
        return b.holds(a.points[0])
    return not minus(a, b)


def _combine(a: Ranges, b: Ranges, keep: Callable[[bool, bool], bool]) -> Ranges:
    """Walk both sets' cuts in order; O(cuts of a + cuts of b)."""
    in_a, skip_a = _start(a)
    in_b, skip_b = _start(b)
    cuts_a = list(zip(a.points, a.sides[skip_a:], strict=True))
    cuts_b = list(zip(b.points, b.sides[skip_b:], strict=True))
    inside = keep(in_a, in_b)
    sides: list[int] = [BOTTOM] if inside else []
    points: list[Any] = []
    i = j = 0
    while i < len(cuts_a) or j < len(cuts_b):
        if j >= len(cuts_b) or (i < len(cuts_a) and cuts_a[i] <= cuts_b[j]):
            cut = cuts_a[i]
            if j < len(cuts_b) and cuts_b[j] == cut:
                j, in_b = j + 1, not in_b
            i, in_a = i + 1, not in_a
        else:
            cut = cuts_b[j]
            j, in_b = j + 1, not in_b
        if keep(in_a, in_b) != inside:
            inside = not inside
            points.append(cut[0])
            sides.append(cut[1])
    return Ranges(tuple(sides), tuple(points))


def _start(ranges: Ranges) -> tuple[bool, int]:
    bottom = ranges.sides[:1] == (BOTTOM,)
    return bottom, int(bottom)
