"""Value tests at the end of a spine, grouped so that a text is looked up and not compared.

However many profiles ask for ``price > k``, each with its own k, one search in the sorted limits finds all that
hold; equal tests are one entry.
"""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Ints, ints
from semcast.matching.xpath.kernels import texts, walk
from semcast.matching.xpath.kernels.automaton import HAS_HITS, HAS_NOTES, HAS_TESTS, IS_NEEDED
from semcast.matching.xpath.kernels.entries import fill
from semcast.matching.xpath.vocabulary import Vocabulary, operator_of
from semcast.profiles.xpath.values import Test

_ORDER = (texts.BELOW, texts.UP_TO, texts.ABOVE, texts.FROM)
_COLUMNS = 16  # of which the last two are empty: a row is a cache line
_NOBODY = 1 << 30


class Table:
    """Who asks for a place, and with which test; and what has to be noted there for those who may ask later."""

    __slots__ = ("asked", "is_needed", "notes")

    def __init__(self) -> None:
        self.asked: dict[Test | None, dict[int, None]] = {}
        self.is_needed = False
        self.notes = False

    def add(self, test: Test | None, hit: int) -> None:
        self.asked.setdefault(test, {})[hit] = None

    def note(self, test: Test | None) -> None:
        if test is None:
            self.is_needed = True
        else:
            self.notes = True

    @property
    def kinds(self) -> int:
        has_tests = any(test is not None for test in self.asked)
        flags = (None in self.asked, self.is_needed, has_tests, self.notes)
        return sum(kind for kind, flag in zip((HAS_HITS, IS_NEEDED, HAS_TESTS, HAS_NOTES), flags, strict=True) if flag)


class _Equal(NamedTuple):
    table: int
    test: int
    begin: int
    end: int


class Packing:
    """Tables → arrays."""

    def __init__(self, vocabulary: Vocabulary, tables: list[Table]) -> None:
        self._vocabulary = vocabulary
        self._hits: list[int] = []
        self._value: list[float] = []
        self._value_hits: list[tuple[int, int]] = []
        self._limit: list[float] = []
        self._limit_hit: list[int] = []
        self._others: list[tuple[int, int, int]] = []
        self._equal: list[_Equal] = []
        self._rows = [self._row(number, table) for number, table in enumerate(tables)]

    def packed(self, tests: texts.Tests) -> walk.Tables:
        equal = np.array(self._equal, np.int32).reshape(-1, 4)
        entries = np.column_stack((equal[:, 0], tests.begin[equal[:, 1]], tests.end[equal[:, 1]], equal[:, 2:]))
        slots = np.full(1 << max(3, (2 * len(entries)).bit_length()), -1, np.int32)
        entries = np.ascontiguousarray(entries, np.int32)
        fill(entries, tests.literals, slots)
        return walk.Tables(
            np.array(self._rows, np.int32).reshape(-1, _COLUMNS),
            ints(self._hits),
            np.array(self._value, np.float64),
            np.array(self._value_hits, np.int32).reshape(-1, 2),
            np.array(self._limit, np.float64),
            ints(self._limit_hit),
            np.array(self._others, np.int32).reshape(-1, 3),
            slots,
            entries,
        )

    def _row(self, number: int, table: Table) -> list[int]:
        ordered: dict[int, list[tuple[float, int]]] = {sign: [] for sign in _ORDER}
        values: dict[float, dict[int, None]] = {}
        lengths: list[int] = []
        others = len(self._others)
        for test, who in table.asked.items():
            if test is None:
                continue
            operator, limit = operator_of(test), test.limit()
            if limit is not None and operator in ordered:
                if not isnan(limit):  # nothing is below or above NaN
                    ordered[operator] += [(limit, hit) for hit in who]
            elif operator == texts.EQUAL and limit is not None:
                values.setdefault(limit, {}).update(who)
            elif operator == texts.EQUAL_TEXT and isinstance(test.literal, str):
                self._equal.append(_Equal(number, self._vocabulary.test(test), *self._reported(who)))
                lengths.append(len(test.literal.encode()))
            else:
                self._others.append((self._vocabulary.test(test), *self._reported(who)))
        return [
            *self._reported(table.asked.get(None, {})),
            min(lengths, default=_NOBODY),
            max(lengths, default=-1),
            *self._valued(values),
            others,
            len(self._others),
            int(table.notes),
            len(self._limit),
            *(self._limited(ordered[sign]) for sign in _ORDER),
            0,
            0,
        ]

    def _reported(self, who: dict[int, None]) -> tuple[int, int]:
        begin = len(self._hits)
        self._hits += who
        return begin, len(self._hits)

    def _valued(self, values: dict[float, dict[int, None]]) -> tuple[int, int]:
        begin = len(self._value)
        for value in sorted(values):
            self._value.append(value)
            self._value_hits.append(self._reported(values[value]))
        return begin, len(self._value)

    def _limited(self, pairs: list[tuple[float, int]]) -> int:
        for limit, hit in sorted(pairs):
            self._limit.append(limit)
            self._limit_hit.append(hit)
        return len(self._limit)


def columns(rows: list[tuple[int, int]]) -> Ints:
    return np.array(rows, np.int32).reshape(-1, 2)
