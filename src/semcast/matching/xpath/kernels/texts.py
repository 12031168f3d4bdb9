"""Value tests on slices of UTF-8 bytes, compiled.

The text of an element that lies in an element is a slice of the same bytes, so no text is ever copied.
Nor is any looked at for each level anew: texts are asked for in document order, where begins never fall,
and what a search or a run of digits has passed over is remembered for the next.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Bytes, Floats, Ints, Longs
from semcast.matching.xpath.kernels.compiled import inner

EQUAL_TEXT, OTHER_TEXT, CONTAINS, STARTS_WITH, EQUAL, OTHER, BELOW, UP_TO, ABOVE, FROM = range(10)
_DIGITS, _ZEROS, _BLANKS = range(3)
_DOCUMENT, STEPS = range(2)
_RUNS = 4  # remembered per kind of run: a number has no more of one
_LONG = 64  # bytes from which on runs are remembered
_MAX_WHOLE = 310  # digits that a double can have before its point
_MAX_FRACTION = 20  # digits of a fraction that libxml2 looks at, leading zeros not counted
_MAX_EXPONENT = 9_999_999
_OFFSET = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_MIXING = np.uint64(0x9E3779B97F4A7C15)


class Tests(NamedTuple):
    """The distinct tests of an engine's profiles, and what is known of the texts of the document at hand."""

    operator: Ints
    limit: Floats
    begin: Ints  # of the literal, in ``literals``
    end: Ints
    literals: Bytes
    borders: Ints  # of each prefix of each literal, as Knuth, Morris and Pratt use them
    found: Longs  # of each test: document, begin, end; there no occurrence begins from begin up to end
    runs: Longs  # (kind, number, begin or end), flat; then the next number of each kind
    counts: Longs  # of documents, and of STEPS, for those who want to know what a message costs


def no_runs() -> Longs:
    return np.zeros(3 * _RUNS * 2 + 3, np.int64)


@inner
def forget(tests):  # type: ignore[no-untyped-def]
    """Another document: its bytes are others."""
    tests.counts[_DOCUMENT] += 1
    tests.runs[:] = 0


@inner
def hashed(data, begin, end):  # type: ignore[no-untyped-def]
    """FNV-1a, mixed once more: it gives texts that differ in their last digits neighbouring values."""
    value = _OFFSET
    for i in range(begin, end):
        value = (value ^ np.uint64(data[i])) * _PRIME
    value = (value ^ (value >> np.uint64(32))) * _MIXING
    return value ^ (value >> np.uint64(32))


@inner
def same(data, begin, literals, first, length):  # type: ignore[no-untyped-def]
    for i in range(length):  # noqa: SIM110 - compiled
        if data[begin + i] != literals[first + i]:
            return False
    return True


@inner
def _is_of(kind, byte):  # type: ignore[no-untyped-def]
    if kind == _DIGITS:
        return 48 <= byte <= 57
    if kind == _ZEROS:
        return byte == 48
    return byte == 32 or byte == 9 or byte == 10 or byte == 13


@inner
def _run(data, begin, end, kind, tests):  # type: ignore[no-untyped-def]
    """Where the bytes of one kind that start at ``begin`` end."""
    at = begin
    if end - begin < _LONG:
        while at < end and _is_of(kind, data[at]):
            at += 1
        return at
    runs = tests.runs
    found = -1
    for number in range(_RUNS):
        place = (kind * _RUNS + number) * 2
        if runs[place] <= begin < runs[place + 1]:
            found = place
            at = min(runs[place + 1], end)
    before = at
    while at < end and _is_of(kind, data[at]):
        at += 1
    tests.counts[STEPS] += at - before
    if at - begin >= _LONG and found < 0:
        following = 3 * _RUNS * 2 + kind
        found = (kind * _RUNS + runs[following]) * 2
        runs[following] = (runs[following] + 1) % _RUNS
        runs[found] = begin
        runs[found + 1] = at
    elif found >= 0 and at > runs[found + 1]:
        runs[found + 1] = at
    return at


@inner
def _whole(data, begin, end, tests):  # type: ignore[no-untyped-def]
    begin = _run(data, begin, end, _ZEROS, tests)
    if end - begin > _MAX_WHOLE:
        return math.inf
    value = 0.0
    for i in range(begin, end):
        value = value * 10.0 + (data[i] - 48.0)
    return value


