"""The compiled inner loops that see a tree as rows of bits: who is at or below each node, and who is not.

A message is a bit; ``own[row[v]]`` holds the messages that have an end at node v: that v wants, or that enter
the overlay there. A message travels over a link iff it has ends on both sides. All bits of one word have the same
weight (``weight[w]``), so heavy messages cost no more than light ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.model.bits import ones

OFF = -2  # parent of a node that is not on the tree; the root's is -1


@njit("int64(uint64[::1], uint64[::1], int64[::1])", cache=True, nogil=True)
def absent(mask, bits, weight):  # type: ignore[no-untyped-def]
    """The weight of the messages of ``mask`` that are not in ``bits``."""
    total = 0
    for w in range(len(mask)):
        total += ones(mask[w] & ~bits[w]) * weight[w]
    return total


@njit("int64(uint64[::1], uint64[::1], int64[::1])", cache=True, nogil=True)
def common(mask, bits, weight):  # type: ignore[no-untyped-def]
    total = 0
    for w in range(len(mask)):
        total += ones(mask[w] & bits[w]) * weight[w]
    return total


@njit("void(uint64[::1], uint64[::1])", cache=True, nogil=True)
def unite(into, bits):  # type: ignore[no-untyped-def]
    for w in range(len(into)):
        into[w] |= bits[w]


@njit("void(uint64[::1], uint64[::1], uint64[::1])", cache=True, nogil=True)
def unite_twice(once, twice, bits):  # type: ignore[no-untyped-def]
    """Keep what was in one row at least, and what was in two at least."""
    for w in range(len(once)):
        twice[w] |= once[w] & bits[w]
        once[w] |= bits[w]


@njit("void(uint64[::1], uint64[::1], uint64[::1], uint64[::1])", cache=True, nogil=True)
def others(once, twice, bits, into):  # type: ignore[no-untyped-def]
    """What the rows united so far hold without the row ``bits``."""
    for w in range(len(once)):
        into[w] = (once[w] & ~bits[w]) | twice[w]


@njit("int64(int32[::1], int64, int32[::1], int32[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def hang(parent, root, first, following, order, size):  # type: ignore[no-untyped-def]
    """List each node's children (``first``, then ``following``), and all nodes so that all below a node follow it.

    ``size[i]``: how many nodes are at the i-th or below. Returns how many are on the tree.
    """
    first[:] = -1
    for node in range(len(parent) - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            following[node] = first[above]
            first[above] = node
    place = np.empty(len(parent), np.int32)
    count = 0
    node = root
    while node >= 0:
        order[count] = node
        place[node] = count
        count += 1
        if first[node] >= 0:
            node = first[node]
            continue
        while node != root and following[node] < 0:
            size[place[node]] = count - place[node]
            node = parent[node]
        size[place[node]] = count - place[node]
        node = following[node] if node != root else -1
    return count


@njit(
    "void(int32[::1], int64, int32[::1], int32[::1], uint64[:,::1], uint64[:,::1])",
    cache=True,
    nogil=True,
)
def gather(order, count, parent, row, own, below):  # type: ignore[no-untyped-def]
    """Per node the messages with an end at it or below."""
    for place in range(count):
        node = order[place]
        if row[node] >= 0:
            below[node] = own[row[node]]
        else:
            below[node] = np.uint64(0)
    for place in range(count - 1, 0, -1):
        unite(below[parent[order[place]]], below[order[place]])


@njit(
    "void(int32[::1], int64, int32[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1],"
    " uint64[:,::1], uint64[::1], uint64[::1])",
    cache=True,
    nogil=True,
)
def spread(order, count, parent, first, following, row, own, below, above, once, twice):  # type: ignore[no-untyped-def]
    """Per node the messages with an end that is neither at it nor below."""
    above[order[0]] = np.uint64(0)
    for place in range(count):
        node = order[place]
        if first[node] < 0:
            continue
        once[:] = above[node]
        twice[:] = np.uint64(0)
        if row[node] >= 0:
            unite_twice(once, twice, own[row[node]])
        child = first[node]
        while child >= 0:
            unite_twice(once, twice, below[child])
            child = following[child]
        child = first[node]
        while child >= 0:
            others(once, twice, below[child], above[child])
            child = following[child]


@njit(
    "int64(int32[::1], int32[::1], uint64[:,::1], int64[::1], boolean, int64)",
    cache=True,
    nogil=True,
)
def usage(parent, row, own, weight, rooted, root):  # type: ignore[no-untyped-def]
    """What all messages cost on the tree: their weight times the links they use."""
    nodes = len(parent)
    words = len(weight)
    first = np.empty(nodes, np.int32)
    following = np.empty(nodes, np.int32)
    order = np.empty(nodes, np.int32)
    size = np.empty(nodes, np.int32)
    below = np.zeros((nodes, words), np.uint64)
    count = hang(parent, root, first, following, order, size)
    gather(order, count, parent, row, own, below)
    total = 0
    if rooted:
        for place in range(1, count):
            total += common(below[order[place]], below[order[place]], weight)
        return total
    above = np.zeros((nodes, words), np.uint64)
    once = np.empty(words, np.uint64)
    twice = np.empty(words, np.uint64)
    spread(order, count, parent, first, following, row, own, below, above, once, twice)
    for place in range(1, count):
        total += common(below[order[place]], above[order[place]], weight)
    return total


@njit("void(int32[::1], int32[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def span(indptr, heads, wanted, parent):  # type: ignore[no-untyped-def]
    """Grow a tree by the fewest hops to the closest node that is still missing, the smallest of equals."""
    nodes = len(parent)
    missing = np.zeros(nodes, np.bool_)
    left = 0
    for node in wanted:
        if parent[node] == OFF:
            missing[node] = True
            left += 1
    queue = np.empty(nodes, np.int32)
    via = np.empty(nodes, np.int32)
    while left:
        size = 0
        via[:] = -1
        for node in range(nodes):
            if parent[node] != OFF:
                queue[size] = node
                size += 1
                via[node] = node
        place = 0
        found = -1
        end = size
        while found < 0 and place < size:
            node = queue[place]
            place += 1
            for arc in range(indptr[node], indptr[node + 1]):
                head = heads[arc]
                if via[head] < 0:
                    via[head] = node
                    queue[size] = head
                    size += 1
            if place == end:
                for at in range(end, size):
                    if missing[queue[at]] and (found < 0 or queue[at] < found):
                        found = queue[at]
                end = size
        if found < 0:
            return
        while parent[found] == OFF:
            if missing[found]:
                missing[found] = False
                left -= 1
            parent[found] = via[found]
            found = via[found]
