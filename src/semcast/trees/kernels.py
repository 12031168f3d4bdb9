"""The compiled inner loops of shortest paths.

Signatures are explicit and results cached on disk, as everywhere: a machine compiles them once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.model.bits import lowest, ones


@njit("int64(float64[::1], int32[::1], int64, float64, int64)", cache=True, nogil=True)
def push(keys, nodes, size, key, node):  # type: ignore[no-untyped-def]
    """Put a node into a binary heap ordered by (key, node); returns the new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] < key or (keys[above] == key and nodes[above] <= node):
            break
        keys[place] = keys[above]
        nodes[place] = nodes[above]
        place = above
    keys[place] = key
    nodes[place] = node
    return size + 1


@njit("int64(float64[::1], int32[::1], int64)", cache=True, nogil=True)
def pop(keys, nodes, size):  # type: ignore[no-untyped-def]
    """Drop the first of a heap (read it before, at 0); returns the new size."""
    size -= 1
    key = keys[size]
    node = nodes[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        right = below + 1
        if right < size and (keys[right] < keys[below] or (keys[right] == keys[below] and nodes[right] < nodes[below])):
            below = right
        if key < keys[below] or (key == keys[below] and node <= nodes[below]):
            break
        keys[place] = keys[below]
        nodes[place] = nodes[below]
        place = below
    keys[place] = key
    nodes[place] = node
    return size


@njit("void(int32[::1], int32[::1], float64[::1], int64, float64[::1], int32[::1])", cache=True, nogil=True)
def shortest_paths(indptr, heads, weights, source, distance, parent):  # type: ignore[no-untyped-def]
    """Dijkstra's algorithm; ``distance`` comes as infinity and ``parent`` as -1.

    A node may be in the heap once per improvement, at most once per arc.
    """
    keys = np.empty(len(heads) + 1, np.float64)
    nodes = np.empty(len(heads) + 1, np.int32)
    distance[source] = 0.0
    size = push(keys, nodes, 0, 0.0, source)
    while size:
        near = keys[0]
        node = nodes[0]
        size = pop(keys, nodes, size)
        if near > distance[node]:
            continue
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            far = near + weights[arc]
            if far < distance[head]:
                distance[head] = far
                parent[head] = node
                size = push(keys, nodes, size, far, head)
            elif far == distance[head] and node < parent[head]:
                parent[head] = node


_BLOCK = 64  # words of message bits at a time: the brokers of a tree then fit into the cache together


@njit("void(uint64[::1], int64, int64, int64[::1])", cache=True, nogil=True)
def add_bits(words, first, amount, totals):  # type: ignore[no-untyped-def]
    """Add ``amount`` to ``totals[first + i]`` for every set bit i."""
    for w in range(len(words)):
        word = words[w]
        while word:
            totals[first + 64 * w + lowest(word)] += amount
            word &= word - np.uint64(1)


@njit(
    "void(int32[:,::1], int32[::1], uint64[:,::1], uint64[::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def pruned(links, rows, wanted, carried, per_link, per_message):  # type: ignore[no-untyped-def]
    """Count the transmissions of a tree on which every message goes only where somebody wants it.

    ``links`` are (parent, child) places on the tree, parents first, the root at place 0; ``rows[i]`` is the row
    of place i in ``wanted``, or -1. A link is used by a message that anyone below it wants.
    """
    places = len(rows)
    words = len(carried)
    below = np.empty((places, _BLOCK), np.uint64)
    for start in range(0, words, _BLOCK):
        width = min(_BLOCK, words - start)
        for place in range(places):
            row = rows[place]
            for w in range(width):
                below[place, w] = wanted[row, start + w] & carried[start + w] if row >= 0 else np.uint64(0)
        for link in range(len(links) - 1, -1, -1):
            child = links[link, 1]
            parent = links[link, 0]
            for w in range(width):
                word = below[child, w]
                per_link[link] += ones(word)
                below[parent, w] |= word
            add_bits(below[child, :width], 64 * start, 1, per_message)


@njit("float64(float64[:,::1], float64[::1], int32[::1])", cache=True, nogil=True)
def joined(between, legs, members):  # type: ignore[no-untyped-def]
    """The sum of what each member pays to join the closest before it; the first pays its leg."""
    if len(members) == 0:
        return 0.0
    total = legs[members[0]]
    near = np.empty(len(members), np.float64)
    for k in range(1, len(members)):
        near[k] = between[members[0], members[k]]
    for k in range(1, len(members)):
        total += near[k]
        for later in range(k + 1, len(members)):
            near[later] = min(near[later], between[members[k], members[later]])
    return total
