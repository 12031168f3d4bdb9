"""The compiled inner loops that find where to enter a part of a cut tree.

``far[v]`` is how much dearer it is to enter at v than at the part's first node: the weighted hops that the messages of
``mask`` travel from v until they meet what they use of the part anyway, less the same for the first. One link down, it
grows by the messages with no end below the link, and falls by those with no end above it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.model.bits import ones
from semcast.trees.rows import absent, others, unite_twice

HERE, THERE, AWAY = 1, 2, 0  # sides of a cut: the part below it, the part above it, not on the tree
UNKNOWN, KNOWN, EXPANDED = 0, 1, 2  # of a node of the upper part: nothing, ``far``, also ``above`` of its children


@njit(
    "void(int64, int8[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1], uint64[:,::1],"
    " uint64[::1], uint64[::1])",
    cache=True,
    nogil=True,
)
def expand(node, side, first, following, row, own, below, above, once, twice):  # type: ignore[no-untyped-def]
    """Per child of a node of the upper part, the messages with an end in that part that is neither at it nor below."""
    once[:] = above[node]
    twice[:] = np.uint64(0)
    if row[node] >= 0:
        unite_twice(once, twice, own[row[node]])
    child = first[node]
    while child >= 0:
        if side[child] == THERE:
            unite_twice(once, twice, below[child])
        child = following[child]
    child = first[node]
    while child >= 0:
        if side[child] == THERE:
            others(once, twice, below[child], above[child])
        child = following[child]


@njit(
    "void(int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1], uint64[::1],"
    " int64[::1], uint64[:,::1], uint64[::1], uint64[::1], float64[::1], float64[::1])",
    cache=True,
    nogil=True,
)
def potentials(  # type: ignore[no-untyped-def]
    lower, parent, first, following, row, own, below, mask, weight, above, once, twice, price, far
):  # fmt: skip
    """``far`` of all nodes of the lower part, in an order in which all below a node follow it.

    What ``expand`` does is written out, without its look at sides, which all are this one: with it, inlined too, a cut
    is a tenth dearer.
    """
    far[lower[0]] = 0
    above[lower[0]] = np.uint64(0)
    for place in range(len(lower)):
        node = lower[place]
        if place:
            more = absent(mask, below[node], weight) - absent(mask, above[node], weight)
            far[node] = far[parent[node]] + price[node] * more
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
    "float64(int64, int8[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1], uint64[::1],"
    " int64[::1], uint64[:,::1], uint64[::1], uint64[::1], float64[::1], float64[::1], int8[::1])",
    cache=True,
    nogil=True,
)
def sink(  # type: ignore[no-untyped-def]
    node, side, first, following, row, own, below, mask, weight, above, once, twice, price, far, known
):  # fmt: skip
    """The lowest ``far`` of the upper part, whose first node this is, wherever messages have their ends.

    On the way down ever more messages have no end below and ever fewer none above, so ``far`` falls first, along one
    path only, and then rises: where it no longer falls it is lowest. With ``far`` of the whole part, a cut takes
    twice as long.
    """
    above[node] = np.uint64(0)
    far[node] = 0
    known[node] = KNOWN
    while True:
        expand(node, side, first, following, row, own, below, above, once, twice)
        known[node] = EXPANDED
        lower = -1
        child = first[node]
        while child >= 0:
            if side[child] == THERE:
                more = absent(mask, below[child], weight) - absent(mask, above[child], weight)
                far[child] = far[node] + price[child] * more
                known[child] = KNOWN
                if more < 0:
                    lower = child
            child = following[child]
        if lower < 0:
            return far[node]
        node = lower


@njit(
    "float64(int64, int32[::1], uint64[:,::1], uint64[::1], int64[::1], float64[::1], float64[::1], int8[::1],"
    " int32[::1])",
    cache=True,
    nogil=True,
)
def climb(node, parent, below, mask, weight, price, far, known, way):  # type: ignore[no-untyped-def]
    """``far`` of a node of the upper part, where every message has an end at the root: only what is asked for."""
    steps = 0
    while known[node] == UNKNOWN:
        way[steps] = node
        steps += 1
        node = parent[node]
    value = far[node]
    for step in range(steps - 1, -1, -1):
        node = way[step]
        total = 0
        for w in range(len(mask)):
            total += ones(mask[w] & ~below[node, w]) * weight[w]
        value += price[node] * total
        far[node] = value
        known[node] = KNOWN
    return value


@njit(
    "float64(int64, int8[::1], int32[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1],"
    " uint64[::1], int64[::1], uint64[:,::1], uint64[::1], uint64[::1], float64[::1], float64[::1], int8[::1],"
    " int32[::1])",
    cache=True,
    nogil=True,
)
def climb_anywhere(  # type: ignore[no-untyped-def]
    node, side, parent, first, following, row, own, below, mask, weight, above, once, twice, price, far, known, way
):  # fmt: skip
    """As ``climb``, wherever messages have their ends."""
    steps = 0
    while known[node] == UNKNOWN:
        way[steps] = node
        steps += 1
        node = parent[node]
    value = far[node]
    for step in range(steps - 1, -1, -1):
        if known[node] != EXPANDED:
            expand(node, side, first, following, row, own, below, above, once, twice)
            known[node] = EXPANDED
        node = way[step]
        value += price[node] * (absent(mask, below[node], weight) - absent(mask, above[node], weight))
        far[node] = value
        known[node] = KNOWN
    return value
