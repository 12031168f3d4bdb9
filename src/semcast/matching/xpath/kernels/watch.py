"""Which conditions may hold: each *watches* the rarest of its needs, and is looked at only where that is met.

A need is a list of atoms of which the document must have one. As in solvers of satisfiability, which watch a literal of
each clause, most conditions of most documents are never touched. Which need is rare is learned: on some documents
the atoms that are met are counted, and a condition that was looked at in vain moves to the need that is met least
often of those that failed it. Where a condition watches changes what it costs, never what it matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from semcast.matching.xpath.arrays import Ints, Words
from semcast.matching.xpath.kernels.bits import drop, is_in, put
from semcast.matching.xpath.kernels.compiled import inlined, inner, prefetch
from semcast.matching.xpath.kernels.lookup import FIRED, HELD_COUNT, HIT_COUNT, SERIAL, TRIED

NEED, CODE, NEXT, BLOCKER = range(4)
"""Columns of ways: its need; ``2 · condition``, + 1 if its atom is enough; the next way that waits for the same atom;
and an atom without which its condition cannot hold, or -1. Where that is not met, the condition is not looked at."""
NEEDS, NEEDS_END, FRONTS, FRONTS_END, ENTRY, WATCHED = range(6)
"""Columns of conditions. WATCHED is the need that it waits for."""
FIRST_WAY, FIRST_NEXT, FIRST_BLOCKER = range(3)
"""Columns of heads: the first way that waits for an atom, or LAST_WAY, and what ways have of it, so that a look at the
head is enough where it is the only one and blocked."""
OUT, LAST_WAY = -2, -1
_LEARNED_FIRST, _LEARNED_THEN = 64, 16  # all of the first documents are learned from, then one in sixteen
_HALVED = 1 << 15  # documents after which what was counted weighs half


class Watches(NamedTuple):
    """Ways by the atom that they wait for. A way that its condition no longer watches goes when it is met next."""

    ways: Ints
    atoms: Ints  # [way]
    needs: Ints  # [need]: where its ways begin, up to those of the next
    conditions: Ints
    heads: Ints  # [atom]
    watched: Words  # atoms that a way waits for
    tally: Ints  # [atom]: of how many documents


@inlined
def _lead(atom, way, watches):  # type: ignore[no-untyped-def]
    """Let a way be the first that waits for an atom."""
    heads, ways = watches.heads, watches.ways
    heads[atom, FIRST_WAY] = way
    if way != LAST_WAY:
        heads[atom, FIRST_NEXT], heads[atom, FIRST_BLOCKER] = ways[way, NEXT], ways[way, BLOCKER]


@inner
def watch(need, watches):  # type: ignore[no-untyped-def]
    """Let all ways of a need wait for their atoms."""
    ways, atoms = watches.ways, watches.atoms
    for way in range(watches.needs[need], watches.needs[need + 1]):
        if ways[way, NEXT] == OUT:
            atom = atoms[way]
            ways[way, NEXT] = watches.heads[atom, FIRST_WAY]
            _lead(atom, way, watches)
            put(atom, watches.watched)


@inner
def watch_all(watches):  # type: ignore[no-untyped-def]
    """The first need of every condition, in the beginning."""
    for condition in range(len(watches.conditions)):
        need = watches.conditions[condition, NEEDS]
        watches.conditions[condition, WATCHED] = need
        if need < watches.conditions[condition, NEEDS_END]:
            watch(need, watches)


@inner
def _count(met, tally, halve):  # type: ignore[no-untyped-def]
    for word in range(len(met)):
        left = met[word]
        while left != np.uint64(0):
            tally[(word << 6) + np.int64(trailing_zeros(left))] += 1
            left &= left - np.uint64(1)
    if halve:
        for atom in range(len(tally)):
            tally[atom] >>= 1


@inlined
def _is_met(need, met, watches):  # type: ignore[no-untyped-def]
    for way in range(watches.needs[need], watches.needs[need + 1]):  # noqa: SIM110 - compiled
        if is_in(watches.atoms[way], met):
            return True
    return False


@inlined
def _often(need, watches):  # type: ignore[no-untyped-def]
    found = 0
    for way in range(watches.needs[need], watches.needs[need + 1]):
        found += watches.tally[watches.atoms[way]]
    return found


@inlined
def _failed(condition, learning, met, watches):  # type: ignore[no-untyped-def]
    """A need that is not met, -1 if all are; when ``learning`` the rarest of them."""
    row = watches.conditions[condition]
    found, fewest = -1, 0
    for need in range(row[NEEDS], row[NEEDS_END]):
        if need == row[WATCHED] or _is_met(need, met, watches):
            continue
        if not learning:
            return need
        often = _often(need, watches)
        if found < 0 or often < fewest:
            found, fewest = need, often
    return found


@inlined
def _hold(condition, notes):  # type: ignore[no-untyped-def]
    if notes.held[condition] != notes.counts[SERIAL]:
        notes.held[condition] = notes.counts[SERIAL]
        notes.holding[notes.counts[HELD_COUNT]] = condition
        notes.counts[HELD_COUNT] += 1


@inlined
def _stays(way, learning, notes, watches):  # type: ignore[no-untyped-def]
    """A way whose atom is met: look at its condition. False if it waits here no longer."""
    counts, ways = notes.counts, watches.ways
    if not learning and ways[way, BLOCKER] >= 0 and not is_in(ways[way, BLOCKER], notes.met):
        return True
    condition, need = ways[way, CODE] >> 1, ways[way, NEED]
    if ways[way, CODE] & 1:
        _hold(condition, notes)
        return True
    if watches.conditions[condition, WATCHED] != need:
        return False
    if notes.hit[condition] == counts[SERIAL]:
        return True
    notes.hit[condition] = counts[SERIAL]
    counts[TRIED] += 1
    failed = _failed(condition, learning, notes.met, watches)
    if failed < 0:
        notes.hits[counts[HIT_COUNT]] = condition
        counts[HIT_COUNT] += 1
        return True
    if learning and _often(failed, watches) < _often(need, watches):
        # The ways of a need that failed wait for atoms that are not met, so no list that is being gone through grows.
        watches.conditions[condition, WATCHED] = failed
        watch(failed, watches)
        return False
    if watches.needs[failed + 1] - watches.needs[failed] == 1:
        ways[way, BLOCKER] = watches.atoms[watches.needs[failed]]
    return True


@inlined
def _fire(atom, learning, notes, watches):  # type: ignore[no-untyped-def]
    ways = watches.ways
    first = way = watches.heads[atom, FIRST_WAY]
    before = LAST_WAY
    while way != LAST_WAY:
        following = ways[way, NEXT]
        if _stays(way, learning, notes, watches):
            before = way
        else:
            ways[way, NEXT] = OUT
            if before == LAST_WAY:
                first = following
            else:
                ways[before, NEXT] = following
        way = following
    _lead(atom, first, watches)
    if first == LAST_WAY:
        drop(atom, watches.watched)


@inlined
def _unblocked(count, learning, notes, watches):  # type: ignore[no-untyped-def]
    """Leave out atoms of which the head says that nothing is to be looked at; returns how many are left."""
    fired, heads, ways = notes.fired, watches.heads, watches.ways
    left = 0
    for i in range(count):
        head = heads[fired[i]]
        blocked = head[FIRST_BLOCKER] >= 0 and not is_in(head[FIRST_BLOCKER], notes.met)
        if learning or not blocked or head[FIRST_NEXT] != LAST_WAY:
            prefetch(ways, np.int64(head[FIRST_WAY]) * ways.shape[1])
            prefetch(ways, np.int64(max(head[FIRST_NEXT], 0)) * ways.shape[1])
            fired[left] = fired[i]
            left += 1
    return left


@inlined
def _prepare(count, notes, watches):  # type: ignore[no-untyped-def]
    """Have fetched what the first ``count`` atoms lead to, all at once instead of one behind the other."""
    fired, heads, ways, conditions = notes.fired, watches.heads, watches.ways, watches.conditions
    end = count  # behind the atoms: conditions
    for i in range(count):
        way = heads[fired[i], FIRST_WAY]
        while way != LAST_WAY and end < len(fired):
            blocker = ways[way, BLOCKER]
            if blocker < 0 or is_in(blocker, notes.met):
                condition = np.int64(ways[way, CODE] >> 1)
                prefetch(conditions, condition * conditions.shape[1])
                prefetch(notes.hit, condition)
                fired[end] = condition
                end += 1
            way = ways[way, NEXT]
    for i in range(count, end):
        prefetch(watches.needs, np.int64(conditions[fired[i], NEEDS]))
    for i in range(count, end):
        prefetch(watches.atoms, np.int64(watches.needs[conditions[fired[i], NEEDS]]))


@inner
def fire(notes, watches):  # type: ignore[no-untyped-def]
    """Once per document: hold what is decided, and find what is left to verify."""
    serial = notes.counts[SERIAL]
    if notes.counts[FIRED] == serial:
        return
    notes.counts[FIRED] = serial
    learning = serial <= _LEARNED_FIRST or serial % _LEARNED_THEN == 0
    if learning:
        _count(notes.met, watches.tally, serial % _HALVED == 0)
    count, fired = 0, notes.fired
    for word in range(len(notes.met)):
        left = notes.met[word] & watches.watched[word]
        while left != np.uint64(0):
            fired[count] = (word << 6) + np.int64(trailing_zeros(left))
            prefetch(watches.heads, np.int64(fired[count]) * watches.heads.shape[1])
            count += 1
            left &= left - np.uint64(1)
    count = _unblocked(count, learning, notes, watches)
    _prepare(count, notes, watches)
    for i in range(count):
        _fire(fired[i], learning, notes, watches)
