"""The compiled inner loops of channelization."""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.model.bits import lowest, ones


@njit(
    "int64(int64[::1], int32[::1], int64[::1], int32[::1], float64[::1], int64, int64, float64,"
    " int64[::1], int32[::1], int64[::1], float64[::1])",
    cache=True,
    nogil=True,
)
def overlap_rows(  # type: ignore[no-untyped-def]
    by_message, profiles, by_profile, messages, weights, first, last, least, ends, others, counts, shares
):
    """Rows ``first:last`` of SᵀWS: for each profile, whom its messages match too, how many and how much.

    Kept are pairs whose overlap is at least ``least`` and those in which one contains the other. The rows go one
    behind the other into ``others``, ``counts`` and ``shares`` as far as there is room; returned is the room
    that they need, and ``ends`` holds where each row ends.
    """
    width = len(by_profile) - 1
    count = np.zeros(width, np.int64)
    share = np.zeros(width, np.float64)
    touched = np.empty(width, np.int32)
    size = 0
    for i in range(first, last):
        met = 0
        for place in range(by_profile[i], by_profile[i + 1]):
            message = messages[place]
            weight = weights[message]
            for at in range(by_message[message], by_message[message + 1]):
                j = profiles[at]
                if count[j] == 0:
                    touched[met] = j
                    met += 1
                count[j] += 1
                share[j] += weight
        mine = touched[:met]
        mine.sort()
        own = by_profile[i + 1] - by_profile[i]
        for place in range(met):
            j = mine[place]
            its = by_profile[j + 1] - by_profile[j]
            if share[j] >= least * share[i] or count[j] == own or count[j] == its:
                if size < len(others):
                    others[size] = j
                    counts[size] = count[j]
                    shares[size] = share[j]
                size += 1
        # share[i] decides above, so nothing is cleared before the row is done.
        for place in range(met):
            count[mine[place]] = 0
            share[mine[place]] = 0.0
        ends[i - first] = size
    return size


@njit("void(int64[::1], int32[::1], float64[::1], int64, int32[:,::1], float64[:,::1])", cache=True, nogil=True)
def add_overlaps(by_message, profiles, weights, first, counts, shares):  # type: ignore[no-untyped-def]
    """Add messages to rows ``first:first + len(counts)`` of SᵀS and of SᵀWS, held densely."""
    last = first + len(counts)
    for message in range(len(by_message) - 1):
        weight = weights[message]
        begin = by_message[message]
        end = by_message[message + 1]
        for place in range(begin, end):
            i = profiles[place]
            if i >= last:
                break  # ascending
            if i < first:
                continue
            count = counts[i - first]
            share = shares[i - first]
            for at in range(begin, end):
                count[profiles[at]] += 1
                share[profiles[at]] += weight


@njit("void(uint64[:,::1], int64[::1], uint64[::1], float64[::1], float64, float64[::1])", cache=True, nogil=True)
def common_weights(rows, chosen, row, weights, even, found):  # type: ignore[no-untyped-def]
    """``found[k]``: what the messages count that both ``row`` and ``rows[chosen[k]]`` have.

    ``even`` is the weight of all messages where they count alike, else 0: they are then counted word by word.
    """
    held = np.flatnonzero(row)  # few words, where a profile matches few messages
    for k in range(len(chosen)):
        total = 0.0
        if even:
            count = 0
            for w in held:
                count += ones(rows[chosen[k], w] & row[w])
            total = even * count
        else:
            for w in held:
                both = rows[chosen[k], w] & row[w]
                while both:
                    total += weights[64 * w + lowest(both)]
                    both &= both - np.uint64(1)
        found[k] = total
