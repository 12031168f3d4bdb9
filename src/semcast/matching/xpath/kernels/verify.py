"""Conditions that the walk left open, decided on the document's arrays.

A path, from any step on, is a *front*: for each element the first node, in document order, that the path leads to
from there, or NONE. A front is made from that of the next step, from the end of the path to its beginning, in time
proportional to the nodes that its step can lead to; so a condition takes O(document · expression) time, however its
predicates and ``//`` are nested. Fronts that several conditions share are made once per document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Ints, Longs
from semcast.matching.xpath.kernels.compiled import inlined, inner, prefetch
from semcast.matching.xpath.kernels.lookup import (
    CANDIDATE,
    CHAINED,
    EPOCH,
    HELD_COUNT,
    HIT_COUNT,
    SERIAL,
    SLOTS,
    VERIFIED,
)
from semcast.matching.xpath.kernels.scanner import BEGIN, END, NAME, OWNER, PARENT
from semcast.matching.xpath.kernels.texts import STEPS, holds
from semcast.matching.xpath.kernels.watch import ENTRY, FRONTS, FRONTS_END

ELEMENT_NODE, ATTRIBUTE_NODE, TEXT_NODE = range(3)
AXIS, DEEP, SYMBOL, WILD, REST, PROGRAM, DRIVER = range(7)
"""Columns of fronts; the rest of the path, the program of its predicates and of the test at its end, and a front that
must lead somewhere from each node of its step, are -1 where there are none."""
MADE, LEADS, SOURCES = range(3)
"""Columns of what is made: in which epoch, 2 · slot + 1 if it leads anywhere, and from how many elements it does."""
FEW = 16  # elements from which a front leads that are told one by one
FRONT, FIRST_NODE, ITSELF, ALWAYS, NEVER, UNLESS, WHERE, NEGATE, DONE = range(9)
"""Instructions. They leave a truth; UNLESS and WHERE jump if it is false or true."""
NONE = 2147483647


class Conditions(NamedTuple):
    """What profiles ask for, and what of it is known of the document at hand."""

    conditions: Ints
    order: Ints  # 2 · front, each behind those that it is made from; + 1 if a condition is false where it leads nowhere
    fronts: Ints
    code: Ints  # instruction, and three arguments
    made: Longs  # of each front
    store: Ints  # one row of the document's elements for each front made
    sources: Ints  # [FEW · slot]: the elements that a front leads anywhere from, ascending, if they are few
    chains: Ints  # [2 · symbol]: the first element, [2 · symbol + 1] the first attribute of that name
    next_element: Ints
    next_attribute: Ints


@inner
def _chain(document, room, translate, conditions):  # type: ignore[no-untyped-def]
    """The elements and attributes of each name, in document order."""
    conditions.chains[:] = -1
    for element in range(document[1] - 1, document[0], -1):
        symbol = translate[room.elements[element, NAME]]
        conditions.next_element[element - document[0]] = conditions.chains[2 * symbol]
        conditions.chains[2 * symbol] = element
    for attribute in range(document[3] - 1, document[2] - 1, -1):
        symbol = translate[room.attributes[attribute, NAME]]
        conditions.next_attribute[attribute - document[2]] = conditions.chains[2 * symbol + 1]
        conditions.chains[2 * symbol + 1] = attribute


@inlined
def _node_holds(test, axis, node, room, tests):  # type: ignore[no-untyped-def]
    if axis == ELEMENT_NODE:
        begin, end = room.elements[node, BEGIN], room.elements[node, END]
    elif axis == ATTRIBUTE_NODE:
        begin, end = room.attributes[node, BEGIN], room.attributes[node, END]
    else:
        begin, end = room.texts[node, BEGIN], room.texts[node, END]
    return holds(test, room.data, begin, end, tests)


@inlined
def _true(at, axis, node, document, room, tests, conditions):  # type: ignore[no-untyped-def]
    """Run the program at ``at`` with a node as context. Arguments of a path: front, is it absolute, test, axis."""
    code = conditions.code
    top = document[0]
    size = document[1] - top
    truth = True
    while code[at, 0] != DONE:
        kind = code[at, 0]
        if kind in (UNLESS, WHERE):
            at = code[at, 1] if truth == (kind == WHERE) else at + 1
            continue
        tested, tested_axis = -1, axis
        if kind in (FRONT, FIRST_NODE):
            context = 0 if code[at, 2] else node - top
            first = conditions.store[(conditions.made[code[at, 1], LEADS] >> 1) * size + context]
            truth = first != NONE
            if truth and kind == FIRST_NODE:
                tested, tested_axis = first, code[at, 4]
        elif kind == ITSELF:
            tested = top if code[at, 2] else node
            tested_axis = ELEMENT_NODE if code[at, 2] else axis
        elif kind == NEGATE:
            truth = not truth
        else:
            truth = kind == ALWAYS
        if tested >= 0:
            # The one place that tests: compiling takes as long as there are copies of what is called.
            truth = _node_holds(code[at, 3], tested_axis, tested, room, tests)
        at += 1
    return truth


@inlined
def _add_source(owner, front, conditions):  # type: ignore[no-untyped-def]
    made, sources = conditions.made, conditions.sources
    count = made[front, SOURCES]
    made[front, SOURCES] = count + 1
    if count < FEW:
        first = (made[front, LEADS] >> 1) * FEW
        at = first + count
        while at > first and sources[at - 1] > owner:
            sources[at] = sources[at - 1]
            at -= 1
        sources[at] = owner


@inlined
def _lead(owner, value, deep, front, base, top, room, conditions):  # type: ignore[no-untyped-def]
    """From ``owner`` (``deep``: and all that it lies in) the path leads to ``value`` first, unless to one before."""
    store = conditions.store
    while owner >= top:
        at = base + owner - top
        if store[at] <= value:
            return
        if store[at] == NONE:
            _add_source(owner, front, conditions)
        store[at] = value
        if not deep:
            return
        owner = room.elements[owner, PARENT]


@inlined
def _try(node, axis, deep, rest, program, document, front, base, room, tests, conditions):  # type: ignore[no-untyped-def]
    """A node that the step of a front leads to: where does the path go from there? False if it does not pass."""
    top = document[0]
    value = node
    tests.counts[STEPS] += 1
    if rest >= 0:
        value = conditions.store[(conditions.made[rest, LEADS] >> 1) * (document[1] - top) + node - top]
        if value == NONE:
            return False
    if program >= 0 and not _true(program, axis, node, document, room, tests, conditions):
        return False
    if axis == ELEMENT_NODE:
        owner = room.elements[node, PARENT]
    elif axis == ATTRIBUTE_NODE:
        owner = room.attributes[node, OWNER]
    else:
        owner = room.texts[node, OWNER]
    _lead(owner, value, deep, front, base, top, room, conditions)
    return True


@inlined
def _sources_of(front, conditions):  # type: ignore[no-untyped-def]
    """The slice of ``sources`` that has all elements which a front's step may lead to; -1 where that is not known."""
    driver = conditions.fronts[front, DRIVER] if front >= 0 else -1
    if driver < 0 or conditions.made[driver, SOURCES] > FEW:
        return np.int64(-1), np.int64(-1)
    first = (conditions.made[driver, LEADS] >> 1) * FEW
    return first, first + conditions.made[driver, SOURCES]


