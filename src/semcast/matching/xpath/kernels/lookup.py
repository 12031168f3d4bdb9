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
    LOWER,
    NEEDLES,
    OTHERS,
    PRESENT,
    UPPER,
    VALUES,
    link,
)
from semcast.matching.xpath.kernels.bits import put, put_half, within
from semcast.matching.xpath.kernels.compiled import inlined, inner, prefetch
from semcast.matching.xpath.kernels.memory import ASKED, FIRST_LIMIT, Memory, answer, ask
from semcast.matching.xpath.kernels.needles import CONTAINED, MANY, STARTING, TOO_MANY, Needles, find
from semcast.matching.xpath.kernels.texts import hashed, holds, number, same

SHORTEST, LONGEST = range(2)
"""What ``sizes`` holds: the lengths of texts that are compared with."""
SEEN, MET_OTHERS, MET_UPPER, MET_LOWER = range(4)
"""Columns of what was seen of a state: in which document last, whether all its OTHERS are met, and up to where its
UPPER (from their end) and its LOWER are."""
SERIAL, VISITS, ELEMENT, HIT_COUNT, HELD_COUNT, CANDIDATE, EPOCH, SLOTS, CHAINED, VERIFIED, FIRED, TRIED, FIRST_TEXT, LAST_TEXT = range(14)  # fmt: skip # noqa: E501
"""Where the counts of Notes stand: which document, how many of what, and how far it got."""
SLOT, TAG = 3, 4  # the last columns of visits
TEXT, TEXT_TAG, TEXT_BEGIN, TEXT_END = range(4)
"""Columns of slots: the number of a text or -1, more of its hash, and where it stands in ``Tests.literals``."""
_MOST_KEYS = 2 * MANY + 2  # of one text


class Tables(NamedTuple):
    """Value tests at the ends of spines. However many profiles ask for a place, a text is looked up there once."""

    sizes: Longs
    texts: Ints  # begin, end of each text that must be equal
    text_slots: Ints  # by hash
    needles: Needles
    limits: Floats  # ascending
    passed: Ints  # [2 · limits below, + 1 if it is one]: the first UPPER that is met, the first LOWER that is not
    spared: Ints  # [key]: the OTHERS that this very text or limit does not meet, from, up to
    searches: Ints  # [row]: where its slice of ``search`` begins, up to that of the next
    search: Ints  # test, atom
    memory: Memory


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
    visits: Ints  # state, begin and end of the text, where that is looked for and more of its hash
    fired: Ints  # atoms that are met and watched, then conditions that wait for them


@inner
def first_not_below(values, value):  # type: ignore[no-untyped-def]
    """Where it stands, or would, in ascending values. It does not branch on them: half of that is foretold wrong."""
    begin, size = 0, len(values)
    while size > 0:
        half = (size + 1) >> 1
        begin += half * (values[begin + half - 1] < value)
        size -= half
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
def _slot(mixed, slots):  # type: ignore[no-untyped-def]
    return np.int64(mixed >> np.uint64(33)) & (len(slots) - 1)


@inlined
def _tag(mixed):  # type: ignore[no-untyped-def]
    return np.int32(mixed & np.uint64(0x7FFFFFFF))


@inlined
def _tagged(slot, tag, slots):  # type: ignore[no-untyped-def]
    """The next slot, from ``slot`` on, of a text with that tag; -1 if there is none."""
    while slots[slot, TEXT] >= 0:
        if slots[slot, TEXT_TAG] == tag:
            return slot
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@inlined
def _text_of(slot, tag, data, begin, end, slots, literals):  # type: ignore[no-untyped-def]
    """The number of a text that somebody compares with, looked for from a slot with its tag on; -1 if nobody does."""
    while slot >= 0:
        first = slots[slot, TEXT_BEGIN]
        length = slots[slot, TEXT_END] - first
        if length == end - begin and same(data, begin, literals, first, length):
            return slots[slot, TEXT]
        slot = _tagged((slot + 1) & (len(slots) - 1), tag, slots)
    return -1


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
    low, high = find(data, begin, end, counts[FIRST_TEXT], counts[LAST_TEXT], counts[SERIAL], tests, needles)
    if high == TOO_MANY:
        _try(first, last, data, begin, end, pool, tables, tests, notes.met)
        return
    for i in range(low, high):
        needle = needles.found[i, 1]
        start = needles.found[i, 0] - (needles.spans[needle, 1] - needles.spans[needle, 0])
        key = len(tables.texts) + 2 * needle
        if start >= begin and needles.asked[needle] & CONTAINED:
            ask(state, key, tables.memory)
        if start == begin and needles.asked[needle] & STARTING:
            ask(state, key + 1, tables.memory)


