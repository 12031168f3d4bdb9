"""What a key means at a state, which is asked of all tables of the state once and then remembered.

Keys are the texts that somebody compares with, the pieces of text that somebody searches for and the limits of numbers.
With 50,000 profiles each look-up is a miss of the cache. So those of a document are put down first, while what they
will look at is fetched, and are answered together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Ints, Longs
from semcast.matching.xpath.kernels.automaton import EQUALS, FULL, NEEDLES, OTHERS, VALUES, link, linked, slot_of
from semcast.matching.xpath.kernels.bits import put
from semcast.matching.xpath.kernels.compiled import inlined, inner, prefetch

FIRST_NEEDLE, FIRST_LIMIT, KEYS, KEPT_END, SLOTTED, REMEMBERED, KEPT, ASKED = range(8)
"""What ``sizes`` holds: the first key of a needle (two for each: to contain it, to start with it) and of a limit, how
many keys there are, how much of ``kept`` may be taken before the next key; how many slots are in use, how much of these
and of ``kept`` is taken, and how many keys are put down."""
ROOM = 1 << 12  # for keys that are put down
NOTHING = 0
_FIRST_SLOTS = 1 << 8


class Memory(NamedTuple):
    """A slot leads from ``state · keys + key`` to one atom (``-2 - atom``), to NOTHING, or to a place in ``kept``."""

    sizes: Longs
    pairs: Longs  # table · keys + key + 1 or 0, and its atom: what is remembered is made from this
    slots: Longs
    spare: Longs  # room for what is remembered while it is spread over twice the slots
    kept: Ints  # how many atoms, and these
    asked: Longs  # state · keys + key


def room_for(texts: int, needles: int, limits: int, tables: int, entries: int, pairs: Longs) -> Memory:
    """Memory of ``entries`` keys of states; of fewer as long as that is enough."""
    sizes = np.zeros(8, np.int64)
    sizes[FIRST_NEEDLE], sizes[FIRST_LIMIT] = texts, texts + 2 * needles
    sizes[KEYS] = texts + 2 * needles + limits
    sizes[KEPT_END], sizes[KEPT] = 8 * entries, NOTHING + 1
    sizes[SLOTTED] = min(_FIRST_SLOTS, 2 * entries)
    return Memory(
        sizes=sizes,
        pairs=pairs,
        slots=np.zeros((2 * entries, 2), np.int64),
        spare=np.zeros((entries // 2 + 1, 2), np.int64),
        kept=np.zeros(8 * entries + tables + 1, np.int32),
        asked=np.zeros(ROOM, np.int64),
    )


def forget(memory: Memory) -> None:
    """All that is remembered; also where the numbers of states are given to others."""
    memory.sizes[REMEMBERED] = 0
    memory.sizes[KEPT] = NOTHING + 1
    memory.slots[: memory.sizes[SLOTTED]] = 0


_forget = inner(forget)


@inner
def _spread(memory):  # type: ignore[no-untyped-def]
    """Twice the slots for what is remembered, of which there is at most one for two slots."""
    sizes, slots, spare = memory.sizes, memory.slots, memory.spare
    count = 0
    for slot in range(sizes[SLOTTED]):
        if slots[slot, 0] != 0:
            spare[count, 0], spare[count, 1] = slots[slot, 0], slots[slot, 1]
            count += 1
    slots[: sizes[SLOTTED]] = 0
    sizes[SLOTTED] *= 2
    for i in range(count):
        link(spare[i, 0] - 1, spare[i, 1], slots[: sizes[SLOTTED]])


@inlined
def ask(state, key, memory):  # type: ignore[no-untyped-def]
    """Put a key down; who asks for many sees to it that there is room."""
    known = state * memory.sizes[KEYS] + key
    prefetch(memory.slots, 2 * slot_of(known, memory.sizes[SLOTTED]))
    memory.asked[memory.sizes[ASKED]] = known
    memory.sizes[ASKED] += 1


@inner
def _remembered(known, states, pool, memory):  # type: ignore[no-untyped-def]
    """Ask the tables of a state for a key, and keep what was found."""
    sizes, kept = memory.sizes, memory.kept
    row, key = states[known // sizes[KEYS]], known % sizes[KEYS]
    first, last = row[VALUES], row[OTHERS]
    if key < sizes[FIRST_NEEDLE]:
        first, last = row[EQUALS], row[NEEDLES]
    elif key < sizes[FIRST_LIMIT]:
        first, last = row[NEEDLES], row[VALUES]
    at = sizes[KEPT]
    count = 0
    for i in range(first, last):
        atom = linked(pool[i] * sizes[KEYS] + key, memory.pairs)
        if atom != FULL:
            count += 1
            kept[at + count] = atom
    found = np.int64(NOTHING)
    if count == 1:
        found = np.int64(-2 - kept[at + 1])
    elif count > 1:
        found = at
        kept[at] = count
        sizes[KEPT] = at + 1 + count
    link(known, found, memory.slots[: sizes[SLOTTED]])
    sizes[REMEMBERED] += 1
    return found


@inlined
def _put_kept(count, memory, met):  # type: ignore[no-untyped-def]
    """Put the atoms at the first ``count`` places that stand in ``asked``."""
    kept = memory.kept
    for i in range(count):
        at = memory.asked[i]
        for k in range(at + 1, at + 1 + kept[at]):
            put(kept[k], met)


@inner
def answer(states, pool, memory, met):  # type: ignore[no-untyped-def]
    """Put the atoms of all keys that were put down. Room is doubled as it is needed; at its end all is forgotten."""
    sizes, slots, asked = memory.sizes, memory.slots, memory.asked
    several = 0
    for i in range(sizes[ASKED]):
        found = linked(asked[i], slots[: sizes[SLOTTED]])
        if found == FULL:
            full = 2 * sizes[REMEMBERED] >= sizes[SLOTTED]
            if full and sizes[SLOTTED] < len(slots) and sizes[KEPT] < sizes[KEPT_END]:
                _spread(memory)
            elif full or sizes[KEPT] >= sizes[KEPT_END]:
                _put_kept(several, memory, met)
                several = 0
                _forget(memory)
            found = _remembered(asked[i], states, pool, memory)
        if found < FULL:
            put(-2 - found, met)
        elif found != NOTHING:
            prefetch(memory.kept, found)
            asked[several] = found
            several += 1
    _put_kept(several, memory, met)
    sizes[ASKED] = 0