@inner
def _leads(front, program, document, room, translate, wild, tests, conditions):  # type: ignore[no-untyped-def]
    """Make a front in its slot; False if it leads nowhere. Without a front (-1): does a program hold at the top?"""
    axis, deep, symbol, named, rest = ELEMENT_NODE, False, np.int32(-1), False, np.int32(-1)
    node, end, base = document[0], document[0] + 1, 0
    if front >= 0:
        row = conditions.fronts[front]
        axis, deep, symbol, named, rest = row[AXIS], row[DEEP] == 1, row[SYMBOL], row[WILD] == 0, row[REST]
        base = (conditions.made[front, LEADS] >> 1) * (document[1] - document[0])
        conditions.store[base : base + document[1] - document[0]] = NONE
        node, end = document[0] + 1, document[1]
        if axis == ATTRIBUTE_NODE:
            node, end = document[2], document[3]
        elif axis == TEXT_NODE:
            node, end = document[4], document[5]
    source, sources_end = _sources_of(front, conditions)
    listed = source >= 0
    chained = symbol > 0 and named and not listed
    if chained:
        node = conditions.chains[2 * symbol + (axis == ATTRIBUTE_NODE)]
    elif listed:
        node = conditions.sources[source] if source < sources_end else -1
    found = False
    while 0 <= node < end:
        inside = not listed or node > document[0]  # the document node is no element
        leads = inside and (chained or symbol < 0)
        if inside and not leads:
            name = translate[room.attributes[node, NAME] if axis == ATTRIBUTE_NODE else room.elements[node, NAME]]
            leads = name == symbol or wild[name] == symbol
        if leads and _try(node, axis, deep, rest, program, document, front, base, room, tests, conditions):
            found = True
        if listed:
            source += 1
            node = conditions.sources[source] if source < sources_end else -1
        elif not chained:
            node += 1
        elif axis == ATTRIBUTE_NODE:
            node = conditions.next_attribute[node - document[2]]
        else:
            node = conditions.next_element[node - document[0]]
    return found


