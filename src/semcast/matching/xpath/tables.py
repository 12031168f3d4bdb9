"""Value tests at the end of a spine, grouped so that a text is looked up and not compared.

However many profiles ask for ``price > k``, each with its own k, one search in the sorted limits finds all that
hold; equal tests are one atom.
"""

from __future__ import annotations

from math import isnan

import numpy as np

from semcast.matching.xpath.arrays import Ints, Longs, ints
from semcast.matching.xpath.kernels import entries, texts
from semcast.matching.xpath.kernels.lookup import FIRST_NUMBER, KEYS, LONGEST, SHORTEST, SLOTTED, Tables
from semcast.matching.xpath.kernels.needles import CONTAINED, STARTING, Needles, room_for
from semcast.matching.xpath.vocabulary import Vocabulary, operator_of
from semcast.profiles.xpath.values import Test

Table = dict[Test | None, int]
"""The atoms of a spine: by what they ask of the text at its end, None where it is enough that it is there."""

_SIGNS = (texts.EQUAL, texts.BELOW, texts.UP_TO, texts.ABOVE, texts.FROM)
_PRESENT, _EQUALS, _NEEDLES, _NUMBERS, _OTHERS = range(5)  # columns of tables, as an Nfa has them
_FIRST_MEMORY = 1 << 8
_MAX_MEMORY = 1 << 16  # states and texts that are remembered
_NOBODY = 1 << 30


