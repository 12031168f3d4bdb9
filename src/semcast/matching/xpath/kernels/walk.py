"""One walk down a document, in which each element and attribute is one look-up in the automaton.

What is asked for where the walk comes by is put down as a visit, and visits are looked up together.
"""

from __future__ import annotations

import numpy as np

from semcast.matching.xpath.kernels.automaton import (
    ASKS,
    DEAD,
    FULL,
    HAS_ATTRIBUTES,
    SHIFT,
    START,
    TEXTS,
    attributes,
    following,
    linked,
)
from semcast.matching.xpath.kernels.compiled import inlined, inner, prefetch
from semcast.matching.xpath.kernels.lookup import ELEMENT, VISITS
from semcast.matching.xpath.kernels.scanner import BEFORE, BEGIN, END, FIRST, LAST, NAME, PARENT


@inlined
def _visit(state, begin, end, counts, visits, states, seen):  # type: ignore[no-untyped-def]
    prefetch(states, np.int64(state) * states.shape[1])
    prefetch(seen, np.int64(state) * seen.shape[1])
    at = counts[VISITS]
    visits[at, 0] = state
    visits[at, 1] = begin
    visits[at, 2] = end
    counts[VISITS] = at + 1


@inner
def _state_of(element, top, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
    """The state of an element whose parent's is known; FULL if there is no room for it."""
    above = notes.states[room.elements[element, PARENT] - top]
    if above == DEAD:
        return DEAD
    return following(above, translate[room.elements[element, NAME]], nfa, dfa)


@inner
def walk(top, end, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
    """Go on through the elements of a document; False where the Dfa has no room for the next.

    A visit that is repeated after room was made finds the same again, which changes nothing.
    """
    counts, found, visits = notes.counts, notes.states, notes.visits
    states, links, seen = dfa.states, dfa.links, notes.seen
    elements, names, texts = room.elements, room.attributes, room.texts
    symbols = len(nfa.wild)
    counts[VISITS] = 0
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
                        return False
        found[element - top] = state
        if state == DEAD:
            continue
        if state & ASKS:
            row = state >> SHIFT
            _visit(row, elements[element, BEGIN], elements[element, END], counts, visits, states, seen)
            below = states[row, TEXTS]
            text = elements[element, LAST] if below != DEAD else -1
            while text >= 0:
                _visit(below, texts[text, BEGIN], texts[text, END], counts, visits, states, seen)
                text = texts[text, BEFORE]
        last = elements[element + 1, FIRST] if state & HAS_ATTRIBUTES and element != top else 0
        for i in range(elements[element, FIRST], last):
            symbol = translate[names[i, NAME]]
            held = linked((np.int64(state >> SHIFT) * 2 + 1) * symbols + symbol, links)
            if held == FULL:
                held = attributes(state, symbol, nfa, dfa)
                if held == FULL:
                    return False
            if held != DEAD:
                _visit(held >> SHIFT, names[i, BEGIN], names[i, END], counts, visits, states, seen)
    counts[ELEMENT] = end
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
