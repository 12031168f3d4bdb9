"""Conditions on the text of one node: do they hold, does one follow from others, can they hold together?

A test is an operator and a literal: a comparison, ``contains`` or ``starts-with``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection
from typing import NamedTuple

from semcast.profiles.xpath.numbers import number
from semcast.profiles.xpath.syntax import Number

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Test(NamedTuple):
    operator: str
    literal: str | Number

    def limit(self) -> float | None:
        """The number that this test compares with; None where it looks at text as text."""
        if isinstance(self.literal, Number):
            return self.literal.value
        return number(self.literal) if self.operator in ("<", "<=", ">", ">=") else None


def holds(test: Test, text: str) -> bool:
    """XPath 1.0: ordering compares numbers, also with a string; what is no number is NaN."""
    limit = test.limit()
    if limit is not None:
        return _COMPARE[test.operator](number(text), limit)
    assert isinstance(test.literal, str)
    match test.operator:
        case "=":
            return text == test.literal
        case "!=":
            return text != test.literal
        case "contains":
            return test.literal in text
        case _:
            return text.startswith(test.literal)


def follows(wanted: Test, known: Collection[Test]) -> bool:
    """True only if every text for which all of ``known`` hold satisfies ``wanted``."""
    if wanted in known:
        return True
    if wanted.operator == "!=" and isinstance(wanted.literal, str):
        return any(not holds(test, wanted.literal) for test in known)
    return any(_implies(test, wanted) for test in known)


def _implies(known: Test, wanted: Test) -> bool:
    limit, asked = known.limit(), wanted.limit()
    if limit is None:
        assert isinstance(known.literal, str)
        if known.operator == "=":
            return holds(wanted, known.literal)
        return _text_implies(known.operator, known.literal, wanted)
    if asked is None or math.isnan(limit) or math.isnan(asked) or known.operator == "!=":
        return False
    if known.operator == "=":
        return _COMPARE[wanted.operator](limit, asked)
    if wanted.operator == "!=":
        return not _COMPARE[known.operator](asked, limit)
    if wanted.operator[0] != known.operator[0]:
        return False
    # Same direction: a strict limit implies any that is not tighter, a loose one needs room or looseness.
    if wanted.operator == known.operator or known.operator in ("<", ">"):
        return asked >= limit if known.operator[0] == "<" else asked <= limit
    return asked > limit if known.operator[0] == "<" else asked < limit


def _text_implies(known: str, literal: str, wanted: Test) -> bool:
    if not isinstance(wanted.literal, str) or wanted.limit() is not None:
        return False
    if wanted.operator == "contains":
        return known in ("contains", "starts-with") and wanted.literal in literal
    return wanted.operator == known == "starts-with" and literal.startswith(wanted.literal)


def clash(tests: Collection[Test]) -> bool:
    """True only if no text satisfies all of ``tests``."""
    texts = [t.literal for t in tests if t.operator == "=" and isinstance(t.literal, str)]
    if any(not holds(test, text) for text in texts for test in tests):
        return True
    starts = [t.literal for t in tests if t.operator == "starts-with" and isinstance(t.literal, str)]
    if any(not x.startswith(y) and not y.startswith(x) for x in starts for y in starts):
        return True
    return _numbers_clash([(t.operator, limit) for t in tests if (limit := t.limit()) is not None])


def _numbers_clash(tests: Collection[tuple[str, float]]) -> bool:
    """No number satisfies all; a NaN satisfies ``!=`` alone, so tests of only those never clash."""
    ordered = [(sign, limit) for sign, limit in tests if sign != "!="]
    if any(math.isnan(limit) for _, limit in ordered):
        return True
    low = max((limit for sign, limit in ordered if sign in (">", ">=", "=")), default=-math.inf)
    high = min((limit for sign, limit in ordered if sign in ("<", "<=", "=")), default=math.inf)
    if low > high:
        return True
    return low == high and any(not _COMPARE[sign](low, limit) for sign, limit in ordered)
