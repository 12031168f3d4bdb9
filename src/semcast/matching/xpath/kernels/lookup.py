"""What a document has of what profiles ask for: the *atoms* that are met.

An atom is a spine, or a spine and one test on the text at its end. Atoms of limits are numbered in the order of these,
so a state goes through those that a number passes, and stops at the first that it does not.
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
    LOWER,
    NEEDLES,
    OTHERS,
    PRESENT,
    UPPER,
    VALUES,
    link,
    linked,
)
from semcast.matching.xpath.kernels.bits import put
from semcast.matching.xpath.kernels.compiled import inlined, inner
from semcast.matching.xpath.kernels.needles import CONTAINED, STARTING, TOO_MANY, Needles, find
from semcast.matching.xpath.kernels.texts import hashed, holds, number, same

FIRST_OTHER, SHORTEST, LONGEST, KEYS, SLOTTED, REMEMBERED, KEPT = range(7)
"""What ``sizes`` holds: the first atom of those that one text or number alone does not meet, the lengths of texts that
are compared with, how many keys there are (one for each such text, two for each needle: to contain it, to start with
it, and one for each limit), how many slots of ``memory`` are in use, and how much of these and of ``kept`` is taken."""
SEEN, MET_OTHERS, MET_UPPER, MET_LOWER = range(4)
"""Columns of what was seen of a state: in which document last, whether all its OTHERS are met, and up to where its
UPPER (from their end) and its LOWER are."""
SERIAL, VISITS, ELEMENT, HIT_COUNT, HELD_COUNT, CANDIDATE, EPOCH, SLOTS, CHAINED, VERIFIED, FIRED, TRIED, FIRST_TEXT, LAST_TEXT = range(14)  # fmt: skip # noqa: E501
"""Where the counts of Notes stand: which document, how many of what, and how far it got."""
_FEW = 2  # tables that are asked one by one


class Tables(NamedTuple):
    """Value tests at the ends of spines. However many profiles ask for a place, a text is looked up there once."""

    sizes: Longs
    texts: Ints  # begin, end of each text that must be equal
    text_slots: Ints  # a text, by hash
    needles: Needles
    pairs: Longs  # (table or row) · keys + key + 1 or 0, and its atom
    limits: Floats  # ascending
    passed: Ints  # [2 · limits below, + 1 if it is one]: the first UPPER that is met, the first LOWER that is not
    other_than: Ints  # [atom - FIRST_OTHER]: the key of the one text or limit that does not meet it
    searches: Ints  # [row]: where its slice of ``search`` begins, up to that of the next
    search: Ints  # test, atom
    memory: Longs  # state · keys + key + 1 or 0, and where in ``kept`` the number of its atoms stands, and these
    kept: Ints


class Notes(NamedTuple):
    """What is known of the document at hand; what bears another serial number is of an earlier one."""

    counts: Longs
    met: Words  # atoms
    seen: Longs  # [state]
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
def _look_up_others(first, last, text, limit, seen, pool, tables, met):  # type: ignore[no-untyped-def]
    """All are met but those by this very text, or number, if anybody compares with it; -1 where nobody does."""
    if text < 0 and limit < 0:
        seen[MET_OTHERS] = 1
    for i in range(first, last):
        but = tables.other_than[pool[i] - tables.sizes[FIRST_OTHER]]
        if but != text and but != limit:
            put(pool[i], met)


@inlined
def _look_up_limits(upper, lower, place, seen, pool, tables, met):  # type: ignore[no-untyped-def]
    """Put what a number passes and no number of the same state did before."""
    fewest, most = tables.passed[place, 0], tables.passed[place, 1]
    at = seen[MET_UPPER]
    while at > upper and pool[at - 1] >= fewest:
        at -= 1
        put(pool[at], met)
    seen[MET_UPPER] = at
    at = seen[MET_LOWER]
    while at < lower and pool[at] < most:
        put(pool[at], met)
        at += 1
    seen[MET_LOWER] = at


@inner
def look_up(data, pool, states, tables, tests, notes):  # type: ignore[no-untyped-def]
    """Look the texts of all visits up; the hash and the number of a text are taken at most once."""
    counts, visits, met = notes.counts, notes.visits, notes.met
    sizes, pairs, memory, kept = tables.sizes, tables.pairs, tables.memory, tables.kept
    serial, shortest, longest = counts[SERIAL], sizes[SHORTEST], sizes[LONGEST]
    first_limit = sizes[KEYS] - len(tables.limits)
    for visit in range(counts[VISITS]):
        state, begin, end = np.int64(visits[visit, 0]), visits[visit, 1], visits[visit, 2]
        row, seen = states[state], notes.seen[state]
        if seen[SEEN] != serial:
            seen[SEEN] = serial
            seen[MET_OTHERS] = 0
            seen[MET_UPPER], seen[MET_LOWER] = row[LOWER], row[LOWER]
            for i in range(row[PRESENT], row[EQUALS]):
                put(pool[i], met)
        others = row[OTHERS] < row[UPPER] and not seen[MET_OTHERS]
        text = -1
        if (others or row[EQUALS] < row[NEEDLES]) and shortest <= end - begin <= longest:
            text = _text_of(data, begin, end, tables.texts, tables.text_slots, tests.literals)
            if text >= 0:
                _look_up_key(state, row[EQUALS], row[NEEDLES], text, pool, sizes, pairs, memory, kept, met)
        if row[NEEDLES] < row[VALUES] and begin < end:
            _look_up_needles(state, row[NEEDLES], row[VALUES], data, begin, end, pool, tables, tests, notes)
        limit = -1
        if others or row[VALUES] < row[OTHERS] or row[UPPER] < row[ASKED_END]:
            value = _number(data, begin, end, tests)
            if value == value:
                at = first_not_below(tables.limits, 0, len(tables.limits), value)
                if at < len(tables.limits) and tables.limits[at] == value:
                    limit = first_limit + at
                    _look_up_key(state, row[VALUES], row[OTHERS], limit, pool, sizes, pairs, memory, kept, met)
                _look_up_limits(row[UPPER], row[ASKED_END], 2 * at + (limit >= 0), seen, pool, tables, met)
        if others:
            _look_up_others(row[OTHERS], row[UPPER], text, limit, seen, pool, tables, met)


def nothing_seen(states: int) -> Longs:
    return np.zeros((states, 4), np.int64)


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
