"""Which of many ranges hold a number, and which of many discs a place.

Both answer in time that grows with what they find, not with what they keep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import asin, cos, degrees, floor, radians, sin

from semcast.profiles.relational.geo import EARTH_RADIUS_KM
from semcast.profiles.semantic.syntax import Distance, Range
from semcast.profiles.semantic.values import Cut, distance_km

_FEW = 8  # so many ranges are looked at one by one
_COARSEST = 8  # cells of 2⁸ degrees: one holds the globe
_FINEST = -6
_CELLS = 4  # in each direction: a disc is kept in at most some 16 cells
_SLACK_DEGREES = 1e-6  # some 10 cm: a disc's box is never too small by rounding


class RangeTable:
    """Ranges as a centred interval tree, over two sorted tables at each centre: O(log n + found)."""

    def __init__(self, ranges: Sequence[tuple[Range, int]]) -> None:
        self._few: list[tuple[Cut, Cut, int]] = []
        if len(ranges) <= _FEW:
            self._few = [(item.low, item.high, number) for item, number in ranges]
            return
        # The middle one of the lower ends: at least its own range lies across it. The middle one of all ends may be one
        # that all ranges share (all of `a > 1`, `a > 2`, …), and then nothing would be divided.
        self._centre = centre = sorted(item.low for item, _ in ranges)[len(ranges) // 2]
        below = [pair for pair in ranges if pair[0].high <= centre]
        above = [pair for pair in ranges if pair[0].low > centre]
        across = [pair for pair in ranges if pair[0].low <= centre < pair[0].high]
        self._lows = sorted((item.low, number) for item, number in across)
        self._highs = sorted((item.high, number) for item, number in across)
        self._below = RangeTable(below) if below else None
        self._above = RangeTable(above) if above else None

    def holding(self, value: float) -> Iterator[int]:
        """The numbers of the ranges that hold ``value``."""
        point = value, 0.5
        if self._few:
            for low, high, number in self._few:
                if low < point < high:
                    yield number
            return
        if not hasattr(self, "_centre"):
            return
        if point < self._centre:
            for low, number in self._lows:
                if low > point:
                    break
                yield number
            other = self._below
        else:
            first = bisect_left(self._highs, (point, -1))
            for _, number in self._highs[first:]:
                yield number
            other = self._above
        if other is not None:
            yield from other.holding(value)


class Grid:
    """Discs on the globe, by cells of 2ᵏ degrees; each level has the discs that take few of its cells.

    A place is in one cell of each level: what is kept there is tested by the distance itself.
    """

    def __init__(self, discs: Sequence[tuple[Distance, int]]) -> None:
        self._levels: dict[int, dict[tuple[int, int], list[tuple[Distance, int]]]] = {}
        for disc, number in discs:
            level, cells = _cells(disc)
            kept = self._levels.setdefault(level, {})
            for cell in cells:
                kept.setdefault(cell, []).append((disc, number))

    def holding(self, place: tuple[float, float]) -> Iterator[int]:
        """The numbers of the discs that ``place`` is in."""
        latitude, longitude = place
        for level, kept in self._levels.items():
            size = 2.0**level
            for disc, number in kept.get((floor(latitude / size), floor(longitude / size)), ()):
                far = distance_km(latitude, longitude, disc.latitude, disc.longitude)
                if far is not None and far <= disc.within_km:
                    yield number


def _cells(disc: Distance) -> tuple[int, list[tuple[int, int]]]:
    """The finest level at which a disc takes few cells, and these cells."""
    south, north, spans = _box(disc)
    for level in range(_FINEST, _COARSEST + 1):
        size = 2.0**level
        rows = range(floor(south / size), floor(north / size) + 1)
        columns = (
            {c for west, east in spans for c in range(floor(west / size), floor(east / size) + 1)}
            if (len(rows) <= _CELLS and sum(east - west for west, east in spans) / size <= _CELLS)
            else None
        )
        if columns is not None:
            return level, [(row, column) for row in rows for column in sorted(columns)]
    raise AssertionError("the coarsest cells hold the globe")


def _box(disc: Distance) -> tuple[float, float, list[tuple[float, float]]]:
    """A box around a disc: latitudes, and one or two spans of longitudes (two across the date line)."""
    reach = disc.within_km / EARTH_RADIUS_KM
    tall = degrees(reach) + _SLACK_DEGREES
    south, north = disc.latitude - tall, disc.latitude + tall
    if south <= -90 or north >= 90:
        return max(south, -90.0), min(north, 90.0), [(-180.0, 180.0)]
    # The widest place of the disc is not at its centre's latitude; reach is below a quarter of the globe here.
    wide = degrees(asin(min(1.0, sin(reach) / cos(radians(disc.latitude))))) + _SLACK_DEGREES * 10
    west, east = disc.longitude - wide, disc.longitude + wide
    if west < -180:
        return south, north, [(-180.0, east), (west + 360, 180.0)]
    if east > 180:
        return south, north, [(west, 180.0), (-180.0, east - 360)]
    return south, north, [(west, east)]
