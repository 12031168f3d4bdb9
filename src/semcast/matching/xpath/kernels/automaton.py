"""The automaton's states, made as documents need them.

YFilter runs the NFA itself and pays for every active place at every element. Here each set of active places
becomes one state (a lazy DFA: Green et al., *Processing XML streams with deterministic automata*, ICDT 2003), so an
element costs one look-up, however many profiles are under way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Ints, Longs
from semcast.matching.xpath.kernels.compiled import inlined, inner, sort

INSIDE, LOOPS, STAR, ELEMENT_TABLE, TEXT_TABLE, CHILDREN, ATTRIBUTE_TABLES = range(7)
"""Columns of places; the last two are where its rows begin, up to those of the next place."""
PLACES, PRESENT, EQUALS, NEEDLES, VALUES, OTHERS, UPPER, LOWER, ASKED_END, TEXTS = range(10)
"""Columns of states: where its slices of the pool begin, each up to the next. Its places, then what is asked for at
its node: atoms that are met by being there, tables of equal texts, of needles, of equal numbers, then atoms that are
met by all but one text or number, by numbers below a limit, by numbers above one, the last two in the order of their
limits. PRESENT and OTHERS have 32 atoms in two numbers, as ``bits.put_half`` takes them. TEXTS is the state of the
texts that are its children, DEAD where nobody asks for them."""
STATES, POOLED, LINKED, STAMP = range(4)
"""What ``counts`` counts."""
DEAD, FULL = 0, -1
ASKS, HAS_ATTRIBUTES, SHIFT = 1, 2, 2
"""A link leads to ``state << SHIFT`` and whether its tables and its attributes are asked for: with 50,000 profiles a
look at the state is another miss of the cache, and most need none."""
START = 1 << SHIFT | ASKS
_PACKING = 2  # numbers of the pool that an atom takes at most while it is packed, beside its own
ANY = -1  # the symbol of * as the name of an attribute


class Nfa(NamedTuple):
    """Spines with shared prefixes. Symbol s is in the namespace whose ``{uri}*`` is ``wild[s]``, or -1."""

    places: Ints
    children: Ints  # symbol, place
    attributes: Ints  # symbol, table
    wild: Ints
    tables: (
        Ints  # [table]: what states hold of it from PRESENT to VALUES, or -1, and where its lists begin in ``asked``
    )
    asked: Ints  # atoms of each table, as states hold them from OTHERS to LOWER


class Dfa(NamedTuple):
    """Sets of places. ``links`` leads from (state, symbol) to a state, ``slots`` from the places of a state to it."""

    counts: Longs
    states: Ints
    pool: Ints
    links: Longs  # key + 1 or 0, state
    slots: Ints
    stamps: Longs  # [place], for sets
    gathered: Ints


@inlined
def slot_of(key, slots):  # type: ignore[no-untyped-def]
    """Where a look-up of ``key`` begins, in so many slots."""
    return (key * 0x9E3779B97F4A7C1 >> 20) & (slots - 1)


@inner
def linked(key, links):  # type: ignore[no-untyped-def]
    """Where a key leads to, FULL if that is not known."""
    mask = len(links) - 1
    slot = slot_of(key, len(links))
    while links[slot, 0] != 0:
        if links[slot, 0] == key + 1:
            return links[slot, 1]
        slot = (slot + 1) & mask
    return FULL


@inner
def link(key, state, links):  # type: ignore[no-untyped-def]
    """Let a key, which must be new, lead somewhere."""
    mask = len(links) - 1
    slot = slot_of(key, len(links))
    while links[slot, 0] != 0:
        slot = (slot + 1) & mask
    links[slot, 0] = key + 1
    links[slot, 1] = state


@inner
def _link(key, state, dfa):  # type: ignore[no-untyped-def]
    link(key, state, dfa.links)
    dfa.counts[LINKED] += 1


@inner
def _entry(rows, begin, end, symbol):  # type: ignore[no-untyped-def]
    """What stands beside ``symbol`` in rows sorted by it; -1 if nothing does."""
    while begin < end:
        middle = (begin + end) >> 1
        if rows[middle, 0] < symbol:
            begin = middle + 1
        else:
            end = middle
    return rows[begin, 1] if begin < len(rows) and rows[begin, 0] == symbol else -1


@inner
def _lookup(rows, begin, end, symbol):  # type: ignore[no-untyped-def]
    return _entry(rows, begin, end, symbol) if begin < end and rows[end - 1, 0] >= symbol else -1


@inner
def _put(place, count, nfa, dfa):  # type: ignore[no-untyped-def]
    """Add a place, and what ``//`` opens at the same node, to the gathered set."""
    while place >= 0:
        if dfa.stamps[place] != dfa.counts[STAMP]:
            dfa.stamps[place] = dfa.counts[STAMP]
            dfa.gathered[count] = place
            count += 1
        place = nfa.places[place, INSIDE]
    return count


