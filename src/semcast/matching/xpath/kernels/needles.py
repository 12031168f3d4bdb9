"""Which of many pieces of text are in a text: all are searched for at once.

Aho and Corasick, *Efficient string matching*, CACM 18(6), 1975. The texts of a document are one run of bytes that is
gone through once; what an element contains is a slice of what was found, however deep elements lie in each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Bytes, Ints, Longs
from semcast.matching.xpath.kernels.automaton import FULL, link, linked
from semcast.matching.xpath.kernels.compiled import inlined, inner
from semcast.matching.xpath.kernels.texts import STEPS

CONTAINED, STARTING = 1, 2
"""What a needle is asked for."""
FAILURE, NEEDLE, SHORTER = range(3)
"""Columns of nodes: the longest other node that ends alike, the needle that ends here or -1, and the longest node that
ends alike at which a needle ends, or 0."""
SEARCHED, FOUND, NODES, NEAR = range(4)
"""What ``progress`` holds: the last document whose texts were gone through, how much was found in them (-1: too much),
how many nodes there are, and where in what was found the last text began."""
TOO_MANY = -1
_MAX_ONWARD = 1 << 16  # nodes × classes that are told at once: more does not stay in the cache
_ROOM = 1 << 12  # for what is found in all texts of a document
MANY = 256  # in one text: then it is cheaper, and bounded, to ask for one after the other


class Needles(NamedTuple):
    """Pieces of text and the automaton that finds them; node 0 is where nothing has begun.

    Nodes are numbered by their depth. The first ones know where every byte leads to, and most texts never leave them;
    from deeper ones it is looked up, or found at what ends alike.
    """

    spans: Ints  # begin, end of each needle in ``Tests.literals``
    asked: Ints  # of each needle: CONTAINED or STARTING or both
    classes: Ints  # [byte]: 0 for those that no needle has
    onward: Ints  # [node, class]: the longest node that ends so
    steps: Longs  # node · 256 + byte + 1 or 0, and the node
    nodes: Ints
    found: Ints  # where a needle ends, and which
    progress: Longs


@inlined
def _onward(node, byte, classes, onward, steps, nodes):  # type: ignore[no-untyped-def]
    """The longest node that ends with ``byte``, after ``node``."""
    while node >= len(onward):
        found = linked(node * 256 + byte, steps)
        if found != FULL:
            return np.int64(found)
        node = np.int64(nodes[node, FAILURE])
    return np.int64(onward[node, classes[byte]])


@inner
def _failure(node, byte, steps, nodes):  # type: ignore[no-untyped-def]
    """The longest node that ends as a new one below ``node`` does; all that are shorter are there already."""
    while node != 0:
        node = np.int64(nodes[node, FAILURE])
        found = linked(node * 256 + byte, steps)
        if found != FULL:
            return np.int64(found)
    return np.int64(0)


@inner
def _child(node, byte, needles):  # type: ignore[no-untyped-def]
    """The node one byte further down, made if there is none."""
    nodes, steps, progress = needles.nodes, needles.steps, needles.progress
    found = linked(node * 256 + byte, steps)
    if found != FULL:
        return np.int64(found)
    made = progress[NODES]
    progress[NODES] = made + 1
    failure = _failure(node, byte, steps, nodes)
    link(node * 256 + byte, made, steps)
    nodes[made, FAILURE] = failure
    nodes[made, NEEDLE] = -1
    # Whether a needle ends at ``failure`` is known: needles that are shorter have ended before.
    nodes[made, SHORTER] = failure if nodes[failure, NEEDLE] >= 0 else nodes[failure, SHORTER]
    return made


@inner
def _complete(needles):  # type: ignore[no-untyped-def]
    """Tell the first nodes where every byte leads to."""
    classes, onward = needles.classes, needles.onward
    for node in range(min(len(onward), needles.progress[NODES])):
        for byte in range(256):
            if classes[byte]:
                found = linked(np.int64(node) * 256 + byte, needles.steps)
                if found == FULL:
                    found = 0 if node == 0 else onward[needles.nodes[node, FAILURE], classes[byte]]
                onward[node, classes[byte]] = found


@inner
def grow(literals, reached, needles):  # type: ignore[no-untyped-def]
    """Make the nodes of all needles, level by level; these come longest first, and ``reached`` has a 0 for each."""
    spans, nodes = needles.spans, needles.nodes
    needles.progress[NODES] = 1
    nodes[0, NEEDLE] = -1
    depth, longer = 0, len(spans)
    while longer > 0:
        for needle in range(longer):
            reached[needle] = _child(np.int64(reached[needle]), literals[spans[needle, 0] + depth], needles)
        depth += 1
        while longer > 0 and spans[longer - 1, 1] - spans[longer - 1, 0] == depth:
            longer -= 1
            nodes[reached[longer], NEEDLE] = longer
    _complete(needles)


@inlined
def _find(data, begin, end, at, tests, needles):  # type: ignore[no-untyped-def]
    """Write what is in a text behind ``at``, by its end; returns where that ends, TOO_MANY if there is no room."""
    classes, onward, steps = needles.classes, needles.onward, needles.steps
    nodes, found = needles.nodes, needles.found
    node = np.int64(0)
    tests.counts[STEPS] += end - begin
    for i in range(begin, end):
        node = _onward(node, data[i], classes, onward, steps, nodes)
        if node == 0:
            continue
        ending = node if nodes[node, NEEDLE] >= 0 else np.int64(nodes[node, SHORTER])
        while ending != 0:
            if at == len(found):
                return TOO_MANY
            found[at, 0] = i + 1
            found[at, 1] = nodes[ending, NEEDLE]
            at += 1
            ending = np.int64(nodes[ending, SHORTER])
    return at


@inlined
def _first_behind(place, near, count, found):  # type: ignore[no-untyped-def]
    """The first of what was found that ends behind ``place``; from ``near`` on in steps that double, then halve."""
    at, step = max(0, min(near, count - 1)), 1
    begin, end = 0, at
    if at < count and found[at, 0] <= place:
        begin, end = at + 1, count
        while begin + step <= end and found[begin + step - 1, 0] <= place:
            begin += step
            step *= 2
        end = min(end, begin + step - 1)
    else:
        while step <= end and found[end - step, 0] > place:
            end -= step
            step *= 2
        begin = max(0, end - step + 1)
    while begin < end:
        middle = (begin + end) >> 1
        if found[middle, 0] <= place:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def find(data, begin, end, first, last, serial, tests, needles):  # type: ignore[no-untyped-def]
    """What ends in ``data[begin:end]``, as a slice of ``found``; TOO_MANY if that has no room.

    ``first`` and ``last`` are where all texts of the document begin and end; other texts are values of attributes.
    """
    progress, found = needles.progress, needles.found
    whole = first <= begin and end <= last
    known = progress[SEARCHED] == serial
    low = max(0, progress[FOUND]) if known and not whole else 0
    high = progress[FOUND]
    if not known or not whole:
        high = _find(data, first if whole else begin, last if whole else end, low, tests, needles)
    if whole:
        progress[SEARCHED] = serial
        progress[FOUND] = high
        if high == TOO_MANY:
            return 0, TOO_MANY
        low = _first_behind(begin, progress[NEAR], high, found)
        progress[NEAR] = low
        high = _first_behind(end, low, high, found)
    return low, high if high - low <= MANY else TOO_MANY


def room_for(spans: Ints, asked: Ints, literals: Bytes) -> Needles:
    """The automaton of needles, without its nodes yet."""
    nodes = int((spans[:, 1] - spans[:, 0]).sum()) + 1
    known = np.unique(np.concatenate([np.empty(0, np.uint8), *(literals[begin:end] for begin, end in spans.tolist())]))
    classes = np.zeros(256, np.int32)
    classes[known] = np.arange(1, len(known) + 1)
    return Needles(
        spans=spans,
        asked=asked,
        classes=classes,
        onward=np.zeros((max(1, min(nodes, _MAX_ONWARD // (len(known) + 1))), len(known) + 1), np.int32),
        steps=np.zeros((1 << max(3, (2 * nodes).bit_length()), 2), np.int64),
        nodes=np.zeros((nodes, 3), np.int32),
        found=np.zeros((_ROOM, 2), np.int32),
        progress=np.zeros(4, np.int64),
    )