@inner
def _fraction(data, begin, end, tests):  # type: ignore[no-untyped-def]
    first = _run(data, begin, end, _ZEROS, tests)
    last = min(end, first + _MAX_FRACTION)
    value = 0.0
    for i in range(first, last):
        value = value * 10.0 + (data[i] - 48.0)
    return value / math.pow(10.0, last - begin)


@inner
def number(data, begin, end, tests):  # type: ignore[no-untyped-def]
    """What XPath's ``number()`` is in libxml2 (see ``profiles.xpath.numbers``); NaN for what is no number."""
    at = _run(data, begin, end, _BLANKS, tests)
    negative = at < end and data[at] == 45
    if negative:
        at += 1
    whole = at
    at = _run(data, at, end, _DIGITS, tests)
    digits = at - whole
    if at == end and 0 < digits <= 15:
        value = 0.0
        for i in range(whole, at):
            value = value * 10.0 + (data[i] - 48.0)
        return -value if negative else value
    if digits == 0 and (at == end or data[at] != 46):
        return math.nan
    fraction, fraction_end = at, at
    if at < end and data[at] == 46:
        fraction = at + 1
        at = fraction_end = _run(data, fraction, end, _DIGITS, tests)
        if digits == 0 and fraction == fraction_end:
            return math.nan
    exponent = 0
    if at < end and (data[at] == 101 or data[at] == 69):
        at += 1
        below = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        power = at
        at = _run(data, at, end, _DIGITS, tests)
        power = _run(data, power, at, _ZEROS, tests)
        for i in range(power, min(at, power + 7)):
            exponent = exponent * 10 + (data[i] - 48)
        exponent = -exponent if below else exponent
    if _run(data, at, end, _BLANKS, tests) != end:
        return math.nan
    value = _whole(data, whole, whole + digits, tests)
    if fraction_end > fraction:
        value += _fraction(data, fraction, fraction_end, tests)
    if negative:
        value = -value
    return value * math.pow(10.0, exponent) if exponent != 0 else value


@inner
def _occurs(test, data, begin, end, tests):  # type: ignore[no-untyped-def]
    """Does the literal of ``test`` begin and end inside? Knuth, Morris and Pratt, from where the last search got to."""
    first = tests.begin[test]
    length = tests.end[test] - first
    found = tests.found
    known = found[test, 0] == tests.counts[_DOCUMENT] and found[test, 1] <= begin <= found[test, 2]
    at = found[test, 2] if known else begin
    if at + length > end:
        return False
    literals, borders = tests.literals, tests.borders
    reached = 0
    i = at
    while i < end:
        while reached > 0 and data[i] != literals[first + reached]:
            reached = borders[first + reached - 1]
        if data[i] == literals[first + reached]:
            reached += 1
        i += 1
        if reached == length:
            break
    tests.counts[STEPS] += i - at
    if not known:
        found[test, 0] = tests.counts[_DOCUMENT]
        found[test, 1] = begin
    found[test, 2] = i - length if reached == length else max(at, i - length + 1)
    return reached == length


@inner
def compares(operator, value, limit):  # type: ignore[no-untyped-def]
    if operator == EQUAL:
        return value == limit
    if operator == OTHER:
        return value != limit
    if operator == BELOW:
        return value < limit
    if operator == UP_TO:
        return value <= limit
    if operator == ABOVE:
        return value > limit
    return value >= limit


@inner
def holds(test, data, begin, end, tests):  # type: ignore[no-untyped-def]
    """Does a text pass a test? As ``profiles.xpath.values.holds`` says."""
    operator = tests.operator[test]
    if operator >= EQUAL:
        return compares(operator, number(data, begin, end, tests), tests.limit[test])
    first = tests.begin[test]
    length = tests.end[test] - first
    if operator == EQUAL_TEXT:
        return end - begin == length and same(data, begin, tests.literals, first, length)
    if operator == OTHER_TEXT:
        return end - begin != length or not same(data, begin, tests.literals, first, length)
    if operator == STARTS_WITH:
        return end - begin >= length and same(data, begin, tests.literals, first, length)
    return length == 0 or _occurs(test, data, begin, end, tests)