class Packing:
    """Tables → arrays. Atoms get new numbers: ``atoms[old]``.

    First come those that ask for nothing but a node, since a state meets many of them at once; numbers come last, in
    the order of their limits.
    """

    def __init__(self, vocabulary: Vocabulary, tables: list[Table], count: int) -> None:
        self._vocabulary = vocabulary
        self.atoms = np.zeros(count, np.int32)
        self.tables = np.full((len(tables), 5), -1, np.int32)
        self._numbered = 0
        self._texts: dict[int, int] = {}  # of the test for each text
        self._equal: list[tuple[int, int, int]] = []  # table, text, atom
        self._needles = _needles(tables)
        self._of_needle = np.zeros(len(self._needles), np.int64)  # a test with that literal
        self._asked = np.zeros(len(self._needles), np.int32)
        self._found: list[tuple[int, int, int]] = []  # row, 2 · needle + 1 where a text starts with it, atom
        self._numbers: list[list[int]] = []
        self._limits: list[float] = []
        self._limited: list[int] = []
        self._searches: list[int] = []
        self._search: list[tuple[int, int]] = []
        for number, table in enumerate(tables):
            if None in table:
                self.tables[number, _PRESENT] = self._number(table[None])
        for number, table in enumerate(tables):
            self._add(number, table)
        self._searches.append(len(self._search))
        self.atoms[self._limited] = np.arange(self._numbered, count)

    def packed(self, tests: texts.Tests) -> Tables:
        spans = np.column_stack((tests.begin, tests.end)).astype(np.int32)
        texts_ = spans[list(self._texts)].reshape(-1, 2)
        slots = np.full(_room(len(texts_)), -1, np.int32)
        entries.fill(texts_, tests.literals, slots)
        lengths = texts_[:, 1] - texts_[:, 0]
        sizes = np.zeros(7, np.int64)
        sizes[FIRST_NUMBER] = self._numbered
        sizes[SHORTEST], sizes[LONGEST] = lengths.min(initial=_NOBODY), lengths.max(initial=-1)
        sizes[KEYS] = len(texts_) + 2 * len(self._needles)
        memory = min(_MAX_MEMORY, _room(len(self._equal) + len(self._found)))
        sizes[SLOTTED] = min(_FIRST_MEMORY, 2 * memory)
        return Tables(
            sizes=sizes,
            texts=texts_,
            text_slots=slots,
            needles=self._grown(tests, spans),
            pairs=self._pairs(len(texts_), int(sizes[KEYS])),
            numbers=np.array(self._numbers, np.int32).reshape(-1, 6),
            limit=np.array(self._limits, np.float64),
            searches=ints(self._searches),
            search=np.array(self._search, np.int32).reshape(-1, 2),
            memory=np.zeros((2 * memory, 2), np.int64),
            kept=np.zeros(8 * memory + len(self.tables) + 1, np.int32),
        )

    def _number(self, atom: int) -> int:
        self.atoms[atom] = self._numbered
        self._numbered += 1
        return self._numbered - 1

    def _add(self, number: int, table: Table) -> None:
        ordered: dict[int, list[tuple[float, int]]] = {sign: [] for sign in _SIGNS}
        found: dict[Test, int] = {}
        others: dict[Test, int] = {}
        for test, atom in table.items():
            if test is None:
                continue
            operator, limit = operator_of(test), test.limit()
            if _is_found(test):
                found[test] = self._number(atom)
            elif operator == texts.EQUAL_TEXT:
                text = self._texts.setdefault(self._vocabulary.test(test), len(self._texts))
                self._equal.append((number, text, self._number(atom)))
                self.tables[number, _EQUALS] = number
            elif limit is None or operator not in ordered:
                others[test] = self._number(atom)
            elif isnan(limit):  # nothing is below or above NaN
                self._number(atom)
            else:
                ordered[operator].append((limit, atom))
        if found:
            row = self.tables[number, _NEEDLES] = self._row(found)
            self._found += [(row, self._needle(test), atom) for test, atom in found.items()]
        if any(ordered.values()):
            self.tables[number, _NUMBERS] = len(self._numbers)
            self._numbers.append([len(self._limits), *(self._ordered(ordered[sign]) for sign in _SIGNS)])
        if others:
            self.tables[number, _OTHERS] = self._row(others)

    def _row(self, searches: dict[Test, int]) -> int:
        self._searches.append(len(self._search))
        self._search += [(self._vocabulary.test(test), atom) for test, atom in searches.items()]
        return len(self._searches) - 1

    def _needle(self, test: Test) -> int:
        needle, starting = self._needles[str(test.literal)], test.operator == "starts-with"
        self._of_needle[needle] = self._vocabulary.test(test)
        self._asked[needle] |= STARTING if starting else CONTAINED
        return 2 * needle + starting

    def _ordered(self, pairs: list[tuple[float, int]]) -> int:
        for limit, atom in sorted(pairs):
            self._limits.append(limit)
            self._limited.append(atom)
        return len(self._limits)

    def _pairs(self, texts_: int, keys: int) -> Longs:
        equal = np.array(self._equal, np.int64).reshape(-1, 3)
        found = np.array(self._found, np.int64).reshape(-1, 3)
        found[:, 1] += texts_
        rows = np.concatenate((equal, found))
        slots = np.zeros((_room(len(rows)), 2), np.int64)
        entries.fill_pairs(rows[:, 0] * keys + rows[:, 1], np.ascontiguousarray(rows[:, 2]), slots)
        return slots

    def _grown(self, tests: texts.Tests, spans: Ints) -> Needles:
        found = room_for(spans[self._of_needle], self._asked, tests.literals)
        entries.grow(tests.literals, np.zeros(len(self._needles), np.int32), found)
        return found


def _needles(tables: list[Table]) -> dict[str, int]:
    """A number for each piece of text that is searched for, longest first."""
    found = {str(test.literal) for table in tables for test in table if test is not None and _is_found(test)}
    ordered = sorted(((len(literal.encode()), literal) for literal in found), reverse=True)
    return {literal: number for number, (_, literal) in enumerate(ordered)}


def _is_found(test: Test) -> bool:
    return test.operator in ("contains", "starts-with") and test.literal != ""


def _room(entries_: int) -> int:
    """Slots for a hash table that stays half empty."""
    return 1 << max(3, (2 * entries_).bit_length())


def columns(rows: list[tuple[int, int]]) -> Ints:
    return np.array(rows, np.int32).reshape(-1, 2)
