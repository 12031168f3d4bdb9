"""Profiles → the arrays that the kernels run over.

Each conjunction gets one *access* interval, on the attribute where it asks for the smallest share of
the codes; a batch is sorted once per access attribute, so that a conjunction's candidates are one slice
of it. What else it asks for is tested on the slice. Profiles are grouped by shape and handled as
columns: a Python loop over a million profiles alone would take longer than all of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from math import degrees
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.matching.relational.spaces import Segment, Space
from semcast.profiles.relational import Profile
from semcast.profiles.relational.constraints import Domain
from semcast.profiles.relational.geo import EARTH_RADIUS_KM
from semcast.profiles.relational.normal import Slot
from semcast.profiles.relational.ranges import AFTER, BEFORE, BOTTOM
from semcast.profiles.relational.syntax import Axes

_EXACT = 2.0**53
_SLACK_DEGREES = 1e-6

_WIDE = 32  # cuts: from here on they are handled as one array, a column of few profiles each would be all overhead

Points = dict[str, dict[Domain, list[Any]]]
Column = tuple[Any, ...] | NDArray[Any]
Cuts = list[Column] | NDArray[Any]
"""Per cut the points of all boxes of a shape; where there are many cuts, as one array, [cut, box]."""


class Like(NamedTuple):
    """A derived attribute: whether a string matches a pattern. Codes: no string, no, yes."""

    attribute: str
    pattern: str


class Columns(NamedTuple):
    """The points of one slot, in all boxes of a shape."""

    center: list[Column]
    cuts: Cuts
    patterns: list[Column]
    double_cuts: Cuts


class Shape(NamedTuple):
    """All boxes of one shape: their profiles, and their points as columns."""

    slots: tuple[Slot, ...]
    profiles: NDArray[np.int64]
    columns: list[Columns]


class Interval(NamedTuple):
    """Intervals of codes: [box], or [interval, box] where a box has several."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


class Demand(NamedTuple):
    """What the boxes of a shape ask of one attribute: one or several intervals of its codes."""

    attribute: NDArray[np.int64] | int
    intervals: Interval  # [interval, box]
    share: NDArray[np.float64] | None  # of the codes; None where it cannot be the access


class Near(NamedTuple):
    """Distance tests: which places, between which bounds (flags as in kernels._near)."""

    latitude: int
    longitude: int
    flags: int
    values: NDArray[np.float64]


class Block(NamedTuple):
    """Boxes with the same access attribute and the same number of tests of each kind.

    Each interval of a box is a conjunction of its own; all of them share the box's tests.
    """

    profiles: NDArray[np.int64]
    access: int
    intervals: Interval  # [interval, box]
    tests: list[tuple[NDArray[np.int64] | int, Interval]]  # [box]
    lists: list[tuple[NDArray[np.int64] | int, Interval]]  # [interval, box]
    nears: list[Near]


