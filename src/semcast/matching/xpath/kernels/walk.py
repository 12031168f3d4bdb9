"""One walk down a document: which conditions are met, which may be, and what was seen where.

Only what a profile's rarest access asks for is reported as a hit. What a profile needs beside is looked up later, for
the few that were hit, in what the walk noted at each table: that it was reached, and where its texts are. So a limit
that most values pass costs nothing but the comparison of those who get that far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Floats, Ints, Longs
from semcast.matching.xpath.kernels.automaton import (
    ASKS,
    DEAD,
    FULL,
    HAS_ATTRIBUTES,
    NOTING,
    NOTING_END,
    PRESENT,
    PRESENT_END,
    SHIFT,
    START,
    TESTED,
    TESTED_END,
    TEXT,
    TEXT_END,
    attributes,
    following,
    linked,
)
from semcast.matching.xpath.kernels.compiled import inner
from semcast.matching.xpath.kernels.scanner import BEFORE, BEGIN, END, FIRST, LAST, NAME, PARENT
from semcast.matching.xpath.kernels.texts import hashed, holds, number, same

HITS, HITS_END, SHORTEST, LONGEST, VALUES, VALUES_END, OTHERS, OTHERS_END, NOTES = range(9)
LIMITS = 9
"""Columns of tables: slices of ``hits``, ``values`` and ``others``; from LIMITS on the five ends of those of
``limits``, for <, <=, > and >=. Literals that must be equal are between SHORTEST and LONGEST bytes long."""
LAST_NOTED, FIRST_TEXT, LAST_TEXT, COUNTED, LEAST, GREATEST = range(6)
"""Columns of marks: in which document a text was noted last at a table, the first and last of these texts, and, once
they were COUNTED in that document, the least and the greatest number among them."""
SERIAL, HIT_COUNT, HELD_COUNT, NOTED, ELEMENT, CANDIDATE, EPOCH, SLOTS, CHAINED, VERIFIED, VISITS = range(11)
"""Where the counts of a Notes stand: which document, how many of what, and how far it got."""


class Tables(NamedTuple):
    """Who asks for what at the end of each spine. A hit is ``2 · condition``, + 1 if it is enough."""

    tables: Ints
    hits: Ints
    value: Floats  # numbers that must be equal, ascending in each table
    value_hits: Ints  # begin, end of their hits
    limit: Floats  # ascending in each slice
    limit_hit: Ints
    others: Ints  # test, begin, end of its hits
    equal_slots: Ints  # the entry of (table, text), by hash
    equal: Ints  # table, begin and end of the literal, begin and end of its hits


class Notes(NamedTuple):
    """What is known of the document at hand; what bears another serial number is of an earlier one."""

    counts: Longs
    seen: Longs  # [state]
    reached: Longs  # [table]
    marks: Floats  # of each table; in one row, since each is another cache line
    noted: Ints  # the next of the same table or -1, begin, end
    hit: Longs  # [condition]
    held: Longs
    hits: Ints
    holding: Ints
    states: Ints  # [element], as links lead to them
    visits: Ints  # state (-1 - state: of one of its texts), begin and end of the text


@inner
def _hit(code, serial, counts, hit, held, hits, holding):  # type: ignore[no-untyped-def]
    condition = code >> 1
    if code & 1:
        if held[condition] != serial:
            held[condition] = serial
            holding[counts[HELD_COUNT]] = condition
            counts[HELD_COUNT] += 1
    elif hit[condition] != serial:
        hit[condition] = serial
        hits[counts[HIT_COUNT]] = condition
        counts[HIT_COUNT] += 1


@inner
def _report(codes, begin, end, notes):  # type: ignore[no-untyped-def]
    counts, hit, held, hits, holding = notes.counts, notes.hit, notes.held, notes.hits, notes.holding
    serial = counts[SERIAL]
    for i in range(begin, end):
        _hit(codes[i], serial, counts, hit, held, hits, holding)


@inner
def _first_not_below(values, begin, end, value):  # type: ignore[no-untyped-def]
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def _first_above(values, begin, end, value):  # type: ignore[no-untyped-def]
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] <= value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def _passed(sign, limits, begin, end, value):  # type: ignore[no-untyped-def]
    """Which of the sorted limits ``value`` is below, up to, above or from."""
    if sign == 0:
        return _first_above(limits, begin, end, value), end
    if sign == 1:
        return _first_not_below(limits, begin, end, value), end
    if sign == 2:
        return begin, _first_not_below(limits, begin, end, value)
    return begin, _first_above(limits, begin, end, value)


@inner
def equal_slot(table, mixed, slots):  # type: ignore[no-untyped-def]
    """Where to look first for a literal of a table, given the literal's hash."""
    return np.int64((mixed ^ np.uint64(table) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(17)) & (slots - 1)


@inner
def _entry_of(table, mixed, data, begin, end, slots, equal, literals):  # type: ignore[no-untyped-def]
    """The entry of a text in a table, -1 if it has none."""
    slot = equal_slot(table, mixed, len(slots))
    while slots[slot] >= 0:
        entry = slots[slot]
        first = equal[entry, 1]
        length = equal[entry, 2] - first
        if equal[entry, 0] == table and length == end - begin and same(data, begin, literals, first, length):
            return entry
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@inner
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


@inner
def look_up(data, pool, present, tables, tests, notes):  # type: ignore[no-untyped-def]
    """Look the texts of all visits up; the hash and the number of a text are taken at most once.

    One loop with few calls: a call takes all arrays along, and cost more than what it did.
    """
    counts, visits, seen, reached = notes.counts, notes.visits, notes.seen, notes.reached
    marks, noted = notes.marks, notes.noted
    rows, values, limits, others = tables.tables, tables.value, tables.limit, tables.others
    slots, equal, literals = tables.equal_slots, tables.equal, tests.literals
    serial = counts[SERIAL]
    for visit in range(counts[VISITS]):
        state, begin, end = visits[visit, 0], visits[visit, 1], visits[visit, 2]
        first, last = present[state, TESTED], present[state, TESTED_END]
        noting, noting_end = present[state, NOTING], present[state, NOTING_END]
        enter, entered = present[state, PRESENT], present[state, PRESENT_END]
        if state < 0:
            state = -1 - state
            first, last = present[state, TEXT], present[state, TEXT_END]
            noting, noting_end, enter, entered = first, last, first, last
        elif seen[state] == serial:
            entered = enter
        else:
            seen[state] = serial
        for i in range(enter, entered):
            table = pool[i] >> 1
            if reached[table] != serial:
                reached[table] = serial
                if pool[i] & 1:
                    _report(tables.hits, rows[table, HITS], rows[table, HITS_END], notes)
        for i in range(noting, noting_end):
            table = pool[i] >> 1
            at = counts[NOTED]
            if at == len(noted) or not rows[table, NOTES]:
                continue
            if marks[table, LAST_NOTED] != serial:
                marks[table, LAST_NOTED] = serial
                marks[table, FIRST_TEXT] = at
            else:
                noted[int(marks[table, LAST_TEXT]), 0] = at
            marks[table, LAST_TEXT] = at
            noted[at, 0] = -1
            noted[at, 1] = begin
            noted[at, 2] = end
            counts[NOTED] = at + 1
        mixed = np.uint64(0)
        value = math.nan
        hashed_yet, counted_yet = False, False
        for i in range(first, last):
            table = pool[i] >> 1
            if rows[table, SHORTEST] <= end - begin <= rows[table, LONGEST]:
                if not hashed_yet:
                    hashed_yet = True
                    mixed = hashed(data, begin, end)
                entry = _entry_of(table, mixed, data, begin, end, slots, equal, literals)
                if entry >= 0:
                    _report(tables.hits, equal[entry, 3], equal[entry, 4], notes)
            valued = rows[table, VALUES] < rows[table, VALUES_END]
            limited = rows[table, LIMITS] < rows[table, LIMITS + 4]
            if valued or limited:
                if not counted_yet:
                    counted_yet = True
                    value = _number(data, begin, end, tests)
                if value == value:
                    if valued:
                        at = _first_not_below(values, rows[table, VALUES], rows[table, VALUES_END], value)
                        if at < rows[table, VALUES_END] and values[at] == value:
                            _report(tables.hits, tables.value_hits[at, 0], tables.value_hits[at, 1], notes)
                    if limited:
                        for sign in range(4):
                            lowest, highest = rows[table, LIMITS + sign], rows[table, LIMITS + sign + 1]
                            if lowest < highest:
                                low, high = _passed(sign, limits, lowest, highest, value)
                                if low < high:
                                    _report(tables.limit_hit, low, high, notes)
            for k in range(rows[table, OTHERS], rows[table, OTHERS_END]):
                if holds(others[k, 0], data, begin, end, tests):
                    _report(tables.hits, others[k, 1], others[k, 2], notes)
    counts[VISITS] = 0


@inner
def _visit(state, begin, end, counts, visits):  # type: ignore[no-untyped-def]
    """Put a visit down; False if there is no room for another."""
    at = counts[VISITS]
    visits[at, 0] = state
    visits[at, 1] = begin
    visits[at, 2] = end
    counts[VISITS] = at + 1
    return at + 1 < len(visits)


@inner
def _state_of(element, top, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
    """The state of an element whose parent's is known; FULL if there is no room for it."""
    above = notes.states[room.elements[element, PARENT] - top]
    if above == DEAD:
        return DEAD
    return following(above, translate[room.elements[element, NAME]], nfa, dfa)


@inner
def walk(top, end, room, translate, nfa, dfa, tables, tests, notes):  # type: ignore[no-untyped-def]
    """Go on through the elements of a document; False where the Dfa has no room for the next.

    A visit that is repeated after room was made reports and notes the same again, which changes nothing.
    """
    counts, found, visits = notes.counts, notes.states, notes.visits
    states, links, pool = dfa.states, dfa.links, dfa.pool
    elements, names, texts = room.elements, room.attributes, room.texts
    symbols = len(nfa.wild)
    for element in range(counts[ELEMENT], end):
        counts[ELEMENT] = element
        state = START
        if element != top:
            state = found[elements[element, PARENT] - top]
            if state != DEAD:
                symbol = translate[elements[element, NAME]]
                above, state = state, linked(np.int64(state >> SHIFT) * 2 * symbols + symbol, links)
                if state == FULL:
                    state = following(above, symbol, nfa, dfa)
                    if state == FULL:
                        look_up(room.data, pool, states, tables, tests, notes)
                        return False
        found[element - top] = state
        if state == DEAD:
            continue
        roomy = True
        if state & ASKS:
            row = state >> SHIFT
            begin, close = elements[element, BEGIN], elements[element, END]
            roomy = _visit(row, begin, close, counts, visits)
            text = elements[element, LAST] if states[row, TEXT] < states[row, TEXT_END] else -1
            while text >= 0:
                if not roomy:
                    look_up(room.data, pool, states, tables, tests, notes)
                roomy = _visit(-1 - row, texts[text, BEGIN], texts[text, END], counts, visits)
                text = texts[text, BEFORE]
        last = elements[element + 1, FIRST] if state & HAS_ATTRIBUTES and element != top else 0
        for i in range(elements[element, FIRST], last):
            symbol = translate[names[i, NAME]]
            held = linked((np.int64(state >> SHIFT) * 2 + 1) * symbols + symbol, links)
            if held == FULL:
                held = attributes(state, symbol, nfa, dfa)
                if held == FULL:
                    look_up(room.data, pool, states, tables, tests, notes)
                    return False
            if held != DEAD:
                if not roomy:
                    look_up(room.data, pool, states, tables, tests, notes)
                roomy = _visit(held >> SHIFT, names[i, BEGIN], names[i, END], counts, visits)
        if not roomy:
            look_up(room.data, pool, states, tables, tests, notes)
    counts[ELEMENT] = end
    look_up(room.data, pool, states, tables, tests, notes)
    return True


@inner
def retrace(top, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
    """Make the states of all that the next element lies in again, after they were dropped; False without room."""
    notes.states[0] = START
    reached = top
    while notes.counts[ELEMENT] != top and reached != room.elements[notes.counts[ELEMENT], PARENT]:
        # The next one down: it lies in ``reached``. Depth is bounded, and states are dropped rarely.
        element = room.elements[notes.counts[ELEMENT], PARENT]
        while room.elements[element, PARENT] != reached:
            element = room.elements[element, PARENT]
        state = _state_of(element, top, room, translate, nfa, dfa, notes)
        if state == FULL:
            return False
        notes.states[element - top] = state
        reached = element
    return True


@inner
def fill(entries, literals, slots):  # type: ignore[no-untyped-def]
    """Put the literals of tables where ``_look_up_text`` looks for them."""
    for entry in range(len(entries)):
        mixed = hashed(literals, entries[entry, 1], entries[entry, 2])
        slot = equal_slot(entries[entry, 0], mixed, len(slots))
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = entry