@inner
def _holds(condition, document, room, translate, wild, tests, notes, conditions):  # type: ignore[no-untyped-def]
    """Decide one condition; False as the second if there is no room for its fronts."""
    counts, made = notes.counts, conditions.made
    row = conditions.conditions[condition]
    size = document[1] - document[0]
    if (counts[SLOTS] + row[FRONTS_END] - row[FRONTS]) * size > len(conditions.store):
        counts[EPOCH] += 1  # forget the fronts of other conditions
        counts[SLOTS] = 0
        if (row[FRONTS_END] - row[FRONTS]) * size > len(conditions.store):
            return False, False
    if counts[CHAINED] != counts[SERIAL]:
        counts[CHAINED] = counts[SERIAL]
        _chain(document, room, translate, conditions)
    counts[VERIFIED] += 1
    for i in range(row[FRONTS], row[FRONTS_END] + 1):
        front, required, program, known = -1, 1, row[ENTRY], False
        if i < row[FRONTS_END]:
            front, required = conditions.order[i] >> 1, conditions.order[i] & 1
            program, known = conditions.fronts[front, PROGRAM], made[front, MADE] == counts[EPOCH]
            if not known:
                made[front, MADE] = counts[EPOCH]
                made[front, LEADS] = counts[SLOTS] << 1
                made[front, SOURCES] = 0 if (counts[SLOTS] + 1) * FEW <= len(conditions.sources) else FEW + 1
                counts[SLOTS] += 1
        leads = known and made[front, LEADS] & 1 == 1
        if not known:
            leads = _leads(front, program, document, room, translate, wild, tests, conditions)
            if leads and front >= 0:
                made[front, LEADS] |= 1
        if required and not leads:
            return False, True
    return True, True


@inner
def _prepare(notes, conditions):  # type: ignore[no-untyped-def]
    """Have fetched what the conditions that were hit will look at; each turn needs what the turn before fetched."""
    rows, order, fronts = conditions.conditions, conditions.order, conditions.fronts
    for turn in range(3):
        for i in range(notes.counts[HIT_COUNT]):
            row = rows[notes.hits[i]]
            if turn == 0:
                prefetch(order, np.int64(row[FRONTS]))
                prefetch(conditions.code, np.int64(row[ENTRY]) * 5)
                continue
            for k in range(row[FRONTS], row[FRONTS_END]):
                front = np.int64(order[k] >> 1)
                if turn == 1:
                    prefetch(fronts, front * fronts.shape[1])
                    prefetch(conditions.made, front * conditions.made.shape[1])
                elif fronts[front, PROGRAM] >= 0:
                    prefetch(conditions.code, np.int64(fronts[front, PROGRAM]) * 5)


@inner
def verify(document, room, translate, wild, tests, notes, conditions):  # type: ignore[no-untyped-def]
    """Go on through the conditions that were hit; False where there is no room for the fronts of the next."""
    counts = notes.counts
    _prepare(notes, conditions)
    while counts[CANDIDATE] < counts[HIT_COUNT]:
        condition = notes.hits[counts[CANDIDATE]]
        if notes.held[condition] != counts[SERIAL]:
            truth, roomy = _holds(condition, document, room, translate, wild, tests, notes, conditions)
            if not roomy:
                return False
            if truth:
                notes.held[condition] = counts[SERIAL]
                notes.holding[counts[HELD_COUNT]] = condition
                counts[HELD_COUNT] += 1
        counts[CANDIDATE] += 1
    return True
