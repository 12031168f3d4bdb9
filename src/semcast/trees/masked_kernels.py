"""The compiled inner loops of link exchange: cut a tree, and join its parts in the cheapest way.

Trees and messages are rows of bits, as in ``rows``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.trees.entry_kernels import AWAY, HERE, KNOWN, THERE, UNKNOWN, climb, climb_anywhere, potentials, sink
from semcast.trees.kernels import pop, push
from semcast.trees.rows import OFF, common, gather, hang, spread, unite

_ROUNDING = 1e-7  # sums of prices in different orders differ by less, per message


@njit(
    "float64(int32[::1], int32[::1], float64[::1], int32[::1], int8[::1], float64[::1], int64, float64, float64,"
    " float64, float64[::1], int32[::1], float64[::1], int32[::1], int32[::1], boolean, int32[::1], int32[::1],"
    " int32[::1], int32[::1], uint64[:,::1], uint64[:,::1], uint64[::1], int64[::1], uint64[:,::1], uint64[::1],"
    " uint64[::1], float64[::1], int8[::1], int32[::1])",
    cache=True,
    nogil=True,
)
def bridge(  # type: ignore[no-untyped-def]
    indptr, heads, prices, lower, side, far, load, bound, least, link, reach, via, keys, heap, found, rooted, parent,
    first, following, row, own, below, mask, weight, above, once, twice, price, known, way,
):  # fmt: skip
    """The cheapest way to join the parts of a cut tree, through nodes that are on neither, if below ``bound``.

    Returns its cost, else ``bound``; ``found`` gets its last two nodes, the upper one first, and ``via`` leads down.
    ``least`` is the lowest ``far`` of the upper part, and ``link`` the least that a link costs: whatever was reached is
    a link at least from the upper part. Thirty arguments are the most that Python passes one by one: with more, numba
    packs and unpacks them all, and a cut takes up to a tenth longer.
    """
    size = 0
    best = bound
    for node in lower:
        reach[node] = far[node]
        if far[node] + link + least < best:
            size = push(keys, heap, size, far[node], node)
    while size:
        so_far = keys[0]
        node = heap[0]
        size = pop(keys, heap, size)
        if so_far + link + least >= best:
            break
        if so_far > reach[node]:
            continue
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            further = so_far + load * prices[arc]
            if side[head] == THERE:
                if further + least < best:
                    if rooted:
                        whole = further + climb(head, parent, below, mask, weight, price, far, known, way)
                    else:
                        whole = further + climb_anywhere(
                            head, side, parent, first, following, row, own, below, mask, weight, above, once, twice,
                            price, far, known, way,
                        )  # fmt: skip
                    if whole < best:
                        best = whole
                        found[0] = head
                        found[1] = node
            elif side[head] == AWAY and further < reach[head] and further + link + least < best:
                reach[head] = further
                via[head] = node
                size = push(keys, heap, size, further, head)
    return best


@njit("void(int32[::1], int64, int64, int8[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def rehang(parent, cut, idle, side, via, found):  # type: ignore[no-untyped-def]
    """Take the link above ``cut`` and ``idle`` nodes over it off the tree, and join the parts as ``bridge`` found."""
    node = parent[cut]
    for _ in range(idle):
        above = parent[node]
        parent[node] = OFF
        node = above
    above = found[0]
    node = found[1]
    while side[node] == AWAY:
        parent[node] = above
        above = node
        node = via[node]
    while True:
        before = parent[node]
        parent[node] = above
        if node == cut:
            break
        above = node
        node = before


@njit(
    "int64(int64, int64, int32[::1], int32[::1], int32[::1], int32[::1], uint64[:,::1], uint64[:,::1], uint64[:,::1],"
    " int8[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def part(cut, root, parent, first, following, row, own, below, kept, side, depths):  # type: ignore[no-untyped-def]
    """Make the rows above a cut what they are without the part below it; ``kept`` gets what they were.

    Returns how many nodes over the cut lead to nobody any more (they are then on neither side); ``depths[0]`` is
    the number of rows changed.
    """
    depth = 0
    idle = 0
    node = parent[cut]
    while node >= 0:
        kept[depth] = below[node]
        alone = row[node] < 0
        if alone:
            below[node] = np.uint64(0)
        else:
            below[node] = own[row[node]]
        child = first[node]
        while child >= 0:
            if side[child] == THERE:
                unite(below[node], below[child])
                alone = False
            child = following[child]
        if alone and idle == depth and node != root:
            side[node] = AWAY
            idle += 1
        depth += 1
        node = parent[node]
    depths[0] = depth
    return idle


@njit(
    "void(int32[::1], int32[::1], float64[::1], int32[::1], int64, int32[::1], int8[::1], float64[::1], int32[::1])",
    cache=True,
    nogil=True,
)
def survey(indptr, heads, prices, parent, count, order, side, price, at):  # type: ignore[no-untyped-def]
    """What a cut needs to know of the tree: where each node is in its order, its side, the price of the link above."""
    side[:] = AWAY
    for place in range(count):
        node = order[place]
        at[node] = place
        side[node] = THERE
        for arc in range(indptr[node], indptr[node + 1]):
            if heads[arc] == parent[node]:
                price[node] = prices[arc]


@njit(
    "int64(int32[::1], int32[::1], float64[::1], int32[::1], uint64[:,::1], int64[::1], boolean, int64, int32[::1],"
    " int32[::1], int64, float64[::1])",
    cache=True,
    nogil=True,
)
def exchange(indptr, heads, prices, row, own, weight, rooted, root, parent, cuts, patience, gained):  # type: ignore[no-untyped-def]
    """Cut the tree above each node of ``cuts`` in turn and join its parts in the cheapest way.

    Ends after all of them, or when ``patience`` cuts in a row gained nothing. Returns the number of cuts tried;
    ``gained[0]`` grows by what the tree became cheaper, ``gained[1]`` is the number of cuts in a row without gain.
    ``rooted``: every message has an end at the root, so that none has all its ends below a link.
    """
    nodes = len(parent)
    words = len(weight)
    first = np.empty(nodes, np.int32)
    following = np.empty(nodes, np.int32)
    order = np.empty(nodes, np.int32)
    size = np.empty(nodes, np.int32)
    at = np.empty(nodes, np.int32)
    via = np.empty(nodes, np.int32)
    way = np.empty(nodes, np.int32)
    below = np.zeros((nodes, words), np.uint64)
    above = np.zeros((nodes, words), np.uint64)
    beside = np.zeros((nodes, words), np.uint64)  # as ``above``, for a part of a cut tree
    kept = np.empty((nodes, words), np.uint64)
    once = np.empty(words, np.uint64)
    twice = np.empty(words, np.uint64)
    mask = np.empty(words, np.uint64)
    side = np.zeros(nodes, np.int8)
    known = np.empty(nodes, np.int8)
    far = np.zeros(nodes, np.float64)
    price = np.zeros(nodes, np.float64)
    reach = np.zeros(nodes, np.float64)
    keys = np.empty(len(heads) + nodes + 1, np.float64)
    heap = np.empty(len(heads) + nodes + 1, np.int32)
    found = np.empty(2, np.int32)
    depths = np.zeros(1, np.int64)
    cheapest = prices.min() if len(prices) else 0.0
    stale = True
    count = 0
    tried = 0
    for cut in cuts:
        if gained[1] >= patience:
            break
        tried += 1
        gained[1] += 1
        if parent[cut] < 0:
            continue
        if stale:
            count = hang(parent, root, first, following, order, size)
            gather(order, count, parent, row, own, below)
            if not rooted:
                spread(order, count, parent, first, following, row, own, below, above, once, twice)
            survey(indptr, heads, prices, parent, count, order, side, price, at)
            stale = False
        mask[:] = below[cut]
        if not rooted:
            for w in range(words):
                mask[w] &= above[cut, w]
        load = common(mask, mask, weight)
        if load == 0:
            continue
        start = at[cut]
        stop = start + size[start]
        for place in range(start, stop):
            side[order[place]] = HERE
        idle = part(cut, root, parent, first, following, row, own, below, kept, side, depths)
        least = 0.0
        known[:] = UNKNOWN
        if rooted:
            known[root] = KNOWN
            far[root] = 0
        else:
            least = sink(
                root, side, first, following, row, own, below, mask, weight, beside, once, twice, price, far, known
            )  # fmt: skip
        far[cut] = 0
        if stop - start > 1:
            potentials(
                order[start:stop], parent, first, following, row, own, below, mask, weight, beside, once, twice, price,
                far,
            )  # fmt: skip
        now = price[cut] * load
        joint = parent[cut]
        for _ in range(idle):
            now += price[joint] * load
            joint = parent[joint]
        if rooted:
            now += climb(joint, parent, below, mask, weight, price, far, known, way)
        else:
            now += climb_anywhere(
                joint, side, parent, first, following, row, own, below, mask, weight, beside, once, twice, price, far,
                known, way,
            )  # fmt: skip
        reach[:] = np.inf
        best = bridge(
            indptr, heads, prices, order[start:stop], side, far, load, now, least, load * cheapest, reach, via, keys,
            heap, found, rooted, parent, first, following, row, own, below, mask, weight, beside, once, twice, price,
            known, way,
        )  # fmt: skip
        if now - best > _ROUNDING * load:
            gained[0] += now - best
            gained[1] = 0
            rehang(parent, cut, idle, side, via, found)
            stale = True
            continue
        node = parent[cut]
        for place in range(depths[0]):
            below[node] = kept[place]
            side[node] = THERE
            node = parent[node]
        for place in range(start, stop):
            side[order[place]] = THERE
    return tried
