"""What JSON may say in a message: numbers that a column can hold, nested no deeper than every reader follows.

JSON bounds neither; columns, doubles and stacks do. Whoever publishes is told at once, since a value that no column can
hold would be NULL, or infinite, for those who read it. All checks take time in proportion to the payload.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from semcast.model import SemcastError

MAX_DEPTH = 400
"""Objects and lists within each other. Decoders give up somewhere below 1,000, depending on who calls them."""
_DOUBLE = int(sys.float_info.max)
_DOUBLE_DIGITS = 309
"""Digits of the largest double: a shorter payload cannot hold a larger integer."""
_THREE_DIGITS = re.compile(rb"\d{3}")
_CONVERTIBLE_BITS = 14_000
"""Python writes integers of up to 4,300 digits."""
_SHOWN = 40
_INTEGERS = {
    **dict.fromkeys(["byte", "tinyint", "int8"], (8, True)),
    **dict.fromkeys(["short", "smallint", "int16"], (16, True)),
    **dict.fromkeys(["int", "integer", "int32"], (32, True)),
    **dict.fromkeys(["long", "bigint", "int64"], (64, True)),
    **{f"uint{bits}": (bits, False) for bits in (8, 16, 32, 64)},
}


class Range(NamedTuple):
    """The numbers that a declared type holds, ends included."""

    type: str
    low: int
    high: int

    def refusal(self, name: str, value: float) -> str:
        """What to tell who gives an attribute a number that is beyond this."""
        ends = f"{self.low} to {self.high}" if self.high < _DOUBLE else f"±{sys.float_info.max:.4g}"
        return f"{name!r} is {shown(value)}, which is beyond a {self.type} ({ends})"


ANY_NUMBER = Range("double", -_DOUBLE, _DOUBLE)


def range_of(declared: str) -> Range:
    """The range of a declared number type: that of its integers, else that of doubles."""
    bits, signed = _INTEGERS.get(declared.strip().lower(), (0, False))
    if not bits:
        return ANY_NUMBER
    return Range(declared, -(1 << bits - 1), (1 << bits - 1) - 1) if signed else Range(declared, 0, (1 << bits) - 1)


def decoded(payload: bytes) -> tuple[Any, str | None]:
    """What a payload says, and why it cannot be published: it is no JSON, too deep, or has a number beyond a double."""
    try:
        found = msgspec.json.decode(payload)
    except msgspec.ValidationError as error:
        return None, _beyond_in_text(payload) or f"the payload cannot be read: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, f"the payload is no JSON: {error}"
    except RecursionError:
        return None, _too_deep()
    return found, _refusal(found) if _is_suspicious(payload) else None


def encoded(row: Mapping[str, Any]) -> bytes:
    """A mapping as JSON. SemcastError where JSON cannot say it: an infinite number would become NULL without a word."""
    try:
        body = msgspec.json.encode(row)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise SemcastError(f"the payload cannot be written as JSON: {error}") from None
    for path, value in _leaves(row) if b"null" in body else ():
        if type(value) is float and math.isinf(value):
            raise SemcastError(f"{_name(path)!r} is infinite, which JSON cannot say")
    return body


def shown(value: Any) -> str:
    """A value as JSON has it, shortened; integers of any length in linear time."""
    if type(value) is int and value.bit_length() > _CONVERTIBLE_BITS:
        return f"an integer of {value.bit_length():,} bits"
    text = str(value) if isinstance(value, _Digits) else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _is_suspicious(payload: bytes) -> bool:
    """False only where no number is beyond a double and nothing is nested too deep; a fraction of what reading costs.

    Of the 309 digits of the smallest such integer, every hundredth byte of the payload hits three in a row.
    """
    if len(payload) < _DOUBLE_DIGITS:
        return False
    flat = payload.replace(b"{", b"").replace(b"[", b"")  # half the time of counting them
    return len(payload) - len(flat) > MAX_DEPTH or _THREE_DIGITS.search(payload[::100]) is not None


def _refusal(found: Any) -> str | None:
    for path, value in _leaves(found):
        if value is _Depth:
            return _too_deep()
        if type(value) is int and not -_DOUBLE <= value <= _DOUBLE:
            return ANY_NUMBER.refusal(_name(path), value)
    return None


def _too_deep() -> str:
    return f"the payload is nested more than {MAX_DEPTH} levels deep"


class _Depth:
    """Stands for what is nested too deep."""


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


class _Path(NamedTuple):
    """Where a value stands. A name is joined when it is shown: joining all would take the square of the depth."""

    above: _Path | None
    key: str


def _name(path: _Path | None) -> str:
    keys: list[str] = []
    while path is not None:
        keys.append(path.key)
        path = path.above
    name = ".".join(reversed(keys))
    return name if len(name) <= 2 * _SHOWN else name[: 2 * _SHOWN - 1] + "…"


def _leaves(found: Any) -> Iterator[tuple[_Path | None, Any]]:
    """The values within objects and lists, and where each stands; nothing calls itself."""
    waiting: list[tuple[_Path | None, Any, int]] = [(None, found, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if type(value) is not dict and type(value) is not list:
            yield path, value
        elif depth == MAX_DEPTH:
            yield path, _Depth
            return
        elif type(value) is dict:
            waiting += [(_Path(path, key), part, depth + 1) for key, part in value.items()]
        else:
            waiting += [(path, part, depth + 1) for part in value]


def _beyond_in_text(payload: bytes) -> str | None:
    """Which number was too much for the decoder, as it is written: converting a long one would take its square."""
    try:
        found = json.loads(payload, parse_int=_Digits, parse_float=_Digits)
    except (ValueError, RecursionError):
        return None
    for path, value in _leaves(found):
        if isinstance(value, _Digits) and math.isinf(float(value)):
            return f"{_name(path)!r} is {shown(value)}, which is beyond a double (±{sys.float_info.max:.4g})"
    return None
