"""Literals of relational profiles: from token to value."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = 2.0**53  # below it every whole double is the integer that was written
_MAX_DIGITS = 309
_MICROSECOND = timedelta(microseconds=1)
_MOMENT = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](.+))?)?)?")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?")


def number(text: str) -> int | float | None:
    """The number that ``text`` writes: an exact integer where it is whole, else the nearest double.

    None where it is beyond the range of doubles. Spark's type suffixes carry no meaning here but F,
    which the parser refuses, since it would change the value.
    """
    if text.isdecimal():
        if len(text) > _MAX_DIGITS and len(text.lstrip("0")) > _MAX_DIGITS:
            return None  # before int() refuses thousands of digits with an error of its own
        value: int | float = int(text.lstrip("0") or 0)
        return value if value < 10**308 else None
    if text[-1].isalpha():
        text = re.sub(r"(?i)[lsyd]$|bd$", "", text)
    nearest = float(text)
    if nearest < _EXACT:
        return int(nearest) if nearest.is_integer() else nearest
    if nearest == float("inf"):
        return None
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else nearest


def moment(text: str) -> int | None:
    """Microseconds since 1970 (UTC) of a date or timestamp as Spark writes them; None if it is none.

    Digits past the microsecond are cut off, as Spark does. Without a zone it is UTC.
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    clock = _CLOCK.fullmatch(found[4].strip()) if found[4] else None
    if found[4] and clock is None:
        return None
    try:
        day = datetime(int(found[1]), int(found[2] or 1), int(found[3] or 1), tzinfo=UTC)
        time = _clock(clock) if clock else timedelta()
    except ValueError:
        return None
    return (day + time - _EPOCH) // _MICROSECOND if time is not None else None


def _clock(found: re.Match[str]) -> timedelta | None:
    hours, minutes, seconds = (int(found[i] or 0) for i in (1, 2, 3))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = int((found[4] or "")[:6].ljust(6, "0"))
    time = timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    zone = found[5]
    if not zone or zone.isalpha():
        return time
    digits = zone[1:].replace(":", "")
    offset = (
        timedelta(hours=int(digits[:-2] or 0), minutes=int(digits[-2:]))
        if len(digits) > 2
        else timedelta(hours=int(digits))
    )
    if offset > timedelta(hours=18):
        return None
    return time - offset if zone[0] == "+" else time + offset


def timestamp_text(micros: int) -> str:
    """The literal's text that gives ``micros`` back; years outside 1–9999 cannot occur in a profile."""
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