@inlined
def _look_up_others(first, last, text, limit, seen, pool, tables, met):  # type: ignore[no-untyped-def]
    """All are met but those by this very text, or number, if anybody compares with it; -1 where nobody does."""
    if text < 0 and limit < 0:
        seen[MET_OTHERS] = 1
    texts_begin, texts_end, limits_begin, limits_end = 0, 0, 0, 0
    if text >= 0:
        texts_begin, texts_end = tables.spared[text, 0], tables.spared[text, 1]
    if limit >= 0:
        limits_begin, limits_end = tables.spared[limit, 0], tables.spared[limit, 1]
    for i in range(first, last, 2):
        half = np.int64(pool[i])
        spared = within(half, texts_begin, texts_end) | within(half, limits_begin, limits_end)
        put_half(half, np.int64(pool[i + 1]) & ~spared, met)


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


@inlined
def _prepare(data, pool, states, tables, literals, notes):  # type: ignore[no-untyped-def]
    """Have fetched what visits will look at first, and say where the text of each is looked for, -1 if it is not."""
    visits, slots = notes.visits, tables.text_slots
    shortest, longest = tables.sizes[SHORTEST], tables.sizes[LONGEST]
    for visit in range(notes.counts[VISITS]):
        row, begin, end = states[visits[visit, 0]], visits[visit, 1], visits[visit, 2]
        prefetch(pool, np.int64(row[PRESENT]))
        prefetch(pool, np.int64(row[LOWER]))
        visits[visit, SLOT] = -1
        if (row[EQUALS] < row[NEEDLES] or row[OTHERS] < row[UPPER]) and shortest <= end - begin <= longest:
            mixed = hashed(data, begin, end)
            slot = _slot(mixed, slots)
            prefetch(slots, slot * slots.shape[1])
            visits[visit, SLOT], visits[visit, TAG] = slot, _tag(mixed)
    for visit in range(notes.counts[VISITS]):
        if visits[visit, SLOT] >= 0:
            slot = _tagged(np.int64(visits[visit, SLOT]), visits[visit, TAG], slots)
            visits[visit, SLOT] = slot
            if slot >= 0:
                prefetch(literals, np.int64(slots[slot, TEXT_BEGIN]))


@inner
def look_up(data, pool, states, tables, tests, notes):  # type: ignore[no-untyped-def]
    """Look the texts of all visits up; the hash and the number of a text are taken at most once."""
    counts, visits, met, memory = notes.counts, notes.visits, notes.met, tables.memory
    serial = counts[SERIAL]
    _prepare(data, pool, states, tables, tests.literals, notes)
    for visit in range(counts[VISITS] + 1):
        if visit == counts[VISITS] or memory.sizes[ASKED] + _MOST_KEYS > len(memory.asked):
            answer(states, pool, memory, met)
            if visit == counts[VISITS]:
                break
        state, begin, end = np.int64(visits[visit, 0]), visits[visit, 1], visits[visit, 2]
        row, seen = states[state], notes.seen[state]
        if seen[SEEN] != serial:
            seen[SEEN] = serial
            seen[MET_OTHERS] = 0
            seen[MET_UPPER], seen[MET_LOWER] = row[LOWER], row[LOWER]
            for i in range(row[PRESENT], row[EQUALS], 2):
                put_half(np.int64(pool[i]), np.int64(pool[i + 1]), met)
        others = row[OTHERS] < row[UPPER] and not seen[MET_OTHERS]
        text, limit = -1, -1
        if (others or row[EQUALS] < row[NEEDLES]) and visits[visit, SLOT] >= 0:
            slot, tag = np.int64(visits[visit, SLOT]), visits[visit, TAG]
            text = _text_of(slot, tag, data, begin, end, tables.text_slots, tests.literals)
            if text >= 0 and row[EQUALS] < row[NEEDLES]:
                ask(state, text, memory)
        if row[NEEDLES] < row[VALUES] and begin < end:
            _look_up_needles(state, row[NEEDLES], row[VALUES], data, begin, end, pool, tables, tests, notes)
        if others or row[VALUES] < row[OTHERS] or row[UPPER] < row[ASKED_END]:
            value = _number(data, begin, end, tests)
            if value == value:
                at = first_not_below(tables.limits, value)
                if at < len(tables.limits) and tables.limits[at] == value:
                    limit = memory.sizes[FIRST_LIMIT] + at
                    if row[VALUES] < row[OTHERS]:
                        ask(state, limit, memory)
                _look_up_limits(row[UPPER], row[ASKED_END], 2 * at + (limit >= 0), seen, pool, tables, met)
        if others:
            _look_up_others(row[OTHERS], row[UPPER], text, limit, seen, pool, tables, met)


def nothing_seen(states: int) -> Longs:
    return np.zeros((states, 4), np.int64)


@inner
def fill(texts, literals, slots):  # type: ignore[no-untyped-def]
    """Put texts where ``look_up`` looks for them."""
    for text in range(len(texts)):
        mixed = hashed(literals, texts[text, 0], texts[text, 1])
        slot = _slot(mixed, slots)
        while slots[slot, TEXT] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot, TEXT], slots[slot, TEXT_TAG] = text, _tag(mixed)
        slots[slot, TEXT_BEGIN], slots[slot, TEXT_END] = texts[text, 0], texts[text, 1]


@inner
def fill_pairs(keys, values, slots):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        link(keys[i], values[i], slots)
