"""What a document has of what profiles ask for: the *atoms* that are met.

An atom is a spine, or a spine and one test on the text at its end. Atoms are numbered so that those which are met
together stand together: limits of one table ascend, so all that a value passes are one run of bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Floats, Ints, Longs, Words
from semcast.matching.xpath.kernels.automaton import (
    ASKED_END,
    EQUALS,
    FULL,
    NEEDLES,
    NUMBERS,
    OTHERS,
    PRESENT,
    link,
    linked,
)
from semcast.matching.xpath.kernels.bits import put, put_all
from semcast.matching.xpath.kernels.compiled import inlined, inner
from semcast.matching.xpath.kernels.needles import CONTAINED, STARTING, TOO_MANY, Needles, find
from semcast.matching.xpath.kernels.texts import hashed, holds, number, same

VALUES, LIMITS = 0, 1
"""Columns of rows of numbers: where those that must be equal begin, then the limits of <, <=, > and >=, and the end."""
FIRST_NUMBER, SHORTEST, LONGEST, KEYS, SLOTTED, REMEMBERED, KEPT = range(7)
"""What ``sizes`` holds: the atom of the first number, the lengths of texts that must be equal, how many keys there are
(one for each such text, then two for each needle: to contain it, to start with it), how many slots of ``memory`` are
in use, and how much of these and of ``kept`` is taken."""
STAMP, LEAST, GREATEST = range(3)
"""Columns of ranges: in which document a row met a number last, and the least and greatest that it met there."""
SERIAL, VISITS, TOUCHED, ELEMENT, HIT_COUNT, HELD_COUNT, CANDIDATE, EPOCH, SLOTS, CHAINED, VERIFIED, FIRED, TRIED, FIRST_TEXT, LAST_TEXT = range(15)  # fmt: skip # noqa: E501
"""Where the counts of Notes stand: which document, how many of what, and how far it got."""
_FEW = 2  # tables that are asked one by one


class Tables(NamedTuple):
    """Value tests at the ends of spines. However many profiles ask for a place, a text is looked up there once."""

    sizes: Longs
    texts: Ints  # begin, end of each text that must be equal
    text_slots: Ints  # a text, by hash
    needles: Needles
    pairs: Longs  # (table or row) · keys + key + 1 or 0, and its atom
    numbers: Ints
    limit: Floats  # number i belongs to the atom FIRST_NUMBER + i
    searches: Ints  # [row]: where its slice of ``search`` begins, up to that of the next
    search: Ints  # test, atom
    memory: Longs  # state · keys + key + 1 or 0, and where in ``kept`` the number of its atoms stands, and these
    kept: Ints


class Notes(NamedTuple):
    """What is known of the document at hand; what bears another serial number is of an earlier one."""

    counts: Longs
    met: Words  # atoms
    seen: Longs  # [state]
    ranges: Floats
    touched: Ints  # rows of numbers that met one
    hit: Longs  # [condition]
    held: Longs
    hits: Ints
    holding: Ints
    states: Ints  # [element], as links lead to them
    visits: Ints  # state, begin and end of the text


@inner
def first_not_below(values, begin, end, value):  # type: ignore[no-untyped-def]
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def first_above(values, begin, end, value):  # type: ignore[no-untyped-def]
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] <= value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def _number(data, begin, end, tests):  # type: ignore[no-untyped-def]
    """``number``, with what most texts are read at once: a few digits, or a word."""
    if begin == end or data[begin] >= 65:
        return math.nan
    value = 0.0
    if end - begin <= 15:
        for i in range(begin, end):
            if not 48 <= data[i] <= 57:
                return number(data, begin, end, tests)
            value = value * 10.0 + (data[i] - 48.0)
        return value
    return number(data, begin, end, tests)


@inlined
def _text_of(data, begin, end, texts, slots, literals):  # type: ignore[no-untyped-def]
    """The number of a text that somebody compares with, -1 if nobody does."""
    slot = np.int64(hashed(data, begin, end) >> np.uint64(17)) & (len(slots) - 1)
    while slots[slot] >= 0:
        first = texts[slots[slot], 0]
        length = texts[slots[slot], 1] - first
        if length == end - begin and same(data, begin, literals, first, length):
            return slots[slot]
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@inner
def _remember(known, first, last, key, pool, sizes, pairs, memory, kept, met):  # type: ignore[no-untyped-def]
    """Ask each table of a state for a key, and keep what was found; all that was kept is dropped for want of room."""
    if 2 * sizes[REMEMBERED] >= sizes[SLOTTED] or sizes[KEPT] + 1 + last - first > len(kept):
        sizes[REMEMBERED] = 0
        sizes[KEPT] = 0
        sizes[SLOTTED] = min(2 * sizes[SLOTTED], len(memory))
        memory[: sizes[SLOTTED]] = 0
    at = sizes[KEPT]
    link(known, at, memory[: sizes[SLOTTED]])
    sizes[REMEMBERED] += 1
    count = 0
    for i in range(first, last):
        atom = linked(pool[i] * sizes[KEYS] + key, pairs)
        if atom != FULL:
            put(atom, met)
            count += 1
            kept[at + count] = atom
    kept[at] = count
    sizes[KEPT] = at + 1 + count


@inner
def _look_up_key(state, first, last, key, pool, sizes, pairs, memory, kept, met):  # type: ignore[no-untyped-def]
    """The atoms of a key in the tables of a state: one look-up where that state met that key before."""
    keys = sizes[KEYS]
    if last - first <= _FEW:
        for i in range(first, last):
            atom = linked(pool[i] * keys + key, pairs)
            if atom != FULL:
                put(atom, met)
        return
    at = linked(state * keys + key, memory[: sizes[SLOTTED]])
    if at == FULL:
        _remember(state * keys + key, first, last, key, pool, sizes, pairs, memory, kept, met)
        return
    for i in range(at + 1, at + 1 + kept[at]):
        put(kept[i], met)


@inner
def _try(first, last, data, begin, end, pool, tables, tests, met):  # type: ignore[no-untyped-def]
    """Try one test after the other."""
    searches, search = tables.searches, tables.search
    for i in range(first, last):
        for k in range(searches[pool[i]], searches[pool[i] + 1]):
            if holds(search[k, 0], data, begin, end, tests):
                put(search[k, 1], met)


@inlined
def _look_up_needles(state, first, last, data, begin, end, pool, tables, tests, notes):  # type: ignore[no-untyped-def]
    counts, needles = notes.counts, tables.needles
    sizes, pairs, memory, kept = tables.sizes, tables.pairs, tables.memory, tables.kept
    low, high = find(data, begin, end, counts[FIRST_TEXT], counts[LAST_TEXT], counts[SERIAL], tests, needles)
    if high == TOO_MANY:
        _try(first, last, data, begin, end, pool, tables, tests, notes.met)
        return
    for i in range(low, high):
        needle = needles.found[i, 1]
        start = needles.found[i, 0] - (needles.spans[needle, 1] - needles.spans[needle, 0])
        key = len(tables.texts) + 2 * needle
        if start >= begin and needles.asked[needle] & CONTAINED:
            _look_up_key(state, first, last, key, pool, sizes, pairs, memory, kept, notes.met)
        if start == begin and needles.asked[needle] & STARTING:
            _look_up_key(state, first, last, key + 1, pool, sizes, pairs, memory, kept, notes.met)


@inlined
def _look_up_number(first, last, value, pool, tables, notes):  # type: ignore[no-untyped-def]
    """Note a number at rows. Limits are looked at in the end, once for all numbers of a document."""
    counts, ranges, numbers, limit = notes.counts, notes.ranges, tables.numbers, tables.limit
    serial = counts[SERIAL]
    for i in range(first, last):
        row = pool[i]
        if ranges[row, STAMP] != serial:
            ranges[row, STAMP] = serial
            ranges[row, LEAST] = value
            ranges[row, GREATEST] = value
            notes.touched[counts[TOUCHED]] = row
            counts[TOUCHED] += 1
        elif value < ranges[row, LEAST]:
            ranges[row, LEAST] = value
        elif value > ranges[row, GREATEST]:
            ranges[row, GREATEST] = value
        begin, end = numbers[row, VALUES], numbers[row, LIMITS]
        if begin < end:
            at = first_not_below(limit, begin, end, value)
            if at < end and limit[at] == value:
                put(tables.sizes[FIRST_NUMBER] + at, notes.met)


@inner
def look_up(data, pool, states, tables, tests, notes):  # type: ignore[no-untyped-def]
    """Look the texts of all visits up; the hash and the number of a text are taken at most once."""
    counts, visits, seen, met = notes.counts, notes.visits, notes.seen, notes.met
    sizes, pairs, memory, kept = tables.sizes, tables.pairs, tables.memory, tables.kept
    serial, shortest, longest = counts[SERIAL], sizes[SHORTEST], sizes[LONGEST]
    for visit in range(counts[VISITS]):
        state, begin, end = visits[visit, 0], visits[visit, 1], visits[visit, 2]
        present, equals, needles = states[state, PRESENT], states[state, EQUALS], states[state, NEEDLES]
        numbers, others, last = states[state, NUMBERS], states[state, OTHERS], states[state, ASKED_END]
        if seen[state] != serial:
            seen[state] = serial
            for i in range(present, equals):
                put(pool[i], met)
        if equals < needles and shortest <= end - begin <= longest:
            text = _text_of(data, begin, end, tables.texts, tables.text_slots, tests.literals)
            if text >= 0:
                _look_up_key(np.int64(state), equals, needles, text, pool, sizes, pairs, memory, kept, met)
        if needles < numbers and begin < end:
            _look_up_needles(np.int64(state), needles, numbers, data, begin, end, pool, tables, tests, notes)
        if numbers < others:
            value = _number(data, begin, end, tests)
            if value == value:
                _look_up_number(numbers, others, value, pool, tables, notes)
        if others < last:
            _try(others, last, data, begin, end, pool, tables, tests, met)


@inlined
def look_up_limits(tables, notes):  # type: ignore[no-untyped-def]
    """The limits that the numbers of a document pass: the least passes most of < and <=, the greatest of > and >=."""
    numbers, limit, met, base = tables.numbers, tables.limit, notes.met, tables.sizes[FIRST_NUMBER]
    for i in range(notes.counts[TOUCHED]):
        row = notes.touched[i]
        least, greatest = notes.ranges[row, LEAST], notes.ranges[row, GREATEST]
        below, up_to, above = numbers[row, LIMITS], numbers[row, LIMITS + 1], numbers[row, LIMITS + 2]
        since, end = numbers[row, LIMITS + 3], numbers[row, LIMITS + 4]
        if below < up_to:
            put_all(base + first_above(limit, below, up_to, least), base + up_to, met)
        if up_to < above:
            put_all(base + first_not_below(limit, up_to, above, least), base + above, met)
        if above < since:
            put_all(base + above, base + first_not_below(limit, above, since, greatest), met)
        if since < end:
            put_all(base + since, base + first_above(limit, since, end, greatest), met)


def forget_states(tables: Tables) -> None:
    """Their numbers are given to others."""
    tables.memory[:] = 0
    tables.sizes[REMEMBERED] = tables.sizes[KEPT] = 0


@inner
def fill(texts, literals, slots):  # type: ignore[no-untyped-def]
    """Put texts where ``look_up`` looks for them."""
    for text in range(len(texts)):
        slot = np.int64(hashed(literals, texts[text, 0], texts[text, 1]) >> np.uint64(17)) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = text


@inner
def fill_pairs(keys, values, slots):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        link(keys[i], values[i], slots)