class Attributes:
    """Numbers the attributes, real and derived, and the places, in order of appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str | Like, int] = {}
        self.places: dict[str, int] = {}

    def number(self, attribute: str | Like) -> int:
        return self.numbers.setdefault(attribute, len(self.numbers))

    def place(self, attribute: str) -> int:
        return self.places.setdefault(attribute, len(self.places))


def shapes_of(profiles: Sequence[Profile]) -> list[Shape]:
    """Group all boxes by shape and turn their points into columns, without a Python loop over boxes."""
    boxes = [profile.boxes for profile in profiles]
    counts = np.fromiter(map(len, boxes), np.int64, len(boxes))
    flat = list(chain.from_iterable(boxes))
    if not flat:
        return []
    numbers = np.repeat(np.arange(len(boxes)), counts)
    slots = [box[0] for box in flat]
    points = np.empty(len(flat), object)
    points[:] = [box[1] for box in flat]
    # Equal shapes are nearly always one object, so few are left to be compared by value.
    _, first, same = np.unique(np.fromiter(map(id, slots), np.int64, len(flat)), return_index=True, return_inverse=True)
    group_of = {slots[at]: group for group, at in enumerate(first.tolist()[::-1])}
    groups = np.array([group_of[slots[at]] for at in first.tolist()])[same]
    members = np.argsort(groups, kind="stable")
    shapes = []
    for rows in np.split(members, np.flatnonzero(np.diff(groups[members])) + 1):
        shape = slots[rows[0]]
        width = sum(slot.width for slot in shape)
        values = list(chain.from_iterable(points[rows]))
        at = 0
        columns = []
        for slot in shape:
            columns.append(_columns(slot, values, at, width))
            at += slot.width
        shapes.append(Shape(shape, numbers[rows], columns))
    return shapes


def _columns(slot: Slot, values: list[Any], begin: int, width: int) -> Columns:
    """What is a slot's of ``values``: those of each box, from ``begin`` on, one box every ``width`` values."""
    cuts = begin + slot.center
    patterns = cuts + slot.cuts
    doubles = patterns + slot.likes + slot.unlikes
    return Columns(
        [_column(slot, tuple(values[at::width])) for at in range(begin, cuts)],
        _cuts(slot, values, cuts, patterns, width),
        [tuple(values[at::width]) for at in range(patterns, doubles)],
        _cuts(slot, values, doubles, doubles + slot.double_cuts, width),
    )


def _cuts(slot: Slot, values: list[Any], begin: int, end: int, width: int) -> Cuts:
    if end - begin < _WIDE:
        return [_column(slot, tuple(values[at::width])) for at in range(begin, end)]
    boxes = range(0, len(values), width)
    flat = _column(slot, tuple(chain.from_iterable(values[box + begin : box + end] for box in boxes)))
    if isinstance(flat, tuple):
        found = np.empty(len(flat), object)
        found[:] = flat
        flat = found
    return flat.reshape(len(boxes), end - begin).T


def _column(slot: Slot, values: tuple[Any, ...]) -> Column:
    """Numbers as doubles where that is exact; all else as it is."""
    if slot.domain in (Domain.NUMBER, Domain.TIMESTAMP):
        with suppress(OverflowError):
            # What is below 2^53 as a double was exactly that before, integer or not.
            array = np.fromiter(values, np.float64, len(values))
            if np.abs(array).max() < _EXACT:
                return array
    return values


def spaces_of(shapes: Sequence[Shape]) -> dict[str, Space]:
    """The code space of every attribute that is compared with something or tested for NULL."""
    found: Points = {}
    for shape in shapes:
        for slot, columns in zip(shape.slots, shape.columns, strict=True):
            if isinstance(slot.attribute, Axes):
                band = _band(slot, columns)
                if band is not None:
                    found.setdefault(slot.attribute.latitude, {}).setdefault(Domain.NUMBER, []).extend(band)
                continue
            kinds = found.setdefault(slot.attribute, {})
            if slot.domain in (Domain.NULL, Domain.PRESENT):
                continue
            cuts = kinds.setdefault(slot.domain, [])
            for columns_of in (columns.cuts, columns.double_cuts):
                cuts.extend(columns_of if isinstance(columns_of, list) else [columns_of.T.ravel()])
    return {
        attribute: Space({domain: _united(domain, cuts) for domain, cuts in kinds.items()})
        for attribute, kinds in found.items()
    }


def _united(domain: Domain, columns: list[Column]) -> set[Any] | NDArray[np.float64]:
    """The distinct values of all columns: doubles where all are exact as such, else the values themselves."""
    if domain in (Domain.NUMBER, Domain.TIMESTAMP) and all(map(_are_doubles, columns)):
        return _distinct(np.concatenate(columns)) if columns else np.empty(0)
    values: set[Any] = set()
    for column in columns:
        values.update(map(_plain, column.tolist()) if _are_doubles(column) else column)  # type: ignore[union-attr]
    return values


