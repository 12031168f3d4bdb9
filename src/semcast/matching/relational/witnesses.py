"""Rows that a relational profile matches: the corners of its boxes.

Whatever covers a profile matches all of its rows. A box gives two: all attributes at their low ends, and all at
their high ends; what it does not constrain is NULL. So of the profiles that are one interval per attribute only
those match both corners that do cover the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan, nan, nextafter
from typing import Any

from semcast.matching.decode import Moment
from semcast.profiles.relational import Profile
from semcast.profiles.relational import likes as patterns
from semcast.profiles.relational.constraints import Constraint, Domain, doubles_of
from semcast.profiles.relational.geo import EARTH_RADIUS_KM, distance_km, northward
from semcast.profiles.relational.normal import Conjunction
from semcast.profiles.relational.ranges import BEFORE, BOTTOM, Cut, Ranges
from semcast.profiles.relational.syntax import Attribute, Distance

Row = dict[str, Any]
MAX_BOXES = 8
"""Boxes of a profile that give rows: each row costs a match, and a few leave hardly a wrong candidate."""
_LONG = 2**63
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999, in µs since 1970
_RARE = "\N{SNOWMAN}"  # stands for wildcards: hardly a profile names it
_HIGHEST = "\U0010ffff"
_INSIDE = 1 - 1e-9  # of a distance: far more than it is rounded by


def rows_of(profile: Profile) -> list[Row]:
    """Up to two rows per box, each of which ``profile`` matches."""
    found: list[Row] = []
    for box in profile.boxes[:MAX_BOXES]:
        wanted = box.constraints()
        for high in (False, True):
            row = _corner(wanted, high)
            if row not in found and _matches(wanted, row):
                found.append(row)
    return found


def _corner(wanted: Conjunction, high: bool) -> Row:
    row: Row = {}
    for attribute, constraint in wanted.items():
        if isinstance(attribute, Distance):
            place = _place(attribute, constraint, high)
            row |= dict(zip((attribute.latitude, attribute.longitude), place, strict=True))
    # Last, so that what is asked of a latitude itself is tried rather than what a distance would like.
    return row | {name: _value(constraint, high) for name, constraint in wanted.items() if isinstance(name, str)}


def _value(constraint: Constraint, high: bool) -> Any:
    match constraint.domain:
        case Domain.NULL:
            return None
        case Domain.PRESENT:
            return _RARE if high else False
        case Domain.NUMBER:
            return _number(constraint, high)
        case Domain.STRING:
            return _string(constraint, high)
        case Domain.BOOLEAN:
            return constraint.ranges.holds(True) if high else not constraint.ranges.holds(False)
        case Domain.TIMESTAMP:
            low, top = _ends(constraint.ranges)
            return Moment(_below(top, _LAST) if high else _above(low, _FIRST))


def _ends(ranges: Ranges) -> tuple[Cut | None, Cut | None]:
    """The first cut and the last one; None where the set has no end there."""
    sides, points = ranges
    low = None if sides[0] == BOTTOM else (points[0], sides[0])
    return low, None if len(sides) % 2 else (points[-1], sides[-1])


def _above(cut: Cut | None, least: int) -> int:
    return least if cut is None else int(cut[0]) + (cut[1] != BEFORE)


def _below(cut: Cut | None, most: int) -> int:
    return most if cut is None else int(cut[0]) - (cut[1] == BEFORE)


def _number(constraint: Constraint, high: bool) -> float | int | None:
    """A double where there is one; beyond 2^53 an integer may be all that a constraint holds."""
    value = _double(doubles_of(constraint), high)
    if value is not None and _holds(constraint, value):
        return value
    low, top = _ends(constraint.ranges) if constraint.ranges else (None, None)
    whole = _below(top, _LONG - 1) if high else _above(low, -_LONG)
    return whole if -_LONG <= whole < _LONG else None


def _double(ranges: Ranges, high: bool) -> float | None:
    if not ranges:
        return None
    low, top = _ends(ranges)
    try:
        if high:
            # NaN is above all numbers, and so in every set without an upper end.
            return nan if top is None else float(top[0]) if top[1] != BEFORE else nextafter(float(top[0]), -inf)
        return -inf if low is None else float(low[0]) if low[1] == BEFORE else nextafter(float(low[0]), inf)
    except OverflowError:
        return None


def _string(constraint: Constraint, high: bool) -> str | None:
    found = _strings(constraint, high)
    if not constraint.likes and not constraint.unlikes:
        return next(found)
    return next((text for text in found if _holds(constraint, text)), None)


def _strings(constraint: Constraint, high: bool) -> Iterator[str]:
    """Texts to try; the first is right where no pattern is asked for."""
    low, top = _ends(constraint.ranges)
    fillers = [_RARE, ""] if high else ["", _RARE]
    for filler in fillers if constraint.likes else []:
        texts = [_instance(pattern, filler) for pattern in constraint.likes]
        yield from texts
        yield "".join(texts)
    if high:
        yield _HIGHEST * 4 if top is None else top[0] if top[1] != BEFORE else _string_below(top[0])
    yield "" if low is None else low[0] if low[1] == BEFORE else low[0] + "\0"
    yield from (("" if low is None else low[0]) + filler for filler in (_RARE, _HIGHEST))


def _instance(pattern: str, filler: str) -> str:
    instead = {patterns.ANY_RUN: filler, patterns.ANY_ONE: _RARE}
    return "".join(text if kind == "text" else instead[kind] for kind, text in patterns.parts(pattern))


def _string_below(end: str) -> str:
    """A string as close below ``end`` as a few letters allow; there is no last one."""
    code = ord(end[-1])
    if not code:
        return end[:-1]
    return end[:-1] + chr(0xD7FF if code == 0xE000 else code - 1) + _HIGHEST * 4


def _place(distance: Distance, constraint: Constraint, high: bool) -> tuple[float | None, float | None]:
    """South of the centre for low corners, north of it for high ones, as far away as may be where that is bounded."""
    if constraint.domain is Domain.NULL:
        return None, None
    low, top = _ends(doubles_of(constraint)) if constraint.domain is Domain.NUMBER else (None, None)
    km = float(low[0]) / _INSIDE if low is not None else 0.0
    if top is not None and (high or low is None):
        km = float(top[0]) * _INSIDE
    km = min(km, 3 * EARTH_RADIUS_KM)
    return northward(distance.center_latitude, distance.center_longitude, km if high else -km)


def _matches(wanted: Conjunction, row: Row) -> bool:
    return all(_holds(constraint, _at(attribute, row)) for attribute, constraint in wanted.items())


def _at(attribute: Attribute, row: Row) -> Any:
    if isinstance(attribute, str):
        return row[attribute]
    place = row[attribute.latitude], row[attribute.longitude]
    if not all(type(value) in (int, float) for value in place):
        return None
    return distance_km(*place, attribute.center_latitude, attribute.center_longitude)


def _holds(constraint: Constraint, value: Any) -> bool:
    if constraint.domain in (Domain.NULL, Domain.PRESENT):
        return (value is None) is (constraint.domain is Domain.NULL)
    if type(value) not in _TYPES[constraint.domain]:
        return False
    ranges = doubles_of(constraint) if type(value) is float else constraint.ranges
    if type(value) is float and isnan(value):
        return len(ranges.sides) % 2 == 1  # has no upper end
    if not ranges.holds(value):
        return False
    return all(patterns.matches(pattern, value) for pattern in constraint.likes) and not any(
        patterns.matches(pattern, value) for pattern in constraint.unlikes
    )


_TYPES: dict[Domain, tuple[type, ...]] = {
    Domain.NUMBER: (int, float),
    Domain.STRING: (str,),
    Domain.BOOLEAN: (bool,),
    Domain.TIMESTAMP: (Moment,),
}
