"""Value tests on one place of the documents, grouped so that a text is looked up and not compared.

However many profiles ask for ``price > k``, each with its own k, one search in the sorted limits finds all
that hold; equal tests are one entry.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import isnan

from semcast.profiles.xpath.numbers import number
from semcast.profiles.xpath.values import Test, holds

_SHORT = 16  # characters of a text whose number is remembered
_MERGED_AFTER = 16  # visits
_ORDERED = ("<", "<=", ">", ">=")

_short_number = lru_cache(maxsize=1 << 14)(number)


class Table:
    """Who asks for a place, and with which test: ``add`` all, then ``freeze``."""

    __slots__ = ("_asked", "_equal", "_limits", "_others", "_values", "present", "size")

    def __init__(self) -> None:
        self.present: frozenset[int] = frozenset()
        """Who asks for the place and for no value."""
        self.size = 0
        self._asked: dict[Test | None, set[int]] = {}
        self._equal: dict[str, frozenset[int]] = {}
        self._values: dict[float, frozenset[int]] = {}
        self._limits: list[tuple[str, list[float], list[int]]] = []
        self._others: list[tuple[Test, frozenset[int]]] = []

    @staticmethod
    def merged(tables: Sequence[Table]) -> Table:
        """One table for several places, frozen."""
        found = Table()
        for table in tables:
            for test, who in table._asked.items():
                found._asked.setdefault(test, set()).update(who)
        found.freeze()
        return found

    def add(self, test: Test | None, who: int) -> None:
        self._asked.setdefault(test, set()).add(who)

    def freeze(self) -> None:
        """Sort what was added; nothing may be added from now on."""
        ordered: dict[str, list[tuple[float, int]]] = {}
        for test, who in self._asked.items():
            if test is None:
                self.present = frozenset(who)
                continue
            limit = test.limit()
            if limit is not None and test.operator in _ORDERED:
                if not isnan(limit):  # nothing is below or above NaN
                    ordered.setdefault(test.operator, []).extend((limit, one) for one in who)
            elif limit is not None and test.operator == "=":
                self._values[limit] = self._values.get(limit, frozenset()) | who
            elif test.operator == "=" and isinstance(test.literal, str):
                self._equal[test.literal] = frozenset(who)
            else:
                self._others.append((test, frozenset(who)))
        for operator, pairs in ordered.items():
            pairs.sort()
            self._limits.append((operator, [limit for limit, _ in pairs], [one for _, one in pairs]))
        self.size = sum(map(len, self._asked.values()))

    @property
    def has_tests(self) -> bool:
        return bool(self._equal or self._values or self._limits or self._others)

    def look_up(self, text: str, hits: set[int]) -> None:
        """Add to ``hits`` everyone whose test holds for ``text``."""
        if self._equal and (who := self._equal.get(text)) is not None:
            hits |= who
        if self._values or self._limits:
            value = _short_number(text) if len(text) <= _SHORT else number(text)
            if value == value:  # not NaN, which equals nothing and is below nothing
                self._look_up_number(value, hits)
        for test, others in self._others:
            if holds(test, text):
                hits |= others

    def _look_up_number(self, value: float, hits: set[int]) -> None:
        if (who := self._values.get(value)) is not None:
            hits |= who
        for operator, limits, ordered in self._limits:
            if operator == ">":
                hits.update(ordered[: bisect_left(limits, value)])
            elif operator == ">=":
                hits.update(ordered[: bisect_right(limits, value)])
            elif operator == "<":
                hits.update(ordered[bisect_right(limits, value) :])
            else:
                hits.update(ordered[bisect_left(limits, value) :])


class Group:
    """The tables of places that a document reaches at once.

    Looked at one by one until they have been needed a few times, then as one: merging the tables of states
    that only one document ever sees was half of the time of a cold start.
    """

    __slots__ = ("_tables", "_visits", "size")

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tuple(tables)
        self._visits = 0
        # Tables of one place are shared by all states; a merged one is this group's own.
        self.size = sum(table.size for table in tables) if len(tables) > 1 else 1

    def look_up(self, text: str, hits: set[int]) -> None:
        """Add to ``hits`` everyone who asks for the place, or for a value that ``text`` is."""
        tables = self._tables
        for table in tables:
            if table.present:
                hits |= table.present
            table.look_up(text, hits)
        if len(tables) > 1:
            self._visits += 1
            if self._visits >= _MERGED_AFTER:
                self._tables = (Table.merged(tables),)
