"""Value tests at the end of a spine, grouped so that a text is looked up and not compared.

However many profiles ask for ``price > k``, each with its own k, one search among all limits tells which hold, and
only those are looked at; equal tests are one atom.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from semcast.matching.xpath.arrays import Floats, Ints, ints
from semcast.matching.xpath.kernels import entries, memory, texts
from semcast.matching.xpath.kernels.lookup import LONGEST, SHORTEST, TEXT_END, Tables
from semcast.matching.xpath.kernels.needles import CONTAINED, STARTING, Needles, room_for
from semcast.matching.xpath.vocabulary import Vocabulary, operator_of
from semcast.profiles.xpath.values import Test

Table = dict[Test | None, int]
"""The atoms of a spine: by what they ask of the text at its end, None where it is enough that it is there."""

_PRESENT, _EQUALS, _NEEDLES, _VALUES, _LISTS = range(5)  # columns of tables, as an Nfa has them
_OTHERS, _UPPER, _LOWER = range(3)  # the lists
_MAX_MEMORY = 1 << 16  # states and texts that are remembered
_NOBODY = 1 << 30
_Asked = tuple[int, int, int]  # code, table, atom


class Packing:
    """Tables → arrays. Atoms get new numbers: ``atoms[old]``.

    Those that ask for nothing but a node stand in the ``order`` of tables. A node is at the end of many tables that are
    beside each other there, so the atoms of a state are few words of bits. Those that one and the same text or number
    does not meet stand beside each other. Those that ask for a number below a limit stand in the order of all limits,
    and so do those above: two atoms tell what a number passes.
    """

    def __init__(self, vocabulary: Vocabulary, tables: list[Table], count: int, order: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self.atoms = np.zeros(count, np.int32)
        self.tables = np.full((len(tables), 8), -1, np.int32)
        self._numbered = 0
        self._texts: dict[int, int] = {}  # of the test for each text
        self._needles = _needles(tables)
        self._of_needle = np.zeros(len(self._needles), np.int64)  # a test with that literal
        self._asked = np.zeros(len(self._needles), np.int32)
        self._limits = _limits(tables)
        self._searches: list[int] = []
        self._search: list[tuple[int, int]] = []
        self._equal: list[tuple[int, int, int]] = []  # table, text, atom
        self._found: list[tuple[int, int, int]] = []  # row, 2 · needle + 1 where a text starts with it, atom
        self._valued: list[tuple[int, int, int]] = []  # table, limit, atom
        self._lists: tuple[list[_Asked], list[_Asked], list[_Asked]] = ([], [], [])
        for number in order:
            if None in tables[number]:
                self.tables[number, _PRESENT] = self._number(tables[number][None])
        for number in order:
            for test, atom in tables[number].items():
                if test is not None:
                    self._add(number, test, atom)
        self._searches.append(len(self._search))
        self._first_other = self._numbered
        self.asked = self._listed()

    def packed(self, tests: texts.Tests) -> Tables:
        spans = np.column_stack((tests.begin, tests.end)).astype(np.int32)
        texts_ = spans[list(self._texts)].reshape(-1, 2)
        slots = np.full((_room(len(texts_)), TEXT_END + 1), -1, np.int32)
        entries.fill(texts_, tests.literals, slots)
        lengths = texts_[:, 1] - texts_[:, 0]
        sizes = np.zeros(2, np.int64)
        sizes[SHORTEST], sizes[LONGEST] = lengths.min(initial=_NOBODY), lengths.max(initial=-1)
        return Tables(
            sizes=sizes,
            texts=texts_,
            text_slots=slots,
            needles=self._grown(tests, spans),
            limits=self._limits,
            passed=self._passed(),
            spared=self._spared(),
            searches=ints(self._searches),
            search=np.array(self._search, np.int32).reshape(-1, 2),
            memory=self._memory(),
        )

    def _number(self, atom: int) -> int:
        self.atoms[atom] = self._numbered
        self._numbered += 1
        return self._numbered - 1

    def _add(self, number: int, test: Test, atom: int) -> None:
        operator, limit = operator_of(test), test.limit()
        if _is_found(test):
            self._search_for(number, test, self._number(atom))
        elif operator == texts.EQUAL_TEXT:
            self.tables[number, _EQUALS] = number
            self._equal.append((number, self._text(test), self._number(atom)))
        elif operator == texts.OTHER_TEXT:
            self._lists[_OTHERS].append((self._text(test), number, atom))
        elif limit is None:  # contains '', which no access asks for
            self._number(atom)
        elif isnan(limit):  # nothing is below, above or equal to NaN, and everything is other
            if operator == texts.OTHER:
                self._lists[_OTHERS].append((_NOBODY, number, atom))
            else:
                self._number(atom)
        else:
            self._compare(number, operator, int(np.searchsorted(self._limits, limit)), atom)

    def _compare(self, number: int, operator: int, rank: int, atom: int) -> None:
        """Codes are such that a number at ``2 · rank + 1`` (that limit itself) or between two of these passes it."""
        match operator:
            case texts.EQUAL:
                self.tables[number, _VALUES] = number
                self._valued.append((number, rank, self._number(atom)))
            case texts.OTHER:
                self._lists[_OTHERS].append((-1 - rank, number, atom))
            case texts.BELOW | texts.UP_TO:
                self._lists[_UPPER].append((2 * rank + (operator == texts.UP_TO), number, atom))
            case _:
                self._lists[_LOWER].append((2 * rank + 1 + (operator == texts.ABOVE), number, atom))

    def _listed(self) -> Ints:
        """Number the atoms of lists, each in the order of its codes, and put them down table by table."""
        asked: list[list[list[int]]] = [[[], [], []] for _ in self.tables]
        first = {code: at for at, (code, _, _) in reversed(list(enumerate(self._lists[_OTHERS])))}
        self._lists[_OTHERS].sort(key=lambda row: first[row[0]])
        for column, listed in enumerate(self._lists):
            if column != _OTHERS:
                listed.sort()
            for _, number, atom in listed:
                asked[number][column].append(self._number(atom))
        at = 0
        for number, lists in enumerate(asked):
            for column, atoms in enumerate(lists):
                self.tables[number, _LISTS + column] = at
                at += len(atoms)
            self.tables[number, -1] = at
        return ints(atom for lists in asked for atoms in lists for atom in atoms)

    def _passed(self) -> Ints:
        """For each place among the limits: the first UPPER that a number there meets, the first LOWER it does not."""
        places = np.arange(2 * len(self._limits) + 2)
        others, upper, lower = (np.array([code for code, _, _ in listed], np.int64) for listed in self._lists)
        first_upper = self._first_other + len(others)
        first_lower = first_upper + len(upper)
        below, above = np.searchsorted(upper, places, "left"), np.searchsorted(lower, places, "right")
        return np.column_stack((first_upper + below, first_lower + above)).astype(np.int32)

    def _spared(self) -> Ints:
        """For each key the atoms that all but this one meet."""
        first_limit = len(self._texts) + 2 * len(self._needles)
        found = np.zeros((first_limit + len(self._limits), 2), np.int32)
        for atom, (code, _, _) in enumerate(self._lists[_OTHERS], self._first_other):
            if code != _NOBODY:
                key = code if code >= 0 else -1 - code + first_limit
                if found[key, 1] == 0:
                    found[key, 0] = atom
                found[key, 1] = atom + 1
        return found

    def _text(self, test: Test) -> int:
        """The number of a text that somebody compares with."""
        asked = Test("=", test.literal)
        return self._texts.setdefault(self._vocabulary.test(asked), len(self._texts))

    def _search_for(self, number: int, test: Test, atom: int) -> None:
        if self.tables[number, _NEEDLES] < 0:
            self.tables[number, _NEEDLES] = len(self._searches)
            self._searches.append(len(self._search))
        self._search.append((self._vocabulary.test(test), atom))
        needle, starting = self._needles[str(test.literal)], test.operator == "starts-with"
        self._of_needle[needle] = self._vocabulary.test(test)
        self._asked[needle] |= STARTING if starting else CONTAINED
        self._found.append((int(self.tables[number, _NEEDLES]), 2 * needle + starting, atom))

    def _memory(self) -> memory.Memory:
        sizes = len(self._texts), len(self._needles), len(self._limits)
        equal, found, valued = (
            np.array(rows, np.int64).reshape(-1, 3) for rows in (self._equal, self._found, self._valued)
        )
        found[:, 1] += sizes[0]
        valued[:, 1] += sizes[0] + 2 * sizes[1]
        rows = np.concatenate((equal, found, valued))
        pairs = np.zeros((_room(len(rows)), 2), np.int64)
        keys = sizes[0] + 2 * sizes[1] + sizes[2]
        entries.fill_pairs(rows[:, 0] * keys + rows[:, 1], np.ascontiguousarray(rows[:, 2]), pairs)
        return memory.room_for(*sizes, len(self.tables), min(_MAX_MEMORY, _room(len(rows))), pairs)

    def _grown(self, tests: texts.Tests, spans: Ints) -> Needles:
        found = room_for(spans[self._of_needle], self._asked, tests.literals)
        entries.grow(tests.literals, np.zeros(len(self._needles), np.int32), found)
        return found


def _needles(tables: list[Table]) -> dict[str, int]:
    """A number for each piece of text that is searched for, longest first."""
    found = {str(test.literal) for table in tables for test in table if test is not None and _is_found(test)}
    ordered = sorted(((len(literal.encode()), literal) for literal in found), reverse=True)
    return {literal: number for number, (_, literal) in enumerate(ordered)}


def _limits(tables: list[Table]) -> Floats:
    """All numbers that are compared with, ascending."""
    given = [test.limit() for table in tables for test in table if test is not None]
    return np.unique(np.array([limit for limit in given if limit is not None and not isnan(limit)], np.float64))


def _is_found(test: Test) -> bool:
    return test.operator in ("contains", "starts-with") and test.literal != ""


def _room(entries_: int) -> int:
    """Slots for a hash table that stays half empty."""
    return 1 << max(3, (2 * entries_).bit_length())


def columns(rows: list[tuple[int, int]]) -> Ints:
    return np.array(rows, np.int32).reshape(-1, 2)