@inner
def _gather(state, symbol, nfa, dfa):  # type: ignore[no-untyped-def]
    dfa.counts[STAMP] += 1
    count = 0
    wild = nfa.wild[symbol]
    for i in range(dfa.states[state, PLACES], dfa.states[state, PRESENT]):
        place = dfa.pool[i]
        if nfa.places[place, LOOPS]:
            count = _put(place, count, nfa, dfa)
        count = _put(nfa.places[place, STAR], count, nfa, dfa)
        begin, end = nfa.places[place, CHILDREN], nfa.places[place + 1, CHILDREN]
        if begin < end:
            count = _put(_lookup(nfa.children, begin, end, symbol), count, nfa, dfa)
            if wild >= 0:
                count = _put(_lookup(nfa.children, begin, end, wild), count, nfa, dfa)
    return count


@inner
def _has_room(more, dfa):  # type: ignore[no-untyped-def]
    counts = dfa.counts
    if counts[STATES] + 2 >= len(dfa.states) or counts[POOLED] + more >= len(dfa.pool):
        return False
    return 2 * counts[LINKED] + 2 < len(dfa.links)


@inner
def _slot_of(count, dfa):  # type: ignore[no-untyped-def]
    """Where the gathered set's state stands, or would."""
    mask = len(dfa.slots) - 1
    mixed = np.int64(count)
    for i in range(count):
        mixed = (mixed ^ dfa.gathered[i]) * 0x100000001B3
    slot = (mixed ^ mixed >> 29) & mask
    while dfa.slots[slot] >= 0:
        state = dfa.slots[slot]
        first = dfa.states[state, PLACES]
        equal = dfa.states[state, PRESENT] - first == count
        for i in range(count):
            if not equal:
                break
            equal = dfa.pool[first + i] == dfa.gathered[i]
        if equal:
            break
        slot = (slot + 1) & mask
    return slot


@inner
def _new(dfa):  # type: ignore[no-untyped-def]
    state = dfa.counts[STATES]
    dfa.counts[STATES] = state + 1
    dfa.states[state, : ASKED_END + 1] = dfa.counts[POOLED]
    dfa.states[state, TEXTS] = DEAD
    return state


@inner
def _append(value, dfa):  # type: ignore[no-untyped-def]
    dfa.pool[dfa.counts[POOLED]] = value
    dfa.counts[POOLED] += 1


@inner
def _pack(first, dfa):  # type: ignore[no-untyped-def]
    """Let the atoms in the pool from ``first`` on be halves and masks; that takes twice their room behind them."""
    pool, last = dfa.pool, dfa.counts[POOLED]
    sort(pool, first, last)
    at = last
    for i in range(first, last):
        half = pool[i] >> 5
        if at == last or pool[at - 2] != half:
            pool[at], pool[at + 1] = half, 0
            at += 2
        pool[at - 1] |= np.int32(1) << (pool[i] & 31)
    for i in range(last, at):
        pool[first + i - last] = pool[i]
    dfa.counts[POOLED] = first + at - last


@inner
def _ask(state, begin, end, nfa, dfa):  # type: ignore[no-untyped-def]
    """Put what the gathered tables from ``begin`` to ``end`` ask for into the slices of a state."""
    for column in range(PRESENT, ASKED_END):
        first = dfa.counts[POOLED]
        for i in range(begin, end):
            table = nfa.tables[dfa.gathered[i]]
            if column >= OTHERS:
                for k in range(table[column - PRESENT], table[column - PRESENT + 1]):
                    _append(nfa.asked[k], dfa)
            elif table[column - PRESENT] >= 0:
                _append(table[column - PRESENT], dfa)
        if column in (PRESENT, OTHERS):
            _pack(first, dfa)
        elif column >= UPPER:
            sort(dfa.pool, first, dfa.counts[POOLED])
        dfa.states[state, column + 1 : ASKED_END + 1] = dfa.counts[POOLED]


@inner
def _size(begin, end, nfa, dfa):  # type: ignore[no-untyped-def]
    """How much of the pool the gathered tables from ``begin`` to ``end`` take at most."""
    found = (end - begin) * (OTHERS - PRESENT + _PACKING)
    for i in range(begin, end):
        table = nfa.tables[dfa.gathered[i]]
        found += table[ASKED_END - PRESENT] - table[OTHERS - PRESENT]
        found += _PACKING * (table[UPPER - PRESENT] - table[OTHERS - PRESENT])
    return found


@inner
def _collect(table, count, dfa):  # type: ignore[no-untyped-def]
    if table < 0:
        return count
    dfa.gathered[count] = table
    return count + 1