def _are_doubles(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == np.float64


def _distinct(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values.sort()  # a third of what numpy's hashing unique takes at a million values
    return values[np.concatenate(([True], values[1:] != values[:-1]))]


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _band(slot: Slot, columns: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The latitudes within reach of each centre, or None where the distance has no upper bound."""
    if slot.domain is not Domain.NUMBER or slot.cuts % 2 != (slot.sides[:1] == (BOTTOM,)):
        return None
    center, reach = np.array(columns.center[0], np.float64), np.array(columns.cuts[-1], np.float64)
    degree = degrees(1) * reach / EARTH_RADIUS_KM + _SLACK_DEGREES
    return center - degree, center + degree


class Builder:
    """Turns shapes into blocks of conjunctions."""

    def __init__(self, spaces: dict[str, Space]) -> None:
        self.spaces = spaces
        self.attributes = Attributes()
        for attribute in spaces:
            self.attributes.number(attribute)

    def blocks(self, shape: Shape) -> Iterator[Block]:
        demands: list[Demand] = []
        nears: list[list[Near]] = [[]]
        for slot, columns in zip(shape.slots, shape.columns, strict=True):
            if isinstance(slot.attribute, Axes):
                band, tests = self._near(slot, slot.attribute, columns)
                demands += band
                nears = [[*chosen, test] for chosen in nears for test in tests]
            else:
                demands += self._demands(slot, slot.attribute, columns, len(shape.profiles))
        for tests in nears:
            yield from self._conjunctions(shape.profiles, demands, tests)

    def _demands(self, slot: Slot, attribute: str, columns: Columns, count: int) -> Iterator[Demand]:
        space = self.spaces[attribute]
        number = self.attributes.number(attribute)
        if slot.domain is Domain.NULL:
            yield Demand(number, _constant(0, 1, count), np.full(count, 0.5))
            return
        if slot.domain is Domain.PRESENT:
            yield Demand(number, _constant(1, space.end, count), np.ones(count))
            return
        if slot.sides != (BOTTOM,) or not columns.patterns:
            yield self._ranges(slot, number, space, columns, count)
        for at, column in enumerate(columns.patterns):
            numbers = np.array([self.attributes.number(Like(attribute, p)) for p in column])
            wanted = 2 if at < slot.likes else 1
            yield Demand(numbers, _constant(wanted, wanted + 1, count), None)

    def _ranges(self, slot: Slot, number: int, space: Space, columns: Columns, count: int) -> Demand:
        parts: list[Interval] = []
        share = np.zeros(count)
        segments = space.segments(slot.domain)
        for segment in segments:
            if segment is segments[-1] and slot.double_sides is not None:
                found = _intervals(slot.double_sides, segment, columns.double_cuts, count)
            else:
                found = _intervals(slot.sides, segment, columns.cuts, count)
            classes = len(segment.points) + 1
            share += ((found.high - found.low + 1) / 2 / classes / len(segments)).sum(axis=0)
            parts.append(found)
        if len(parts) == 1:
            return Demand(number, parts[0], share)
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return Demand(number, Interval(low, high), share)

    def _near(self, slot: Slot, axes: Axes, columns: Columns) -> tuple[list[Demand], list[Near]]:
        places = self.attributes.place(axes.latitude), self.attributes.place(axes.longitude)
        center = np.array(columns.center, np.float64)
        count = center.shape[1]
        if slot.domain in (Domain.NULL, Domain.PRESENT):
            ends = np.tile(np.array([[0.0], [np.inf]]), count)
            flags = 4 if slot.domain is Domain.NULL else 0
            return [], [Near(*places, flags, np.vstack([center, ends]).T)]
        cuts: list[tuple[Any, int]] = list(
            zip(columns.cuts, slot.sides[-slot.cuts :] if slot.cuts else (), strict=True)
        )
        if slot.sides[0] == BOTTOM:
            cuts.insert(0, (np.full(count, -1.0), BEFORE))
        if len(cuts) % 2:
            cuts.append((np.full(count, np.inf), AFTER))
        tests = []
        for (low, low_side), (high, high_side) in zip(cuts[::2], cuts[1::2], strict=True):
            ends = np.array([low, high], np.float64)
            flags = (low_side == AFTER) + 2 * (high_side == BEFORE)
            tests.append(Near(*places, flags, np.vstack([center, ends]).T))
        band = _band(slot, columns)
        if band is None:
            return [], tests
        space, number = self.spaces[axes.latitude], self.attributes.number(axes.latitude)
        inside = Slot(axes.latitude, Domain.NUMBER, (BEFORE, AFTER), 0, 0, None)
        return [self._ranges(inside, number, space, Columns([], list(band), [], []), count)], tests

    def _conjunctions(self, profiles: NDArray[np.int64], demands: list[Demand], nears: list[Near]) -> Iterator[Block]:
        shares = [np.full(len(profiles), 2.0) if d.share is None else d.share for d in demands]
        choice = np.argmin(np.array(shares), axis=0) if demands else np.zeros(len(profiles), np.int64)
        for access in range(max(1, len(demands))):
            mine = np.flatnonzero(choice == access)
            if not len(mine):
                continue
            usable = bool(demands) and demands[access].share is not None
            rest = [_taken(d, mine) for at, d in enumerate(demands) if not (usable and at == access)]
            tests = [(d.attribute, Interval(*(e[0] for e in d.intervals))) for d in rest if len(d.intervals.low) == 1]
            lists = [(d.attribute, d.intervals) for d in rest if len(d.intervals.low) != 1]
            near = [n._replace(values=n.values[mine]) for n in nears]
            chosen = _taken(demands[access], mine) if usable else Demand(-1, _constant(0, 1, len(mine)), None)
            assert isinstance(chosen.attribute, int)
            yield Block(profiles[mine], chosen.attribute, chosen.intervals, tests, lists, near)


def _constant(low: int, high: int, count: int) -> Interval:
    return Interval(np.full((1, count), low, np.int64), np.full((1, count), high, np.int64))


def _taken(demand: Demand, rows: NDArray[np.int64]) -> Demand:
    attribute = demand.attribute if isinstance(demand.attribute, int) else demand.attribute[rows]
    low, high = demand.intervals
    if len(rows) < low.shape[1]:
        low, high = low[:, rows], high[:, rows]
    return Demand(attribute, Interval(low, high), demand.share)


def _same(a: Column, b: Column) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return a is b or (isinstance(a, tuple) and isinstance(b, tuple) and a == b)
    return np.array_equal(a, b)


def _intervals(sides: tuple[int, ...], segment: Segment, cuts: Cuts, count: int) -> Interval:
    """The codes between each two cuts: [interval, box]."""
    ends: list[NDArray[np.int64]] = []
    if sides[:1] == (BOTTOM,):
        ends.append(np.full((1, count), segment.start, np.int64))
        sides = sides[1:]
    if isinstance(cuts, np.ndarray):
        before = segment.position(cuts.ravel(), BEFORE).reshape(cuts.shape)
        ends.append(before + np.array(sides, np.int64)[:, None])  # a cut after a point is one code behind that before
        cuts, sides = [], ()
    last: Column = ()
    for column, side in zip(cuts, sides, strict=True):
        # `x = 5` has the same point on both sides.
        again = side == AFTER and _same(column, last)
        ends.append(ends[-1] + 1 if again else segment.position(column, side)[None])
        last = column
    if sum(map(len, ends)) % 2:
        ends.append(np.full((1, count), segment.end, np.int64))
    if [len(end) for end in ends] == [1, 1]:
        return Interval(*ends)
    bounds = np.concatenate(ends) if ends else np.empty((0, count), np.int64)
    return Interval(bounds[::2], bounds[1::2])
