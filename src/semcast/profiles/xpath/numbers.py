"""Text → number, digit for digit as libxml2 does it.

XPath 1.0 asks for the nearest double and for NaN where an exponent is written; libxml2, which the meaning
of a profile is tied to, adds digits up in doubles (off by a unit in the last place for long numbers) and
reads exponents. A matcher that rounded better would give other matches than lxml.
"""

from __future__ import annotations

import math
import re

_BLANKS = " \t\n\r"
_NUMBER = re.compile(r"(-?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]*))?", re.ASCII)
_MAX_FRACTION = 20  # digits of a fraction that libxml2 looks at, leading zeros not counted
_MAX_WHOLE = 310  # digits that a double can have before its point
_EXACT = 15  # so many digits are exact in a double, so every way of adding them up gives the same


def number(text: str) -> float:
    """What XPath's ``number(text)`` is in libxml2; NaN for what is no number."""
    if text.isdigit() and text.isascii():
        return _whole(text)  # by far the most numbers
    stripped = text.strip(_BLANKS)
    found = _NUMBER.fullmatch(stripped)
    if found is None:
        return math.nan
    sign, whole, fraction, exponent_sign, exponent = found.groups()
    if not whole and not fraction:
        return math.nan
    value = _whole(whole)
    if fraction:
        value += _fraction(fraction)
    if sign:
        value = -value
    if exponent is not None:
        value *= _power_of_ten(int((exponent_sign or "") + (exponent.lstrip("0")[:7] or "0")))
    return value


def _whole(digits: str) -> float:
    if len(digits) <= _EXACT:
        return float(digits or "0")
    digits = digits.lstrip("0")
    if len(digits) > _MAX_WHOLE:
        return math.inf  # at once: a hostile text may have millions of digits
    value = 0.0
    for digit in digits:
        value = value * 10.0 + (ord(digit) - 48)
    return value


def _fraction(digits: str) -> float:
    zeros = len(digits) - len(digits.lstrip("0"))
    kept = digits[: zeros + _MAX_FRACTION]
    value = 0.0
    for digit in kept[zeros:]:
        value = value * 10.0 + (ord(digit) - 48)
    return value / _power_of_ten(len(kept))


def _power_of_ten(exponent: int) -> float:
    try:
        return math.pow(10.0, exponent)
    except OverflowError:
        return math.inf
