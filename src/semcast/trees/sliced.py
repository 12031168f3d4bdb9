"""The compiled inner loops that count what many messages cost on many trees, and choose for each the cheapest.

Counts are held in slices: plane p of a counter has bit p of 64 messages' counts in one word. A link of a tree
adds one word to the counters of 64 messages, and a comparison of two counters decides for 64 messages at once.

A tree comes as a program over rows of bits. Rows 0 … g-1 are the gateways'; each further row unites earlier ones
(the messages that anyone below a branching point wants); and each link, or chain of links, adds a row to the counters.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PLANES = 16  # a message uses fewer than 2^16 links of a tree
LANES = 32  # words at a time: the rows of a tree then stay in the first cache


@njit("void(uint64[:,::1], int64, uint64[:,::1])", cache=True, nogil=True)
def load(wanted, first, rows):  # type: ignore[no-untyped-def]
    """Copy LANES words of every gateway, from word ``first`` on; zeros beyond the end."""
    width = min(LANES, wanted.shape[1] - first)
    for gateway in range(len(wanted)):
        for lane in range(width):
            rows[gateway, lane] = wanted[gateway, first + lane]
        for lane in range(width, LANES):
            rows[gateway, lane] = np.uint64(0)


@njit("void(int32[:,::1], int64, int64, uint64[:,::1])", cache=True, nogil=True)
def unite(unions, first, last, rows):  # type: ignore[no-untyped-def]
    """Fill rows by ``unions``: (row, one, other) makes row = one | other."""
    for place in range(first, last):
        into = np.uint64(unions[place, 0])
        one = np.uint64(unions[place, 1])
        other = np.uint64(unions[place, 2])
        for lane in range(LANES):
            rows[into, lane] = rows[one, lane] | rows[other, lane]


@njit(
    "void(int32[::1], int64[::1], int64, int64, uint64[:,::1], uint64[:,:,::1], uint64[:,::1])", cache=True, nogil=True
)
def add(terms, starts, leg, planes, rows, carries, sums):  # type: ignore[no-untyped-def]
    """Sum up rows: ``terms[starts[p]:starts[p + 1]]`` are those that count 2^p each; ``leg`` counts for every message.

    A carry-save adder: two rows and the sum so far make a new sum and a carry for the next plane, so a row costs
    five operations a word, however large the counts get.
    """
    carried = 0
    for plane in range(planes):
        total = sums[plane]
        whole = ~np.uint64(0) if (leg >> plane) & 1 else np.uint64(0)
        for lane in range(LANES):
            total[lane] = whole
        here = carries[plane & 1]
        onward = carries[(plane + 1) & 1]
        first = starts[plane]
        count = starts[plane + 1] - first + carried
        extra = count - carried
        made = 0
        place = 0
        while place + 1 < count:
            if place + 1 < extra:
                one = rows[np.uint64(terms[first + place])]
                other = rows[np.uint64(terms[first + place + 1])]
            elif place < extra:
                one = rows[np.uint64(terms[first + place])]
                other = here[0]
            else:
                one = here[place - extra]
                other = here[place + 1 - extra]
            carry = onward[made]
            for lane in range(LANES):
                a = one[lane]
                b = other[lane]
                odd = a ^ b
                carry[lane] = (a & b) | (odd & total[lane])
                total[lane] ^= odd
            made += 1
            place += 2
        if place < count:
            one = rows[np.uint64(terms[first + place])] if place < extra else here[place - extra]
            carry = onward[made]
            for lane in range(LANES):
                carry[lane] = one[lane] & total[lane]
                total[lane] ^= one[lane]
            made += 1
        carried = made


@njit("void(uint64[:,::1], int64, int64, uint16[::1])", cache=True, nogil=True)
def unslice(sums, planes, first, counts):  # type: ignore[no-untyped-def]
    """Write the counters as numbers, to ``counts[first:]`` as far as that goes."""
    for lane in range(LANES):
        start = first + 64 * lane
        for bit in range(min(64, len(counts) - start)):
            total = np.uint64(0)
            for plane in range(planes):
                total |= ((sums[plane, lane] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(plane)
            counts[start + bit] = total


@njit(
    "void(int32[:,::1], int64[::1], int32[::1], int64[:,::1], int64[::1], int64, uint64[:,::1], int64, uint16[:,::1])",
    cache=True,
    nogil=True,
)
def count_all(unions, union_starts, terms, term_starts, legs, num_rows, wanted, planes, counts):  # type: ignore[no-untyped-def]
    """Per tree and message, the links used: ``counts[tree, message]``."""
    rows = np.empty((num_rows, LANES), np.uint64)
    carries = np.empty((2, num_rows + 2, LANES), np.uint64)
    sums = np.empty((PLANES, LANES), np.uint64)
    for first in range(0, wanted.shape[1], LANES):
        load(wanted, first, rows)
        for tree in range(len(legs)):
            unite(unions, union_starts[tree], union_starts[tree + 1], rows)
            add(terms, term_starts[tree], legs[tree], planes, rows, carries, sums)
            unslice(sums, planes, 64 * first, counts[tree])


@njit(
    "void(uint64[:,::1], uint64[:,::1], uint64[:,::1], uint64[::1], uint64[::1], int64, int64)", cache=True, nogil=True
)
def keep_lower(sums, best, chosen, lower, equal, tree, planes):  # type: ignore[no-untyped-def]
    """Choose ``tree`` for the messages that are cheaper on it than on what was chosen before.

    ``lower`` comes as the messages that the tree must not carry.
    """
    for lane in range(LANES):
        equal[lane] = ~lower[lane]
        lower[lane] = np.uint64(0)
    for plane in range(planes - 1, -1, -1):
        for lane in range(LANES):
            differ = best[plane, lane] ^ sums[plane, lane]
            lower[lane] |= equal[lane] & differ & best[plane, lane]
            equal[lane] &= ~differ
    for plane in range(planes):
        for lane in range(LANES):
            best[plane, lane] ^= (best[plane, lane] ^ sums[plane, lane]) & lower[lane]
    # Trees come in ascending order, so no higher bit of what was chosen before can be set.
    plane = 0
    while tree >> plane:
        whole = ~np.uint64(0) if (tree >> plane) & 1 else np.uint64(0)
        for lane in range(LANES):
            chosen[plane, lane] = (chosen[plane, lane] & ~lower[lane]) | (whole & lower[lane])
        plane += 1


@njit(
    "void(int32[:,::1], int64[::1], int32[::1], int64[:,::1], int64[::1], int64, int32[::1], int64[::1], uint64[:,::1],"
    " int64, uint16[::1], uint16[::1])",
    cache=True,
    nogil=True,
)
def choose(  # type: ignore[no-untyped-def]
    unions, union_starts, terms, term_starts, legs, num_rows, lacks, lack_starts, wanted, planes, channels, counts
):
    """Per message the tree on which it uses the fewest links, of those that hold all who want it; the first of equals.

    ``lacks`` lists the gateways that are not on a tree. A message that no tree carries keeps the highest count.
    """
    rows = np.empty((num_rows, LANES), np.uint64)
    carries = np.empty((2, num_rows + 2, LANES), np.uint64)
    sums = np.empty((PLANES, LANES), np.uint64)
    best = np.empty((PLANES, LANES), np.uint64)
    chosen = np.empty((PLANES, LANES), np.uint64)
    lower = np.empty(LANES, np.uint64)
    equal = np.empty(LANES, np.uint64)
    bits = 0
    while len(legs) >> bits:
        bits += 1
    for first in range(0, wanted.shape[1], LANES):
        load(wanted, first, rows)
        best[:] = ~np.uint64(0)
        chosen[:] = np.uint64(0)
        for tree in range(len(legs)):
            unite(unions, union_starts[tree], union_starts[tree + 1], rows)
            add(terms, term_starts[tree], legs[tree], planes, rows, carries, sums)
            lower[:] = np.uint64(0)
            for place in range(lack_starts[tree], lack_starts[tree + 1]):
                for lane in range(LANES):
                    lower[lane] |= rows[lacks[place], lane]
            keep_lower(sums, best, chosen, lower, equal, tree, planes)
        unslice(chosen, bits, 64 * first, channels)
        unslice(best, planes, 64 * first, counts)


@njit("void(uint16[:,::1], uint16[::1], uint16[::1], uint16[::1])", cache=True, nogil=True)
def two_lowest(counts, chosen, lowest, second):  # type: ignore[no-untyped-def]
    """Per message the first tree with the lowest count, that count, and the lowest of the other trees."""
    highest = np.uint16(0xFFFF)
    lowest[:] = highest
    second[:] = highest
    for tree in range(len(counts)):
        for message in range(counts.shape[1]):
            count = counts[tree, message]
            if count < lowest[message]:
                second[message] = lowest[message]
                lowest[message] = count
                chosen[message] = tree
            elif count < second[message]:
                second[message] = count