@inner
def _tables_of(column, places, at, nfa, dfa):  # type: ignore[no-untyped-def]
    """Gather the tables of the gathered places behind ``at``; returns where they end."""
    for i in range(places):
        at = _collect(nfa.places[dfa.gathered[i], column], at, dfa)
    return at


@inner
def _made(count, nfa, dfa):  # type: ignore[no-untyped-def]
    """A state for the gathered places, and one for the texts below; FULL without room."""
    end = _tables_of(ELEMENT_TABLE, count, count, nfa, dfa)
    last = _tables_of(TEXT_TABLE, count, end, nfa, dfa)
    if not _has_room(count + _size(count, last, nfa, dfa), dfa):
        return FULL
    state = _new(dfa)
    for i in range(count):
        _append(dfa.gathered[i], dfa)
    dfa.states[state, PRESENT : ASKED_END + 1] = dfa.counts[POOLED]
    _ask(state, count, end, nfa, dfa)
    if last > end:
        dfa.states[state, TEXTS] = _new(dfa)
        _ask(dfa.states[state, TEXTS], end, last, nfa, dfa)
    return state


@inner
def start(nfa, dfa):  # type: ignore[no-untyped-def]
    """The state at the document node, in a Dfa that is new or was emptied; False if there is no room."""
    dfa.counts[STAMP] += 1
    count = _put(0, 0, nfa, dfa)
    if not _has_room(0, dfa):
        return False
    _new(dfa)  # DEAD
    sort(dfa.gathered, 0, count)
    return _made(count, nfa, dfa) != FULL


@inner
def _signed(state, nfa, dfa):  # type: ignore[no-untyped-def]
    """What links lead to, for a state."""
    found = state << SHIFT
    if dfa.states[state, PRESENT] < dfa.states[state, ASKED_END] or dfa.states[state, TEXTS] != DEAD:
        found |= ASKS
    for i in range(dfa.states[state, PLACES], dfa.states[state, PRESENT]):
        place = dfa.pool[i]
        if nfa.places[place, ATTRIBUTE_TABLES] < nfa.places[place + 1, ATTRIBUTE_TABLES]:
            return found | HAS_ATTRIBUTES
    return found


@inner
def following(state, symbol, nfa, dfa):  # type: ignore[no-untyped-def]
    """Where a name below a state leads to; FULL if there is no room for it."""
    known = linked(np.int64(state >> SHIFT) * 2 * len(nfa.wild) + symbol, dfa.links)
    if known != FULL:
        return known
    state >>= SHIFT
    count = _gather(state, symbol, nfa, dfa)
    found = DEAD
    if not _has_room(0, dfa):
        return FULL
    if count > 0:
        sort(dfa.gathered, 0, count)
        slot = _slot_of(count, dfa)
        if dfa.slots[slot] < 0:
            made = _made(count, nfa, dfa)
            if made == FULL:
                return FULL
            dfa.slots[slot] = made
        found = _signed(dfa.slots[slot], nfa, dfa)
    _link(np.int64(state) * 2 * len(nfa.wild) + symbol, found, dfa)
    return found


@inner
def attributes(state, symbol, nfa, dfa):  # type: ignore[no-untyped-def]
    """Where an attribute of a state leads to: to its tables alone."""
    state >>= SHIFT
    count = 0
    wild = nfa.wild[symbol]
    for i in range(dfa.states[state, PLACES], dfa.states[state, PRESENT]):
        place = dfa.pool[i]
        begin, end = nfa.places[place, ATTRIBUTE_TABLES], nfa.places[place + 1, ATTRIBUTE_TABLES]
        if begin == end:
            continue
        count = _collect(_lookup(nfa.attributes, begin, end, symbol), count, dfa)
        count = _collect(_lookup(nfa.attributes, begin, end, ANY), count, dfa)
        if wild >= 0:
            count = _collect(_lookup(nfa.attributes, begin, end, wild), count, dfa)
    if not _has_room(_size(0, count, nfa, dfa), dfa):
        return FULL
    found = DEAD
    if count > 0:
        made = _new(dfa)
        _ask(made, 0, count, nfa, dfa)
        found = made << SHIFT
    _link((np.int64(state) * 2 + 1) * len(nfa.wild) + symbol, found, dfa)
    return found


@inner
def spread(links, slots, dfa):  # type: ignore[no-untyped-def]
    """Put the links and sets of a smaller Dfa into a larger one that has its states already."""
    dfa.counts[LINKED] = 0
    for i in range(len(links)):
        if links[i, 0] != 0:
            _link(links[i, 0] - 1, links[i, 1], dfa)
    for i in range(len(slots)):
        if slots[i] >= 0:
            first, end = dfa.states[slots[i], PLACES], dfa.states[slots[i], PRESENT]
            for k in range(first, end):
                dfa.gathered[k - first] = dfa.pool[k]
            dfa.slots[_slot_of(end - first, dfa)] = slots[i]
