"""Code spaces: an attribute's values as small integers that preserve all that profiles can tell apart.

The k distinct points that profiles compare an attribute with cut its order into 2k + 1 classes: below
the first, equal to it, between it and the second, … A value's code is its class, and each interval of a
profile is an interval of codes, whatever the kind. Code 0 is NULL (or missing), code 1 is a value of a
kind that no profile asks of this attribute; then comes one segment per kind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semcast.matching.relational import kernels
from semcast.profiles.relational.constraints import Domain

NULL_CODE, OTHER_CODE = 0, 1
_EXACT = 2.0**53  # below it, integers and doubles are the same numbers
_MAX_BUCKETS = 1 << 18

Codes = NDArray[np.unsignedinteger]


class Segment:
    """The codes of one kind's values: ``start`` … ``end``, cut at ascending ``points``."""

    def __init__(self, points: Sequence[Any], start: int) -> None:
        self.points = points
        self.start = start
        self.end = start + 2 * len(points) + 1
        self._ranks: dict[Any, int] | None = None

    def position(self, points: Sequence[Any] | NDArray[Any], side: int) -> NDArray[np.int64]:
        """The first code after the cut on ``side`` of each of ``points`` (all of them are known)."""
        if self._ranks is None:
            self._ranks = {point: rank for rank, point in enumerate(self.points)}
        found = np.fromiter(map(self._ranks.__getitem__, points), np.int64, len(points))
        return self.start + 2 * found + 1 + side

    def code(self, value: Any) -> int:
        """The code of one value, which must be comparable with the points."""
        points = self.points
        at = bisect_left(points, value)
        if at < len(points) and points[at] == value:
            return self.start + 2 * at + 1
        return self.start + 2 * at if value == value else self.end - 1  # NaN is above all

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ranks": None}


class NumberSegment(Segment):
    """Points that are all exact as doubles; found through a table of equally wide buckets.

    A plain binary search costs 60 ns a value at 14,000 points, the table 10.
    """

    def __init__(self, points: NDArray[np.float64], start: int) -> None:
        super().__init__(points.tolist(), start)
        self.array = points
        buckets = min(_MAX_BUCKETS, max(1, 2 * len(points)))
        span = float(points[-1] - points[0]) if len(points) else 0.0
        self.low = float(points[0]) if len(points) else 0.0
        self.scale = buckets / span if span > 0 and np.isfinite(buckets / span) else 0.0
        with np.errstate(all="ignore"):
            places = (points - self.low) * self.scale
        owner = np.clip(np.nan_to_num(places), 0, buckets - 1).astype(np.int64)
        self.table = np.searchsorted(owner, np.arange(buckets + 1)).astype(np.int32)

    def position(self, points: Sequence[Any] | NDArray[Any], side: int) -> NDArray[np.int64]:
        codes = np.empty(len(points), np.uint32)
        self.encode(np.asarray(points, np.float64), codes)
        return codes.astype(np.int64) + side

    def encode(self, values: NDArray[np.float64], out: Codes) -> None:
        kernels.code_numbers(values, self.array, self.table, self.low, self.scale, self.start, out)


class LongSegment(Segment):
    """Points of which some are integers that doubles cannot hold; for columns of integers."""

    def encode(self, values: NDArray[np.integer], out: Codes) -> None:
        """Code integers exactly: their place among the floors and the ceilings of the points."""
        info = np.iinfo(values.dtype)
        below = sum(point < info.min for point in self.points)
        inside = [point for point in self.points if info.min <= point <= info.max]
        floors = np.array([int(point // 1) for point in inside], values.dtype)
        ceilings = np.array([int(-(-point // 1)) for point in inside], values.dtype)
        smaller = np.searchsorted(floors, values, "left")
        not_larger = np.searchsorted(ceilings, values, "right")
        out[:] = self.start + 2 * below + smaller + not_larger


class Space:
    """All codes of one attribute."""

    def __init__(self, points: dict[Domain, set[Any] | NDArray[Any]]) -> None:
        self.end = OTHER_CODE + 1
        self.number: Segment | None = None
        self.double: NumberSegment | None = None
        self.string: Segment | None = None
        self.boolean: Segment | None = None
        self.timestamp: NumberSegment | LongSegment | None = None
        for domain in sorted(points):
            self._lay(domain, points[domain])

    def _lay(self, domain: Domain, found: set[Any] | NDArray[Any]) -> None:
        match domain:
            case Domain.NUMBER:
                segment = _numbers(found, self.end)
                self.number = segment
                self.end = segment.end
                if isinstance(segment, NumberSegment):
                    self.double = segment
                else:
                    # A double meets a long integer as the nearest double, so doubles have codes of their own.
                    self.double = NumberSegment(np.unique([float(p) for p in segment.points]), self.end)
                    self.end = self.double.end
            case Domain.STRING:
                self.string = Segment(sorted(found), self.end)
                self.end = self.string.end
            case Domain.BOOLEAN:
                self.boolean = Segment([False, True], self.end)
                self.end = self.boolean.end
            case Domain.TIMESTAMP:
                self.timestamp = _numbers(found, self.end)
                self.end = self.timestamp.end

    def segments(self, domain: Domain) -> list[Segment]:
        """Where the values of a domain have their codes: one segment, but two for long numbers."""
        if domain is Domain.NUMBER and self.number is not self.double:
            return [s for s in (self.number, self.double) if s is not None]
        segment: Segment | None = getattr(self, domain.value)
        return [segment] if segment is not None else []


def _numbers(found: set[Any] | NDArray[Any], start: int) -> NumberSegment | LongSegment:
    if isinstance(found, np.ndarray):
        return NumberSegment(found, start)
    if all(-_EXACT < point < _EXACT for point in found):
        return NumberSegment(np.unique(np.fromiter(map(float, found), np.float64)), start)
    return LongSegment(sorted(found), start)
