"""Sets of values of one ordered kind, as the cuts where membership toggles.

A cut stands just before or just after a point, so open and closed ends need no special cases; a set
that has no lower end begins with the BOTTOM cut. Numbers are ordered as in Spark: NaN is above all,
so a set without an upper end holds NaN. Sides and points are kept apart because an index over
a million profiles groups them by sides and reads the points as columns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
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
        """Is ``value`` in the set? O(log cuts)."""
        inside, skip = _start(self)
        passed = _cuts_before(self, skip, (value, AFTER))
        return inside != bool(passed % 2)

    @property
    def is_single_point(self) -> bool:
        return self.sides == (BEFORE, AFTER) and self.points[0] == self.points[1]

    @property
    def is_points_only(self) -> bool:
        """True where the set is finite (and not empty)."""
        sides, points = self.sides, self.points
        return sides != () and sides == (BEFORE, AFTER) * (len(sides) // 2) and points[::2] == points[1::2]

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
    return _ascending(sorted(set(points)))


def _ascending(points: Sequence[Any]) -> Ranges:
    return Ranges((BEFORE, AFTER) * len(points), tuple(chain.from_iterable(zip(points, points, strict=True))))


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
    few, many = (a, b) if len(a.points) <= len(b.points) else (b, a)
    if len(few.points) * _FEWER <= len(many.points):
        return _pieced(many, few)
    found = _intersection_of_points(a, b)
    return _combined(a, b) if found is None else found


def union(*sets: Ranges) -> Ranges:
    """O(n log n) for n cuts in all sets, however many sets there are."""
    held = [ranges for ranges in sets if ranges]
    if len(held) < 2:
        return held[0] if held else EMPTY
    if len(held) == 2:
        return complement(intersect(complement(held[0]), complement(held[1])))
    if all(ranges.is_points_only for ranges in held):
        return finite([point for ranges in held for point in ranges.points[::2]])
    return _swept(held)


def minus(a: Ranges, b: Ranges) -> Ranges:
    return intersect(a, complement(b))


def complement(a: Ranges) -> Ranges:
    sides = a.sides
    return Ranges(sides[1:] if sides[:1] == (BOTTOM,) else (BOTTOM, *sides), a.points)


def is_subset(a: Ranges, b: Ranges) -> bool:
    """Every value of ``a`` is in ``b``."""
    if a == b or b == ALL:
        return True
    if a.is_single_point:
        return b.holds(a.points[0])
    if 1 <= len(a.sides) <= 2 and 1 <= len(b.sides) <= 2:
        return _is_within(a, b)
    return not minus(a, b)


def _is_within(a: Ranges, b: Ranges) -> bool:
    """The same for two intervals, which nearly all are: a fifth of the time."""
    (low_a, high_a), (low_b, high_b) = _ends(a), _ends(b)
    return (low_b is None or (low_a is not None and low_b <= low_a)) and (
        high_b is None or (high_a is not None and high_a <= high_b)
    )


def _ends(interval: Ranges) -> tuple[Cut | None, Cut | None]:
    sides, points = interval
    if sides[0] == BOTTOM:
        return None, (points[0], sides[1]) if points else None
    return (points[0], sides[0]), (points[1], sides[1]) if len(points) > 1 else None


_FEWER = 8  # with this many times fewer cuts in one set, cutting pieces out beats walking through both


def _cuts_before(ranges: Ranges, skip: int, cut: Cut) -> int:
    """How many of the cuts (without BOTTOM, so from ``skip`` on) lie before ``cut``; at most two have its point."""
    points, sides = ranges.points, ranges.sides
    at = bisect_left(points, cut[0])
    while at < len(points) and points[at] == cut[0] and sides[skip + at] < cut[1]:
        at += 1
    return at


def _pieced(many: Ranges, few: Ranges) -> Ranges:
    """What ``many`` has within each interval of ``few``: O(intervals · log cuts), and copying."""
    bottom, skip = _start(many)
    sides: list[int] = []
    points: list[Any] = []
    for low, high in few.intervals():
        begin = 0 if low is None else _cuts_before(many, skip, (low[0], low[1] + 1))  # behind one that equals it
        end = len(many.points) if high is None else _cuts_before(many, skip, high)
        if bottom != bool(begin % 2):
            sides.append(BOTTOM if low is None else low[1])
            points += () if low is None else (low[0],)
        sides += many.sides[skip + begin : skip + end]
        points += many.points[begin:end]
        if high is not None and bottom != bool(end % 2):
            sides.append(high[1])
            points.append(high[0])
    return Ranges(tuple(sides), tuple(points))


def _intersection_of_points(a: Ranges, b: Ranges) -> Ranges | None:
    """Of two long lists of points, or of all but such points; None where a set is neither."""
    if a.is_points_only:
        inside, outside = (b, None) if b.is_points_only else (None, complement(b))
        if inside is not None:
            kept = set(inside.points)
            return _ascending([point for point in a.points[::2] if point in kept])
        if outside is not None and outside.is_points_only:
            gone = set(outside.points)
            return _ascending([point for point in a.points[::2] if point not in gone])
        return None
    if b.is_points_only:
        return _intersection_of_points(b, a)
    left_out = complement(a), complement(b)
    if all(ranges.is_points_only for ranges in left_out):
        return complement(finite([*left_out[0].points[::2], *left_out[1].points[::2]]))
    return None


def _combined(a: Ranges, b: Ranges) -> Ranges:
    """The intersection, from a walk through both sets' cuts in order; O(cuts of a + cuts of b)."""
    in_a, skip_a = _start(a)
    in_b, skip_b = _start(b)
    cuts_a = list(zip(a.points, a.sides[skip_a:], strict=True))
    cuts_b = list(zip(b.points, b.sides[skip_b:], strict=True))
    inside = in_a and in_b
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
        if (in_a and in_b) != inside:
            inside = not inside
            points.append(cut[0])
            sides.append(cut[1])
    return Ranges(tuple(sides), tuple(points))


def _swept(held: list[Ranges]) -> Ranges:
    """The union of many sets: go through all cuts in order and count the sets that one is inside of."""
    events: list[tuple[Any, int, int]] = []
    depth = 0
    for ranges in held:
        bottom, skip = _start(ranges)
        depth += bottom
        step = -1 if bottom else 1
        for point, side in zip(ranges.points, ranges.sides[skip:], strict=True):
            events.append((point, side, step))
            step = -step
    events.sort(key=lambda event: event[:2])
    sides: list[int] = [BOTTOM] if depth else []
    points: list[Any] = []
    inside = depth > 0
    for at, (point, side, step) in enumerate(events):
        depth += step
        last = at + 1 == len(events) or events[at + 1][:2] != (point, side)
        if last and (depth > 0) != inside:
            inside = not inside
            sides.append(side)
            points.append(point)
    return Ranges(tuple(sides), tuple(points))


def _start(ranges: Ranges) -> tuple[bool, int]:
    bottom = ranges.sides[:1] == (BOTTOM,)
    return bottom, int(bottom)
